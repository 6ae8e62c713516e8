"""E-process: stop when the evidence against the closest contrary vote is strong enough, at any time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from foregone.checks import check_max_disagreement, check_n_voters
from foregone.rules._draws import marked_drawn
from foregone.rules.curtailment import curtailment, is_decided
from foregone.rules.ibep import full_vote_chances
from foregone.strategy import StoppingStrategy

__all__ = ["e_process"]


def e_process(n_voters: int, max_disagreement: float) -> StoppingStrategy:
    """Stop when the likelihood ratio against the closest contrary vote reaches ``1 / max_disagreement``.

    To stop with "yes", the likelihood of the votes so far, averaged over every full vote that is yes, must be
    ``1 / max_disagreement`` times that under the closest full vote that is no; and the other way round. Under
    that closest vote the ratio is a martingale with mean one, so by Ville's inequality it ever gets that
    high with probability at most ``max_disagreement``. Such mixtures for votes drawn without replacement are
    from Waudby-Smith and Ramdas, "Confidence sequences for sampling without replacement" (NeurIPS 2020).

    It guarantees that, whatever the vote, the disagreement is at most ``max_disagreement``: the same promise
    as criterion minimixed, without any optimisation. What it leaves over of the limit (the ratio overshoots
    when it stops, and a decided vote is no risk at all) is votes asked in vain.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        From 0 (which is `curtailment`) to 1 (which stops before the first vote).

    Returns
    -------
    StoppingStrategy
        Deterministic. Where the contrary vote has become impossible the ratio is infinite, so it needs no
        condition of its own to stop at a decided vote.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate
    >>> evaluation = evaluate(e_process(101, 0.05))
    >>> round(evaluation.mean(VoteDistribution.flat(101)).expected_votes, 1)
    31.0
    >>> round(evaluation.worst().disagreement, 3)
    0.036
    """
    n_voters, limit = check_n_voters(n_voters), check_max_disagreement(max_disagreement)
    if limit == 0:
        return curtailment(n_voters)
    rows = _stop_rows(n_voters, limit)
    return StoppingStrategy.from_rows(n_voters, lambda asked: next(rows))


def _stop_rows(n_voters: int, limit: float) -> Iterator[npt.NDArray[np.bool_]]:
    most_no = n_voters // 2  # the most yes votes with which the full vote is no
    steps = zip(
        full_vote_chances(n_voters),
        marked_drawn(n_voters, most_no),
        marked_drawn(n_voters, most_no + 1),
        strict=False,
    )
    for asked, ((full_yes, full_no), under_closest_no, under_closest_yes) in enumerate(steps):
        # Each of the n_voters + 1 full votes being equally likely, these votes have chance 1 / (asked + 1):
        # Bayes turns the chance of a side into the mean likelihood over the full votes of that side.
        share = (n_voters + 1) / (asked + 1)
        under_yes = full_yes * share / (n_voters - most_no)
        under_no = full_no * share / (most_no + 1)
        stop_yes = (under_yes > 0) & (limit * under_yes >= under_closest_no)
        stop_no = (under_no > 0) & (limit * under_no >= under_closest_yes)
        yield stop_yes | stop_no | is_decided(n_voters, asked)

"""E-process: stop when the evidence against the closest opposite full vote is strong enough, at any time."""

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
    """Stop when the likelihood ratio against the closest opposite vote reaches ``1 / max_disagreement``.

    To stop with "yes", the likelihood of the votes so far, averaged over all full votes that are yes, must be
    ``1 / max_disagreement`` times that under the closest full vote that is no; and vice versa. Under that
    closest vote the ratio is a martingale with mean one, so by Ville's inequality it ever reaches this value
    with probability at most ``max_disagreement``. Such mixtures for votes drawn without replacement are
    from Waudby-Smith and Ramdas, "Confidence sequences for sampling without replacement" (NeurIPS 2020).

    It guarantees a disagreement of at most ``max_disagreement`` for any full vote: the same promise as
    criterion minimixed, without optimisation. It does not use up the limit (the ratio overshoots when it
    stops, and stops at decided votes have no risk), and therefore asks more votes.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        From 0 (which is `curtailment`) to 1 (which stops before the first vote).

    Returns
    -------
    StoppingStrategy
        Deterministic. If the opposite vote is impossible the ratio is infinite, so it stops at decided votes
        without a separate condition.

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
    most_no = n_voters // 2  # largest number of yes votes for which the full vote is no
    steps = zip(
        full_vote_chances(n_voters),
        marked_drawn(n_voters, most_no),
        marked_drawn(n_voters, most_no + 1),
        strict=False,
    )
    for asked, ((full_yes, full_no), under_closest_no, under_closest_yes) in enumerate(steps):
        # If all n_voters + 1 full votes are equally likely, these votes have probability 1 / (asked + 1).
        # Bayes' rule turns the probability of a side into the mean likelihood over its full votes.
        share = (n_voters + 1) / (asked + 1)
        under_yes = full_yes * share / (n_voters - most_no)
        under_no = full_no * share / (most_no + 1)
        stop_yes = (under_yes > 0) & (limit * under_yes >= under_closest_no)
        stop_no = (under_no > 0) & (limit * under_no >= under_closest_yes)
        yield stop_yes | stop_no | is_decided(n_voters, asked)

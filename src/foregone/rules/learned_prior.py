"""Learned prior: stop when the leader wins the full vote nearly surely, given how past votes were spread."""

from __future__ import annotations

import numpy as np

from foregone.checks import BoolArray, check_max_disagreement
from foregone.errors import InvalidInputError
from foregone.rules.curtailment import curtailment, is_decided
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["learned_prior"]


def learned_prior(votes: VoteDistribution, max_disagreement: float) -> StoppingStrategy:
    """Stop when the leader wins the full vote with probability at least ``1 - max_disagreement``.

    After Huang, Ma and Zhou, "Optimal Bayesian stopping for efficient inference of consistent LLM answers"
    (ICML 2026, arXiv 2602.05395), in the exact form that it has for a full vote. They take the answers
    to past questions as a prior of how answers are spread, and stop when the posterior probability that the
    leader is the mode, given the counts of the first two answers, passes a threshold. This follows that
    description, not their code. It differs in two ways: votes are drawn without replacement from a full vote
    that is distributed as past ones, not independently, so that the posterior is that of the full vote; and
    between two answers ``(asked, yes)`` is known, not only the two counts, so the prior may lean to one side.

    If new votes are distributed as ``votes``, the mean disagreement is at most ``max_disagreement``, since it
    is at every stop. No stop makes use of what another one leaves over; the minimean optimum for the same
    votes and limit does, so it asks no more. Nothing is guaranteed if ``votes`` are a sample.

    Parameters
    ----------
    votes : VoteDistribution
        How past votes were spread.
    max_disagreement : float
        From 0 to 1, one minus the threshold of the posterior probability.

    Returns
    -------
    StoppingStrategy
        Deterministic. At least one voter is asked. It also stops when the rest cannot change the answer; in a
        state that no past vote can lead to, only then.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate
    >>> past = VoteDistribution.from_counts([30, 8, 4, 2, 1, 1, 1, 2, 3, 4, 8, 36])
    >>> mean = evaluate(learned_prior(past, 0.05)).mean(past)
    >>> round(mean.expected_votes, 1), round(mean.disagreement, 3)
    (2.4, 0.014)
    """
    if not isinstance(votes, VoteDistribution):
        raise InvalidInputError(
            "votes must be a VoteDistribution, such as VoteDistribution.from_votes gives, not a "
            f"{type(votes).__name__}"
        )
    limit = check_max_disagreement(max_disagreement)
    if limit == 0:
        return curtailment(votes.n_voters)  # the same, free of probabilities that are zero only to a float
    rows = _stop_rows(votes, limit)
    return StoppingStrategy.from_rows(votes.n_voters, lambda asked: rows[asked])


def _stop_rows(votes: VoteDistribution, limit: float) -> list[BoolArray]:
    """Return where it stops, step by step.

    ``chance[s][j]``: the probability that the votes asked hold j yes and the full vote is yes (s = 1) or not
    (s = 0). With one vote fewer, each of the votes is equally likely to be the one that is taken away.
    """
    n_voters = votes.n_voters
    says_yes = 2 * np.arange(n_voters + 1) > n_voters
    chance = votes.probabilities * np.stack([~says_yes, says_yes])
    rows: list[BoolArray] = []
    for asked in reversed(range(n_voters)):
        yes = np.arange(asked + 1)
        chance = (chance[:, :-1] * (asked + 1 - yes) + chance[:, 1:] * (yes + 1)) / (asked + 1)
        wrong = np.where(2 * yes > asked, chance[0], chance[1])  # a tie is answered "no"
        reach = chance.sum(axis=0)
        stops = ((reach > 0) & (wrong <= limit * reach)) | is_decided(n_voters, asked)
        rows.append(stops & (asked > 0))
    return rows[::-1]

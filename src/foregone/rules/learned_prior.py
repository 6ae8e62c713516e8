"""Learned prior: stop when the leader almost certainly wins the full vote, given past votes."""

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
    (ICML 2026, arXiv 2602.05395), in its exact form for a full vote. They use the answers to past questions
    as a prior for the distribution of answers, and stop when the posterior probability that the leader is the
    mode, given the counts of the two most frequent answers, passes a threshold. The implementation follows
    that description, not the authors' code. It differs in two ways: votes are drawn without replacement from
    a full vote distributed like past ones, not independently, so that the posterior is about the full vote;
    and the rule knows which of the two answers has which count, so the prior may be asymmetric.

    If new votes are distributed as ``votes``, the mean disagreement is at most ``max_disagreement``, because
    this holds at every stop. Risk left over at one stop is not used at others; the minimean optimum for the
    same votes and limit does that, so it never asks more. There is no guarantee if ``votes`` are a sample.

    Parameters
    ----------
    votes : VoteDistribution
        Distribution of past votes.
    max_disagreement : float
        From 0 to 1, one minus the threshold of the posterior probability.

    Returns
    -------
    StoppingStrategy
        Deterministic. It asks at least one voter. It also stops when the remaining voters cannot change the
        answer; in states that no past vote can reach, it stops only then.

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
            "votes must be a VoteDistribution, such as from VoteDistribution.from_votes, got "
            f"{type(votes).__name__}"
        )
    limit = check_max_disagreement(max_disagreement)
    if limit == 0:
        return curtailment(votes.n_voters)  # equal, but without probabilities that underflow to zero
    rows = _stop_rows(votes, limit)
    return StoppingStrategy.from_rows(votes.n_voters, lambda asked: rows[asked])


def _stop_rows(votes: VoteDistribution, limit: float) -> list[BoolArray]:
    """Return where the rule stops, step by step.

    ``chance[s][j]``: the probability that the votes asked have j yes and the full vote is yes (s = 1) or no
    (s = 0). Going back one vote, each of the votes is equally likely to be the last one.
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

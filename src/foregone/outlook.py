"""Outlook: how many votes a poll still needs, and how far its risk falls, from every state.

Both are means over the votes of the remaining voters, given the votes counted so far and the distribution of
full votes. They are computed backwards, from all voters asked to none: each of the ``asked`` votes in a state
is equally likely to be the last one, so the probability of the state is divided among its predecessors in
proportion to their votes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution, PluralityStrategy
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["Outlook", "plurality_outlook", "yes_no_outlook"]

MOST_VOTERS = 2_000  # their states, all pairs of asked and yes, take 64 MB


class Outlook(NamedTuple):
    """The expected remaining votes of a poll and their value, for every state.

    Attributes
    ----------
    votes : ndarray
        Mean number of votes still to come, at least 1.
    value : ndarray
        Mean fall of the risk per vote: the risk of the best answer now, minus the mean risk at the stop,
        divided by ``votes``. It may be negative if the strategy gives the less likely answer.

    A state that the distribution rules out has 1 remaining vote, of value 0.
    """

    votes: FloatArray
    value: FloatArray


def _remembered(make: Callable[[Any, Any], Outlook]) -> Callable[[Any, Any], Outlook]:
    """Cache the latest outlooks by identity, because hashing a strategy takes as long as a vote."""
    kept: list[tuple[Any, Any, Outlook]] = []

    @wraps(make)
    def find(strategy: Any, votes: Any) -> Outlook:
        for known, distribution, outlook in kept:
            if known is strategy and distribution is votes:
                return outlook
        made = make(strategy, votes)
        kept.append((strategy, votes, made))
        del kept[:-2]
        return made

    return find


@_remembered
def yes_no_outlook(strategy: StoppingStrategy, votes: VoteDistribution) -> Outlook:
    """Return the outlook for votes of yes and no, indexed by votes asked and yes votes.

    Examples
    --------
    >>> from foregone import VoteDistribution, rules
    >>> outlook = yes_no_outlook(rules.curtailment(3), VoteDistribution.from_counts([1, 1, 1, 1]))
    >>> outlook.votes[:2, 0].round(2).tolist()       # after no votes, after one no
    [2.33, 1.33]
    >>> float(outlook.value[2, 1].round(2))          # one yes, one no: the third voter decides
    0.5
    """
    n_voters = strategy.n_voters
    if n_voters > MOST_VOTERS:
        raise InvalidInputError(
            f"the value of a vote can be computed for up to {MOST_VOTERS:,} voters, got {n_voters:,}: leave "
            "out the budget and give an integer as speculate, or use fewer voters"
        )
    all_votes, all_values = np.ones((n_voters + 1,) * 2), np.zeros((n_voters + 1,) * 2)
    reach = votes.probabilities.copy()  # probability of each state, indexed by its number of yes votes
    yes = reach * (np.arange(n_voters + 1) >= strategy.quota)  # together with a full vote of yes
    wrong = np.zeros(n_voters + 1)  # together with a wrong answer at the stop
    ahead = np.zeros(n_voters + 1)  # times the mean number of votes to come
    for asked in range(n_voters - 1, -1, -1):
        number = np.arange(asked + 1)
        share = (number + 1) / (asked + 1)  # of the votes one step later, with one yes more
        reach, yes, wrong, ahead = (
            part[:-1] * (1 - number / (asked + 1)) + part[1:] * share for part in (reach, yes, wrong, ahead)
        )
        ahead += reach
        possible = reach > 0
        all_votes[asked, number[possible]] = ahead[possible] / reach[possible]
        fall = np.minimum(yes, reach - yes) - wrong
        all_values[asked, number[possible]] = fall[possible] / ahead[possible]
        stop = strategy.stop_probabilities(asked)
        wrong_now = np.where(number >= strategy.yes_from[asked], reach - yes, yes)
        wrong = stop * wrong_now + (1 - stop) * wrong
        ahead *= 1 - stop
    return Outlook(all_votes, all_values)


@_remembered
def plurality_outlook(strategy: PluralityStrategy, votes: CompositionDistribution) -> Outlook:
    """Return the outlook for votes among many answers, indexed by the number of the state in the lattice."""
    lattice = strategy.lattice
    weights = votes.weights_on(lattice)
    reach, wrong_now = lattice.pull_back(weights), lattice.pull_back_wrong(weights)
    wrong_now[0] = reach[0]  # without a vote there is no answer
    stop = strategy.stop_probabilities()
    wrong, ahead, gain = np.zeros((3, lattice.n_states))
    level, edge_start, value, times, child = lattice.edges
    for asked in range(lattice.n_voters, 0, -1):
        first, end = level[asked], level[asked + 1]
        edges = slice(edge_start[first], edge_start[end])
        state = np.repeat(np.arange(first, end), np.diff(edge_start[first : end + 1]))
        share = value[edges] * times[edges].astype(np.float64) / asked
        before, below = slice(level[asked - 1], first), child[edges] - level[asked - 1]
        n_below = first - level[asked - 1]
        wrong_later = np.bincount(below, wrong[state] * share, n_below)
        ahead[before] = reach[before] + np.bincount(below, ahead[state] * (1 - stop[state]) * share, n_below)
        gain[before] = wrong_now[before] - wrong_later
        wrong[before] = stop[before] * wrong_now[before] + (1 - stop[before]) * wrong_later
    possible = ahead > 0
    all_votes, all_values = np.ones(lattice.n_states), np.zeros(lattice.n_states)
    all_votes[possible] = ahead[possible] / reach[possible]
    all_values[possible] = gain[possible] / ahead[possible]
    return Outlook(all_votes, all_values)

"""state_flow(strategy, n_yes): how likely every state and every move of a poll is. Computing, no drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone.errors import InvalidInputError
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["PollState", "StateFlow", "state_flow"]

PollState = tuple[int, int]  # asked, yes


@dataclass(frozen=True)
class StateFlow:
    """The states that a poll can be in and the moves it can make, with their probabilities.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    states : dict
        ``states[asked, yes]``: probability to get there; only states that can be reached.
    moves : dict
        ``moves[state, next_state]``: probability to go from one to the other.
    stops : dict
        ``stops[asked, yes]``: probability to stop, once there; of every reachable state.
    """

    n_voters: int
    states: dict[PollState, float]
    moves: dict[tuple[PollState, PollState], float]
    stops: dict[PollState, float]


def state_flow(strategy: StoppingStrategy, votes: VoteDistribution | int | None = None) -> StateFlow:
    """Return how likely every state and every move is.

    Parameters
    ----------
    strategy : StoppingStrategy
        When to stop.
    votes : VoteDistribution or int, optional
        How the votes are distributed, or how many of the voters would say yes; flat by default.

    Examples
    --------
    >>> from foregone.rules import curtailment
    >>> flow = state_flow(curtailment(3), 3)
    >>> flow.states
    {(0, 0): 1.0, (1, 1): 1.0, (2, 2): 1.0}
    """
    n_voters = strategy.n_voters
    # weight[n]: probability to be in the state at hand and that n of all voters would say yes.
    weights = {(0, 0): _weights(votes, n_voters)}
    moves: dict[tuple[PollState, PollState], float] = {}
    for asked in range(n_voters):
        for yes in range(asked + 1):
            if (asked, yes) not in weights:
                continue
            going_on = weights[asked, yes] * (1 - strategy.stop_probability(asked, yes))
            says_yes = (np.arange(n_voters + 1) - yes) / (n_voters - asked)
            for follower, part in (
                ((asked + 1, yes), going_on * (1 - says_yes)),
                ((asked + 1, yes + 1), going_on * says_yes),
            ):
                if part.sum() > 0:
                    moves[(asked, yes), follower] = float(part.sum())
                    weights[follower] = weights.get(follower, 0.0) + part
    return StateFlow(
        n_voters,
        {state: float(part.sum()) for state, part in weights.items()},
        moves,
        {state: strategy.stop_probability(*state) for state in weights},
    )


def _weights(
    votes: VoteDistribution | int | None, n_voters: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if votes is None:
        votes = VoteDistribution.flat(n_voters)
    if not isinstance(votes, VoteDistribution):
        votes = VoteDistribution.from_yes_counts([votes], n_voters)
    if votes.n_voters != n_voters:
        raise InvalidInputError(
            f"the votes are for {votes.n_voters} voters, the strategy for {n_voters}: use equal ones"
        )
    return votes.probabilities.copy()

"""state_flow(strategy, votes): the probability of every state and move of a poll. No drawing."""

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
    """The reachable states of a poll and its moves between them, with probabilities.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    states : dict
        ``states[asked, yes]``: probability of reaching the state; only reachable states.
    moves : dict
        ``moves[state, next_state]``: probability of the move.
    stops : dict
        ``stops[asked, yes]``: probability of stopping in a reachable state.
    """

    n_voters: int
    states: dict[PollState, float]
    moves: dict[tuple[PollState, PollState], float]
    stops: dict[PollState, float]


def state_flow(strategy: StoppingStrategy, votes: VoteDistribution | int | None = None) -> StateFlow:
    """Return the probability of every state and every move of a poll.

    Parameters
    ----------
    strategy : StoppingStrategy
        The strategy.
    votes : VoteDistribution or int, optional
        Distribution of the votes, or the number of yes votes; flat by default.

    Examples
    --------
    >>> from foregone.rules import curtailment
    >>> flow = state_flow(curtailment(3), 3)
    >>> flow.states
    {(0, 0): 1.0, (1, 1): 1.0, (2, 2): 1.0}
    """
    n_voters = strategy.n_voters
    # weights[state][n]: probability that the state is reached and n of all voters say yes.
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
            f"votes must be for {n_voters} voters, as the strategy is, got {votes.n_voters}"
        )
    return votes.probabilities.copy()

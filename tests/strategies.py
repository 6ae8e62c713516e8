"""Hypothesis strategies for the values every room shares."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from foregone import StoppingStrategy, VoteDistribution

# Below this a product of a few of them underflows, which no exact reference follows.
probabilities = st.one_of(
    st.sampled_from([0.0, 1.0]), st.floats(1e-9, 1 - 1e-9), st.sampled_from([0.0, 1.0, 0.5])
)


@st.composite
def vote_distributions(draw: st.DrawFn, n_voters: int) -> VoteDistribution:
    """Any distribution of the yes votes: with zeros, point masses, and weights of very different size."""
    if draw(st.booleans()):
        point = np.zeros(n_voters + 1)
        point[draw(st.integers(0, n_voters))] = draw(st.sampled_from([1.0, 0.25, 1e300, 1e-300]))
        return VoteDistribution.from_counts(point)
    weight = st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.integers(1, 1000).map(float))
    weights = draw(st.lists(weight, min_size=n_voters + 1, max_size=n_voters + 1).filter(any))
    return VoteDistribution.from_counts(weights)


@st.composite
def tables(draw: st.DrawFn, n_voters: int) -> np.ndarray:
    """Any table of stop probabilities, holes and all, with sense or without."""
    side = n_voters + 1
    cells = draw(st.lists(probabilities, min_size=side * side, max_size=side * side))
    table = np.array(cells).reshape(side, side)
    table[-1] = 1
    return table


def stopping_strategies(n_voters: int) -> st.SearchStrategy[StoppingStrategy]:
    """Any strategy of so many voters that answers the majority."""
    return tables(n_voters).map(StoppingStrategy.from_table)


@st.composite
def answers(draw: st.DrawFn, n_voters: int) -> list[int]:
    """Any answers, with sense or without: from how many yes votes on a stop answers yes, for each step.

    The last is the quota of the full vote.
    """
    quota = draw(st.one_of(st.just(n_voters // 2 + 1), st.integers(0, n_voters)))
    return [draw(st.integers(0, asked + 1)) for asked in range(n_voters)] + [quota]


@st.composite
def answering_strategies(draw: st.DrawFn, n_voters: int) -> StoppingStrategy:
    """Any strategy of so many voters, with any answers."""
    yes_from = draw(st.none() | answers(n_voters))
    return StoppingStrategy.from_table(draw(tables(n_voters)), yes_from=yes_from)


@st.composite
def looking_strategies(draw: st.DrawFn, n_voters: int) -> tuple[set[int], StoppingStrategy]:
    """Any steps at which to look, and a strategy with any chances and answers that stops only there.

    In between it goes on asking even when the full vote is decided.
    """
    looks = draw(st.sets(st.integers(0, n_voters - 1), max_size=4)) | {n_voters}
    table = np.zeros((n_voters + 1, n_voters + 1))
    for asked in looks - {n_voters}:
        first, last = sorted(draw(st.tuples(st.integers(-1, asked + 1), st.integers(-1, asked + 1))))
        table[asked, : first + 1] = table[asked, last:] = 1
        table[asked, draw(st.integers(0, asked))] = draw(probabilities)
    table[-1] = 1
    return looks, StoppingStrategy.from_table(table, yes_from=draw(st.none() | answers(n_voters)))

"""Lattice: all ways to split votes among answers, regardless of the answers' names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels import lattice_flow as kernels
from foregone._kernels import partitions
from foregone.checks import BoolArray, FloatArray, IntArray, as_numbers, check_n_voters
from foregone.errors import InvalidInputError

__all__ = [
    "Lattice",
    "check_n_classes",
    "count_states",
    "is_decided",
    "lattice_of",
    "solving_bytes",
    "table_bytes",
]


MOST_BYTES = 4 << 30  # the most that solving may take
_BYTES_A_STATE = 8 * (1 + 12)  # for the start of its edges and the arrays of the solver, measured
_BYTES_AN_EDGE = 8
_EDGES_A_STATE = 6  # about, in large lattices
_STATES_A_PIECE = 300_000  # a kernel takes less than a tenth of a second for these


def check_n_classes(n_classes: Any, n_voters: int) -> int:
    """Return the largest number of different answers: the number of voters if ``n_classes`` is None."""
    if n_classes is None:
        return n_voters
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or n_classes < 1:
        raise InvalidInputError(
            f"n_classes must be an integer of at least 1, or None for any number, got {n_classes!r}"
        )
    return min(int(n_classes), n_voters)


def lattice_of(n_voters: int, n_classes: int | None = None) -> Lattice:
    """Return the lattice, from a cache if it was made before.

    Raises
    ------
    InvalidInputError
        If it does not fit into memory; the message states its size and what to do.
    """
    n_voters = check_n_voters(n_voters)
    return _kept(n_voters, check_n_classes(n_classes, n_voters))


@lru_cache(maxsize=4)
def _kept(n_voters: int, n_classes: int) -> Lattice:
    return Lattice.make(n_voters, n_classes)


@dataclass(frozen=True, eq=False, repr=False)
class Lattice:
    """The numbered states of a vote among at most ``n_classes`` answers, and the transitions between them.

    A state is the counts of the answers so far, in descending order. After i votes there are ``level[i + 1] -
    level[i]`` states. The arrays are described in `foregone._kernels.partitions`.

    Examples
    --------
    >>> lattice = lattice_of(4)
    >>> lattice.n_states, lattice.compositions().tolist()
    (12, [[1, 1, 1, 1], [2, 1, 1, 0], [2, 2, 0, 0], [3, 1, 0, 0], [4, 0, 0, 0]])
    >>> lattice.number_of([2, 2])
    9
    """

    n_voters: int
    n_classes: int
    counts: IntArray
    level: IntArray

    @classmethod
    def make(cls, n_voters: int, n_classes: int) -> Lattice:
        """Make a lattice: number all states. Transitions are computed on first use."""
        counts, sizes = _partition_counts(n_voters, n_classes)
        return cls(n_voters, n_classes, counts, np.concatenate([[0], np.cumsum(sizes)]))

    def __repr__(self) -> str:
        return f"<Lattice of {self.n_voters} votes, {self.n_classes} answers: {self.n_states:,} states>"

    @property
    def n_states(self) -> int:
        """Number of states, from no voter asked to all."""
        return int(self.level[-1])

    @property
    def n_compositions(self) -> int:
        """Number of states in which all voters have been asked."""
        return int(self.level[-1] - self.level[-2])

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """The levels from one vote on, in ranges (first, end): kernels process one range per call.

        Compiled code does not see signals; Python sees them between calls.
        """
        ranges, first, starts = [], 1, self.level.tolist()
        for end in range(2, self.n_voters + 2):
            if end > self.n_voters or starts[end + 1] - starts[first] > _STATES_A_PIECE:
                ranges.append((first, end))
                first = end
        return ranges

    @cached_property
    def edges(self) -> tuple[IntArray, IntArray, Any, Any, Any]:
        """The arrays that every kernel takes: most of the lattice's memory, not needed to run a strategy."""
        n_edges = np.zeros(self.n_states, np.int64)
        for levels in self.pieces:
            partitions.count_edges(*levels, self.n_classes, self.level, n_edges)
        edge_start = np.concatenate([[0], np.cumsum(n_edges)])
        value, times = np.zeros((2, edge_start[-1]), np.uint16)
        child = np.zeros(edge_start[-1], np.int32)
        for levels in self.pieces:
            partitions.fill_edges(*levels, self.counts, self.level, edge_start, value, times, child)
        return self.level, edge_start, value, times, child

    @property
    def edge_start(self) -> IntArray:
        """Index of the first edge of each state."""
        return self.edges[1]

    @property
    def value(self) -> npt.NDArray[np.uint16]:
        """The count that each edge takes a vote from."""
        return self.edges[2]  # type: ignore[no-any-return]  # an array of that type

    @property
    def times(self) -> npt.NDArray[np.uint16]:
        """How often that count occurs in the state."""
        return self.edges[3]  # type: ignore[no-any-return]  # an array of that type

    @property
    def child(self) -> npt.NDArray[np.int32]:
        """The state that each edge leads to."""
        return self.edges[4]  # type: ignore[no-any-return]  # an array of that type

    def compositions(self) -> npt.NDArray[np.uint16]:
        """Return the sorted counts of every full vote, one per row, in the order of their numbers."""
        rows = np.zeros((self.n_compositions, self.n_classes), np.uint16)
        partitions.fill_partitions(self.n_classes, self.n_voters, rows)
        return rows

    def number_of(self, counts: npt.ArrayLike) -> int:
        """Return the number of the state with these counts, in any order."""
        given = as_numbers(counts, "counts")
        if given.ndim != 1 or not (np.isfinite(given).all() and (given == np.floor(given)).all()):
            raise InvalidInputError(f"counts must be a list of integers, got {counts!r}")
        parts = np.sort(given.astype(np.int64))[::-1]
        parts = parts[parts != 0]
        total = int(parts.sum())
        if len(parts) > self.n_classes or total > self.n_voters or (len(parts) and parts[-1] < 0):
            raise InvalidInputError(
                f"counts {parts.tolist()} cannot occur with {self.n_voters} votes for at most "
                f"{self.n_classes} different answers"
            )
        return int(self.level[total] + partitions.rank_of(parts, total, self.counts))

    def numbers_of(self, counts: IntArray) -> IntArray:
        """Return the numbers of many states: one row of counts per state, in any order, not checked."""
        parts = -np.sort(-counts, axis=1)
        rest = parts.sum(axis=1)
        numbers: IntArray = self.level[rest]
        for place in range(min(parts.shape[1], self.n_classes)):
            part = parts[:, place]
            there = part > 0
            numbers[there] += self.counts[rest[there], self.n_classes - place, part[there] - 1]
            rest = rest - part
        return numbers

    def places_of(self, rows: IntArray) -> IntArray:
        """Return the indices of full votes among all compositions, given rows of valid sorted counts."""
        places = np.zeros(len(rows), np.int64)
        partitions.ranks_of(rows, self.n_voters, self.counts, places)
        return places

    def pull_back(self, weights: FloatArray) -> FloatArray:
        """Return the probability of each state, given the probabilities of the full votes."""
        reach = np.zeros(self.n_states)
        reach[self.level[-2] :] = weights
        for levels in reversed(self.pieces):
            kernels.pull_back(*self.edges, *levels, reach)
        return reach

    def pull_back_wrong(self, weights: FloatArray) -> FloatArray:
        """Return the joint probability of each state and of its leader losing the full vote."""
        wrong = np.zeros(self.n_states)
        marked = np.zeros(0)
        for first, end in reversed(self.pieces):
            below = np.zeros(self._sizes(first - 1)[1])
            kernels.pull_back_wrong(*self.edges, first, end - 1, weights, marked, below, wrong)
            marked = below
        return wrong

    def _sizes(self, level: int) -> tuple[int, int]:
        """Return the numbers of states and edges of a level."""
        start, end = self.level[level : level + 2].tolist()
        return end - start, int(self.edge_start[end] - self.edge_start[start])

    def best_stops(self, reach: FloatArray, wrong: FloatArray) -> tuple[BoolArray, float]:
        """Return where to stop if going on from a state costs ``reach`` and stopping there ``wrong``.

        Also returns the least total cost. At least one voter is asked; at a tie it goes on.
        """
        stops, after = np.ones(self.n_states, np.bool_), np.zeros(self.n_compositions)
        for first, end in reversed(self.pieces):
            below = np.zeros(self._sizes(first - 1)[0])
            kernels.induce(*self.edges, first, end, reach, wrong, 1, after, below, stops)
            after = below
        return stops, float(after[0])

    def push_forward(self, stop: FloatArray, *, counts_votes: bool) -> tuple[FloatArray, FloatArray]:
        """Return, for every full vote, the expected votes asked, and one mean for each of its counts.

        The mean is the number of that answer's votes asked, or else the probability that it is the answer.
        """
        means = np.ones(1), np.zeros(1), np.zeros(0)
        for first, end in self.pieces:
            n_states, n_edges = self._sizes(end - 1)
            above = np.zeros(n_states), np.zeros(n_states), np.zeros(n_edges)
            kernels.push_forward(*self.edges, first, end, stop, counts_votes, *means, *above)
            means = above
        return means[1], means[2]

    def push_reach(self, stop: FloatArray) -> FloatArray:
        """Return the probability of reaching each state, given that the votes so far have its counts."""
        reach = np.zeros(self.n_states)
        reach[0] = 1.0
        for levels in self.pieces:
            kernels.fill_reach(*self.edges, *levels, stop, reach)
        return reach

    def redraw(self, weights: FloatArray, n_votes: int, newness: float) -> FloatArray:
        """Return the distribution of full votes after some votes have been removed and redrawn.

        Parameters
        ----------
        weights : ndarray of shape (n_compositions,)
            The distribution of the full votes.
        n_votes : int
            How many votes, chosen at random, are redrawn: each repeats one of the current votes, or is for a
            new answer.
        newness : float
            The weight of a new answer, where each current vote has weight one.
        """
        chance = self.pull_back(weights)
        left = self.n_voters - n_votes
        for first, end in self.pieces:
            kernels.redraw(*self.edges, max(first, left + 1), end, self.n_classes, newness, chance)
        drawn = chance[self.level[-2] :]
        return np.asarray(drawn / drawn.sum())

    def top_two(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the largest and the next largest count of every state."""
        top, second = np.zeros((2, self.n_states), np.int32)
        kernels.top_two(self.edge_start, self.value, self.times, top, second)
        return top, second

    def votes_so_far(self) -> npt.NDArray[np.int32]:
        """Return the number of votes of every state."""
        return np.repeat(np.arange(self.n_voters + 1, dtype=np.int32), np.diff(self.level))


def is_decided(lattice: Lattice) -> BoolArray:
    """Return, for every state, whether its leader is certain to be among the leaders of the full vote.

    That is, whether no other answer could overtake it even with all remaining votes, or whether there is no
    other answer. Once decided, a vote stays decided.
    """
    top, second = lattice.top_two()
    decided: BoolArray = top - second >= lattice.n_voters - lattice.votes_so_far()
    if lattice.n_classes == 1:
        decided[:] = True
    decided[0] = False
    return decided


def _partition_counts(n_voters: int, n_classes: int) -> tuple[IntArray, list[int]]:
    """Return the table used to compute ranks, and the number of states after each number of votes."""
    n_states = count_states(n_voters, n_classes)
    if solving_bytes(n_states) + table_bytes(n_voters, n_classes) > MOST_BYTES:
        raise _too_large(n_voters, n_classes, n_states)
    counts = np.zeros((n_voters + 1, n_classes + 1, n_voters + 1), np.int64)
    partitions.fill_partition_counts(counts)
    return counts, counts[:, n_classes, n_voters].tolist()


def table_bytes(n_voters: int, n_classes: int) -> int:
    """Return the memory of a lattice without its edges: the table used to compute ranks."""
    return (n_voters + 1) ** 2 * (n_classes + 1) * 8


def solving_bytes(n_states: float) -> float:
    """Return approximately how much memory solving or evaluating takes, including the edges."""
    return n_states * (_BYTES_A_STATE + _EDGES_A_STATE * _BYTES_AN_EDGE)


def count_states(n_voters: int, n_classes: int) -> float:
    """Return the number of states, infinity if far too many for memory; uses little memory itself."""
    if n_classes == 1:
        return n_voters + 1.0
    if n_voters**2 / 4 > 1e12:  # even with two answers there are more states than that
        return np.inf
    # Partitions into at most k parts are as many as those into parts of at most k (turn the diagram over).
    ways = np.ones(n_voters + 1)
    for part in range(2, n_classes + 1):
        filled = np.zeros((n_voters // part + 1, part))
        filled.ravel()[: n_voters + 1] = ways
        ways = filled.cumsum(axis=0).ravel()[: n_voters + 1]
        if ways.sum() > 1e12:
            break
    return float(ways.sum())


def _too_large(n_voters: int, n_classes: int, n_states: float) -> InvalidInputError:
    any_number = n_classes >= n_voters
    answers = "any number of different answers" if any_number else f"{n_classes} different answers"
    size = f"more than {1e12:,.0f}" if n_states > 1e12 else f"{n_states:,.0f}"
    advice = "set n_classes to the number of possible answers" if any_number else "allow fewer answers"
    return InvalidInputError(
        f"a vote of {n_voters:,} voters among {answers} has {size} states, too many for {MOST_BYTES >> 30} "
        f"GB of memory: {advice}, or use fewer voters"
    )

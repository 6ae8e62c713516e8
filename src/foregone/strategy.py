"""StoppingStrategy: after so many votes, so many of them yes, how likely to stop and answer."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.atomic_file import PathLike
from foregone.errors import InvalidInputError
from foregone.strategy_file import Fields, read_file, write_file
from foregone.votes import FloatArray, as_numbers, check_n_voters

__all__ = ["IntArray", "StoppingStrategy"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class StoppingStrategy:
    """When to stop asking, for each number of votes asked and of yes votes among them.

    In state ``(asked, yes)`` the strategy stops with probability ``stop_probability(asked, yes)`` and
    answers the majority so far: yes if ``2 * yes > asked``; a tie is "no". When everyone has been asked
    it always stops.

    It is kept as two thresholds per step and a sparse list of exceptions, so a strategy whose stop
    region is two thresholds takes memory proportional to ``n_voters``, and any other is still exact.
    Make one with `solve`, a function of `foregone.rules`, or a ``from_...`` constructor.

    Attributes
    ----------
    n_voters : int
        Number of voters in the ensemble.
    lower, upper : ndarray of int, shape (n_voters + 1,)
        Per step: stop when ``yes <= lower[asked]`` or ``yes >= upper[asked]``, go on strictly between,
        except in the `exceptions`. Invariants: ``-1 <= lower[i] < upper[i] <= i + 1``; a step at which it
        always stops has ``lower = i // 2`` and ``upper = lower + 1``; so has the last step.

    Examples
    --------
    >>> strategy = StoppingStrategy.from_table([[0, 1, 1], [0.25, 1, 1], [1, 1, 1]])
    >>> strategy.stop_probability(asked=1, yes=0)
    0.25
    >>> strategy.randomised
    [(1, 0, 0.25)]
    >>> strategy.upper
    array([1, 1, 2])
    """

    n_voters: int
    lower: IntArray
    upper: IntArray
    # Exceptions between the thresholds, sorted by (asked, yes): asked, yes, stop probability in (0, 1].
    _asked: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    _yes: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    _probability: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for array in (self.lower, self.upper, self._asked, self._yes, self._probability):
            array.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied one, whose arrays come back writable."""
        self.__dict__.update(state)
        self.__post_init__()

    # Making one ------------------------------------------------------------------------------

    @classmethod
    def from_table(cls, theta: npt.ArrayLike) -> StoppingStrategy:
        """From the whole table of stop probabilities.

        Parameters
        ----------
        theta : array-like of shape (n_voters + 1, n_voters + 1)
            ``theta[asked][yes]`` in [0, 1]; the last row must be all ones. Entries with
            ``yes > asked`` cannot happen: they must be in range too, but mean nothing.
        """
        table = as_numbers(theta, "the entries of a strategy table").astype(np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
            raise InvalidInputError(
                f"a strategy table must be square, (n_voters + 1) on each side, got shape {table.shape}"
            )
        if not ((table >= 0) & (table <= 1)).all():  # also False for NaN
            raise InvalidInputError("a strategy table must hold probabilities between 0 and 1")
        if not (table[-1] == 1).all():
            raise InvalidInputError(
                "the last row of a strategy table must be all ones: when everyone was asked, it stops"
            )
        return cls.from_rows(len(table) - 1, lambda asked: table[asked, : asked + 1])

    @classmethod
    def from_rows(cls, n_voters: int, row: Callable[[int], npt.ArrayLike]) -> StoppingStrategy:
        """From a function that gives the stop probabilities of one step at a time.

        Parameters
        ----------
        n_voters : int
            Number of voters.
        row : callable
            ``row(asked)`` gives ``asked + 1`` probabilities or booleans, one for each number of yes votes.
            It is called once for every step but the last, in order.
        """
        n_voters = check_n_voters(n_voters)
        lower, upper = _always_stop(n_voters)
        exceptions: list[tuple[int, int, float]] = []
        for asked in range(n_voters):
            stop = _check_row(row(asked), asked)
            going_on = np.flatnonzero(stop < 1)
            if len(going_on) == 0:
                continue
            first, last = int(going_on[0]), int(going_on[-1])
            lower[asked], upper[asked] = first - 1, last + 1
            inside = np.flatnonzero(stop[first : last + 1] > 0) + first
            exceptions.extend((asked, int(yes), float(stop[yes])) for yes in inside)
        return cls._assemble(n_voters, lower, upper, exceptions)

    @classmethod
    def from_thresholds(
        cls,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        exceptions: Iterable[tuple[int, int, float]] = (),
    ) -> StoppingStrategy:
        """From thresholds for every step and the states that do not follow them.

        Parameters
        ----------
        lower, upper : array-like of int, shape (n_voters + 1,)
            As in the attributes of the same name; equal-length, the last step always stopping.
        exceptions : iterable of (asked, yes, probability)
            States strictly between the thresholds where it may stop, with the probability in (0, 1].
        """
        low, high = _check_thresholds(lower, upper)
        return cls._assemble(len(low) - 1, low, high, _check_exceptions(exceptions, low, high))

    @classmethod
    def _assemble(
        cls, n_voters: int, lower: IntArray, upper: IntArray, exceptions: list[tuple[int, int, float]]
    ) -> StoppingStrategy:
        """Put checked parts together; sure stops at the edge of a band become part of the threshold."""
        sure: dict[int, set[int]] = {}
        for asked, yes, probability in exceptions:
            if probability == 1:
                sure.setdefault(asked, set()).add(yes)
        for asked, stops in sure.items():
            while lower[asked] + 1 in stops:
                lower[asked] += 1
            while upper[asked] - 1 in stops and upper[asked] - 1 > lower[asked]:
                upper[asked] -= 1
        always = upper == lower + 1
        lower[always] = np.flatnonzero(always) // 2
        upper[always] = lower[always] + 1
        kept = [(asked, yes, p) for asked, yes, p in exceptions if lower[asked] < yes < upper[asked]]
        columns = list(zip(*kept, strict=True)) or [(), (), ()]
        return cls(
            n_voters,
            lower,
            upper,
            np.array(columns[0], np.int64),
            np.array(columns[1], np.int64),
            np.array(columns[2], np.float64),
        )

    # Reading it ------------------------------------------------------------------------------

    def stop_probability(self, asked: int, yes: int) -> float:
        """Return the probability of stopping after ``asked`` votes, ``yes`` of them yes."""
        if not 0 <= yes <= asked <= self.n_voters:
            raise InvalidInputError(
                f"state ({asked}, {yes}) is impossible: need 0 <= yes <= asked <= {self.n_voters}"
            )
        if not self.lower[asked] < yes < self.upper[asked]:
            return 1.0
        first, end = np.searchsorted(self._asked, [asked, asked + 1])
        place = first + np.searchsorted(self._yes[first:end], yes)
        return float(self._probability[place]) if place < end and self._yes[place] == yes else 0.0

    def stop_probabilities(self, asked: int) -> FloatArray:
        """Return the stop probabilities of one step, for 0 to ``asked`` yes votes."""
        if not 0 <= asked <= self.n_voters:
            raise InvalidInputError(f"step {asked} is impossible: need 0 <= asked <= {self.n_voters}")
        row = np.ones(asked + 1)
        row[self.lower[asked] + 1 : self.upper[asked]] = 0.0
        first, end = np.searchsorted(self._asked, [asked, asked + 1])
        row[self._yes[first:end]] = self._probability[first:end]
        return row

    def table(self) -> FloatArray:
        """Return theta, shape (n_voters + 1, n_voters + 1); impossible states (yes > asked) are 1."""
        theta = np.ones((self.n_voters + 1, self.n_voters + 1))
        for asked in range(self.n_voters + 1):
            theta[asked, : asked + 1] = self.stop_probabilities(asked)
        return theta

    @property
    def exceptions(self) -> list[tuple[int, int, float]]:
        """States between the thresholds where it may stop: (asked, yes, probability), sorted."""
        return list(zip(self._asked.tolist(), self._yes.tolist(), self._probability.tolist(), strict=True))

    @property
    def randomised(self) -> list[tuple[int, int, float]]:
        """States where chance decides: (asked, yes, probability strictly between 0 and 1), sorted."""
        return [state for state in self.exceptions if state[2] < 1]

    @property
    def kernel_arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]:
        """What compiled loops read: lower, upper, and the exceptions by step (start, yes, probability)."""
        start = np.searchsorted(self._asked, np.arange(self.n_voters + 2)).astype(np.int64)
        return self.lower, self.upper, start, self._yes, self._probability

    # Comparing -------------------------------------------------------------------------------

    def _steps_that_go_on(self) -> Iterator[tuple[int, IntArray, FloatArray]]:
        """Yield (asked, yes, stop probability) for the reachable states where it may go on.

        They determine the strategy on every reachable state, and nothing else does.
        """
        reachable = np.array([0])
        for asked in range(self.n_voters):
            stop = self.stop_probabilities(asked)[reachable]
            yes = reachable[stop < 1]
            if len(yes) == 0:
                return
            yield asked, yes, stop[stop < 1]
            is_reachable = np.zeros(asked + 2, dtype=bool)
            is_reachable[yes] = is_reachable[yes + 1] = True
            reachable = np.flatnonzero(is_reachable)

    def __eq__(self, other: object) -> bool:
        """Whether both do the same in every state that can be reached."""
        if not isinstance(other, StoppingStrategy):
            return NotImplemented
        return self.n_voters == other.n_voters and self._digest() == other._digest()

    def __hash__(self) -> int:
        return hash((self.n_voters, self._digest()))

    def _digest(self) -> bytes:
        digest = hashlib.sha256()
        for asked, yes, stop in self._steps_that_go_on():
            digest.update(np.array([asked, len(yes)]).tobytes() + yes.tobytes() + stop.tobytes())
        return digest.digest()

    def __repr__(self) -> str:
        chance = len(self.randomised)
        note = f", {chance} randomised state{'s' if chance != 1 else ''}" if chance else ""
        return f"<StoppingStrategy for {self.n_voters} voters{note}>"

    # Files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write it to ``path`` as readable JSON, atomically; `load` gives back the same strategy."""
        write_file(path, {"kind": "strategy", **self.to_fields()})

    @classmethod
    def load(cls, path: PathLike) -> StoppingStrategy:
        """Read a strategy that `save` (or a solution's ``save``) wrote; anything else is an error."""
        fields = read_file(path)
        strategy = cls.from_fields(fields)
        fields.check_intact()
        return strategy

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a strategy file."""
        return {
            "n_voters": self.n_voters,
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "exceptions": [list(state) for state in self.exceptions],
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> StoppingStrategy:
        """Check the fields of a strategy file and make the strategy."""
        if fields.text("kind") != "strategy":
            raise fields.error("kind", 'is not "strategy": the file holds something else')
        n_voters = fields.whole("n_voters", 1)
        given = fields.whole_numbers("lower", n_voters + 1), fields.whole_numbers("upper", n_voters + 1)
        states = []
        for asked, yes, probability in fields.rows("exceptions", 3):
            if type(asked) is not int or type(yes) is not int or type(probability) not in (int, float):
                raise fields.error("exceptions", "must hold only [asked, yes, probability]")
            states.append((asked, yes, probability))
        try:
            lower, upper = _check_thresholds(*given)
        except InvalidInputError as error:
            raise fields.error("lower/upper", f"is not valid: {error}") from None
        try:
            return cls._assemble(n_voters, lower, upper, _check_exceptions(states, lower, upper))
        except InvalidInputError as error:
            raise fields.error("exceptions", f"is not valid: {error}") from None


def _always_stop(n_voters: int) -> tuple[IntArray, IntArray]:
    """Return the thresholds of the strategy that stops at every step."""
    lower = np.arange(n_voters + 1, dtype=np.int64) // 2
    return lower, lower + 1


def _check_row(row: npt.ArrayLike, asked: int) -> FloatArray:
    """Return the stop probabilities of one step as floats, or say what is wrong with them."""
    stop: FloatArray = as_numbers(row, f"the stop probabilities of step {asked}").astype(np.float64)
    if stop.shape != (asked + 1,):
        raise InvalidInputError(f"step {asked} needs {asked + 1} stop probabilities, got shape {stop.shape}")
    if not ((stop >= 0) & (stop <= 1)).all():  # also False for NaN
        raise InvalidInputError(f"the stop probabilities of step {asked} must lie between 0 and 1")
    return stop


def _check_thresholds(lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Return copies of the thresholds, or say what is wrong with them."""
    low, high = as_numbers(lower, "lower"), as_numbers(upper, "upper")
    if low.ndim != 1 or low.shape != high.shape or len(low) < 2:
        raise InvalidInputError("lower and upper must be two rows of n_voters + 1 numbers each")
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu":
        raise InvalidInputError("lower and upper must be whole numbers")
    broken = np.flatnonzero((low < -1) | (low >= high) | (high > np.arange(len(low)) + 1))
    if len(broken):
        step = broken[0]
        raise InvalidInputError(
            f"thresholds of step {step} must satisfy -1 <= lower < upper <= {step + 1}, "
            f"got {low[step]} and {high[step]}"
        )
    if high[-1] != low[-1] + 1:
        raise InvalidInputError("the last step must always stop: upper must be lower + 1 there")
    return low.astype(np.int64), high.astype(np.int64)


def _check_exceptions(
    exceptions: Iterable[tuple[int, int, float]], lower: IntArray, upper: IntArray
) -> list[tuple[int, int, float]]:
    """Return the exceptions in order, or say what is wrong with them."""
    try:
        states = sorted(
            (operator.index(asked), operator.index(yes), float(p)) for asked, yes, p in exceptions
        )
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("every exception must be (asked, yes, probability)") from None
    for asked, yes, probability in states:
        if not (0 <= asked < len(lower) and int(lower[asked]) < yes < int(upper[asked])):
            raise InvalidInputError(f"state ({asked}, {yes}) does not lie between the thresholds")
        if not 0 < probability <= 1:  # also True for NaN
            raise InvalidInputError(
                f"the stop probability of state ({asked}, {yes}) is {probability}: it must be in (0, 1]"
            )
    for state, following in pairwise(states):
        if state[:2] == following[:2]:
            raise InvalidInputError(f"state ({state[0]}, {state[1]}) is given twice")
    return states

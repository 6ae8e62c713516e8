"""StoppingStrategy: whether to stop and what to answer, given the votes asked and the yes votes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray, as_numbers, check_n_voters
from foregone.errors import InvalidInputError
from foregone.strategy.base import Strategy
from foregone.strategy.json_file import Fields
from foregone.strategy.thresholds import (
    always_stop,
    answers_for,
    check_exceptions,
    check_quota,
    check_row,
    check_thresholds,
    check_yes_from,
    majority,
)

__all__ = ["IntArray", "StoppingStrategy", "check_strategy"]

MAJORITY = "majority"  # in files, stands for a yes_from that answers the majority at every step


@dataclass(frozen=True, eq=False, repr=False)
class StoppingStrategy(Strategy):
    """When to stop and what to answer, for each number of votes asked and of yes votes among them.

    In state ``(asked, yes)`` the strategy stops with probability ``stop_probability(asked, yes)`` and
    answers yes if ``yes >= yes_from[asked]``, otherwise no. By default it answers the majority so far; a tie
    is "no". Once all voters have been asked it always stops, with the answer of the full vote: yes if at
    least ``quota`` voters said yes, by default a majority.

    It is stored as two thresholds per step and a sparse list of exceptions. So a strategy with two thresholds
    takes memory proportional to ``n_voters``, and any other strategy is stored exactly. Make one with
    `solve`, a function of `foregone.rules`, or a ``from_...`` constructor.

    Attributes
    ----------
    n_voters : int
        Number of voters in the ensemble.
    lower, upper : ndarray of int, shape (n_voters + 1,)
        Per step: stop if ``yes <= lower[asked]`` or ``yes >= upper[asked]``, continue strictly between,
        except in the `exceptions`. Invariants: ``-1 <= lower[i] < upper[i] <= i + 1``; a step at which it
        always stops has ``lower = i // 2`` and ``upper = lower + 1``, as has the last step. The thresholds
        determine the stop only, not the answer.
    yes_from : ndarray of int, shape (n_voters + 1,)
        Per step: the fewest yes votes with which a stop answers yes. Majority: ``asked // 2 + 1``.
        Invariants: ``0 <= yes_from[i] <= i + 1``, where 0 is always yes and ``i + 1`` always no; the last
        entry is the ``quota``, at most ``n_voters``.

    Examples
    --------
    >>> strategy = StoppingStrategy.from_table([[0, 1, 1], [0.25, 1, 1], [1, 1, 1]])
    >>> strategy.stop_probability(asked=1, yes=0)
    0.25
    >>> strategy.randomised
    [(1, 0, 0.25)]
    >>> strategy.upper
    array([1, 1, 2])
    >>> strategy.answer(asked=1, yes=1), strategy.answers_majority
    (True, True)
    """

    KIND: ClassVar[str] = "strategy"

    n_voters: int
    lower: IntArray
    upper: IntArray
    yes_from: IntArray
    # Exceptions between the thresholds, sorted by (asked, yes): asked, yes, stop probability in (0, 1].
    _asked: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    _yes: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    _probability: FloatArray = field(default_factory=lambda: np.empty(0))

    # Making one ------------------------------------------------------------------------------

    @classmethod
    def from_table(cls, theta: npt.ArrayLike, *, yes_from: npt.ArrayLike | None = None) -> StoppingStrategy:
        """Make a strategy from the full table of stop probabilities.

        Parameters
        ----------
        theta : array-like of shape (n_voters + 1, n_voters + 1)
            ``theta[asked][yes]`` in [0, 1]; the last row must be all ones. Entries with ``yes > asked`` are
            impossible states: they must be in range, but are ignored.
        yes_from : array-like of int, shape (n_voters + 1,), optional
            As the attribute of the same name; by default the strategy answers the majority.
        """
        table = as_numbers(theta, "the entries of a strategy table").astype(np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
            raise InvalidInputError(
                "a strategy table must be square, with n_voters + 1 rows and columns, got shape "
                f"{table.shape}"
            )
        if not ((table >= 0) & (table <= 1)).all():  # also False for NaN
            raise InvalidInputError(
                "a strategy table must contain probabilities from 0 to 1, got NaN or entries outside this "
                "range"
            )
        if not (table[-1] == 1).all():
            raise InvalidInputError(
                "the last row of a strategy table must be all ones, because it always stops once all voters "
                f"have been asked, got {table[-1].min():g} as its least entry"
            )
        return cls.from_rows(len(table) - 1, lambda asked: table[asked, : asked + 1], yes_from=yes_from)

    @classmethod
    def from_rows(
        cls,
        n_voters: int,
        row: Callable[[int], npt.ArrayLike],
        *,
        yes_from: npt.ArrayLike | None = None,
    ) -> StoppingStrategy:
        """Make a strategy from a function that returns the stop probabilities of one step at a time.

        Parameters
        ----------
        n_voters : int
            Number of voters.
        row : callable
            ``row(asked)`` returns ``asked + 1`` probabilities or booleans, one for each number of yes votes.
            It is called once for every step except the last, in order.
        yes_from : array-like of int, shape (n_voters + 1,), optional
            As the attribute of the same name; by default the strategy answers the majority.
        """
        n_voters = check_n_voters(n_voters)
        answers = check_yes_from(yes_from, n_voters)
        if not callable(row):
            raise InvalidInputError(
                "row must be a function from the votes asked to stop probabilities, got "
                f"{type(row).__name__}: for a matrix use StoppingStrategy.from_table"
            )
        lower, upper = always_stop(n_voters)
        exceptions: list[tuple[int, int, float]] = []
        for asked in range(n_voters):
            stop = check_row(row(asked), asked)
            going_on = np.flatnonzero(stop < 1)
            if len(going_on) == 0:
                continue
            first, last = int(going_on[0]), int(going_on[-1])
            lower[asked], upper[asked] = first - 1, last + 1
            inside = np.flatnonzero(stop[first : last + 1] > 0) + first
            exceptions.extend((asked, int(yes), float(stop[yes])) for yes in inside)
        return cls._assemble(lower, upper, answers, exceptions)

    @classmethod
    def from_thresholds(
        cls,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        exceptions: Iterable[tuple[int, int, float]] = (),
        *,
        yes_from: npt.ArrayLike | None = None,
    ) -> StoppingStrategy:
        """Make a strategy from thresholds for every step, and exceptions from them.

        Parameters
        ----------
        lower, upper : array-like of int, shape (n_voters + 1,)
            As the attributes of the same name; of equal length, and always stopping at the last step.
        exceptions : iterable of (asked, yes, probability)
            States strictly between the thresholds in which it may stop, with a probability in (0, 1].
        yes_from : array-like of int, shape (n_voters + 1,), optional
            As the attribute of the same name; by default the strategy answers the majority.
        """
        low, high = check_thresholds(lower, upper)
        answers = check_yes_from(yes_from, len(low) - 1)
        return cls._assemble(low, high, answers, check_exceptions(exceptions, low, high))

    @classmethod
    def ask_all(cls, n_voters: int, quota: int | None = None) -> StoppingStrategy:
        """Return the strategy that always asks all voters.

        Parameters
        ----------
        n_voters : int
            Number of voters.
        quota : int, optional
            The fewest yes votes with which the full vote is yes; by default a majority.
        """
        n_voters = check_n_voters(n_voters)
        lower, upper = always_stop(n_voters)
        lower[:-1], upper[:-1] = -1, np.arange(1, n_voters + 1)
        return cls(n_voters, lower, upper, answers_for(n_voters, check_quota(quota, n_voters)))

    @classmethod
    def _assemble(
        cls, lower: IntArray, upper: IntArray, yes_from: IntArray, exceptions: list[tuple[int, int, float]]
    ) -> StoppingStrategy:
        """Combine checked parts; certain stops at the edge of a band become part of the threshold."""
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
            len(lower) - 1,
            lower,
            upper,
            yes_from,
            np.array(columns[0], np.int64),
            np.array(columns[1], np.int64),
            np.array(columns[2], np.float64),
        )

    # Reading it ------------------------------------------------------------------------------

    def stop_probability(self, asked: int, yes: int) -> float:
        """Return the probability of stopping after ``asked`` votes, ``yes`` of them yes."""
        self._check_state(asked, yes)
        if not self.lower[asked] < yes < self.upper[asked]:
            return 1.0
        first, end = np.searchsorted(self._asked, [asked, asked + 1])
        place = first + np.searchsorted(self._yes[first:end], yes)
        return float(self._probability[place]) if place < end and self._yes[place] == yes else 0.0

    def stop_probabilities(self, asked: int) -> FloatArray:
        """Return the stop probabilities of one step, for 0 to ``asked`` yes votes."""
        if not _are_whole(asked) or not 0 <= asked <= self.n_voters:
            raise InvalidInputError(f"asked must be from 0 to n_voters={self.n_voters}, got {asked}")
        row = np.ones(asked + 1)
        row[self.lower[asked] + 1 : self.upper[asked]] = 0.0
        first, end = np.searchsorted(self._asked, [asked, asked + 1])
        row[self._yes[first:end]] = self._probability[first:end]
        return row

    def answer(self, asked: int, yes: int) -> bool:
        """Return the answer of a stop after ``asked`` votes, ``yes`` of them yes: True for yes."""
        self._check_state(asked, yes)
        return bool(yes >= self.yes_from[asked])

    def _check_state(self, asked: int, yes: int) -> None:
        if not _are_whole(asked, yes) or not 0 <= yes <= asked <= self.n_voters:
            raise InvalidInputError(
                f"a state must satisfy 0 <= yes <= asked <= n_voters={self.n_voters}, got asked={asked} and "
                f"yes={yes}"
            )

    @property
    def quota(self) -> int:
        """The fewest yes votes, of all voters, with which the full vote is yes."""
        return int(self.yes_from[-1])

    @property
    def answers_majority(self) -> bool:
        """Whether every stop answers the majority so far; a tie is "no".

        With a quota other than a majority: whether every stop answers by the share of yes votes so far.
        """
        plain = answers_for(self.n_voters, self.quota)
        if np.array_equal(self.yes_from, plain):
            return True
        return all(
            np.array_equal(yes[stop > 0] >= self.yes_from[asked], yes[stop > 0] >= plain[asked])
            for asked, yes, stop in self._reachable_steps()
        )

    def table(self) -> FloatArray:
        """Return all stop probabilities, shape (n_voters + 1, n_voters + 1); 1 for impossible states."""
        theta = np.ones((self.n_voters + 1, self.n_voters + 1))
        for asked in range(self.n_voters + 1):
            theta[asked, : asked + 1] = self.stop_probabilities(asked)
        return theta

    @property
    def exceptions(self) -> list[tuple[int, int, float]]:
        """States between the thresholds in which it may stop: (asked, yes, probability), sorted."""
        return list(zip(self._asked.tolist(), self._yes.tolist(), self._probability.tolist(), strict=True))

    @property
    def randomised(self) -> list[tuple[int, int, float]]:
        """States with a random stop: (asked, yes, probability strictly between 0 and 1), sorted."""
        return [state for state in self.exceptions if state[2] < 1]

    @property
    def kernel_arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray, FloatArray, IntArray]:
        """The arrays that compiled loops read.

        Lower, upper, the exceptions by step (start, yes, probability), and yes_from.
        """
        start = np.searchsorted(self._asked, np.arange(self.n_voters + 2)).astype(np.int64)
        return self.lower, self.upper, start, self._yes, self._probability, self.yes_from

    # Comparing -------------------------------------------------------------------------------

    def _reachable_steps(self) -> Iterator[tuple[int, IntArray, FloatArray]]:
        """Yield (asked, yes, stop probability) of the states that can be reached before all voters are asked.

        Together with the answers at possible stops, they determine the behaviour of a strategy, and so
        equality.
        """
        reachable = np.array([0])
        for asked in range(self.n_voters):
            stop = self.stop_probabilities(asked)[reachable]
            yield asked, reachable, stop
            going_on = reachable[stop < 1]
            if len(going_on) == 0:
                return
            is_reachable = np.zeros(asked + 2, dtype=bool)
            is_reachable[going_on] = is_reachable[going_on + 1] = True
            reachable = np.flatnonzero(is_reachable)

    def _digest(self) -> bytes:
        steps = hashlib.sha256()
        for asked, yes, stop in self._reachable_steps():
            answers_yes = (yes >= self.yes_from[asked]) & (stop > 0)
            steps.update(np.array([asked, len(yes)]).tobytes())
            steps.update(yes.tobytes() + stop.tobytes() + answers_yes.tobytes())
        of_whom = self.n_voters.to_bytes(8, "little")
        if self.quota != majority(self.n_voters):  # keeps the fingerprints from before quotas existed
            of_whom += self.quota.to_bytes(8, "little")
        return hashlib.sha256(of_whom + steps.digest()).digest()

    def __repr__(self) -> str:
        chance = len(self.randomised)
        note = f", {chance} randomised state{'s' if chance != 1 else ''}" if chance else ""
        answers = "" if self.answers_majority else ", does not answer the majority everywhere"
        quota = "" if self.quota == majority(self.n_voters) else f", of whom {self.quota} must say yes"
        return f"<StoppingStrategy for {self.n_voters} voters{quota}{note}{answers}>"

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a strategy file."""
        is_majority = np.array_equal(self.yes_from, check_yes_from(None, self.n_voters))
        return {
            "n_voters": self.n_voters,
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "exceptions": [list(state) for state in self.exceptions],
            "yes_from": MAJORITY if is_majority else self.yes_from.tolist(),
        }

    @classmethod
    def _from_fields(cls, fields: Fields) -> StoppingStrategy:
        n_voters = fields.whole("n_voters", 1)
        given = fields.whole_numbers("lower", n_voters + 1), fields.whole_numbers("upper", n_voters + 1)
        states = []
        for asked, yes, probability in fields.rows("exceptions", 3):
            if type(asked) is not int or type(yes) is not int or type(probability) not in (int, float):
                raise fields.error("exceptions", "must contain only [asked, yes, probability]")
            states.append((asked, yes, probability))
        try:
            lower, upper = check_thresholds(*given)
        except InvalidInputError as error:
            raise fields.error("lower/upper", f"is not valid: {error}") from None
        try:
            exceptions = check_exceptions(states, lower, upper)
        except InvalidInputError as error:
            raise fields.error("exceptions", f"is not valid: {error}") from None
        return cls._assemble(lower, upper, _yes_from_of(fields, n_voters), exceptions)


def _are_whole(*numbers: Any) -> bool:
    return all(isinstance(number, int | np.integer) and not isinstance(number, bool) for number in numbers)


def check_strategy(strategy: Any) -> StoppingStrategy:
    """Return ``strategy``. Raises InvalidInputError unless it is a StoppingStrategy."""
    if not isinstance(strategy, StoppingStrategy):
        raise InvalidInputError(
            f"strategy must be a StoppingStrategy, got {type(strategy).__name__}: pass the .strategy of a "
            "Solution, or one from foregone.rules; for many answers use foregone.plurality"
        )
    return strategy


def _yes_from_of(fields: Fields, n_voters: int) -> IntArray:
    """Return ``yes_from`` of a file; files of version 1 always answer the majority."""
    if fields.version == 1:
        if "yes_from" in fields:
            raise fields.error("yes_from", "is not allowed in a file of version 1, whose readers ignore it")
        return check_yes_from(None, n_voters)
    if fields.is_text("yes_from"):
        if fields.text("yes_from") != MAJORITY:
            raise fields.error("yes_from", f'must be "{MAJORITY}" or a list of integers')
        return check_yes_from(None, n_voters)
    try:
        answers = check_yes_from(fields.whole_numbers("yes_from", n_voters + 1), n_voters)
    except InvalidInputError as error:
        raise fields.error("yes_from", f"is not valid: {error}") from None
    if fields.version == 2 and answers[-1] != majority(n_voters):
        raise fields.error("yes_from", "must end in a majority in a file of version 2, which has no quotas")
    return answers

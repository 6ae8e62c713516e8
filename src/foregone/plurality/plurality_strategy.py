"""PluralityStrategy: when to stop asking for answers of any kind."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from foregone._kernels import lattice_flow as kernels
from foregone.checks import BoolArray, FloatArray, IntArray, as_numbers
from foregone.errors import InvalidInputError
from foregone.plurality.lattice import Lattice, count_states, lattice_of, table_bytes
from foregone.strategy.base import Strategy
from foregone.strategy.json_file import Fields

__all__ = ["PluralityStrategy", "leader", "settle_ties"]


@dataclass(frozen=True, eq=False, repr=False)
class PluralityStrategy(Strategy):
    """When to stop asking voters whose answers can be anything.

    What has been seen is the number of votes for each answer; what the answers are called plays no part. At a
    stop it answers the leader, the answer with the most votes so far; among several, the one that was
    cast first. The answer is right if it is among the leaders when everyone has been asked. At least one
    voter is always asked, and when everyone has been asked it stops.

    Made by `solve_plurality`, by a function of `foregone.plurality.rules`, or by `from_probabilities`.

    Attributes
    ----------
    lattice : Lattice
        The states: counts in falling order.
    stops : ndarray of bool, shape (n_states,)
        Whether it stops, by the number of the state; False in the first, True in those where everyone has
        been asked.
    states, probabilities : ndarray of int and of float
        The states, rising, in which it stops with a probability between 0 and 1; ``stops`` is False there.

    Examples
    --------
    >>> from foregone.plurality import rules
    >>> strategy = rules.lead(5, 2)
    >>> strategy.stop_probability([1, 1]), strategy.stop_probability([2])
    (0.0, 1.0)
    >>> strategy.votes_needed_at_least([2, 1]), strategy.votes_needed_at_least([1, 1])
    (1, 2)
    >>> strategy.run(["b", "a", "a", "a", "c"])
    ('a', 4)
    """

    KIND: ClassVar[str] = "plurality"

    lattice: Lattice
    stops: BoolArray
    states: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    probabilities: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def from_probabilities(cls, lattice: Lattice, stop: npt.ArrayLike) -> PluralityStrategy:
        """From a stop probability for every state of a lattice; those of the last level are all one."""
        theta = as_numbers(stop, "stop probabilities").astype(np.float64)
        if theta.shape != (lattice.n_states,):
            raise InvalidInputError(
                f"there must be one stop probability for each of {lattice.n_states:,} states, "
                f"got shape {theta.shape}"
            )
        if not ((theta >= 0) & (theta <= 1)).all():  # also False for NaN
            raise InvalidInputError("stop probabilities must lie between 0 and 1")
        if theta[0] != 0 or not (theta[lattice.level[-2] :] == 1).all():
            raise InvalidInputError(
                "at least one voter must be asked, and when everyone was asked it must stop: the first "
                "stop probability must be 0, those of the last level 1"
            )
        some = np.flatnonzero((theta > 0) & (theta < 1))
        return cls(lattice, theta == 1, some, theta[some])

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.lattice.n_voters

    @property
    def n_classes(self) -> int | None:
        """How many different answers there can be; None for any number."""
        return None if self.lattice.n_classes >= self.n_voters else self.lattice.n_classes

    def stop_probabilities(self) -> FloatArray:
        """Return the probability of stopping in every state, by its number."""
        theta = self.stops.astype(np.float64)
        theta[self.states] = self.probabilities
        return theta

    def stop_probability(self, counts: npt.ArrayLike) -> float:
        """Return how likely it stops when the answers so far have these counts, in any order."""
        return self.stop_probability_of(self.lattice.number_of(counts))

    def stop_probability_of(self, state: int) -> float:
        """Return how likely it stops in the state of this number."""
        place = int(np.searchsorted(self.states, state))
        if place < len(self.states) and self.states[place] == state:
            return float(self.probabilities[place])
        return float(self.stops[state])

    def votes_needed_at_least(self, counts: npt.ArrayLike) -> int:
        """Return after how many more votes, at the least, it may stop, the answers having these counts.

        0 where it may stop at once. That many can be asked for at the same time without asking one too many.
        """
        return int(self._least_votes[self.lattice.number_of(counts)])

    @cached_property
    def _least_votes(self) -> npt.NDArray[np.uint16]:
        least = np.zeros(self.lattice.n_states, np.uint16)
        kernels.fill_least_votes(*self.lattice.edges, self.stop_probabilities(), least)
        return least

    def votes_needed_at_most(self, counts: npt.ArrayLike) -> int:
        """Return after how many more votes, at the most, it has stopped, the answers having these counts.

        0 where it stops for certain. To ask for more than that at the same time is to ask one too many.
        """
        return int(self._most_votes[self.lattice.number_of(counts)])

    @cached_property
    def _most_votes(self) -> npt.NDArray[np.uint16]:
        most = np.zeros(self.lattice.n_states, np.uint16)
        kernels.fill_most_votes(*self.lattice.edges, self.stop_probabilities(), most)
        return most

    def run(
        self, answers: Sequence[Hashable], random_state: int | np.random.Generator | None = None
    ) -> tuple[Hashable, int]:
        """Take answers one by one until it stops; return the answer and how many were taken.

        Parameters
        ----------
        answers : sequence of hashable
            All votes, or as many as will be needed, in the order asked.
        random_state : int or Generator, optional
            Draws where a stop is left to chance.
        """
        rng = np.random.default_rng(random_state)
        counts: dict[Hashable, int] = {}
        for asked, answer in enumerate(answers, 1):
            if asked > self.n_voters:
                break
            counts[answer] = counts.get(answer, 0) + 1
            chance = self.stop_probability(list(counts.values()))
            if chance == 1 or (chance > 0 and rng.random() < chance):
                return leader(counts), asked
        raise InvalidInputError(
            f"{len(answers)} answers are not enough to stop: up to {self.n_voters} may be needed"
        )

    def _digest(self) -> bytes:
        size = np.array([self.n_voters, self.lattice.n_classes])
        parts = (size, np.packbits(self.stops), self.states, self.probabilities)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()

    def __repr__(self) -> str:
        answers = "any answers" if self.n_classes is None else f"{self.n_classes} answers"
        return f"<PluralityStrategy for {self.n_voters} voters, {answers}>"

    def __getstate__(self) -> dict[str, Any]:
        size = (self.n_voters, self.lattice.n_classes)
        return {"size": size, **{name: getattr(self, name) for name in ("stops", "states", "probabilities")}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied one; the lattice is made anew, or found."""
        arrays = {name: value for name, value in state.items() if name != "size"}
        super().__setstate__({**arrays, "lattice": lattice_of(*state["size"])})

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a strategy file: the states it stops in as bits, the others one by one."""
        return {
            "n_voters": self.n_voters,
            "n_classes": self.lattice.n_classes,
            "stops": base64.b64encode(np.packbits(self.stops).tobytes()).decode(),
            "exceptions": [
                [state, probability]
                for state, probability in zip(self.states.tolist(), self.probabilities.tolist(), strict=True)
            ],
        }

    @classmethod
    def _from_fields(cls, fields: Fields) -> PluralityStrategy:
        n_voters = fields.whole("n_voters", 1)
        n_classes = fields.whole("n_classes", 1, n_voters)
        packed = fields.decoded("stops", "must be bits in base64")
        n_states = count_states(n_voters, n_classes)
        if len(packed) != -(-n_states // 8):  # before memory is taken for so many
            raise fields.error("stops", f"must hold {n_states:.0f} bits")
        fields.memory.take(table_bytes(n_voters, n_classes), f"for the states of {n_voters:,} voters")
        try:
            lattice = lattice_of(n_voters, n_classes)
        except InvalidInputError as error:
            raise fields.error("n_voters", f"is not valid: {error}") from None
        stops = np.unpackbits(np.frombuffer(packed, np.uint8), count=lattice.n_states).view(np.bool_)
        if stops[0] or not stops[lattice.level[-2] :].all():
            raise fields.error(
                "stops", "is not valid: at least one voter must be asked, and it must stop after the last"
            )
        exceptions = fields.rows("exceptions", 2)
        for state, probability in exceptions:
            if type(state) is not int or not 0 < state < lattice.level[-2]:
                raise fields.error("exceptions", "must hold numbers of states")
            if type(probability) is not float or not 0 < probability < 1 or stops[state]:
                raise fields.error("exceptions", "must hold probabilities between 0 and 1, once a state")
        exceptions = sorted(exceptions)
        states = np.array([state for state, _ in exceptions], np.int64)
        if (np.diff(states) == 0).any():
            raise fields.error("exceptions", "must hold probabilities between 0 and 1, once a state")
        return cls(lattice, stops, states, np.array([chance for _, chance in exceptions], np.float64))


def leader(counts: dict[Hashable, int] | Iterable[tuple[Hashable, int]]) -> Hashable:
    """Return the answer with the most votes, the first to be cast if there are several.

    Counts stand in the order in which the answers were first cast.
    """
    pairs = counts.items() if isinstance(counts, dict) else counts
    first: Hashable = max(pairs, key=lambda pair: pair[1])[0]  # max keeps the first of equals
    return first


def settle_ties(strategy: PluralityStrategy) -> PluralityStrategy:
    """Return the strategy that goes on where the leader can still be tied with, though not overtaken.

    The answer is among the leaders at all those states, so that going on adds no disagreement.
    """
    lattice = strategy.lattice
    top, second = lattice.top_two()
    left = lattice.n_voters - lattice.votes_so_far()
    stop = strategy.stop_probabilities()
    stop[(top - second == left) & (left > 0)] = 0.0
    return PluralityStrategy.from_probabilities(lattice, stop)

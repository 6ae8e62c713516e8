"""PluralityStrategy: when to stop asking voters whose answers can be anything."""

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

    The decision depends on the number of votes for each answer, not on the names of the answers. At a stop it
    answers the leader: the answer with the most votes so far, or the one that was cast first among several.
    The answer is correct if it is among the leaders of the full vote. At least one voter is always asked, and
    it stops at the latest when all voters have been asked.

    Made by `solve_plurality`, by a function of `foregone.plurality.rules`, or by `from_probabilities`.

    Attributes
    ----------
    lattice : Lattice
        The states: counts in descending order.
    stops : ndarray of bool, shape (n_states,)
        Whether it stops, by the number of the state; False in the first state, True in those where all voters
        have been asked.
    states, probabilities : ndarray of int and of float
        The states, ascending, in which it stops with a probability between 0 and 1; ``stops`` is False there.

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
        """Make a strategy from a stop probability per state of a lattice, 1 for all of the last level."""
        theta = as_numbers(stop, "stop probabilities").astype(np.float64)
        if theta.shape != (lattice.n_states,):
            raise InvalidInputError(
                f"expected one stop probability for each of the {lattice.n_states:,} states, "
                f"got shape {theta.shape}"
            )
        if not ((theta >= 0) & (theta <= 1)).all():  # also False for NaN
            raise InvalidInputError("stop probabilities must be between 0 and 1")
        if theta[0] != 0 or not (theta[lattice.level[-2] :] == 1).all():
            raise InvalidInputError(
                "the first stop probability must be 0 and those of the last level 1, because at least one "
                "voter is always asked, and nobody is left after the last"
            )
        some = np.flatnonzero((theta > 0) & (theta < 1))
        return cls(lattice, theta == 1, some, theta[some])

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.lattice.n_voters

    @property
    def n_classes(self) -> int | None:
        """The largest possible number of different answers; None for any number."""
        return None if self.lattice.n_classes >= self.n_voters else self.lattice.n_classes

    def stop_probabilities(self) -> FloatArray:
        """Return the probability of stopping in every state, by its number."""
        theta = self.stops.astype(np.float64)
        theta[self.states] = self.probabilities
        return theta

    def stop_probability(self, counts: npt.ArrayLike) -> float:
        """Return the stop probability when the answers so far have these counts, in any order."""
        return self.stop_probability_of(self.lattice.number_of(counts))

    def stop_probability_of(self, state: int) -> float:
        """Return the stop probability in the state of this number."""
        place = int(np.searchsorted(self.states, state))
        if place < len(self.states) and self.states[place] == state:
            return float(self.probabilities[place])
        return float(self.stops[state])

    def votes_needed_at_least(self, counts: npt.ArrayLike) -> int:
        """Return the minimum number of further votes until it may stop, given the counts of the answers.

        0 if it may stop at once. This many votes can be requested in parallel with none wasted.
        """
        return int(self._least_votes[self.lattice.number_of(counts)])

    @cached_property
    def _least_votes(self) -> npt.NDArray[np.uint16]:
        least = np.zeros(self.lattice.n_states, np.uint16)
        kernels.fill_least_votes(*self.lattice.edges, self.stop_probabilities(), least)
        return least

    def votes_needed_at_most(self, counts: npt.ArrayLike) -> int:
        """Return the maximum number of further votes until it stops, given the counts of the answers.

        0 if it certainly stops. Requesting more votes than this in parallel wastes some.
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
        """Take answers one by one until it stops; return the answer and the number of votes taken.

        Parameters
        ----------
        answers : sequence of hashable
            All votes, or as many as are needed, in the order asked.
        random_state : int or Generator, optional
            Seeds the draws in states with a random stop.
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
        raise InvalidInputError(f"{len(answers)} answers are not enough to stop: pass up to {self.n_voters}")

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
        """Restore a pickled or copied strategy; the lattice is rebuilt, or taken from the cache."""
        arrays = {name: value for name, value in state.items() if name != "size"}
        super().__setstate__({**arrays, "lattice": lattice_of(*state["size"])})

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a strategy file: states with a certain stop as bits, random ones as a list."""
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
        if len(packed) != -(-n_states // 8):  # before allocating memory for them
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
                raise fields.error("exceptions", "must hold one probability between 0 and 1 per state")
        exceptions = sorted(exceptions)
        states = np.array([state for state, _ in exceptions], np.int64)
        if (np.diff(states) == 0).any():
            raise fields.error("exceptions", "must hold one probability between 0 and 1 per state")
        return cls(lattice, stops, states, np.array([chance for _, chance in exceptions], np.float64))


def leader(counts: dict[Hashable, int] | Iterable[tuple[Hashable, int]]) -> Hashable:
    """Return the answer with the most votes; among several, the one that was cast first.

    Counts are in the order in which the answers were first cast.
    """
    pairs = counts.items() if isinstance(counts, dict) else counts
    first: Hashable = max(pairs, key=lambda pair: pair[1])[0]  # max keeps the first of equals
    return first


def settle_ties(strategy: PluralityStrategy) -> PluralityStrategy:
    """Return the strategy that also goes on while another answer can still tie with the leader.

    The answer is among the leaders in all these states, so going on adds no disagreement.
    """
    lattice = strategy.lattice
    top, second = lattice.top_two()
    left = lattice.n_voters - lattice.votes_so_far()
    stop = strategy.stop_probabilities()
    stop[(top - second == left) & (left > 0)] = 0.0
    return PluralityStrategy.from_probabilities(lattice, stop)

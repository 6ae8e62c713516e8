"""CountedVotes: votes are counted, and the strategy is the optimal one for how they are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray
from foregone.classifier.calibration_warnings import (
    measure_hard_soft_disagreement,
    warn_if_too_few,
    warn_of_losing_classes,
)
from foregone.classifier.deciding import Arrays, Asked, CalibrationRows, Labels, Scheme, Settings, Terms
from foregone.classifier.two_or_many import Solved, two_or_many
from foregone.errors import InvalidInputError
from foregone.forest import Forest
from foregone.forest.schedule import Order, read_order
from foregone.planning import Plan, plan
from foregone.strategy.json_file import Fields

__all__ = ["CountedVotes"]


@dataclass(frozen=True, eq=False)
class CountedVotes:
    """Voters that have one vote each, and when to stop asking them; see `Decider`.

    What differs between two classes and many is in `foregone.classifier.two_or_many`.

    Attributes
    ----------
    scheme : {"hard", "plurality"}
        For two classes, or for any number of them.
    strategy : StoppingStrategy or PluralityStrategy
        When to stop.
    solution : Solution, PluralitySolution or None
        What it was solved for. Files of many classes hold none: to follow a strategy takes a hundredth of
        the memory that it takes to find one.
    expected_votes : float
        Votes asked, on average over rows like the calibration rows.
    """

    scheme: Scheme
    ensemble: Any
    terms: Terms
    strategy: Any
    solution: Any
    expected_votes: float
    seed: int
    order: Order
    hard_soft_disagreement: float
    calibration_disagreement: float

    voting: ClassVar[Literal["hard"]] = "hard"

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def check(settings: Settings, scheme: Scheme, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved, or raise for settings that have no meaning here."""
        if settings.order == "optimized":
            raise InvalidInputError(
                'order="optimized" is for scores: votes are counted in a random order, which the limit is '
                'about. Use order="shared" or "per_row", or voting="soft"'
            )
        return two_or_many(scheme).terms(settings, classes, n_voters)

    @classmethod
    def calibrate(
        cls, asked: Asked, calibration: CalibrationRows, *, seed: int, n_threads: int
    ) -> CountedVotes:
        """See how the votes on rows are spread and solve for the strategy."""
        ensemble, scheme, settings, terms = asked
        rows, own, labels_of_rows = calibration
        counting, classes, n_voters = two_or_many(scheme), ensemble.classes, ensemble.n_voters
        counts = ensemble.votes(rows, n_threads=n_threads)
        full = classes.take(counting.shares(counts, n_voters).argmax(axis=1))  # of several, the first
        warn_if_too_few(terms, full, classes)
        differing = 0.0 if own is None else measure_hard_soft_disagreement(terms, full, own, classes)
        solved = counting.solve(counts, n_voters, terms)
        order = settings.order
        outcome = ensemble.run(rows, solved.strategy, seed=seed, order=order, n_threads=n_threads)
        labels = classes.take(outcome[0])
        warn_of_losing_classes(terms, full, labels, classes)
        return cls(scheme, ensemble, terms, *solved, seed, order, differing, float(np.mean(labels != full)))

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of a classifier that depend on how it decides."""
        return {
            "strategy_": self.strategy,
            **two_or_many(self.scheme).attributes(self.solution, self.ensemble.classes),
            "expected_votes_": self.expected_votes,
            "hard_soft_disagreement_": self.hard_soft_disagreement,
            "calibration_disagreement_": self.calibration_disagreement,
            "seed_": self.seed,
        }

    # Asking ----------------------------------------------------------------------------------

    def run(self, rows: Any, n_threads: int, *, early: bool) -> Any:
        """Return class numbers, how many were asked, and how many of them said yes, or the answer."""
        strategy = self.strategy if early else None
        return self.ensemble.run(rows, strategy, seed=self.seed, order=self.order, n_threads=n_threads)

    def answer_one(self, x: npt.NDArray[Any]) -> int:
        """Return the class number of one row of a forest, stopped early, soonest."""
        return self.ensemble.run_one(x, self.strategy, seed=self.seed, order=self.order)[0]  # type: ignore[no-any-return]  # a forest's

    def full_votes(self, rows: Any, n_threads: int) -> npt.NDArray[np.int32]:
        """Return how many of all voters say yes, or are for each of many classes."""
        counts: npt.NDArray[np.int32] = self.ensemble.votes(rows, n_threads=n_threads)
        return counts

    def probability(self, rows: Any, n_threads: int) -> FloatArray:
        """Return the share of all voters that are for each class."""
        return two_or_many(self.scheme).shares(self.full_votes(rows, n_threads), self.ensemble.n_voters)

    @property
    def tells_probability(self) -> bool:
        """Whether there is one even if the estimator has no ``predict_proba``: shares of trees count."""
        return isinstance(self.ensemble, Forest)

    def plan(self, limits: Any, rows: Any, options: dict[str, Any]) -> Plan:
        """Lay out what each limit costs, for the calibration votes, or for those on other rows."""
        counts = None if rows is None else self.ensemble.votes(rows)
        votes = two_or_many(self.scheme).votes(self.solution, counts)
        own = {name: value for name, value in self.terms.items() if name != "max_disagreement"}
        return plan(votes, limits, **{**own, "labels": self.ensemble.classes.tolist(), **options})

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file holds of it, for a forest."""
        forest_fields, arrays = self.ensemble.to_parts()
        solved = Solved(self.strategy, self.solution, self.expected_votes)
        fields = {
            "forest": forest_fields,
            **two_or_many(self.scheme).to_fields(solved, self.terms),
            "seed": self.seed,
            "order": self.order,
            "hard_soft_disagreement": self.hard_soft_disagreement,
            "calibration_disagreement": self.calibration_disagreement,
        }
        return fields, arrays

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays, scheme: Scheme) -> CountedVotes:
        """Check what `to_parts` gave, every part alone and against the others."""
        counting = two_or_many(scheme)
        forest = counting.forest.from_parts(fields.section("forest"), arrays)
        solved, terms = counting.from_fields(fields, forest)
        return cls(
            scheme,
            forest,
            terms,
            *solved,
            seed=fields.whole("seed", 0, 2**64 - 1),
            order=read_order(fields),
            hard_soft_disagreement=fields.number("hard_soft_disagreement", 0, 1),
            calibration_disagreement=fields.number("calibration_disagreement", 0, 1),
        )

"""PluralityVoting: votes for many classes are counted, and the strategy is found for how they are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.classifier.calibration import warn_if_too_few, warn_of_losing_classes
from foregone.classifier.ensembles import plurality_ensemble_of
from foregone.classifier.hard_vote import measure_hard_soft_disagreement
from foregone.classifier.hard_voting import HardVoting
from foregone.classifier.plurality_voters import PluralityVoters
from foregone.classifier.settings import PluralitySettings, Settings
from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError
from foregone.forest import PluralityForest, PluralityOutcome
from foregone.forest.schedule import Order, read_order
from foregone.planning import Plan, plan
from foregone.plurality import (
    ClassVotes,
    CompositionDistribution,
    PluralitySolution,
    PluralityStrategy,
    evaluate_plurality,
)
from foregone.plurality.ties import solve_with_ties
from foregone.strategy.json_file import Fields

__all__ = ["PluralityVoting"]

Labels = npt.NDArray[Any]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class PluralityVoting:
    """Voters for one of many classes, and when to stop asking them; its methods are those of `HardVoting`.

    ``solution`` is None in what was loaded from a file, which holds the strategy and the figures alone: to
    follow a strategy takes a hundredth of the memory that it takes to find one.
    """

    ensemble: PluralityForest | PluralityVoters | Transformed
    strategy: PluralityStrategy
    solution: PluralitySolution | None
    problem: PluralitySettings
    expected_votes: float
    seed: int
    order: Order
    hard_soft_disagreement: float
    calibration_disagreement: float

    name = "hard"
    kind = "plurality"

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def refuse(settings: Settings) -> None:
        """Raise for settings that make no sense here."""
        HardVoting.refuse(settings)

    @staticmethod
    def voters(model: Any) -> PluralityForest | PluralityVoters:
        """Return those who vote in a fitted model."""
        return plurality_ensemble_of(model)

    @classmethod
    def calibrate(
        cls,
        settings: Settings,
        ensemble: PluralityForest | PluralityVoters | Transformed,
        rows: Any,
        own: Labels | None,
        rng: np.random.RandomState,
        n_threads: int,
    ) -> PluralityVoting:
        """See how the votes on rows are spread and solve for the strategy; parameters as in `HardVoting`."""
        problem = settings.check_many(len(ensemble.classes), ensemble.n_voters)
        counts = ensemble.votes(rows, n_threads=n_threads)
        full = ensemble.classes.take(counts.argmax(axis=1))
        warn_if_too_few(problem, full, ensemble.classes)
        differing = 0.0
        if own is not None:
            differing = measure_hard_soft_disagreement(full, own, problem.max_disagreement, ensemble.classes)
        strategy, solution = solve_with_ties(counts, n_voters=ensemble.n_voters, **problem._asdict())
        seed = int(rng.randint(np.iinfo(np.int64).max, dtype=np.int64))
        answers = ensemble.run(rows, strategy, seed=seed, order=settings.order, n_threads=n_threads).answers
        labels = ensemble.classes.take(answers)
        warn_of_losing_classes(problem.max_disagreement, problem.criterion, full, labels, ensemble.classes)
        wrong = float(np.mean(labels != full))
        mean = evaluate_plurality(strategy).mean(solution.distribution)
        return cls(
            ensemble, strategy, solution, problem, mean.expected_votes,
            seed, settings.order, differing, wrong,
        )  # fmt: skip

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of a classifier that are of this kind."""
        attributes = {
            "strategy_": self.strategy,
            "expected_votes_": self.expected_votes,
            "hard_soft_disagreement_": self.hard_soft_disagreement,
            "calibration_disagreement_": self.calibration_disagreement,
            "seed_": self.seed,
        }
        if self.solution is not None:
            attributes |= {"solution_": self.solution, "votes_": self.solution.distribution}
        return attributes

    # Asking ----------------------------------------------------------------------------------

    def run(self, rows: Any, early: bool, n_threads: int) -> PluralityOutcome:
        """Return the answers, how many were asked, and how many of them were for the answer."""
        strategy = self.strategy if early else None
        return self.ensemble.run(rows, strategy, seed=self.seed, order=self.order, n_threads=n_threads)

    def answer_one(self, x: npt.NDArray[Any]) -> int:
        """Return the answer for one row of a packed forest, soonest."""
        forest: Any = self.ensemble
        return forest.run_one(x, self.strategy, seed=self.seed, order=self.order)[0]  # type: ignore[no-any-return]  # a packed forest's

    def full_votes(self, rows: Any, n_threads: int) -> npt.NDArray[np.int32]:
        """Return how many of all voters are for each class."""
        return self.ensemble.votes(rows, n_threads=n_threads)

    def probability(self, rows: Any, n_threads: int) -> npt.NDArray[np.float64]:
        """Return the share of all voters that are for each class."""
        return self.full_votes(rows, n_threads) / self.ensemble.n_voters

    def plan(self, limits: Any, rows: Any, options: dict[str, Any]) -> Plan:
        """Lay out what each limit costs, for the calibration votes, or by class for those on other rows."""
        votes: CompositionDistribution | ClassVotes
        if rows is not None:
            votes = ClassVotes(self.ensemble.votes(rows))
        elif self.solution is not None:
            votes = self.solution.distribution
        else:
            raise InvalidInputError(
                "votes of the calibration rows are not kept in files, so give rows to plan with, such as the "
                "calibration rows: plan(X=X_calibration)"
            )
        own = {"criterion": self.problem.criterion, "confidence": self.problem.confidence}
        return plan(votes, limits, **{**own, "labels": self.ensemble.classes.tolist(), **options})

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file holds of it, for a packed forest."""
        assert isinstance(self.ensemble, PluralityForest)
        forest_fields, arrays = self.ensemble.to_parts()
        fields = {
            "forest": forest_fields,
            "strategy": {"kind": "plurality", **self.strategy.to_fields()},
            "problem": self.problem._asdict(),
            "expected_votes": self.expected_votes,
            "seed": self.seed,
            "order": self.order,
            "hard_soft_disagreement": self.hard_soft_disagreement,
            "calibration_disagreement": self.calibration_disagreement,
        }
        return fields, arrays

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays) -> PluralityVoting:
        """Check what `to_parts` gave, every part alone and against the others."""
        forest = PluralityForest.from_parts(fields.section("forest"), arrays)
        strategy = PluralityStrategy.from_fields(fields.section("strategy"))
        if strategy.n_voters != forest.n_trees:
            raise fields.error(
                "strategy", f"is for {strategy.n_voters} voters, but the forest has {forest.n_trees} trees"
            )
        if strategy.lattice.n_classes != min(forest.n_classes, forest.n_trees):
            raise fields.error("strategy", f"is not for the {forest.n_classes} classes of the forest")
        return cls(
            ensemble=forest,
            strategy=strategy,
            solution=None,
            problem=_problem(fields.section("problem"), forest),
            expected_votes=fields.number("expected_votes", 1, forest.n_trees),
            seed=fields.whole("seed", 0, 2**64 - 1),
            order=read_order(fields),
            hard_soft_disagreement=fields.number("hard_soft_disagreement", 0, 1),
            calibration_disagreement=fields.number("calibration_disagreement", 0, 1),
        )

    def parameters(self) -> dict[str, Any]:
        """Return the settings that a loaded classifier has had."""
        return {**self.problem._asdict(), "order": self.order}


def _problem(section: Fields, forest: PluralityForest) -> PluralitySettings:
    try:
        return PluralitySettings.check(
            section.number("max_disagreement"),
            section.text("criterion"),
            section.number("confidence") if "confidence" in section else None,
            forest.n_classes,
            forest.n_trees,
        )
    except InvalidInputError as error:
        raise section.error("max_disagreement", f"is not valid: {error}") from None

"""HardVoting: votes are counted, and the strategy is the optimal one for how they are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.classifier.calibration import warn_if_too_few, warn_of_losing_classes
from foregone.classifier.ensembles import ensemble_of
from foregone.classifier.hard_vote import measure_hard_soft_disagreement
from foregone.classifier.limits import risk_by_label, to_labels
from foregone.classifier.settings import Settings
from foregone.classifier.transformed import Transformed
from foregone.classifier.voters import Voters
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest
from foregone.forest.packed import Outcome
from foregone.forest.schedule import Order, read_order
from foregone.planning import Plan, plan
from foregone.solving import Solution, solve
from foregone.strategy.evaluation import evaluate
from foregone.strategy.json_file import Fields
from foregone.votes import VoteDistribution

__all__ = ["HardVoting"]

Labels = npt.NDArray[Any]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class HardVoting:
    """Voters that have one vote each, and when to stop asking them.

    It has the same methods as `SoftVoting`; the classifier need not know which of the two it has.
    """

    ensemble: PackedForest | Voters | Transformed
    solution: Solution
    seed: int
    order: Order
    hard_soft_disagreement: float
    calibration_disagreement: float

    name = "hard"
    kind = "hard"  # as files have it

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def refuse(settings: Settings) -> None:
        """Raise for settings that make no sense here."""
        if settings.order == "optimized":
            raise InvalidInputError(
                'order="optimized" is for scores: votes are counted in a random order, which the limit is '
                'about. Use order="shared" or "per_row", or voting="soft"'
            )

    @staticmethod
    def voters(model: Any) -> PackedForest | Voters:
        """Return those who vote in a fitted model."""
        return ensemble_of(model)

    @classmethod
    def calibrate(
        cls,
        settings: Settings,
        ensemble: PackedForest | Voters | Transformed,
        rows: Any,
        own: Labels | None,
        rng: np.random.RandomState,
        n_threads: int,
    ) -> HardVoting:
        """See how the votes on rows are spread and solve for the strategy.

        Parameters
        ----------
        settings : Settings
            What to solve for.
        ensemble : PackedForest, Voters or Transformed
            What `voters` returned, or the same behind transformers.
        rows : array-like
            The calibration rows, checked.
        own : ndarray of shape (n_rows,) or None
            The model's own predictions; None if it has none.
        rng : RandomState
            Draws the seed.
        n_threads : int
            For packed forests.
        """
        problem = settings.check(ensemble.classes, ensemble.n_voters)
        yes_counts = ensemble.votes(rows, n_threads=n_threads)
        full = ensemble.classes.take(2 * yes_counts > ensemble.n_voters)
        warn_if_too_few(problem, full, ensemble.classes)
        differing = 0.0
        if own is not None:
            differing = measure_hard_soft_disagreement(full, own, problem.max_disagreement, ensemble.classes)
        solution = solve(
            problem.criterion,
            VoteDistribution.from_yes_counts(yes_counts, ensemble.n_voters),
            problem.max_disagreement,
            confidence=problem.confidence,
            looks=problem.looks,
            answer=problem.answer,
        )
        seed = int(rng.randint(np.iinfo(np.int64).max, dtype=np.int64))
        answers = ensemble.run(rows, solution.strategy, seed=seed, order=settings.order, n_threads=n_threads)[
            0
        ]
        labels = ensemble.classes.take(answers)
        warn_of_losing_classes(problem.max_disagreement, problem.criterion, full, labels, ensemble.classes)
        wrong = float(np.mean(labels != full))
        return cls(ensemble, solution, seed, settings.order, differing, wrong)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of a classifier that are of this kind."""
        solution = self.solution
        evaluation = evaluate(solution.strategy)
        return {
            "strategy_": solution.strategy,
            "solution_": solution,
            "votes_": solution.votes,
            "expected_votes_": evaluation.mean(solution.votes).expected_votes,
            "disagreement_by_class_": risk_by_label(solution, evaluation, self.ensemble.classes),
            "hard_soft_disagreement_": self.hard_soft_disagreement,
            "calibration_disagreement_": self.calibration_disagreement,
            "seed_": self.seed,
        }

    # Asking ----------------------------------------------------------------------------------

    def run(self, rows: Any, early: bool, n_threads: int) -> Outcome:
        """Return the answers, how many were asked, and how many of them said yes."""
        strategy = self.solution.strategy if early else None
        return self.ensemble.run(rows, strategy, seed=self.seed, order=self.order, n_threads=n_threads)

    def answer_one(self, x: npt.NDArray[Any]) -> bool:
        """Return the answer for one row of a packed forest, soonest."""
        forest: Any = self.ensemble
        return forest.run_one(x, self.solution.strategy, seed=self.seed, order=self.order)[0]  # type: ignore[no-any-return]  # a packed forest's

    def full_votes(self, rows: Any, n_threads: int) -> npt.NDArray[np.int32]:
        """Return how many of all voters say yes."""
        return self.ensemble.votes(rows, n_threads=n_threads)

    def probability(self, rows: Any, n_threads: int) -> npt.NDArray[np.float64]:
        """Return the shares of all voters that say no, and yes."""
        yes = self.full_votes(rows, n_threads) / self.ensemble.n_voters
        return np.stack([1 - yes, yes], axis=1)

    def plan(self, limits: Any, rows: Any, options: dict[str, Any]) -> Plan:
        """Lay out what each limit costs, for the calibration votes, or for those on other rows."""
        own = {name: getattr(self.solution, name) for name in ("criterion", "confidence", "looks", "answer")}
        votes = self.solution.votes
        if rows is not None:
            votes = VoteDistribution.from_yes_counts(self.ensemble.votes(rows), self.ensemble.n_voters)
        no, yes = self.ensemble.classes.tolist()
        return plan(votes, limits, **{**own, "labels": (no, yes), **options})

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file holds of it, for a packed forest."""
        assert isinstance(self.ensemble, PackedForest)
        forest_fields, arrays = self.ensemble.to_parts()
        fields = {
            "forest": forest_fields,
            "solution": self.solution.to_fields(),
            "seed": self.seed,
            "order": self.order,
            "hard_soft_disagreement": self.hard_soft_disagreement,
            "calibration_disagreement": self.calibration_disagreement,
        }
        return fields, arrays

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays) -> HardVoting:
        """Check what `to_parts` gave, every part alone and against the others."""
        forest = PackedForest.from_parts(fields.section("forest"), arrays)
        solution = Solution.from_fields(fields.section("solution"))
        if solution.n_voters != forest.n_trees:
            raise fields.error(
                "solution", f"is for {solution.n_voters} voters, but the forest has {forest.n_trees} trees"
            )
        return cls(
            ensemble=forest,
            solution=solution,
            seed=fields.whole("seed", 0, 2**64 - 1),
            order=read_order(fields),
            hard_soft_disagreement=fields.number("hard_soft_disagreement", 0, 1),
            calibration_disagreement=fields.number("calibration_disagreement", 0, 1),
        )

    def parameters(self) -> dict[str, Any]:
        """Return the settings that a loaded classifier has had."""
        solution = self.solution
        limits = solution.max_disagreement
        return {
            "max_disagreement": to_labels(limits, self.ensemble.classes)
            if isinstance(limits, dict)
            else limits,
            "criterion": solution.criterion,
            "confidence": solution.confidence,
            "looks": None if solution.looks is None else list(solution.looks),
            "answer": solution.answer,
            "order": self.order,
        }

"""SoftVoting: scores are added up in one order, and thresholds that were certified say when to stop."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import check_confidence, check_looks
from foregone.classifier.calibration import warn_of_losing_classes
from foregone.classifier.calibration_scores import (
    check_known,
    first_order,
    full_answers,
    scores_of,
    stopped_answers,
)
from foregone.classifier.limits import to_labels
from foregone.classifier.score_voters import ScoreVoters
from foregone.classifier.scored_ensembles import scored_ensemble_of
from foregone.classifier.settings import Settings
from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError, SolverError
from foregone.forest import ScoredForest
from foregone.forest.link import Link
from foregone.forest.scored import ScoreOutcome
from foregone.planning import Plan, plan
from foregone.scores import CannotCertifyWarning, ScoreRows, ScoreStrategy, solve_scores
from foregone.solving import MaxDisagreement
from foregone.solving.problem import check_limits
from foregone.strategy.json_file import Fields

__all__ = ["SoftVoting"]

Labels = npt.NDArray[Any]
Arrays = dict[str, npt.NDArray[Any]]
Ensemble = ScoredForest | ScoreVoters | Transformed


@dataclass(frozen=True, eq=False)
class SoftVoting:
    """Voters whose scores are added up, and when to stop asking them.

    It has the same methods as `HardVoting`; the classifier need not know which of the two it has.
    """

    ensemble: Ensemble
    strategy: ScoreStrategy
    max_disagreement: MaxDisagreement
    confidence: float
    looks: tuple[int, ...] | None
    seed: int
    order: Any
    rounding_disagreement: float
    calibration_disagreement: float

    name = "soft"
    kind = "soft"  # as files have it

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def refuse(settings: Settings) -> None:
        """Raise for settings that only make sense where votes are counted."""
        instead = 'Where the estimator has votes to count, voting="hard" counts them.'
        if settings.criterion != "minimean":
            raise InvalidInputError(
                f"criterion={settings.criterion!r} bounds the disagreement for every number of yes votes, "
                'and scores have none: use "minimean", which bounds the mean over rows. ' + instead
            )
        if settings.answer != "majority":
            raise InvalidInputError(
                f"answer={settings.answer!r} is for votes: a sum of scores that stops answers by the "
                'threshold it passed. Use "majority", the default. ' + instead
            )
        if settings.confidence is None:
            raise InvalidInputError(
                "confidence=None takes the distribution of votes for known, and scores have no such "
                "distribution: their limit is certified on rows, always at a confidence such as 0.95. "
                + instead
            )
        if settings.order == "per_row":
            raise InvalidInputError(
                'order="per_row" is for votes: scores are added up in the one order in which the limit was '
                'certified. Use order="shared" or "optimized". ' + instead
            )

    @staticmethod
    def voters(model: Any) -> ScoredForest | ScoreVoters:
        """Return those who have a score in a fitted model."""
        return scored_ensemble_of(model)

    @classmethod
    def calibrate(
        cls,
        settings: Settings,
        ensemble: Ensemble,
        rows: Any,
        own: Labels | None,
        rng: np.random.RandomState,
        n_threads: int,
    ) -> SoftVoting:
        """Learn thresholds on one half of the rows and certify them on the other.

        Parameters
        ----------
        settings, ensemble, rows, own, rng, n_threads
            As in `HardVoting.calibrate`. What is agreed with is ``own``, or the full sum if there is none.
        """
        problem = settings.check(ensemble.classes, ensemble.n_voters)
        seed = int(rng.randint(np.iinfo(np.int64).max, dtype=np.int64))
        scores = scores_of(ensemble, rows)
        says_yes = None if own is None else np.asarray(own == ensemble.classes[1], np.bool_)
        first = first_order(ensemble, seed)
        try:
            check_known(scores)
            strategy = solve_scores(
                scores,
                problem.max_disagreement,
                confidence=problem.confidence or 0.95,  # never None here
                order="optimized" if settings.order == "optimized" else first,
                looks=problem.looks,
                start=ensemble.start,
                answers=says_yes,
                random_state=seed,
                on_failure="raise",
            )
        except SolverError as error:
            if settings.on_failure == "raise":
                raise
            strategy = ScoreStrategy.ask_all(
                ensemble.n_voters, order=first, start=ensemble.start, reason=str(error)
            )
            warnings.warn(
                f"every voter will be asked about every row: {error}. A larger calibration_size, or "
                "calibration rows of your own for an estimator that is fitted already, may help.",
                CannotCertifyWarning,
                stacklevel=3,
            )
        full = full_answers(scores, strategy)
        right = full if says_yes is None else says_yes
        answers = full if strategy.reason else stopped_answers(scores, strategy)
        right_labels, labels = (ensemble.classes.take(said) for said in (right, answers))
        warn_of_losing_classes(
            problem.max_disagreement, problem.criterion, right_labels, labels, ensemble.classes
        )
        return cls(
            ensemble=ensemble,
            strategy=strategy,
            max_disagreement=problem.max_disagreement,
            confidence=problem.confidence or 0.95,
            looks=problem.looks,
            seed=seed,
            order=settings.order,
            rounding_disagreement=float(np.mean(full != right)),
            calibration_disagreement=float(np.mean(answers != right)),
        )

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of a classifier that are of this kind."""
        certificate = self.strategy.certificate
        by_side = None if certificate is None else certificate.bound_by_class
        return {
            "strategy_": self.strategy,
            "expected_votes_": float(self.strategy.n_voters)
            if certificate is None
            else certificate.mean_asked,
            "disagreement_by_class_": to_labels(by_side or {"yes": 0.0, "no": 0.0}, self.ensemble.classes),
            "rounding_disagreement_": self.rounding_disagreement,
            "calibration_disagreement_": self.calibration_disagreement,
            "seed_": self.seed,
        }

    # Asking ----------------------------------------------------------------------------------

    def run(self, rows: Any, early: bool, n_threads: int) -> ScoreOutcome:
        """Return the answers, how many were asked, and the score at the stop."""
        return self.ensemble.run(rows, self.strategy if early else None, n_threads=n_threads)

    def answer_one(self, x: npt.NDArray[Any]) -> bool:
        """Return the answer for one row of a scored forest, soonest."""
        forest: Any = self.ensemble
        return forest.run_one(x, self.strategy)[0]  # type: ignore[no-any-return]  # a scored forest's

    def full_votes(self, rows: Any, n_threads: int) -> npt.NDArray[np.int32]:
        """Raise: there are none."""
        raise InvalidInputError(
            "there are no votes to count, scores are added up here: ensemble_.full_scores(X) has the sums"
        )

    def probability(self, rows: Any, n_threads: int) -> npt.NDArray[np.float64]:
        """Return the probabilities of no and yes that the sum of all scores tells."""
        link = self.ensemble.link
        if link is None:
            raise InvalidInputError("the objective of this model tells no probability, only a score")
        yes = link.probability(self.ensemble.run(rows, None, n_threads=n_threads).score)
        return np.stack([1 - yes, yes], axis=1)

    def plan(self, limits: Any, rows: Any, options: dict[str, Any]) -> Plan:
        """Lay out what each limit costs, on rows that must be given: scores are not kept."""
        if rows is None:
            raise InvalidInputError(
                "scores of the calibration rows are not kept, so give rows to plan with, such as the "
                "calibration rows: plan(X=X_calibration)"
            )
        adding: dict[str, Any] = {
            "start": self.strategy.start,
            "order": "optimized" if self.order == "optimized" else self.strategy.order,
            "answers": None,
            "random_state": self.seed,
        }
        added = {name: options.get(name, own) for name, own in adding.items()}
        others = {name: value for name, value in options.items() if name not in adding}
        own = {"confidence": self.confidence, "looks": self.looks, "labels": self.ensemble.classes.tolist()}
        return plan(ScoreRows(scores_of(self.ensemble, rows), **added), limits, **{**own, **others})

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file holds of it, for a scored forest."""
        assert isinstance(self.ensemble, ScoredForest)
        forest_fields, arrays = self.ensemble.to_parts()
        fields = {
            "forest": forest_fields,
            "strategy": {"kind": "scores", **self.strategy.to_fields()},
            "max_disagreement": self.max_disagreement,
            "confidence": self.confidence,
            "looks": None if self.looks is None else list(self.looks),
            "seed": self.seed,
            "order": self.order,
            "rounding_disagreement": self.rounding_disagreement,
            "calibration_disagreement": self.calibration_disagreement,
        }
        return fields, arrays

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays) -> SoftVoting:
        """Check what `to_parts` gave, every part alone and against the others."""
        forest = ScoredForest.from_parts(fields.section("forest"), arrays)
        if "link" in fields:  # where files had it before version 3
            forest.link = Link.from_fields(fields.section("link"))
        strategy = ScoreStrategy.from_fields(fields.section("strategy"))
        if strategy.n_voters != forest.n_voters:
            raise fields.error(
                "strategy", f"is for {strategy.n_voters} voters, but the forest has {forest.n_voters} trees"
            )
        if strategy.start != forest.start:
            raise fields.error(
                "strategy", f"starts from {strategy.start}, but the forest from {forest.start}"
            )
        if fields.text("order") not in ("shared", "optimized"):
            raise fields.error("order", 'must be "shared" or "optimized"')
        limits: Any = None
        if fields.is_section("max_disagreement"):
            section = fields.section("max_disagreement")
            limits = {side: section.number(side, 0, 1) for side in ("yes", "no")}
        else:
            limits = fields.number("max_disagreement", 0, 1)
        looks = fields.whole_numbers("looks").tolist() if "looks" in fields else None
        try:
            limits, confidence = check_limits(limits), check_confidence(fields.number("confidence", 0, 1))
            looks = check_looks(looks, forest.n_voters)
        except InvalidInputError as error:
            raise fields.error("max_disagreement/confidence/looks", f"is not valid: {error}") from None
        return cls(
            ensemble=forest,
            strategy=strategy,
            max_disagreement=limits,
            confidence=confidence,
            looks=looks,
            seed=fields.whole("seed", 0, 2**64 - 1),
            order=fields.text("order"),
            rounding_disagreement=fields.number("rounding_disagreement", 0, 1),
            calibration_disagreement=fields.number("calibration_disagreement", 0, 1),
        )

    def parameters(self) -> dict[str, Any]:
        """Return the settings that a loaded classifier has had."""
        limits = self.max_disagreement
        return {
            "max_disagreement": to_labels(limits, self.ensemble.classes)
            if isinstance(limits, dict)
            else limits,
            "confidence": self.confidence,
            "looks": None if self.looks is None else list(self.looks),
            "order": self.order,
        }

"""SummedScores: add up scores in one order, and stop by certified thresholds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.certifying import Promise
from foregone.checks import FloatArray, IntArray
from foregone.classifier.calibration_scores import check_known, first_order, known_bounds, scores_of
from foregone.classifier.calibration_warnings import measure_hard_soft_disagreement, warn_of_losing_classes
from foregone.classifier.deciding import (
    Arrays,
    Asked,
    CalibrationRows,
    Labels,
    OrderName,
    Scheme,
    Settings,
    Terms,
    check_same_voters,
    numbers_of,
    read_stops,
    read_terms,
    stops_of,
    terms_to_fields,
)
from foregone.errors import InvalidInputError, SolverError
from foregone.forest import ScoredForest
from foregone.forest.device_arrays import to_host
from foregone.forest.link import Link
from foregone.monitoring import Stops
from foregone.planning import Plan, plan
from foregone.scores import CannotCertifyWarning, ScoreRows, ScoreStrategy, rules, solve_scores
from foregone.scores.paths import full_answers
from foregone.scores.score_rows import share_to_learn_from
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import Limits, by_label, traits_of

__all__ = ["SummedScores", "answers_of"]


@dataclass(frozen=True, eq=False)
class SummedScores:
    """Voters with scores, and when to stop asking them; see `Decider`."""

    ensemble: Any
    terms: Terms
    strategy: ScoreStrategy
    seed: int
    order: OrderName
    promise: Promise
    expected_votes: float
    rounding_disagreement: float | None = None  # None without calibration rows
    calibration_disagreement: float | None = None
    calibration_accuracy_loss: float | None = None  # None without labels
    stops: Stops | None = None  # None without calibration rows

    @property
    def voting(self) -> Literal["hard", "soft"]:
        """Whether the scores are votes."""
        return "hard" if self.ensemble.adds_votes else "soft"

    @property
    def scheme(self) -> Literal["lead", "soft"]:
        """The voting scheme, as named in files."""
        return "lead" if self.ensemble.adds_votes else "soft"

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def check(settings: Settings, scheme: Scheme, classes: Labels, n_voters: int) -> Terms:
        """Return the terms to solve for. Raises InvalidInputError for settings of counted votes."""
        is_many = len(classes) > 2
        instead = 'If the estimator has votes, voting="hard" counts them.'
        if scheme == "lead":
            instead = (
                f"The votes of {n_voters} voters among {len(classes)} classes can be split in too many ways "
                "to be counted: use fewer voters to count votes."
            )
        terms = (settings.for_one_limit if is_many else settings.for_two_classes)(classes, n_voters)
        terms["quota"] = None  # a threshold shifts the start of the sum
        if not traits_of(terms["criterion"]).bounds_the_mean:
            raise InvalidInputError(
                f"criterion={settings.criterion!r} bounds the disagreement for every number of yes votes, "
                'but scores have no votes: use "minimean", which bounds the mean over rows. ' + instead
            )
        if settings.answer != "majority":
            raise InvalidInputError(
                f"answer={settings.answer!r} is for counted votes: a sum of scores answers by the threshold "
                'that it passed. Use "majority", the default. ' + instead
            )
        if settings.confidence is None:
            raise InvalidInputError(
                "confidence must be a number such as 0.95 for scores, got None: their limit is certified on "
                "rows, at a confidence. " + instead
            )
        if settings.order in ("dealt", "per_row"):
            raise InvalidInputError(
                f"order={settings.order!r} is for counted votes: scores are added up in the single order in "
                'which the limit was certified. Use order="auto" or "optimized". ' + instead
            )
        return terms

    @classmethod
    def calibrate(
        cls, asked: Asked, calibration: CalibrationRows, *, seed: int, n_threads: int
    ) -> SummedScores:
        """Learn thresholds on one half of the rows and certify them on the other.

        Answers are compared with ``own``, or with the full sum if ``own`` is None. If nothing can be
        certified, it stops only if the voters not yet asked cannot change the answer. If a score is not a
        number, or outside the bounds of its voter, all voters are asked.
        """
        ensemble, _, settings, terms = asked
        rows, own, labels, losses = calibration
        scores = scores_of(ensemble, rows)
        own_answers = None if own is None else answers_of(own, ensemble.classes)
        # Votes are compared with the full vote, which may not be how the model itself decides.
        held_against = None if ensemble.adds_votes else own_answers
        bounds, order = known_bounds(ensemble, scores), first_order(ensemble, seed)
        try:
            check_known(scores)
            strategy = solve_scores(
                scores,
                Limits.of(terms["max_disagreement"]),  # of costs, in their unit
                confidence=_confidence(terms),
                order="optimized" if settings.order == "optimized" else order,
                looks=terms["looks"],
                start=ensemble.start,
                answers=held_against,
                bounds=bounds,
                groups=labels,
                random_state=seed,
                on_failure="raise",
                drops_classes=ensemble.drops_classes,
                labels=losses,
            )
        except SolverError as error:
            if settings.on_failure == "raise":
                raise
            strategy = _curtailed(ensemble, bounds, order, terms, str(error))
            warnings.warn(
                f"{error}. For more calibration rows raise calibration_size, or calibrate a fitted estimator "
                f"on your own rows. For now, {strategy.stops_in_words}.",
                CannotCertifyWarning,
                stacklevel=4,
            )
        full = full_answers(scores, strategy.order, strategy.start)
        right = full if held_against is None else held_against
        asks_all = len(strategy.looks) == 1
        answers, n_asked = (full, np.full(len(full), ensemble.n_voters)) if asks_all else strategy.run(scores)
        right_labels, given_labels = (ensemble.classes.take(said) for said in (right, answers))
        warn_of_losing_classes(terms, right_labels, given_labels, ensemble.classes, calibration.losses)
        if ensemble.adds_votes and own is not None:
            rounding = measure_hard_soft_disagreement(terms, right_labels, own, ensemble.classes)
        else:
            rounding = float(np.mean(full != right))
        wrong = float(np.mean(answers != right))
        certificate, judged = strategy.certificate, None
        if certificate is not None:  # the certification rows
            judged = labels.split(len(full), share_to_learn_from(losses), np.random.default_rng(seed))[1]
        return cls(
            ensemble,
            terms,
            strategy,
            seed,
            settings.order,
            _promise(strategy, terms),
            float(n_asked.mean()) if certificate is None else certificate.mean_asked,
            rounding,
            wrong,
            losses.mean(answers, right),
            stops_of(ensemble, judged, labels, n_asked, answers, right),
        )

    @classmethod
    def curtail(cls, asked: Asked, *, seed: int) -> SummedScores:
        """Stop only if the voters not yet asked cannot change the answer, by the bounds of their scores."""
        ensemble, _, settings, terms = asked
        order, reason = first_order(ensemble, seed), "no calibration rows were given"
        strategy = _curtailed(ensemble, ensemble.score_bounds, order, terms, reason)
        promise, n_voters = _promise(strategy, terms), float(ensemble.n_voters)
        return cls(ensemble, terms, strategy, seed, settings.order, promise, n_voters)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that are specific to scores."""
        certificate = self.strategy.certificate
        by_side = None if certificate is None else certificate.bound_by_class
        classes = self.ensemble.classes.tolist()
        rounding = "hard_soft_disagreement_" if self.ensemble.adds_votes else "rounding_disagreement_"
        by_class = {}
        if len(classes) == 2:
            by_class = {"disagreement_by_class_": by_label(by_side or {"yes": 0.0, "no": 0.0}, classes)}
        of_rows = {
            rounding: self.rounding_disagreement,
            "calibration_disagreement_": self.calibration_disagreement,
            "calibration_accuracy_loss_": self.calibration_accuracy_loss,
            "stops_": self.stops,
        }
        return {
            "strategy_": self.strategy,
            "expected_votes_": self.expected_votes,
            **by_class,
            **{name: share for name, share in of_rows.items() if share is not None},
            "order_": self.strategy.order,
            "seed_": self.seed,
        }

    # Asking ----------------------------------------------------------------------------------

    @property
    def how(self) -> dict[str, Any]:
        """Arguments of the ensemble's ``run`` besides the strategy: none."""
        return {}

    def run(self, rows: Any, n_threads: int, *, early: bool, **where: Any) -> Any:
        """Return class numbers, the numbers of voters asked, and the sums of their scores."""
        return self.ensemble.run(rows, self.strategy if early else None, n_threads=n_threads, **where)

    def run_one(self, x: npt.NDArray[Any]) -> Any:
        """Return what `run` returns for one row of a forest, stopped early, as plain values."""
        return self.ensemble.run_one(x, self.strategy)

    def full_votes(self, rows: Any, n_threads: int, **where: Any) -> npt.NDArray[np.int32]:
        """Return the votes of all voters for each class. Raises InvalidInputError if scores are not votes."""
        if self.ensemble.adds_votes:
            scores = to_host(self.run(rows, n_threads, early=False, **where).score)
            counts: npt.NDArray[np.int32] = np.rint(scores).astype(np.int32)
            return counts
        raise InvalidInputError(
            "this classifier adds up scores, so it has no votes to count: use ensemble_.full_scores(X) for "
            "the sums"
        )

    def probability(self, rows: Any, n_threads: int, **where: Any) -> FloatArray:
        """Return the probability of each class from the sum of all scores."""
        link = self.ensemble.link
        if link is None:
            raise InvalidInputError(
                "the objective of this model gives no probability, only a score: use ensemble_.full_scores(X)"
            )
        scores = to_host(self.run(rows, n_threads, early=False, **where).score)
        told: FloatArray = link.probability(scores)
        return told if told.ndim == 2 else np.stack([1 - told, told], axis=1)

    @property
    def tells_probability(self) -> bool:
        """Whether probabilities exist even if the estimator has no ``predict_proba``."""
        return self.ensemble.link is not None

    def plan(self, limits: Any, rows: Any, truth: IntArray | None, options: dict[str, Any]) -> Plan:
        """Return the cost of each limit, on given rows, because scores are not stored."""
        if rows is None:
            raise InvalidInputError(
                "a plan for scores needs rows, because scores of the calibration rows are not stored: give "
                "rows, plan(X=X_calibration)"
            )
        in_clusters = self.promise.in_clusters
        if in_clusters and options.get("clusters") is None:
            raise InvalidInputError(
                "this classifier was calibrated on rows in clusters, so a plan needs the clusters of its "
                "rows: give them, plan(X=X_calibration, clusters=...)"
            )
        scores = scores_of(self.ensemble, rows)
        adding: dict[str, Any] = {
            "start": self.strategy.start,
            "order": "optimized" if self.order == "optimized" else self.strategy.order,
            "answers": None,
            "random_state": self.seed,
            "bounds": known_bounds(self.ensemble, scores),
            "groups": None,
            "clusters": None,
            "drops_classes": self.ensemble.drops_classes,
        }
        added = {name: options.get(name, own) for name, own in adding.items()}
        others = {name: value for name, value in options.items() if name not in adding}
        own = {
            "confidence": _confidence(self.terms),
            "looks": self.terms["looks"],
            "labels": self.ensemble.classes.tolist(),
        }
        if truth is not None and not self.strategy.adds_by_class:
            truth = truth.astype(np.bool_)
        return plan(ScoreRows(scores, **added, labels=truth), limits, **{**own, **others})

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the fields and arrays for a file, for a forest."""
        forest_fields, arrays = self.ensemble.to_parts()
        fields = {
            "forest": forest_fields,
            "strategy": {"kind": "scores", **self.strategy.to_fields()},
            **terms_to_fields(self.terms),
            "seed": self.seed,
            "order": self.order,
            "promise": self.promise.to_fields(),
            "expected_votes": self.expected_votes,
            "rounding_disagreement": self.rounding_disagreement,
            "calibration_disagreement": self.calibration_disagreement,
            "calibration_accuracy_loss": self.calibration_accuracy_loss,
            "stops": None if self.stops is None else self.stops.to_fields(),
        }
        return fields, arrays

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays, scheme: Scheme) -> SummedScores:
        """Make it from the parts of a file, with checks of each part and of their consistency."""
        forest = ScoredForest.from_parts(fields.section("forest"), arrays)
        if "link" in fields:  # where files had it before version 3
            forest.link = Link.from_fields(fields.section("link"))
        strategy = ScoreStrategy.from_fields(fields.section("strategy"))
        check_same_voters(fields, "strategy", strategy.n_voters, forest)
        if not np.array_equal(strategy.start, forest.start):
            raise fields.error(
                "strategy", f"starts from {strategy.start}, but the forest from {forest.start}"
            )
        order: Any = fields.text("order")
        if order not in ("auto", "shared", "optimized"):
            raise fields.error("order", 'must be "auto", "shared" or "optimized"')
        terms = read_terms(fields, forest.n_steps, len(forest.classes))
        # In files from before promises existed, strategies without a certificate ask all voters.
        known, certificate, n_voters = "promise" in fields, strategy.certificate, float(forest.n_voters)
        votes = n_voters if certificate is None else certificate.mean_asked
        return cls(
            ensemble=forest,
            terms=terms,
            strategy=strategy,
            seed=fields.whole("seed", 0, 2**64 - 1),
            order=order,
            promise=Promise.from_fields(fields.section("promise")) if known else _promise(strategy, terms),
            expected_votes=fields.number("expected_votes", 0, n_voters) if known else votes,
            rounding_disagreement=_share(fields, "rounding_disagreement"),
            calibration_disagreement=_share(fields, "calibration_disagreement"),
            calibration_accuracy_loss=fields.number("calibration_accuracy_loss")
            if "calibration_accuracy_loss" in fields
            else None,
            stops=read_stops(fields, forest),
        )


def answers_of(labels: Labels, classes: Labels) -> npt.NDArray[Any]:
    """Return which labels are the second of two classes, or the numbers of those of many classes."""
    if len(classes) == 2:
        return np.asarray(labels == classes[1], np.bool_)
    return numbers_of(labels, classes)


def _curtailed(
    ensemble: Any, bounds: FloatArray | None, order: IntArray, terms: Terms, reason: str
) -> ScoreStrategy:
    """Return the strategy that stops only if the answer is certain, with the reason for using it."""
    how: dict[str, Any] = {
        "order": order,
        "start": ensemble.start,
        "drops_classes": ensemble.drops_classes,
    }
    if bounds is None:
        return ScoreStrategy.ask_all(ensemble.n_steps, reason=reason, **how)
    strategy = rules.curtailment(bounds, looks=terms["looks"], **how)
    return replace(strategy, reason=reason)


def _promise(strategy: ScoreStrategy, terms: Terms) -> Promise:
    """Return the promise of a strategy that is certified or stops only if the answer is certain."""
    if strategy.certificate is None:
        return Promise.certain(terms["max_disagreement"])
    return strategy.certificate.promise


def _share(fields: Fields, key: str) -> float | None:
    return fields.number(key, 0, 1) if key in fields else None


def _confidence(terms: Terms) -> float:
    return terms["confidence"] or 0.95  # never None here

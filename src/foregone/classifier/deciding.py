"""Deciders: the settings that a user gives, and the interface of every way to decide.

There are two deciders: `foregone.classifier.counted_votes.CountedVotes` and
`foregone.classifier.summed_scores.SummedScores`. The classifier treats both alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, cast, get_args

import numpy as np
import numpy.typing as npt

from foregone.certifying import LossKind, Promise, RowLabels, RowLosses, check_costs
from foregone.checks import (
    FloatArray,
    IntArray,
    check_choice,
    check_confidence,
    check_looks,
    check_share,
)
from foregone.errors import InvalidInputError
from foregone.forest.forest_file import Arrays
from foregone.monitoring import Stops
from foregone.solving import ANSWERS, Answer, Criterion, Problem, Solution
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import CRITERIA, Limits, MaxDisagreement, by_label, traits_of
from foregone.strategy.thresholds import check_quota, quota_for
from foregone.votes import VoteDistribution

__all__ = [
    "DEFAULT_LIMIT",
    "Arrays",
    "Asked",
    "CalibrationRows",
    "Decider",
    "Labels",
    "OnFailure",
    "OrderName",
    "Scheme",
    "Settings",
    "SolverTerms",
    "Terms",
    "Voting",
    "check_same_voters",
    "check_threshold",
    "limit_of",
    "parameters_of",
    "read_terms",
    "solver_terms",
    "terms_of",
    "terms_to_fields",
]

Labels: TypeAlias = npt.NDArray[Any]

DEFAULT_LIMIT = 1e-3  # on the disagreement

Voting = Literal["auto", "hard", "soft"]
OrderName = Literal["auto", "shared", "dealt", "per_row", "optimized"]
OnFailure = Literal["curtail", "raise"]
# Voting schemes: count votes of two classes; count votes of more; add up votes of more and follow only the
# lead; add up scores. Files call it the way.
Scheme = Literal["hard", "plurality", "lead", "soft"]


class Settings(NamedTuple):
    """The parameters of `EarlyStoppingClassifier` that determine when to stop, as given."""

    max_disagreement: Any
    voting: Any
    criterion: Any
    confidence: Any
    looks: Any
    answer: Any
    order: Any
    on_failure: Any
    max_accuracy_loss: Any = None
    costs: Any = None
    threshold: Any = None

    @classmethod
    def of(cls, classifier: Any) -> Settings:
        """Read the settings from a classifier; one-time iterators for looks are turned into lists."""
        given = cls(*(getattr(classifier, name) for name in cls._fields))
        return given._replace(looks=tuple(given.looks)) if isinstance(given.looks, Iterator) else given

    @property
    def loss(self) -> LossKind:
        """The kind of loss that is limited."""
        if self.max_accuracy_loss is None:
            return "disagreement"
        return "accuracy" if self.costs is None else "cost"

    def check_choices(self) -> None:
        """Raise InvalidInputError if a setting is not one of its choices, or labels were given as a limit."""
        self._check_loss()
        if not isinstance(self.max_disagreement, Mapping) and np.ndim(self.max_disagreement) > 0:
            raise InvalidInputError(
                "max_disagreement must be a number from 0 to 1, or a dict with one for each label, got "
                f"{len(self.max_disagreement):,} values. If they are labels, leave them out: a fitted model "
                "is calibrated without labels, early_stop(model, X_calibration, max_disagreement=0.001)"
            )
        for name, choices in (("voting", Voting), ("order", OrderName), ("on_failure", OnFailure)):
            if getattr(self, name) not in get_args(choices):
                allowed = ", ".join(f'"{choice}"' for choice in get_args(choices))
                raise InvalidInputError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")

    def _check_loss(self) -> None:
        """Raise InvalidInputError if there are two limits, or settings that do not go with the limit."""
        if self.max_accuracy_loss is None:
            if self.costs is not None:
                raise InvalidInputError(
                    "costs need max_accuracy_loss, the largest allowed rise in the mean cost: give both, or "
                    "leave out costs"
                )
            return
        if self.max_disagreement != DEFAULT_LIMIT:
            raise InvalidInputError(
                "expected max_disagreement or max_accuracy_loss, got both: leave one out. Accuracy never "
                "falls by more than the share of rows that disagree"
            )
        if self.criterion in CRITERIA and not traits_of(self.criterion).bounds_the_mean:
            raise InvalidInputError(
                f"max_accuracy_loss bounds a mean over rows, but criterion={self.criterion!r} bounds every "
                'single row: use criterion="minimean"'
            )
        if self.order == "per_row":
            raise InvalidInputError(
                'max_accuracy_loss needs order="auto", "optimized", "shared" or "dealt", got "per_row": use '
                'order="auto"'
            )

    def _limits(self, classes: Labels) -> Limits:
        """Return the limits for two classes; for costs, in their unit."""
        if self.max_accuracy_loss is None:
            return Limits.of_labels(self.max_disagreement, classes.tolist())
        return Limits.of_labels(self._one_cost(len(classes)), classes.tolist(), "max_accuracy_loss")

    def _one_cost(self, n_classes: int) -> Any:
        """Return the limit on the loss; for costs, as a share of the largest difference, at most 1."""
        if self.costs is None:
            return self.max_accuracy_loss
        if isinstance(self.max_accuracy_loss, Mapping):
            raise InvalidInputError(
                "max_accuracy_loss must be a number if costs are given, for the mean over all rows, got a "
                "limit for each class: give a single number"
            )
        limit, unit = self.max_accuracy_loss, check_costs(self.costs, n_classes).unit
        if isinstance(limit, bool) or not isinstance(limit, Real) or not 0 <= float(limit) < math.inf:
            raise InvalidInputError(f"max_accuracy_loss must be a number of at least 0, got {limit!r}")
        return min(float(limit) / unit, 1.0)

    def for_one_limit(self, classes: Labels, n_voters: int) -> Terms:
        """Return the terms to solve for with more than two classes, which have a single limit.

        Raises InvalidInputError if a setting does not apply.
        """
        name = "max_disagreement" if self.max_accuracy_loss is None else "max_accuracy_loss"
        limit = self.max_disagreement if self.max_accuracy_loss is None else self.max_accuracy_loss
        if isinstance(limit, Mapping):
            raise InvalidInputError(
                f"limits by class need exactly 2 classes, got {len(classes)}. Give {name} as a single number "
                f"instead of {limit!r}. To keep the limit within parts of the rows, give groups to fit"
            )
        if self.threshold is not None:
            raise InvalidInputError(
                f"a threshold needs exactly 2 classes, got {len(classes)}: leave out threshold"
            )
        if self.max_accuracy_loss is not None:
            limit = self._one_cost(len(classes))
        solver = SolverTerms(
            criterion=check_choice(self.criterion, "criterion", CRITERIA),
            max_disagreement=check_share(limit, name),
            confidence=None if self.confidence is None else check_confidence(self.confidence),
            looks=check_looks(self.looks, n_voters),
            answer=check_choice(self.answer, "answer", ANSWERS),
            quota=None,
        )
        return cast(Terms, {**solver, **self._what_for(len(classes))})

    def _what_for(self, n_classes: int) -> dict[str, Any]:
        """Return the terms for the loss and for the quota."""
        if self.costs is not None:
            check_costs(self.costs, n_classes)
        return {
            "loss": self.loss,
            "costs": None if self.costs is None else np.asarray(self.costs, np.float64).tolist(),
            "threshold": None if self.threshold is None else check_threshold(self.threshold),
        }

    @property
    def takes_counts(self) -> bool:
        """Whether a setting requires votes to be counted in random orders."""
        bounds_the_mean = self.criterion not in CRITERIA or traits_of(self.criterion).bounds_the_mean
        return not bounds_the_mean or self.confidence is None or self.order in ("dealt", "per_row")

    def for_two_classes(self, classes: Labels, n_voters: int) -> Terms:
        """Return the terms to solve for with two classes, before any vote or score is known.

        Raises InvalidInputError if a setting does not apply.
        """
        unseen = VoteDistribution.from_counts(np.ones(n_voters + 1))
        limits = self._limits(classes)
        quota = None if self.threshold is None else quota_for(check_threshold(self.threshold), n_voters)
        problem = Problem.check(
            self.criterion, unseen, limits, self.confidence, self.looks, self.answer, quota
        )
        return cast(Terms, {**terms_of(problem), "quota": quota, **self._what_for(2)})


class SolverTerms(TypedDict):
    """Checked arguments for `foregone.solve`, with limits by "yes" and "no"."""

    max_disagreement: MaxDisagreement
    criterion: Criterion
    confidence: float | None
    looks: tuple[int, ...] | None
    answer: Answer
    quota: int | None


class Terms(SolverTerms):
    """The limit of a classifier and the other terms to solve for.

    ``max_disagreement`` is the limit on the ``loss`` of any kind; for costs, in units of the largest
    difference between two answers. ``costs`` are as given by the user.
    """

    loss: LossKind
    costs: list[list[float]] | None
    threshold: float | None


def check_threshold(threshold: Any) -> float:
    """Return the decision threshold, from 0 to 1: the share of votes or the probability for yes."""
    return check_share(threshold, "threshold")


def solver_terms(terms: SolverTerms) -> SolverTerms:
    """Return the terms that a solver takes."""
    return cast(SolverTerms, {name: cast(Any, terms)[name] for name in SolverTerms.__annotations__})


def terms_of(problem: Problem | Solution) -> Terms:
    """Return the terms of a problem between two classes, or of its solution, as limits on disagreement."""
    asked = {name: getattr(problem, name) for name in SolverTerms.__annotations__}
    return cast(Terms, {**asked, "loss": "disagreement", "costs": None, "threshold": None})


def parameters_of(decider: Decider) -> dict[str, Any]:
    """Return the settings of a classifier that decides like this, in user form."""
    terms, classes = decider.terms, decider.ensemble.classes.tolist()
    limit: Any = limit_of(terms)
    if isinstance(limit, dict):
        limit = by_label(limit, classes)
    is_disagreement = terms["loss"] == "disagreement"
    asked = {name: value for name, value in solver_terms(terms).items() if name != "quota"}
    return {
        **asked,
        "max_disagreement": limit if is_disagreement else DEFAULT_LIMIT,
        "max_accuracy_loss": None if is_disagreement else limit,
        "costs": terms["costs"],
        "threshold": terms["threshold"],
        "looks": None if terms["looks"] is None else list(terms["looks"]),
        "order": decider.order,
    }


class Asked(NamedTuple):
    """The voters, the voting scheme, the settings as given, and the checked terms."""

    ensemble: Any
    scheme: Scheme
    settings: Settings
    terms: Terms


class CalibrationRows(NamedTuple):
    """Rows to calibrate on, checked.

    Attributes
    ----------
    rows : array or frame
        Rows that were not used to fit the voters.
    own : ndarray of shape (n_rows,) or None
        The model's own predictions; None if it has none.
    labels : RowLabels
        Groups and clusters of the rows.
    losses : RowLosses
        The loss of answers that differ from the full vote.
    """

    rows: Any
    own: Labels | None
    labels: RowLabels
    losses: RowLosses = RowLosses()


class Decider(Protocol):
    """Voters, when to stop asking them, and the answer at the stop."""

    @property
    def voting(self) -> Literal["hard", "soft"]:
        """Whether votes are counted, or scores added up."""

    @property
    def scheme(self) -> Scheme:
        """The voting scheme, as named in files."""

    @property
    def ensemble(self) -> Any:
        """The ensemble: a forest, voters, or one of them behind transformers."""

    @property
    def terms(self) -> Terms:
        """The terms that were solved for."""

    @property
    def order(self) -> OrderName:
        """The order of the voters that the user requested."""

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def check(settings: Settings, scheme: Scheme, classes: Labels, n_voters: int) -> Terms:
        """Return the terms to solve for. Raises InvalidInputError for settings that do not apply here."""

    @classmethod
    def calibrate(cls, asked: Asked, calibration: CalibrationRows, *, seed: int, n_threads: int) -> Decider:
        """Ask all voters about the calibration rows and find when to stop.

        The stack level of warnings points to the caller's caller.

        Parameters
        ----------
        asked : Asked
            The voters, and the terms to solve for.
        calibration : CalibrationRows
            The rows to calibrate on.
        seed : int
            Determines the order of the voters and all random draws.
        n_threads : int
            For forests.
        """

    @classmethod
    def curtail(cls, asked: Asked, *, seed: int) -> Decider:
        """Stop only where the rest cannot change the answer, which needs no calibration rows."""

    @property
    def promise(self) -> Promise:
        """The guarantee, with limits by "yes" and "no"."""

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that are specific to this decider."""

    # Asking ----------------------------------------------------------------------------------

    @property
    def how(self) -> dict[str, Any]:
        """Arguments of the ensemble's ``run`` besides the strategy; none for scores."""

    def run(self, rows: Any, n_threads: int, *, early: bool, **where: Any) -> Any:
        """Return class numbers, voters asked, and the votes or score, at the stop or of all voters.

        ``where`` is a ``device`` for forests, here and below, or nothing for the CPU.
        """

    def run_one(self, x: npt.NDArray[Any]) -> Any:
        """Return what `run` returns for one row of a forest, stopped early, the fastest way."""

    def full_votes(self, rows: Any, n_threads: int, **where: Any) -> npt.NDArray[np.int32]:
        """Return the number of yes votes among all voters, or the votes for each of many classes."""

    def probability(self, rows: Any, n_threads: int, **where: Any) -> FloatArray:
        """Return the probability of each class, from all voters."""

    @property
    def tells_probability(self) -> bool:
        """Whether probabilities exist even if the estimator has no ``predict_proba``."""

    def plan(self, limits: Any, rows: Any, truth: IntArray | None, options: dict[str, Any]) -> Any:
        """Return the cost of each limit; ``rows`` of None means the calibration rows, if stored.

        With ``truth``, the true class numbers, limits are on the loss of accuracy.
        """

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the fields and arrays for a file, for a forest."""

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays, scheme: Scheme) -> Decider:
        """Make it from the parts of a file, with checks of each part and of their consistency."""


def limit_of(terms: Terms) -> MaxDisagreement:
    """Return the limit on the loss in user units, or the limits of "yes" and "no"."""
    limit, costs = Limits.of(terms["max_disagreement"]).given, terms["costs"]
    if costs is None or isinstance(limit, dict):
        return limit
    return limit * check_costs(costs, len(costs)).unit


def read_terms(fields: Fields, n_steps: int, n_classes: int) -> Terms:
    """Read the terms of a classifier from a file, with checks; older files limit disagreement only."""
    looks = fields.whole_numbers("looks").tolist() if "looks" in fields else None
    loss: Any = fields.text("loss") if "loss" in fields else "disagreement"
    if loss not in get_args(LossKind):
        raise fields.error("loss", f"must be one of {', '.join(get_args(LossKind))}")
    costs = fields.rows("costs", n_classes) if "costs" in fields else None
    try:
        if (costs is not None) != (loss == "cost"):
            raise InvalidInputError("costs and a limit on costs go together")
        if costs is not None:
            check_costs(costs, n_classes)
        return Terms(
            max_disagreement=Limits.from_field(fields).given,
            criterion=check_choice(
                fields.text("criterion") if "criterion" in fields else "minimean", "criterion", CRITERIA
            ),
            confidence=check_confidence(fields.number("confidence", 0, 1))
            if "confidence" in fields
            else None,
            looks=check_looks(looks, n_steps),
            answer=check_choice(
                fields.text("answer") if "answer" in fields else "majority", "answer", ANSWERS
            ),
            quota=check_quota(fields.whole("quota", 0), n_steps) if "quota" in fields else None,
            loss=loss,
            costs=costs,
            threshold=fields.number("threshold", 0, 1) if "threshold" in fields else None,
        )
    except InvalidInputError as error:
        raise fields.error("max_disagreement/criterion/confidence/looks", f"is not valid: {error}") from None


def stops_of(
    ensemble: Any,
    judged: IntArray | None,
    labels: RowLabels,
    asked: IntArray,
    answers: IntArray,
    right: IntArray,
) -> Stops | None:
    """Return the stops of the certification rows, or of all rows; None for rows in clusters.

    The monitor computes bounds from them that need independent rows.
    """
    if labels.clusters is not None:
        return None
    rows = slice(None) if judged is None else judged
    differing = int(np.count_nonzero(answers[rows] != right[rows]))
    return Stops.count(
        asked[rows], answers[rows], ensemble.n_voters, len(ensemble.classes), n_differing=differing
    )


def read_stops(fields: Fields, forest: Any) -> Stops | None:
    """Return the stops of calibration rows, checked against the forest; None in older files."""
    if "stops" not in fields:
        return None
    stops = Stops.from_fields(fields.section("stops"))
    if stops.counts.shape != (len(forest.classes), forest.n_voters + 1):
        raise fields.error("stops", "does not match the number of voters or classes of the forest")
    return stops


def terms_to_fields(terms: Terms) -> dict[str, Any]:
    """Return the fields of a file for the terms of a classifier."""
    return {**terms, "looks": None if terms["looks"] is None else list(terms["looks"])}


def check_same_voters(fields: Fields, key: str, n_voters: int, forest: Any) -> None:
    """Raise FileFormatError unless the content of ``key`` has as many voters as the forest."""
    if n_voters != forest.n_voters:
        raise fields.error(key, f"is for {n_voters} voters, but the forest has {forest.n_voters}")


def numbers_of(labels: Labels, classes: Labels) -> IntArray:
    """Return the indices of labels in ``classes``, which need not be sorted; any index for other labels."""
    in_order = np.argsort(classes)
    places = np.searchsorted(classes, labels, sorter=in_order).clip(max=len(classes) - 1)
    return np.asarray(in_order[places], np.int64)

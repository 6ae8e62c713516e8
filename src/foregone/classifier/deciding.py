"""How a classifier decides: what a user asks of it, and what every way to decide can do.

There are two: `foregone.classifier.counted_votes.CountedVotes` and
`foregone.classifier.summed_scores.SummedScores`. The classifier need not know which of them it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, cast, get_args

import numpy as np
import numpy.typing as npt

from foregone.certifying import Promise, RowLabels
from foregone.checks import (
    FloatArray,
    check_choice,
    check_confidence,
    check_looks,
    check_max_disagreement,
)
from foregone.errors import InvalidInputError
from foregone.forest.forest_file import Arrays
from foregone.solving import ANSWERS, Answer, Criterion, Problem, Solution
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import CRITERIA, Limits, MaxDisagreement, traits_of
from foregone.votes import VoteDistribution

__all__ = [
    "Arrays",
    "Asked",
    "CalibrationRows",
    "Decider",
    "Labels",
    "OnFailure",
    "OrderName",
    "Scheme",
    "Settings",
    "Terms",
    "Voting",
    "check_same_voters",
    "parameters_of",
    "terms_of",
]

Labels: TypeAlias = npt.NDArray[Any]

Voting = Literal["auto", "hard", "soft"]
OrderName = Literal["auto", "shared", "dealt", "per_row", "optimized"]
OnFailure = Literal["curtail", "raise"]
# What is done with what voters say: votes for two classes counted, for many counted, for many added up to
# follow the lead alone, or scores added up. Files call it the way.
Scheme = Literal["hard", "plurality", "lead", "soft"]


class Settings(NamedTuple):
    """The parameters of `EarlyStoppingClassifier` that say how to stop, as they were given."""

    max_disagreement: Any
    voting: Any
    criterion: Any
    confidence: Any
    looks: Any
    answer: Any
    order: Any
    on_failure: Any

    @classmethod
    def of(cls, classifier: Any) -> Settings:
        """Take them from a classifier; looks that can be gone through only once are kept."""
        given = cls(*(getattr(classifier, name) for name in cls._fields))
        return given._replace(looks=tuple(given.looks)) if isinstance(given.looks, Iterator) else given

    def check_choices(self) -> None:
        """Raise unless every setting with a few known values has one of them; nor are labels a limit."""
        if not isinstance(self.max_disagreement, Mapping) and np.ndim(self.max_disagreement) > 0:
            raise InvalidInputError(
                "max_disagreement must be a number from 0 to 1, or a dict with one for each label, not "
                f"{len(self.max_disagreement):,} values. If they are labels, leave them out: a fitted model "
                "is calibrated without, early_stop(model, X_calibration, max_disagreement=0.001)"
            )
        for name, choices in (("voting", Voting), ("order", OrderName), ("on_failure", OnFailure)):
            if getattr(self, name) not in get_args(choices):
                allowed = ", ".join(f'"{choice}"' for choice in get_args(choices))
                raise InvalidInputError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")

    def for_one_limit(self, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved among many classes, which have one limit.

        Raises InvalidInputError if a setting has no meaning.
        """
        if isinstance(self.max_disagreement, Mapping):
            raise InvalidInputError(
                f"limits by class are for two classes, there are {len(classes)}: votes and leads are "
                "followed without regard to the names of the classes. Give one max_disagreement, not "
                f"{self.max_disagreement!r}; groups of rows can keep the limit each"
            )
        return Terms(
            criterion=check_choice(self.criterion, "criterion", CRITERIA),
            max_disagreement=check_max_disagreement(self.max_disagreement),
            confidence=None if self.confidence is None else check_confidence(self.confidence),
            looks=check_looks(self.looks, n_voters),
            answer=check_choice(self.answer, "answer", ANSWERS),
        )

    @property
    def takes_counts(self) -> bool:
        """Whether they ask for what only votes have that are counted in random orders."""
        bounds_the_mean = self.criterion not in CRITERIA or traits_of(self.criterion).bounds_the_mean
        return not bounds_the_mean or self.confidence is None or self.order in ("dealt", "per_row")

    def for_two_classes(self, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved between two classes, before any vote or score is known.

        Raises InvalidInputError if a setting has no meaning.
        """
        unseen = VoteDistribution.from_counts(np.ones(n_voters + 1))
        limits = Limits.of_labels(self.max_disagreement, classes.tolist())
        problem = Problem.check(self.criterion, unseen, limits, self.confidence, self.looks, self.answer)
        return terms_of(problem)


class Terms(TypedDict):
    """What is solved for: settings that were checked, limits by class as those of "yes" and "no"."""

    max_disagreement: MaxDisagreement
    criterion: Criterion
    confidence: float | None
    looks: tuple[int, ...] | None
    answer: Answer


def terms_of(problem: Problem | Solution) -> Terms:
    """Return the terms of a problem between two classes, or of its solution."""
    return cast(Terms, {name: getattr(problem, name) for name in Terms.__annotations__})


def parameters_of(decider: Decider) -> dict[str, Any]:
    """Return the settings that a classifier has had which decides like this, as users give them."""
    terms = decider.terms
    return {
        **terms,
        "max_disagreement": Limits.of(terms["max_disagreement"]).labelled(decider.ensemble.classes.tolist()),
        "looks": None if terms["looks"] is None else list(terms["looks"]),
        "order": decider.order,
    }


class Asked(NamedTuple):
    """Who is asked, what is done with what they say, and what is to be solved for: as given, and checked."""

    ensemble: Any
    scheme: Scheme
    settings: Settings
    terms: Terms


class CalibrationRows(NamedTuple):
    """Rows to calibrate on, checked.

    Attributes
    ----------
    rows : array or frame
        None of them was used to fit the voters.
    own : ndarray of shape (n_rows,) or None
        The model's own predictions; None if it has none.
    labels : RowLabels
        Groups and clusters of the rows.
    """

    rows: Any
    own: Labels | None
    labels: RowLabels


class Decider(Protocol):
    """Voters, when to stop asking them, and what is answered then."""

    @property
    def voting(self) -> Literal["hard", "soft"]:
        """Whether votes are counted, or scores added up."""

    @property
    def scheme(self) -> Scheme:
        """What is done with what voters say, as files have it."""

    @property
    def ensemble(self) -> Any:
        """Who is asked: a forest, voters, or one of them behind transformers."""

    @property
    def terms(self) -> Terms:
        """What was solved for."""

    @property
    def order(self) -> OrderName:
        """In which order voters are to be asked, as it was asked for."""

    # Making one ------------------------------------------------------------------------------

    @staticmethod
    def check(settings: Settings, scheme: Scheme, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved, or raise for settings that have no meaning here."""

    @classmethod
    def calibrate(cls, asked: Asked, calibration: CalibrationRows, *, seed: int, n_threads: int) -> Decider:
        """Ask everyone about calibration rows and find when to stop. Warnings are for the caller's caller.

        Parameters
        ----------
        asked : Asked
            Whom to ask, and what to solve for.
        calibration : CalibrationRows
            What to calibrate on.
        seed : int
            Decides the order of the voters and all draws.
        n_threads : int
            For forests.
        """

    @classmethod
    def curtail(cls, asked: Asked, *, seed: int) -> Decider:
        """Stop only where the rest cannot change the answer, which takes no calibration rows."""

    @property
    def promise(self) -> Promise:
        """What is guaranteed, with limits by "yes" and "no"."""

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of a classifier that depend on how it decides."""

    # Asking ----------------------------------------------------------------------------------

    @property
    def how(self) -> dict[str, Any]:
        """How the ensemble's ``run`` is asked besides by a strategy; of scores, the strategy knows all."""

    def run(self, rows: Any, n_threads: int, *, early: bool) -> Any:
        """Return class numbers, how many were asked, and what they came to: at the stop, or of everyone."""

    def answer_one(self, x: npt.NDArray[Any]) -> int:
        """Return the class number of one row of a forest, stopped early, soonest."""

    def full_votes(self, rows: Any, n_threads: int) -> npt.NDArray[np.int32]:
        """Return how many of all voters say yes, or are for each of many classes."""

    def probability(self, rows: Any, n_threads: int) -> FloatArray:
        """Return the probability of each class that all voters together tell."""

    @property
    def tells_probability(self) -> bool:
        """Whether there is one even if the estimator has no ``predict_proba``."""

    def plan(self, limits: Any, rows: Any, options: dict[str, Any]) -> Any:
        """Lay out what each limit costs, for rows that may be None: the calibration rows, if kept."""

    # Files -----------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return what a file holds of it, for a forest."""

    @classmethod
    def from_parts(cls, fields: Fields, arrays: Arrays, scheme: Scheme) -> Decider:
        """Check what `to_parts` gave, every part alone and against the others."""


def check_same_voters(fields: Fields, key: str, n_voters: int, forest: Any) -> None:
    """Raise unless what a file has under ``key`` is for as many voters as its forest has."""
    if n_voters != forest.n_voters:
        raise fields.error(key, f"is for {n_voters} voters, but the forest has {forest.n_voters}")

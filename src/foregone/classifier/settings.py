"""Settings: what a user asked of a classifier, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from foregone.checks import check_confidence, check_max_disagreement
from foregone.classifier.limits import limits_by_side
from foregone.errors import InvalidInputError
from foregone.plurality import lattice_of
from foregone.solving import CRITERIA, Criterion, Problem
from foregone.votes import VoteDistribution

__all__ = ["OnFailure", "Order", "PluralitySettings", "Settings", "Voting"]

Voting = Literal["auto", "hard", "soft"]
Order = Literal["shared", "per_row", "optimized"]
OnFailure = Literal["ask_all", "raise"]


class Settings(NamedTuple):
    """The parameters of `EarlyStoppingClassifier` that say how to stop."""

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
        for name, choices in (("voting", Voting), ("order", Order), ("on_failure", OnFailure)):
            if getattr(self, name) not in get_args(choices):
                allowed = ", ".join(f'"{choice}"' for choice in get_args(choices))
                raise InvalidInputError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")

    def check(self, classes: npt.NDArray[Any], n_voters: int) -> Problem:
        """Return what is to be solved, with votes yet to be observed, or say what is wrong."""
        unseen = VoteDistribution.from_counts(np.ones(n_voters + 1))
        limits = limits_by_side(self.max_disagreement, classes)
        return Problem.check(self.criterion, unseen, limits, self.confidence, self.looks, self.answer)

    def check_many(self, n_classes: int, n_voters: int) -> PluralitySettings:
        """Return what is to be solved for more than two classes, or say what is wrong."""
        if isinstance(self.max_disagreement, Mapping):
            raise InvalidInputError(
                "limits by class are for two classes: with more, the votes are followed without regard to "
                f"the names of the classes. Give one max_disagreement, not {self.max_disagreement!r}"
            )
        if self.looks is not None:
            raise InvalidInputError(f"looks are for two classes, there are {n_classes}: use looks=None")
        if self.answer != "majority":
            raise InvalidInputError(
                f"answer={self.answer!r} is for two classes, there are {n_classes}: at a stop the leader is "
                'answered. Use answer="majority"'
            )
        return PluralitySettings.check(
            self.max_disagreement, self.criterion, self.confidence, n_classes, n_voters
        )


class PluralitySettings(NamedTuple):
    """What is solved for more than two classes."""

    max_disagreement: float
    criterion: Criterion
    confidence: float | None

    @classmethod
    def check(
        cls, max_disagreement: Any, criterion: Any, confidence: Any, n_classes: int, n_voters: int
    ) -> PluralitySettings:
        """Return them, or say what is wrong, even if only that there are too many voters and classes."""
        if criterion not in CRITERIA:
            raise InvalidInputError(f"criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}")
        limit = check_max_disagreement(max_disagreement)
        checked = None if confidence is None else check_confidence(confidence)
        lattice_of(n_voters, n_classes)
        return cls(limit, criterion, checked)

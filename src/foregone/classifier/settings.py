"""Settings: what a user asked of a classifier, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from foregone.classifier.limits import limits_by_side
from foregone.errors import InvalidInputError
from foregone.solving import Problem
from foregone.votes import VoteDistribution

__all__ = ["OnFailure", "Order", "Settings", "Voting"]

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
        """Raise unless every setting with a few known values has one of them."""
        for name, choices in (("voting", Voting), ("order", Order), ("on_failure", OnFailure)):
            if getattr(self, name) not in get_args(choices):
                allowed = ", ".join(f'"{choice}"' for choice in get_args(choices))
                raise InvalidInputError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")

    def check(self, classes: npt.NDArray[Any], n_voters: int) -> Problem:
        """Return what is to be solved, with votes yet to be observed, or say what is wrong."""
        unseen = VoteDistribution.from_counts(np.ones(n_voters + 1))
        limits = limits_by_side(self.max_disagreement, classes)
        return Problem.check(self.criterion, unseen, limits, self.confidence, self.looks, self.answer)

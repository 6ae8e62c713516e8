"""Which rows the voters learn from, and which show how their votes are spread."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

from foregone.classifier.limits import could_be, limited_rows
from foregone.classifier.settings import PluralitySettings
from foregone.errors import InvalidInputError
from foregone.planning.recommendation import allowed_by_class, losing_class
from foregone.solving import MaxDisagreement, Problem

__all__ = [
    "CalibrationWarning",
    "RareClassWarning",
    "check_labels",
    "check_size",
    "clone_with_seeds",
    "hold_out",
    "warn_if_too_few",
    "warn_of_losing_classes",
]


class RareClassWarning(UserWarning):
    """One limit for all rows is spent on a class: far more of its rows are answered otherwise."""


class CalibrationWarning(UserWarning):
    """There are too few calibration rows to vouch for the allowed disagreement without a confidence."""


def check_size(size: Any) -> None:
    """Raise unless ``size`` is a share between 0 and 1 or a number of rows."""
    is_share = isinstance(size, float | np.floating) and 0 < size < 1
    is_count = isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 2
    if not (is_share or is_count):
        raise InvalidInputError(
            "The 'calibration_size' parameter of EarlyStoppingClassifier must be a float in the range "
            f"(0.0, 1.0) or an int in the range [2, inf). Got {size!r} instead."
        )


def check_labels(y: Any) -> npt.NDArray[Any]:
    """Return labels of two classes or more, one for each row, or raise scikit-learn's error."""
    if y is None:
        raise InvalidInputError(
            "This EarlyStoppingClassifier estimator requires y to be passed, but the target y is None."
        )
    labels: npt.NDArray[Any] = column_or_1d(y, warn=True)
    check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    if kind not in ("binary", "multiclass"):
        unknown = "Unknown label type: continuous. " if kind.startswith("continuous") else ""
        raise InvalidInputError(
            f"{unknown}A target of one class for each row is needed. The type of the target is {kind}."
        )
    if len(np.unique(labels)) < 2:
        raise InvalidInputError(
            "This classifier needs samples of at least 2 classes in the data, but the data contains only one "
            f"class: {labels[0]!r}"
        )
    return labels


def hold_out(
    X: Any,
    y: npt.NDArray[Any],
    calibration_size: float,
    rng: np.random.RandomState,
    sample_weight: Any = None,
) -> tuple[dict[str, Any], Any]:
    """Split rows at random into what is given to ``fit``, by name, and those to calibrate on.

    Not each class in proportion: a plain random sample is what a confidence is proven for.
    """
    parts = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    check_consistent_length(*parts.values())
    n_samples = len(y)
    n_held_out = calibration_size
    if isinstance(calibration_size, float | np.floating):
        n_held_out = max(2, math.ceil(calibration_size * n_samples))
    try:
        split = train_test_split(*parts.values(), test_size=n_held_out, random_state=rng)
        fitting = dict(zip(parts, split[::2], strict=True))
        missing = np.setdiff1d(y, fitting["y"])
        if len(missing):
            raise ValueError(f"none of the other {len(fitting['y'])} is of class {missing.tolist()[0]!r}")
    except ValueError as error:
        raise InvalidInputError(
            f"cannot hold out calibration_size={calibration_size!r} of n_samples={n_samples} and leave "
            f"every class to fit on ({error}). Give more rows, or calibrate on rows of your own: "
            "EarlyStoppingClassifier(FrozenEstimator(fitted)).fit(X_calibration)."
        ) from error
    return fitting, split[1]


def clone_with_seeds(estimator: Any, rng: np.random.RandomState | None) -> Any:
    """Return an unfitted copy; with ``rng``, every random_state in it that is None is drawn from there."""
    copy = clone(estimator)
    if rng is not None:
        unset = {
            name: int(rng.randint(np.iinfo(np.int32).max))
            for name, value in sorted(copy.get_params(deep=True).items(), key=lambda item: item[0])
            if (name == "random_state" or name.endswith("__random_state")) and value is None
        }
        if unset:
            copy.set_params(**unset)
    return copy


def warn_if_too_few(
    problem: Problem | PluralitySettings, full: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> None:
    """Warn when a mean over so few rows says nothing about events as rare as the allowed disagreement.

    Only minimean without a confidence takes the distribution of votes at its word: what was not seen may
    then go wrong for free, and an event of probability p is likely to be missing from fewer than 1 / p rows.
    A class without any rows is another matter: it is bounded in the worst case. With a confidence nothing
    has to be said: few rows cost votes, not the limit.

    Parameters
    ----------
    problem : Problem or PluralitySettings
        Criterion, limits and confidence.
    full : ndarray of shape (n_rows,)
        The label that the full vote gives each calibration row.
    classes : ndarray
        The labels.
    """
    if problem.criterion != "minimean" or problem.confidence is not None:
        return
    for limited in limited_rows(problem.max_disagreement, full, classes):
        n_rows = int(np.count_nonzero(limited.rows))
        if 0 < n_rows * limited.limit < 1:
            warnings.warn(
                f"{n_rows:,} {limited.rows_in_words} are too few to vouch for {limited.limit_in_words} on "
                f"new rows: give at least {math.ceil(1 / limited.limit):,}, allow more disagreement, set a "
                "confidence such as 0.95, which makes up for few rows by asking more voters, or choose "
                'criterion="minimixed", which keeps the limit for every input.',
                CalibrationWarning,
                stacklevel=4,
            )


def warn_of_losing_classes(
    limits: MaxDisagreement,
    criterion: str,
    full: npt.NDArray[Any],
    answers: npt.NDArray[Any],
    classes: npt.NDArray[Any],
) -> None:
    """Warn when a class pays for the mean over all rows: the same rule and words as in a plan.

    Parameters
    ----------
    limits : float or dict
        With a limit for each class, or 1, which is none, nothing has to be said.
    criterion : str
        Only minimean bounds a mean.
    full, answers : ndarray of shape (n_rows,)
        The label that everyone together gives each calibration row, and that of stopping early.
    classes : ndarray
        The labels.
    """
    if isinstance(limits, dict) or limits == 1 or criterion != "minimean":
        return
    said = []
    for label in classes.tolist():
        own = full == label
        n_rows, n_differing = int(np.count_nonzero(own)), int(np.count_nonzero(answers[own] != label))
        if not could_be(n_differing, n_rows, allowed_by_class(limits)):
            losses = losing_class(label, n_differing / n_rows, limits)
            said.append(f"{losses} ({n_differing:,} of {n_rows:,})")
    if not said:
        return
    each = ", ".join(f"{label!r}: {limits:g}" for label in classes.tolist())
    advice = (
        f"give each class a limit of its own, max_disagreement={{{each}}}"
        if len(classes) == 2
        else "take a smaller max_disagreement"
    )
    warnings.warn(
        f"a class loses: {'; '.join(said)}. The limit is a mean over all rows: {advice}",
        RareClassWarning,
        stacklevel=4,
    )

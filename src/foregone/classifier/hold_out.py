"""Preparation for fitting: check labels and sizes, hold out calibration rows, distribute seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.utils import _safe_indexing, check_array, column_or_1d, indexable
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples

from foregone.certifying import RowLosses, check_costs
from foregone.checks import IntArray
from foregone.classifier.deciding import Terms, numbers_of
from foregone.errors import InvalidInputError

__all__ = ["check_labels", "check_size", "clone_with_seeds", "hold_out", "losses_of", "true_classes"]


def check_size(size: Any) -> None:
    """Raise InvalidInputError unless ``size`` is a share between 0 and 1 or a number of rows."""
    is_share = isinstance(size, float | np.floating) and 0 < size < 1
    is_count = isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 2
    if not (is_share or is_count):
        raise InvalidInputError(
            "The 'calibration_size' parameter of EarlyStoppingClassifier must be a float in the range "
            f"(0.0, 1.0) or an int in the range [2, inf). Got {size!r} instead."
        )


def check_labels(y: Any) -> npt.NDArray[Any]:
    """Return the labels of the rows. Raises scikit-learn's error unless there are two or more classes."""
    if y is None:
        raise InvalidInputError(
            "This EarlyStoppingClassifier estimator requires y to be passed, but the target y is None."
        )
    labels: npt.NDArray[Any] = column_or_1d(y, warn=True)
    check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    if kind not in ("binary", "multiclass"):
        unknown = "Unknown label type: continuous. " if kind.startswith("continuous") else ""
        raise InvalidInputError(f"{unknown}Expected one class for each row, got a target of type {kind}.")
    if len(np.unique(labels)) < 2:
        raise InvalidInputError(
            "This classifier needs samples of at least 2 classes in the data, but the data contains only one "
            f"class: {labels[0]!r}"
        )
    return labels


def losses_of(y: Any, X: Any, classes: npt.NDArray[Any], terms: Terms) -> RowLosses:
    """Return the losses of answers that differ from the full vote, given true labels of calibration rows."""
    if y is None:
        raise InvalidInputError(
            "max_accuracy_loss needs the true labels of the calibration rows, got y=None: give them, "
            "early_stop(model, X_calibration, y_calibration, max_accuracy_loss=...), or use "
            "max_disagreement, which needs no labels"
        )
    costs = None if terms["costs"] is None else check_costs(terms["costs"], len(classes))
    return RowLosses(terms["loss"], true_classes(y, X, classes), costs)


def true_classes(y: Any, X: Any, classes: npt.NDArray[Any]) -> IntArray:
    """Return the true class numbers of rows. Raises InvalidInputError if a label is not a class."""
    labels: npt.NDArray[Any] = column_or_1d(y, warn=True)
    check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    if len(labels) != _num_samples(X):
        raise InvalidInputError(
            f"y must have one label for each of the {_num_samples(X):,} calibration rows, got "
            f"{len(labels):,} labels"
        )
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise InvalidInputError(
            f"calibration labels must be among the model's classes {classes.tolist()}, got "
            f"{unknown.tolist()[0]!r}: leave out such rows, or use the model's labels"
        )
    return numbers_of(labels, classes)


def hold_out(
    X: Any,
    y: npt.NDArray[Any],
    calibration_size: float,
    rng: np.random.RandomState,
    sample_weight: Any = None,
    clusters: IntArray | None = None,
) -> tuple[dict[str, Any], Any, IntArray]:
    """Split rows at random into arguments of ``fit``, by name, and calibration rows, with their indices.

    It is not stratified, because the proof of the confidence needs a simple random sample. Clusters stay
    together.
    """
    parts = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    parts = dict(zip(parts, indexable(*parts.values()), strict=True))
    n_samples = len(y)
    n_held_out = calibration_size
    if isinstance(calibration_size, float | np.floating):
        n_held_out = max(2, math.ceil(calibration_size * n_samples))
    try:
        if clusters is None:
            kept, held_out = train_test_split(np.arange(n_samples), test_size=n_held_out, random_state=rng)
        else:
            share = n_held_out / n_samples
            by_cluster = GroupShuffleSplit(1, test_size=share, random_state=rng)
            kept, held_out = next(by_cluster.split(y, groups=clusters))
        fitting = {name: _safe_indexing(part, kept) for name, part in parts.items()}
        missing = np.setdiff1d(y, fitting["y"])
        if len(missing):
            raise ValueError(f"none of the other {len(fitting['y'])} is of class {missing.tolist()[0]!r}")
    except ValueError as error:
        raise InvalidInputError(
            f"cannot hold out calibration_size={calibration_size!r} of n_samples={n_samples} and keep rows "
            f"of every class to fit on ({error}). Give more rows, or calibrate on separate rows: "
            "EarlyStoppingClassifier(FrozenEstimator(fitted)).fit(X_calibration)."
        ) from error
    return fitting, _safe_indexing(parts["X"], held_out), held_out


def clone_with_seeds(estimator: Any, rng: np.random.RandomState | None) -> Any:
    """Return an unfitted copy; with ``rng``, it draws every random_state that is None."""
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

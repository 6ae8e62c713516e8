"""Rows that a classifier is given: checked in scikit-learn's words, and as little as speed allows."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import validate_data

from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError
from foregone.forest import Forest
from foregone.forest.rows import FLOAT32, FLOAT64
from foregone.forest.tables import Columns

__all__ = ["is_plain", "refuse", "validated", "warn_of_no_names"]


def is_plain(X: Any, n_features: int) -> bool:
    """Whether a forest's kernels can take X as it is; they look at the values on the way."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (FLOAT32, FLOAT64)
        and len(X) > 0
        and X.shape[1] == n_features
    )


def validated(classifier: Any, X: Any, ensemble: Any) -> Any:
    """Return X in a form that the ensemble can be run on, or raise scikit-learn's error for it."""
    if isinstance(X, Columns):
        return X  # without names that could be checked; the forest looks at the rest
    if isinstance(ensemble, Forest):
        return _for_forest(classifier, X, ensemble)
    if isinstance(ensemble, Transformed):
        X = validate_data(classifier, X, reset=False, skip_check_array=True)
        return X if hasattr(X, "shape") else np.asarray(X)
    if ensemble.columns is None and hasattr(X, "columns"):
        # Voters may pick columns by name, and know themselves what they can take.
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    X = validate_data(classifier, X, reset=False, dtype=None, accept_sparse="csr", ensure_all_finite=False)
    ensemble.refuse_values(X)
    return X


def _for_forest(classifier: Any, X: Any, forest: Any) -> Any:
    finite: bool | str = "allow-nan" if forest.takes_missing else True
    is_frame = hasattr(X, "columns")
    if not is_frame and forest.rows.encodes_arrays and np.asarray(X).dtype.kind in "OUS":
        X, is_frame = np.asarray(X, dtype=object), True  # of columns of several types, all the same
    if is_frame and forest.rows.category_values is not None:
        # Categories by name become numbers in the forest itself.
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    finite = False if forest.rows.takes_infinite else finite
    narrow = forest.rows.key_bits == 32 if is_frame else forest.rows.array_type == FLOAT32
    dtypes = [FLOAT32, FLOAT64] if narrow else [FLOAT64, FLOAT32]  # the first is what anything else becomes
    return validate_data(classifier, X, reset=False, dtype=dtypes, ensure_all_finite=finite)


def refuse(classifier: Any, X: Any, ensemble: Any, error: InvalidInputError) -> NoReturn:
    """Raise scikit-learn's own error for rows that the ensemble could not take, or else the given one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        validated(classifier, X, ensemble)
    raise error


def warn_of_no_names(classifier: Any) -> None:
    """Warn, as scikit-learn does, that X has no names where the voters were fitted with names."""
    name = type(classifier).__name__
    warnings.warn(
        f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=4
    )

"""Checks of the rows given to a classifier, with scikit-learn's messages and little overhead."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from foregone.classifier.sklearn_later import become_estimators
from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError
from foregone.forest import Forest
from foregone.forest.rows import FLOAT32, FLOAT64, FLOATS, RowFormat
from foregone.forest.tables import Columns

__all__ = ["frame_values", "is_plain", "refuse", "validated", "warn_of_no_names"]


def is_plain(X: Any, n_features: int) -> bool:
    """Whether a forest's kernels can use X as it is; they check the values while running."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and len(X) > 0
        and X.shape[1] == n_features
    )


def frame_values(X: Any, names: list[str], rows: RowFormat) -> npt.NDArray[Any] | None:
    """Return the values of a pandas or polars frame as scikit-learn converts them, but faster.

    None if scikit-learn must convert it: if X is not a frame, has other columns than ``names`` or another
    order, or contains anything but plain numbers.
    """
    if not (hasattr(X, "to_numpy") and hasattr(X, "columns")) or len(X) == 0:
        return None
    columns = X.columns if isinstance(X.columns, list) else X.columns.tolist()  # 8 times as fast as list()
    if columns != names:
        return None
    values: npt.NDArray[Any] = X.to_numpy()
    if values.dtype not in FLOATS:
        if values.dtype.kind not in "iub":
            return None
        values = values.astype(FLOAT32 if rows.key_bits == 32 else FLOAT64)
    return values


def validated(classifier: Any, X: Any, ensemble: Any) -> Any:
    """Return X in a form that the ensemble can run on. Raises scikit-learn's error if X is invalid."""
    if isinstance(X, Columns):
        return X  # has no names to check; the forest checks the rest
    from sklearn.utils.validation import validate_data

    become_estimators()
    if isinstance(ensemble, Forest):
        return _for_forest(classifier, X, ensemble)
    if isinstance(ensemble, Transformed):
        X = validate_data(classifier, X, reset=False, skip_check_array=True)
        return X if hasattr(X, "shape") else np.asarray(X)
    if ensemble.columns is None and hasattr(X, "columns"):
        # Voters may pick columns by name, and check themselves what they can take.
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    X = validate_data(classifier, X, reset=False, dtype=None, accept_sparse="csr", ensure_all_finite=False)
    ensemble.refuse_values(X)
    return X


def _for_forest(classifier: Any, X: Any, forest: Any) -> Any:
    from sklearn.utils.validation import validate_data

    finite: bool | str = "allow-nan" if forest.takes_missing else True
    is_frame = hasattr(X, "columns")
    if not is_frame and forest.rows.encodes_arrays and np.asarray(X).dtype.kind in "OUS":
        X, is_frame = np.asarray(X, dtype=object), True  # treated as a frame with columns of several types
    if is_frame and forest.rows.category_values is not None:
        # The forest itself turns named categories into numbers.
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    finite = False if forest.rows.takes_infinite else finite
    narrow = forest.rows.key_bits == 32 if is_frame else forest.rows.array_type == FLOAT32
    dtypes = [FLOAT32, FLOAT64] if narrow else [FLOAT64, FLOAT32]  # the first is what anything else becomes
    return validate_data(classifier, X, reset=False, dtype=dtypes, ensure_all_finite=finite)


def refuse(classifier: Any, X: Any, ensemble: Any, error: InvalidInputError) -> NoReturn:
    """Raise scikit-learn's error for rows that the ensemble cannot use, or else the given error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        validated(classifier, X, ensemble)
    raise error


def warn_of_no_names(classifier: Any) -> None:
    """Warn, as scikit-learn does, if X has no feature names but the voters were fitted with names."""
    name = type(classifier).__name__
    warnings.warn(
        f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=4
    )

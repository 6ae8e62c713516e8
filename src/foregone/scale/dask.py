"""Dask: predict lazily on a frame or an array, partition by partition, with one model per process.

The model is sent once: scattered to all workers of the current `distributed.Client`, or otherwise as one task
of the graph that all partitions refer to. Workers need foregone installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import check_share
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.scale.columns import check_kind, choose_features, full_labels, output_names
from foregone.scale.model_file import NUMBERS, TEXTS, Model, ModelFile, ScoredRows

__all__ = ["predict", "predict_with_votes"]


def predict(data: Any, model: Model | ModelFile, *, features: Sequence[str] | None = None) -> Any:
    """Return the label for each row of a Dask frame or array, lazily.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or dask.array.Array
        With any partitioning; partitions may be empty. Columns other than the features are not read.
    model : EarlyStoppingClassifier or path
        A fitted classifier of trees, or the file that its ``save`` wrote.
    features : sequence of str, optional
        Columns that hold the features, in the model's order; by default those it was fitted on.

    Returns
    -------
    dask.dataframe.Series or dask.array.Array
        With the partitions and the index of ``data``; row for row what ``model.predict`` gives.

    Raises
    ------
    InvalidInputError
        If a column is missing or not numeric, or the number of columns is not the number of features. If a
        partition has other types than the frame states, the error names it when it is computed.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from foregone import early_stop
    >>> from foregone.scale.dask import predict
    >>> X, y = make_classification(2000, 4, random_state=0)
    >>> forest = RandomForestClassifier(25, random_state=0).fit(X[:500], y[:500])
    >>> classifier = early_stop(forest, X[500:1500], max_disagreement=0.02, random_state=0)
    >>> frame = dd.from_pandas(pd.DataFrame(X[1500:], columns=list("abcd")), npartitions=7)
    >>> labels = predict(frame, classifier).compute()
    >>> bool((labels == classifier.predict(X[1500:])).all())
    True
    """
    scored, (label, *_) = _score(data, model, features)
    return scored[label]


def predict_with_votes(
    data: Any, model: Model | ModelFile, *, features: Sequence[str] | None = None, audit: float = 0.0
) -> Any:
    """Return the label and the number of votes asked for each row of a Dask frame or array, lazily.

    Parameters
    ----------
    data, model, features
        As for `predict`.
    audit : float, default=0.0
        Share of rows that also get a full vote, for `foregone watch` or a `Monitor`; chosen by a hash of
        their values, the same rows as `Monitor.predict` chooses.

    Returns
    -------
    dask.dataframe.DataFrame or tuple of dask.array.Array
        For a frame, a frame with the columns ``label`` and ``votes_asked``; for an array, two arrays. If rows
        are audited, also ``full_label``, the label of the full vote; missing for all other rows (None in an
        array of objects).
    """
    scored, names = _score(data, model, features, audit)
    return scored if hasattr(scored, "columns") else tuple(scored[name] for name in names)


def _score(
    data: Any, model: Model | ModelFile, features: Sequence[str] | None, audit: float = 0.0
) -> tuple[Any, tuple[str, ...]]:
    """Return a frame of the new columns, or an array of such records."""
    try:
        import dask.array as da
        import dask.dataframe as dd
    except ImportError:
        raise MissingExtraError("dask", "dask", "Predicting on a Dask cluster") from None
    audit = check_share(audit, "audit")
    shipped = ModelFile.of(model)
    names = output_names((), "", "the result", audited=audit > 0)
    if isinstance(data, dd.DataFrame):
        chosen = choose_features(shipped, data.columns, features, "the Dask frame")
        _check_types(data.dtypes[chosen], shipped, "the Dask frame")
        meta = _frame(ScoredRows.of_no_rows(audited=audit > 0), shipped, names, None)
        scored = data[chosen].map_partitions(
            _score_partition, _shipped_once(shipped), names, audit, meta=meta, enforce_metadata=False
        )
        return scored, names
    if isinstance(data, da.Array):
        if features is not None:
            raise InvalidInputError("features is only for frames: select the columns of an array by index")
        if data.ndim != 2 or data.shape[1] != shipped.n_features:
            raise InvalidInputError(
                f"expected an array with {shipped.n_features} columns, got shape {data.shape}"
            )
        check_kind("any", _holds(data.dtype), "", data.dtype, "the Dask array")
        types = (shipped.classes.dtype, np.int32, object)
        dtype = np.dtype(list(zip(names, types, strict=False)))
        whole = data.rechunk({1: -1}) if data.numblocks[1] > 1 else data
        return whole.map_blocks(_score_block, _shipped_once(shipped), dtype, audit, dtype=dtype, drop_axis=1,
                                meta=np.empty(0, dtype)), names  # fmt: skip
    raise InvalidInputError(
        f"expected a Dask frame or array, got {type(data).__name__}: use model.predict for rows in memory"
    )


def _shipped_once(shipped: ModelFile) -> Any:
    """Return one shared reference to the model, so that partitions do not each carry a copy."""
    import dask

    client = None
    if dask.config.get("scheduler", None) in (None, "distributed", "dask.distributed"):
        try:
            from distributed import Client

            client = Client.current()
        except (ImportError, ValueError):  # none installed, none there
            pass
    if client is not None and not client.asynchronous:
        # A new key each time: a key derived from the content could be scattered again while the scheduler
        # still releases it for an earlier result, and workers would lose it.
        return dask.delayed(client.scatter(_Carried(shipped), broadcast=True, hash=False))
    return dask.delayed(_Carried(shipped), name=f"foregone-model-{shipped.digest}", traverse=False)


class _Carried:
    """Wrapper of a model file: Dask would search a (named) tuple for tasks to compute."""

    def __init__(self, model: ModelFile) -> None:
        self.model = model

    def __dask_tokenize__(self) -> str:
        return self.model.digest

    def __sizeof__(self) -> int:
        return len(self.model.content)


def _score_partition(
    part: Any,
    carried: _Carried,
    names: tuple[str, ...],
    audit: float,
    partition_info: dict[str, Any] | None = None,
) -> Any:
    number = "" if partition_info is None else f" {partition_info['number']}"
    model = carried.model
    _check_types(part.dtypes, model, f"partition{number} of the Dask frame")
    return _frame(model.answers(part.set_axis(range(part.shape[1]), axis=1), audit), model, names, part.index)


def _score_block(
    block: npt.NDArray[Any],
    carried: _Carried,
    record: np.dtype[Any],
    audit: float,
    block_id: tuple[int, ...] | None = None,
) -> Any:
    number = "" if block_id is None else f" {block_id[0]}"
    check_kind("any", _holds(block.dtype), "", block.dtype, f"block{number} of the Dask array")
    found, classes = carried.model.answers(block, audit), carried.model.classes
    columns = [classes.take(found.answers), found.asked]
    if found.full is not None:
        full = classes.astype(object).take(found.full)
        full[found.full < 0] = None
        columns.append(full)
    scored = np.empty(len(block), record)
    for name, column in zip(record.names or (), columns, strict=True):
        scored[name] = column
    return scored


def _frame(found: ScoredRows, model: ModelFile, names: tuple[str, ...], index: Any) -> Any:
    import pandas as pd

    columns = [model.classes.take(found.answers), found.asked]
    if found.full is not None:
        columns.append(full_labels(model.classes, found.full))
    return pd.DataFrame(dict(zip(names, columns, strict=True)), index=index)


def _check_types(dtypes: Any, model: ModelFile, where: str) -> None:
    """Raise InvalidInputError unless every column has a type that the model accepts."""
    for (name, dtype), categories in zip(dtypes.items(), model.categories, strict=True):
        if categories and model.by_type and str(dtype) != "category":
            raise InvalidInputError(
                f"column {name!r} of {where} has type {dtype}, but the model was trained on a column of "
                f'dtype category: use frame.astype({{{name!r}: "category"}})'
            )
        holds = categories if categories and str(dtype) == "category" else _holds(dtype)
        check_kind(name, holds, categories, dtype, where)


def _holds(dtype: Any) -> str:
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype, is_string_dtype

    if (is_numeric_dtype(dtype) or is_bool_dtype(dtype)) and not is_complex_dtype(dtype):
        return NUMBERS
    return TEXTS if is_string_dtype(dtype) and str(dtype) != "category" else ""

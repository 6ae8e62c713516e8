"""Spark: a user-defined function that predicts in batches, and `score`, which adds its columns to a frame.

The function contains the model as the bytes of its saved file. Spark sends it to each executor once
(functions above 1 MB are broadcast), and each Python worker loads it once. No Spark context is needed, so it
works with Spark Connect. Executors need foregone installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.checks import check_share
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.forest.tables import Columns
from foregone.scale.columns import (
    FULL_LABEL,
    LABEL,
    VOTES_ASKED,
    check_kind,
    choose_features,
    full_labels,
    output_names,
)
from foregone.scale.model_file import NUMBERS, TEXTS, Model, ModelFile

__all__ = ["predict_udf", "score"]


def predict_udf(model: Model | ModelFile, *, audit: float = 0.0) -> Any:
    """Return a Spark UDF of the features that returns a struct of ``label`` and ``votes_asked``.

    It is a `pyspark.sql.functions.pandas_udf`.

    Parameters
    ----------
    model : EarlyStoppingClassifier or path
        A fitted classifier of trees, or the file that its ``save`` wrote, which is read here and not by
        executors.
    audit : float, default=0.0
        Share of rows that also get a full vote, for `foregone watch` or a `Monitor`; chosen by a hash of
        their values, the same rows as `Monitor.predict` chooses. A third field, ``full_label``, holds the
        label of the full vote; it is null for all other rows.

    Returns
    -------
    callable
        Call it with one column: a struct or an array of the features, in the model's order. Null means
        missing. A struct holds category values as in the training frame, an array as the model expects them
        in arrays. If the model compares float32 values, float columns are fastest.

    Examples
    --------
    >>> from pyspark.sql.functions import struct                    # doctest: +SKIP
    >>> ask = predict_udf("forest.foregone")                        # doctest: +SKIP
    >>> frame.withColumn("vote", ask(struct("a", "b", "c", "d")))   # doctest: +SKIP
    """
    try:
        import pandas as pd
        from pyspark.sql.functions import pandas_udf
        from pyspark.sql.types import IntegerType, StructField, StructType
    except ImportError:
        raise _missing() from None
    audit = check_share(audit, "audit")
    shipped = ModelFile.of(model)
    label = _spark_type(shipped.classes)
    fields = [StructField(LABEL, label), StructField(VOTES_ASKED, IntegerType())]
    if audit > 0:
        fields.append(StructField(FULL_LABEL, label))

    def ask(rows: pd.DataFrame) -> pd.DataFrame:
        found = shipped.answers(_rows(rows, shipped), audit)
        frame = pd.DataFrame({LABEL: shipped.classes.take(found.answers), VOTES_ASKED: found.asked})
        if found.full is not None:
            frame[FULL_LABEL] = full_labels(shipped.classes, found.full)
        return frame

    # Spark needs type objects, not strings, as annotations. With an array column, rows is a Series.
    ask.__annotations__ = {"rows": pd.DataFrame, "return": pd.DataFrame}
    return pandas_udf(ask, StructType(fields))


def _rows(rows: Any, model: ModelFile) -> Any:
    """Convert Spark's data, the columns of a struct or one column of arrays, for the model."""
    if hasattr(rows, "columns"):
        if rows.shape[1] != model.n_features:
            raise InvalidInputError(f"expected a struct of {model.n_features} features, got {rows.shape[1]}")
        return Columns(tuple(rows.iloc[:, place] for place in range(rows.shape[1])))
    lengths = {len(row) for row in rows}
    if lengths - {model.n_features}:
        wrong = max(lengths - {model.n_features})
        raise InvalidInputError(f"expected arrays of {model.n_features} numbers, got one of {wrong}")
    array = np.array([np.asarray(row) for row in rows]).reshape(len(rows), model.n_features)
    if array.dtype.kind == "O":  # rows with nulls
        array = array.astype(np.float64)
    return array


def score(
    frame: Any,
    model: Model | ModelFile,
    features: Sequence[str] | None = None,
    *,
    prefix: str = "",
    audit: float = 0.0,
) -> Any:
    """Return a Spark frame with the columns ``label`` and ``votes_asked`` added, lazily.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Classic or of Spark Connect.
    model : EarlyStoppingClassifier or path
        As for `predict_udf`.
    features : sequence of str, optional
        Columns that hold the features, in the model's order; by default those it was fitted on.
    prefix : str, default=""
        Prefix for the names of the new columns, if the frame already has such columns.
    audit : float, default=0.0
        As for `predict_udf`; it adds a third column, ``full_label``.

    Raises
    ------
    InvalidInputError
        If a column is missing or not numeric, or a new column already exists.

    Examples
    --------
    >>> score(frame, "forest.foregone").groupBy("label").count()    # doctest: +SKIP
    """
    try:
        from pyspark.sql import functions as F  # noqa: N812  # what everyone calls it
    except ImportError:
        raise _missing() from None
    shipped = ModelFile.of(model)
    chosen = choose_features(shipped, frame.columns, features, "the Spark frame")
    audit = check_share(audit, "audit")
    names = output_names(frame.columns, prefix, "the Spark frame", audited=audit > 0)
    for name, categories in zip(chosen, shipped.categories, strict=True):
        kind = frame.schema[name].dataType
        check_kind(name, _holds(kind), categories, kind.simpleString(), "the Spark frame")
    row = F.struct(*(F.col(_quoted(name)).alias(f"f{k}") for k, name in enumerate(chosen)))
    answer = "foregone answer"
    scored = frame.withColumn(answer, predict_udf(shipped, audit=audit)(row))
    fields = zip((LABEL, VOTES_ASKED, FULL_LABEL), names, strict=False)
    new = [F.col(f"`{answer}`.{field}").alias(name) for field, name in fields]
    return scored.select(*(F.col(_quoted(name)) for name in frame.columns), *new)


def _spark_type(classes: npt.NDArray[Any]) -> Any:
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType

    kinds = {"b": BooleanType, "i": LongType, "u": LongType, "f": DoubleType, "U": StringType}
    plain = np.array(classes.tolist()) if len({type(label) for label in classes.tolist()}) == 1 else classes
    if plain.dtype.kind not in kinds:
        raise InvalidInputError(
            f"Spark has no type for the labels {classes.tolist()}: use strings or numbers"
        )
    return kinds[plain.dtype.kind]()


def _holds(kind: Any) -> str:
    from pyspark.sql.types import BooleanType, NumericType, StringType

    if isinstance(kind, NumericType | BooleanType):
        return NUMBERS
    return TEXTS if isinstance(kind, StringType) else ""


def _quoted(name: str) -> str:
    """Quote a column name, so that dots in it do not mean fields."""
    return "`" + name.replace("`", "``") + "`"


def _missing() -> MissingExtraError:
    return MissingExtraError("pyspark", "spark", "Predicting on Spark")

"""Spark: a user-defined function that predicts in batches, and `score`, which adds its columns to a frame.

The model travels inside the function as the bytes of its own file, which Spark sends to an executor once
(it broadcasts functions above 1 MB by itself), and is loaded once in each Python worker. No Spark context is
asked for, so all of it works under Spark Connect. Executors need foregone installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.errors import InvalidInputError, MissingExtraError
from foregone.scale.columns import LABEL, VOTES_ASKED, choose_features, output_names, wrong_type
from foregone.scale.model_file import Model, ModelFile

__all__ = ["predict_udf", "score"]

BATCH_ROWS = 65_536  # at most; Spark itself sends spark.sql.execution.arrow.maxRecordsPerBatch at a time


def predict_udf(model: Model | ModelFile) -> Any:
    """Return a Spark function of a row's features whose result has the fields ``label`` and ``votes_asked``.

    It is made by `pyspark.ml.functions.predict_batch_udf`.

    Parameters
    ----------
    model : EarlyStoppingClassifier or path
        A fitted classifier of trees, or the file that its ``save`` wrote; it is read here, not by executors.

    Returns
    -------
    callable
        Call it with one column: a struct of the features, or an array of them, in the model's order. Floats
        are shipped fastest: the model rounds to them anyway. Null means missing.

    Examples
    --------
    >>> from pyspark.sql.functions import struct                    # doctest: +SKIP
    >>> ask = predict_udf("forest.foregone")                        # doctest: +SKIP
    >>> frame.withColumn("vote", ask(struct("a", "b", "c", "d")))   # doctest: +SKIP
    """
    try:
        from pyspark.ml.functions import predict_batch_udf
        from pyspark.sql.types import BooleanType, ByteType, IntegerType, StructField, StructType
    except ImportError:
        raise _missing() from None
    shipped = ModelFile.of(model)
    label = _spark_type(shipped.classes)

    def fields(label: Any) -> Any:
        return StructType([StructField(LABEL, label), StructField(VOTES_ASKED, IntegerType())])

    are_booleans = isinstance(label, BooleanType)
    ask = predict_batch_udf(
        partial(_make_predict, shipped, are_booleans),
        return_type=fields(ByteType() if are_booleans else label),
        batch_size=BATCH_ROWS,
        input_tensor_shapes=[[shipped.n_features]],
    )
    # Such functions cannot return booleans, so those travel as numbers.
    return (lambda column: ask(column).cast(fields(label))) if are_booleans else ask


def score(
    frame: Any, model: Model | ModelFile, features: Sequence[str] | None = None, *, prefix: str = ""
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
        Put before the names of the new columns, where the frame has such columns already.

    Raises
    ------
    InvalidInputError
        If a column is missing or holds no numbers, or a new one is there already.

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
    names = output_names(frame.columns, prefix, "the Spark frame")
    for name in chosen:
        kind = frame.schema[name].dataType
        if not _holds_numbers(kind):
            raise wrong_type(name, kind.simpleString(), "the Spark frame")
    row = F.struct(*(F.col(_quoted(name)).cast("float").alias(f"f{k}") for k, name in enumerate(chosen)))
    answer = "foregone answer"
    scored = frame.withColumn(answer, predict_udf(shipped)(row))
    fields = zip((LABEL, VOTES_ASKED), names, strict=True)
    new = [F.col(f"`{answer}`.{field}").alias(name) for field, name in fields]
    return scored.select(*(F.col(_quoted(name)) for name in frame.columns), *new)


def _make_predict(
    shipped: ModelFile, as_numbers: bool
) -> Callable[[npt.NDArray[Any]], Mapping[str, npt.NDArray[Any]]]:
    def predict(rows: npt.NDArray[Any]) -> Mapping[str, npt.NDArray[Any]]:
        if rows.dtype.kind not in "biuf":
            raise wrong_type("any", rows.dtype, "the rows given to the Spark function")
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float32)
        labels, asked = shipped.predict_with_votes(rows)
        return {LABEL: labels.astype(np.int8) if as_numbers else labels, VOTES_ASKED: asked}

    return predict


def _spark_type(classes: npt.NDArray[Any]) -> Any:
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType

    kinds = {"b": BooleanType, "i": LongType, "u": LongType, "f": DoubleType, "U": StringType}
    plain = np.array(classes.tolist()) if len({type(label) for label in classes.tolist()}) == 1 else classes
    if plain.dtype.kind not in kinds:
        raise InvalidInputError(f"Spark has no type for the labels {classes.tolist()}: use texts or numbers")
    return kinds[plain.dtype.kind]()


def _holds_numbers(kind: Any) -> bool:
    from pyspark.sql.types import BooleanType, NumericType

    return isinstance(kind, NumericType | BooleanType)


def _quoted(name: str) -> str:
    """Keep dots in a column's name from being taken for fields."""
    return "`" + name.replace("`", "``") + "`"


def _missing() -> MissingExtraError:
    return MissingExtraError("pyspark", "spark", "Predicting on Spark")

"""Predict on data larger than one machine or its memory: with Spark, Dask, or streamed files.

`foregone.scale.spark` and `foregone.scale.dask` apply a saved classifier to frames on a cluster. `score_file`
streams Parquet or CSV files, locally or on a cluster. All of them give the same answers as `predict`, row for
row, because an answer depends only on the row's values and the classifier's seed. `watch_file` reads answers
from files into a monitor.
"""

from foregone.scale.score_file import Scored, score_file
from foregone.scale.watch_file import watch_file

__all__ = ["Scored", "score_file", "watch_file"]

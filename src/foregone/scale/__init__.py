"""Where rows outgrow one machine or its memory: Spark, Dask, and files that are streamed.

`foregone.scale.spark` and `foregone.scale.dask` bring a saved classifier to frames that live on a cluster;
`score_file` streams Parquet or CSV through the engine, here or on either of them. A row's answer is a
function of its values and the classifier's seed, so all of them give what `predict` gives, row for row.
`watch_file` tells a monitor what was answered.
"""

from foregone.scale.score_file import Scored, score_file
from foregone.scale.watch_file import watch_file

__all__ = ["Scored", "score_file", "watch_file"]

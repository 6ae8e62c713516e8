"""ONNX Runtime on the graph that skl2onnx makes of the scikit-learn forest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import skl2onnx
from skl2onnx.common.data_types import FloatTensorType

from benchmarks.forests import Task
from benchmarks.rivals.engine import Engine, check_same_forest


def make(task: Task, n_threads: int) -> Engine:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = n_threads
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph_of(task), settings, providers=["CPUExecutionProvider"])
    wanted = [session.get_outputs()[0].name]
    return Engine(
        prepare=lambda rows: {"rows": rows},
        predict=lambda feed: session.run(wanted, feed)[0],
        labels=np.asarray,
        check=lambda labels: check_same_forest(task, labels),
    )


def graph_of(task: Task) -> Path:
    """Return the file of the graph, which is made if it is not there."""
    path = task.cache.path(task.dataset, "onnx", skl2onnx.__version__, str(task.n_trees)).with_suffix(".onnx")
    if not path.exists():
        graph = skl2onnx.to_onnx(
            task.model,
            initial_types=[("rows", FloatTensorType([None, task.dataset.X_test.shape[1]]))],
            options={id(task.model): {"zipmap": False}},
            target_opset=15,
        )
        path.write_bytes(graph.SerializeToString())
    return path

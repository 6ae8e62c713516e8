"""An older ONNX Runtime, in an environment of its own, on the same graph as the newest one."""

from __future__ import annotations

from benchmarks.forests import Task
from benchmarks.rivals.engine import check_same_forest
from benchmarks.rivals.onnx_runtime import graph_of
from benchmarks.rivals.remote import RemoteEngine


def make(task: Task, n_threads: int) -> RemoteEngine:
    rows = task.dataset.X_test
    return RemoteEngine(
        "onnx-older", "onnx", graph_of(task), n_threads, rows, lambda labels: check_same_forest(task, labels)
    )

"""nvForest on the CPU, in an environment of its own, on the scikit-learn forest by way of treelite."""

from __future__ import annotations

import treelite

from benchmarks.forests import Task
from benchmarks.rivals.engine import check_same_forest
from benchmarks.rivals.remote import RemoteEngine


def make(task: Task, n_threads: int) -> RemoteEngine:
    path = task.cache.path(task.dataset, "treelite", treelite.__version__, str(task.n_trees))
    if not path.exists():
        treelite.sklearn.import_model(task.model).serialize(str(path))
    rows = task.dataset.X_test
    return RemoteEngine(
        "nvforest", "nvforest", path, n_threads, rows, lambda labels: check_same_forest(task, labels)
    )

"""scikit-learn's own ``predict``."""

from __future__ import annotations

import copy

import numpy as np

from benchmarks.forests import Task
from benchmarks.rivals.engine import Engine, check_same_forest


def make(task: Task, n_threads: int) -> Engine:
    model = copy.copy(task.model)
    model.n_jobs = n_threads
    return Engine(
        prepare=lambda rows: rows,
        predict=model.predict,
        labels=np.asarray,
        check=lambda labels: check_same_forest(task, labels),
    )

"""treelite's general inference library on the scikit-learn forest."""

from __future__ import annotations

import numpy as np
import treelite

from benchmarks.forests import Task
from benchmarks.rivals.engine import Engine, check_same_forest


def make(task: Task, n_threads: int) -> Engine:
    model = treelite.sklearn.import_model(task.model)
    return Engine(
        prepare=lambda rows: rows,
        predict=lambda rows: treelite.gtil.predict(model, rows, nthread=n_threads),
        labels=lambda shares: np.asarray(shares).reshape(len(shares), -1).argmax(axis=1),
        check=lambda labels: check_same_forest(task, labels),
    )

"""oneDAL through scikit-learn-intelex. It runs only forests it trained itself, on binned features."""

from __future__ import annotations

import copy
import importlib.metadata
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.forests import Task
from benchmarks.rivals.engine import Engine, WrongLabelsError, check_own_forest


def make(task: Task, n_threads: int) -> Engine:
    data = task.dataset
    path = task.cache.path(
        data, "onedal", importlib.metadata.version("scikit-learn-intelex"), str(task.n_trees)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = copy.copy(task.cache.model(path, lambda: _train(task)))
    model.n_jobs = n_threads
    if not hasattr(model, "_onedal_estimator"):
        raise WrongLabelsError("oneDAL handed the forest over to scikit-learn")

    def check(labels: npt.NDArray[np.int64]) -> str:
        return check_own_forest(task, labels, model.predict_proba(data.X_test).argmax(axis=1))

    return Engine(prepare=lambda rows: rows, predict=model.predict, labels=np.asarray, check=check)


def _train(task: Task) -> Any:
    from sklearnex.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=task.n_trees, n_jobs=-1, random_state=0)
    return model.fit(task.dataset.X_train, task.dataset.y_train)

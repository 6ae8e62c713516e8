"""ydf with a fully grown forest of its own, whose trees vote (``winner_take_all``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import ydf

from benchmarks.datasets import Rows
from benchmarks.forests import Task
from benchmarks.rivals.engine import Engine, WrongLabelsError, check_own_forest


def make(task: Task, n_threads: int) -> Engine:
    """Batches are ydf's own datasets, so that their making is not timed; one row is a dict of columns."""
    model = _model(task)
    spec, names = model.data_spec(), model.input_feature_names()

    def check(labels: npt.NDArray[np.int64]) -> str:
        votes = model.predict(_columns(task.dataset.X_test)) * task.n_trees
        if np.abs(votes - np.rint(votes)).max() > 1e-2:
            raise WrongLabelsError("its trees do not vote")
        return check_own_forest(task, labels, (np.rint(votes) * 2 > task.n_trees).astype(np.int64))

    return Engine(
        prepare=lambda rows: ydf.create_vertical_dataset(
            _columns(rows), data_spec=spec, required_columns=names
        ),
        prepare_one=_columns,
        predict=lambda rows: model.predict(rows, num_threads=n_threads),
        labels=lambda shares: (np.asarray(shares) > 0.5).astype(np.int64),
        check=check,
    )


def _columns(rows: Rows) -> dict[str, Rows]:
    return {f"x{k}": np.ascontiguousarray(rows[:, k]) for k in range(rows.shape[1])}


def _model(task: Task) -> Any:
    ydf.verbose(0)
    path = task.cache.path(task.dataset, "ydf", ydf.__version__, str(task.n_trees))
    if path.exists():
        return ydf.load_model(str(path))
    learner = ydf.RandomForestLearner(
        label="label",
        features=[(f"x{k}", ydf.Semantic.NUMERICAL) for k in range(task.dataset.X_train.shape[1])],
        num_trees=task.n_trees,
        winner_take_all=True,
        max_depth=-1,
        min_examples=1,
        compute_oob_performances=False,
    )
    model = learner.train(_columns(task.dataset.X_train) | {"label": task.dataset.y_train})
    model.save(str(path))
    return model

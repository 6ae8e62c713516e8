"""The models of `benchmarks.scores`: forests that average, and boosted trees; trained once and cached."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from benchmarks.datasets import Dataset
from benchmarks.forests import N_TREES, Cache

__all__ = ["DATASETS", "LIMITS", "MODELS", "fitted", "on_one_thread"]

DATASETS = ("diabetes", "income", "ground_cover", "hospitalization")
LIMITS = (0.002, 0.005)
N_BOOSTED = 300


def _forest(**settings: Any) -> Callable[[], Any]:
    return lambda: RandomForestClassifier(N_TREES, n_jobs=1, random_state=0, **settings)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=N_BOOSTED, n_jobs=1, random_state=0, verbose=-1)


MODELS: dict[str, Callable[[], Any]] = {
    "forest, default": _forest(),
    "forest, min_samples_leaf=5": _forest(min_samples_leaf=5),
    "forest, min_samples_leaf=50": _forest(min_samples_leaf=50),
    "forest, max_depth=12": _forest(max_depth=12),
    "HistGradientBoosting, 300": lambda: HistGradientBoostingClassifier(
        max_iter=N_BOOSTED, early_stopping=False, random_state=0
    ),
    "LightGBM, 300": _lightgbm,
}


def fitted(name: str, dataset: Dataset, cache: Cache) -> Any:
    """Return the model trained on a dataset, the one that is kept if there is one."""
    path = cache.path(dataset, name.replace(", ", "-").replace("=", ""), "scores", sklearn.__version__)
    with on_one_thread(name):
        return cache.model(path, lambda: MODELS[name]().fit(dataset.X_train, dataset.y_train))


def on_one_thread(name: str) -> AbstractContextManager[Any]:
    """Return a context in which a model stays on one thread; the others were told so when they were made."""
    return threadpool_limits(1) if name.startswith("Hist") else nullcontext()

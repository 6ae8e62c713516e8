"""The forests that are timed: trained once, and cached in a folder for the next run."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.ensemble import RandomForestClassifier

from benchmarks.datasets import Dataset

__all__ = ["N_TREES", "Cache", "Task", "model_bytes", "pickle_bytes", "train_forest"]

N_TREES = 101


@dataclass(frozen=True)
class Cache:
    """A folder with what is slow to make again. It is read back as code would be: keep it to yourself."""

    folder: Path

    def path(self, dataset: Dataset, what: str, *versions: str) -> Path:
        """Return where something made from the dataset's training rows belongs."""
        digest = hashlib.sha256()
        digest.update(np.ascontiguousarray(dataset.X_train).tobytes())
        digest.update(dataset.y_train.tobytes())
        digest.update(repr((N_TREES, *versions)).encode())
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{dataset.name}-{what}-{digest.hexdigest()[:16]}"

    def forest_path(self, dataset: Dataset, n_trees: int = N_TREES) -> Path:
        """Return where the scikit-learn forest for the dataset belongs."""
        more = () if n_trees == N_TREES else (str(n_trees),)
        return self.path(dataset, "sklearn", sklearn.__version__, *more)

    def model(self, path: Path, train: Callable[[], Any]) -> Any:
        """Return the model kept at the path, or train it and keep it there."""
        if path.exists():
            return joblib.load(path)
        model = train()
        joblib.dump(model, path)
        return model


def train_forest(dataset: Dataset, n_trees: int = N_TREES) -> RandomForestClassifier:
    """Train the forest, fully grown, as scikit-learn does by default."""
    forest = RandomForestClassifier(n_estimators=n_trees, n_jobs=-1, random_state=0)
    return forest.fit(dataset.X_train, dataset.y_train)


@dataclass
class Task:
    """A dataset and the scikit-learn forest for it: what every engine is given."""

    dataset: Dataset
    cache: Cache
    n_trees: int = N_TREES
    model: RandomForestClassifier = field(init=False)
    probabilities: npt.NDArray[np.float64] = field(init=False)
    predicted: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        data = self.dataset
        path = self.cache.forest_path(data, self.n_trees)
        self.model = self.cache.model(path, lambda: train_forest(data, self.n_trees))
        self.model.n_jobs = -1
        self.probabilities = self.model.predict_proba(data.X_test)[:, 1]
        self.predicted = self.model.predict(data.X_test)


def model_bytes(model: RandomForestClassifier) -> int:
    """Return the memory of a scikit-learn forest's node arrays."""
    trees = (member.tree_ for member in model.estimators_)
    return sum(tree.__getstate__()["nodes"].nbytes + tree.value.nbytes for tree in trees)


def pickle_bytes(model: Any) -> int:
    """Return the size of a model's pickle, which is written nowhere."""

    class Counter:
        n_bytes = 0

        def write(self, part: Any) -> int:
            self.n_bytes += memoryview(part).nbytes
            return memoryview(part).nbytes

    counter = Counter()
    pickle.dump(model, counter, protocol=5)
    return counter.n_bytes

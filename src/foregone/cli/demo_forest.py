"""The demo's measurements: a forest on generated data, run in full and stopped early."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from foregone.classifier import EarlyStoppingClassifier

__all__ = ["ManyClasses", "MeasuredForest", "measure_forest", "measure_many_classes"]

N_TREES, LIMIT, CONFIDENCE = 101, 1e-3, 0.95
N_TRAIN, N_CALIBRATION, N_TEST = 30_000, 20_000, 20_000
N_CLASSES = 5  # of the second forest
ROUNDS = 5
SETTINGS: dict[str, Any] = {"max_disagreement": LIMIT, "confidence": CONFIDENCE, "random_state": 0}


@dataclass(frozen=True)
class MeasuredForest:
    """A forest stopped early, with measurements of it and of the full forest."""

    classifier: EarlyStoppingClassifier
    asked: np.ndarray[Any, np.dtype[np.int32]]
    n_differing: int
    errors: tuple[float, float]
    rows_per_second: tuple[float, float]
    seconds_for_one_row: tuple[float, float]
    megabytes: tuple[float, float]
    seconds_to_calibrate: float


def measure_forest() -> MeasuredForest:
    """Train, calibrate and measure; in pairs, scikit-learn's figure comes first, ours second.

    Each uses one thread. Times are medians of rounds in which both take turns.
    """
    from foregone.classifier import early_stop
    from foregone.forest import PackedForest

    forest, calibration, rows, y = _trained(n_clusters_per_class=4, class_sep=1.2)
    early_stop(forest, calibration, **SETTINGS)  # compiles, once for this machine
    start = time.perf_counter()
    classifier = early_stop(forest, calibration, **SETTINGS)
    seconds_to_calibrate = time.perf_counter() - start
    row = rows[:1]
    labels, asked, _ = classifier.predict_with_votes(rows)
    single = _medians(lambda: forest.predict(row), lambda: [classifier.predict(row) for _ in range(1000)])
    return MeasuredForest(
        classifier=classifier,
        asked=asked,
        n_differing=int(np.sum(labels != classifier.full_predict(rows))),
        errors=(float(np.mean(forest.predict(rows) != y)), float(np.mean(labels != y))),
        rows_per_second=_rows_per_second(forest, classifier, rows),
        seconds_for_one_row=(single[0], single[1] / 1000),
        megabytes=(_tree_bytes(forest) / 1e6, PackedForest.from_sklearn(forest).nbytes / 1e6),
        seconds_to_calibrate=seconds_to_calibrate,
    )


@dataclass(frozen=True)
class ManyClasses:
    """Measurements of a forest with more than two classes; pairs as in `MeasuredForest`."""

    n_classes: int
    mean_asked: float
    disagreement: float
    promise: str
    rows_per_second: tuple[float, float]


def measure_many_classes() -> ManyClasses:
    """Train, calibrate and measure a forest with several classes."""
    from foregone.classifier import early_stop

    forest, calibration, rows, _ = _trained(n_classes=N_CLASSES, n_clusters_per_class=2, class_sep=1.5)
    classifier = early_stop(forest, calibration, **SETTINGS)
    labels, asked, _ = classifier.predict_with_votes(rows)
    return ManyClasses(
        n_classes=N_CLASSES,
        mean_asked=float(asked.mean()),
        disagreement=float(np.mean(labels != classifier.full_predict(rows))),
        promise=str(classifier.promise_),
        rows_per_second=_rows_per_second(forest, classifier, rows),
    )


def _trained(**options: Any) -> tuple[Any, Any, Any, Any]:
    """Return a forest trained on generated rows, calibration rows, and test rows with their labels."""
    # scikit-learn takes a second to load, and --help does not need it.
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier

    n_rows = N_TRAIN + N_CALIBRATION + N_TEST
    X, y = make_classification(n_rows, n_features=20, n_informative=8, flip_y=0.02, random_state=0, **options)
    X = X.astype(np.float32)
    forest = RandomForestClassifier(N_TREES, n_jobs=-1, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    forest.n_jobs = 1
    return forest, X[N_TRAIN:-N_TEST], X[-N_TEST:], y[-N_TEST:]


def _rows_per_second(forest: Any, classifier: Any, rows: Any) -> tuple[float, float]:
    theirs, ours = _medians(lambda: forest.predict(rows), lambda: classifier.predict(rows))
    return len(rows) / theirs, len(rows) / ours


def _medians(*works: Callable[[], Any]) -> list[float]:
    """Return the median seconds of each, taking turns."""
    spent: list[list[float]] = [[] for _ in works]
    for work in works:
        work()  # the first run loads and compiles: not timed
    for _ in range(ROUNDS):
        for seconds, work in zip(spent, works, strict=True):
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
    return [float(np.median(seconds)) for seconds in spent]


def _tree_bytes(forest: Any) -> float:
    """Return the size in bytes of the arrays of scikit-learn's trees."""
    parts = [tree.tree_.__getstate__() for tree in forest.estimators_]
    return float(sum(part["nodes"].nbytes + part["values"].nbytes for part in parts))

"""Forests of more than two classes stopped early: trees asked, disagreement and speed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.datasets import Dataset
from benchmarks.forests import N_TREES, Cache, model_bytes, train_forest
from benchmarks.markdown import table
from benchmarks.ours import CHECKED_ROWS, CONFIDENCE, MAX_DISAGREEMENT, check_share_differing
from benchmarks.rivals import WrongLabelsError
from benchmarks.timing import median_times
from foregone import early_stop

__all__ = ["measure_many_classes", "table_of"]

ONE_ROW_CALLS = 200
Result = dict[str, Any]


def measure_many_classes(dataset: Dataset, cache: Cache, rounds: int) -> Result:
    """Return all figures of one dataset; times are microseconds a row, or a call with one row, one thread."""
    model = cache.model(cache.forest_path(dataset), lambda: train_forest(dataset))
    model.n_jobs = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hard votes beside soft ones; the table has the figure
        front = early_stop(
            model, dataset.X_calibration, MAX_DISAGREEMENT, confidence=CONFIDENCE, n_jobs=1, random_state=0
        )
    X, classes = dataset.X_test, np.arange(len(front.classes_))
    of_trees = np.stack([tree.predict(X[:CHECKED_ROWS]) for tree in model.estimators_], axis=1)
    counts = front.full_votes(X)
    if not np.array_equal(counts[:CHECKED_ROWS], (of_trees[:, :, None] == classes).sum(axis=1)):
        raise WrongLabelsError("votes differ from those of scikit-learn's trees")
    labels, asked, _ = front.predict_with_votes(X)
    answers = np.searchsorted(front.classes_, labels)
    differs = counts[np.arange(len(X)), answers] < counts.max(axis=1)
    check_share_differing(differs)
    rows = [X[k : k + 1] for k in range(ONE_ROW_CALLS)]
    batch = median_times(
        {
            "predict": lambda _: front.predict(X),
            "all": lambda _: front.full_predict(X),
            "scikit-learn": lambda _: model.predict(X),
        },
        rounds,
    )
    one_row = median_times(
        {
            "predict": lambda k: front.predict(rows[k]),
            "scikit-learn": lambda k: model.predict(rows[k]),
        },
        rounds,
        ONE_ROW_CALLS,
    )
    return {
        "name": dataset.name,
        "is_real": dataset.is_real,
        "n_classes": len(front.classes_),
        "n_trees": N_TREES,
        "trees_asked": float(asked.mean()),
        "disagreement": float(differs.mean()),
        "soft_disagreement": float(np.mean(labels != model.predict(X))),
        "batch": {name: seconds / len(X) * 1e6 for name, seconds in batch.items()},
        "one_row": {name: seconds * 1e6 for name, seconds in one_row.items()},
        "memory_ratio": model_bytes(model) / front.ensemble_.nbytes,
    }


def table_of(results: Sequence[Result]) -> str:
    """Return the figures as one table."""
    head = [
        "dataset", "classes", "trees", "trees asked", "disagreement", "… with soft predict",
        "foregone predict", "all trees", "scikit-learn", "predict beside scikit-learn",
        "one row: foregone predict", "scikit-learn", "memory beside scikit-learn",
    ]  # fmt: skip
    rows = []
    for r in results:
        batch, one_row = r["batch"], r["one_row"]
        rows.append(
            [
                r["name"] if r["is_real"] else f"{r['name']} (generated)",
                str(r["n_classes"]),
                str(r["n_trees"]),
                f"{r['trees_asked']:.1f}",
                f"{r['disagreement']:.1e}",
                f"{r['soft_disagreement']:.1e}",
                *(f"{batch[name]:.3g}" for name in ("predict", "all", "scikit-learn")),
                f"{batch['scikit-learn'] / batch['predict']:.1f}x",
                f"{one_row['predict']:.3g}",
                f"{one_row['scikit-learn']:,.0f}",
                f"{r['memory_ratio']:.1f}x less",
            ]
        )
    return table(head, rows)

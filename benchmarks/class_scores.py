"""Measure models of many classes stopped early: trees asked, disagreement, speed and size.

    python -m benchmarks.class_scores
    python -m benchmarks.class_scores --only digits --parts table
    python -m benchmarks.class_scores --again --write-docs

Models and figures are kept in build/benchmarks, so that a run that was stopped goes on. Times are medians of
runs in turns, on one thread. digits is scikit-learn's; the others are read from FOREGONE_DATA or
../shared/data, and what is not there is generated, and said to be. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from benchmarks.datasets import Dataset, data_folder, load
from benchmarks.markdown import table
from benchmarks.score_measure import predict_times, time_ratio
from benchmarks.score_models import on_one_thread
from benchmarks.score_run import ROOT, KeptPieces, options_of, publish
from benchmarks.score_splits import excess
from benchmarks.score_tables import Target, splits_table
from foregone import early_stop, solve_scores
from foregone.classifier.calibration_scores import first_order, known_bounds, scores_of

DOCS = ROOT / "docs" / "measurements" / "class_scores.md"
PACKAGES = ("foregone", "numpy", "scikit-learn", "lightgbm", "xgboost")
N_MEMORY = 500  # trees of the forest whose memory is measured
FEWER, NAMED = 3.0, ("digits", "ground_cover")  # at least so many times fewer trees on these
Result = dict[str, Any]


class Task(NamedTuple):
    """A dataset of many classes, the limit for it, and how many of its rows to calibrate on in splits."""

    limit: float
    n_classes: int
    n_drawn: int
    source: str = ""
    target: str = "target"


TASKS = {
    "digits": Task(0.02, 10, 600),
    "ground_cover": Task(0.005, 7, 6_000),
    "shuttle": Task(0.005, 7, 4_000),
    "education": Task(0.005, 17, 6_000, "income", "education"),
}


def _forest(**settings: Any) -> Any:
    return RandomForestClassifier(n_jobs=1, random_state=0, **settings)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=0)


MODELS: dict[str, Callable[[], Any]] = {
    "forest, default": _forest,
    "forest, min_samples_leaf=3": lambda: _forest(min_samples_leaf=3, max_features=0.5),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
}
SPLIT_MODELS = ("forest, default", "forest, min_samples_leaf=3", "LightGBM")


def main(arguments: list[str]) -> int:
    options = options_of(
        arguments, "python -m benchmarks.class_scores", __doc__, rows=20_000, training_rows=40_000, rounds=9
    )
    run = Run(options)
    results, splits, memory = run.table(), run.splits(), run.memory()
    return publish(
        options,
        DOCS,
        f"at most {options.training_rows:,} rows to train on and {options.rows:,} fresh ones; "
        f"{options.splits} splits; {options.rounds} rounds of timing",
        PACKAGES,
        results,
        targets_of(results, splits, memory),
        {
            "Stopped early": main_table(results),
            "Random calibrations of real data": splits_table(splits),
            "Memory": memory_table(memory),
        },
    )


class Run(KeptPieces):
    """What is measured of models of many classes."""

    folder = "class_scores"

    def table(self) -> list[Result]:
        """Return the figures of every model on every dataset that is wanted."""
        return [
            found
            for name in self.wanted(tuple(TASKS))
            for model in MODELS
            if (found := self._piece("table", name, model, lambda n=name, m=model: self._measure(n, m)))
        ]

    def splits(self) -> list[Result]:
        """Return how often limits were exceeded over random calibrations of real data."""
        return [
            found
            for name in self.wanted(tuple(TASKS))
            for model in SPLIT_MODELS
            if (found := self._piece("splits", name, model, lambda n=name, m=model: self._split(n, m)))
        ]

    def memory(self) -> list[Result]:
        """Return how small a tuned forest becomes."""
        name = "ground_cover"
        if name not in self.wanted(tuple(TASKS)):
            return []
        found = self._piece("memory", name, f"{N_MEMORY} trees", lambda: self._pack(name))
        return [found] if found else []

    def _data(self, name: str) -> Dataset:
        if self.loaded is None or self.loaded[0] != name:
            task, options = TASKS[name], self.options
            if name == "digits":
                data = _digits()
            else:
                folder = options.data or data_folder()
                sizes = (options.training_rows, options.rows)
                data = load(task.source or name, folder, *sizes, n_classes=task.n_classes, target=task.target)
            self.loaded = name, data
        return self.loaded[1]

    def _fitted(self, name: str, model: str) -> Any:
        data = self._data(name)
        path = self.cache.path(
            data, model.replace(", ", "-").replace("=", ""), "classes", sklearn.__version__
        )
        with on_one_thread(model):
            return self.cache.model(path, lambda: MODELS[model]().fit(data.X_train, data.y_train))

    def _measure(self, name: str, model_name: str) -> Result:
        data, model, limit = self._data(name), self._fitted(name, model_name), TASKS[name].limit
        own = np.ravel(model.predict(data.X_test))
        began = time.perf_counter()
        classifier = early_stop(model, data.X_calibration, limit, n_jobs=1, random_state=0)
        seconds = time.perf_counter() - began
        times = predict_times(model_name, model, {limit: classifier}, data, self.options.rounds)
        labels, asked, _ = classifier.predict_with_votes(data.X_test)
        by_lead = _fewer_by_lead(classifier, data, limit) if classifier.ensemble_.drops_classes else None
        certificate = classifier.strategy_.certificate
        return {
            "dataset": name,
            "is_real": data.is_real,
            "model": model_name,
            "limit": limit,
            "voting": classifier.voting_,
            "n_voters": classifier.ensemble_.n_voters,
            "asked": float(asked.mean() / classifier.ensemble_.n_voters),
            "fewer_by_lead": by_lead,
            "disagreement": float(np.mean(labels != own)),
            "bound": None if certificate is None else certificate.bound,
            "full_differs": float(np.mean(classifier.full_predict(data.X_test) != own)),
            "error": float(np.mean(labels != data.y_test)),
            "own_error": float(np.mean(own != data.y_test)),
            "seconds": seconds,
            "batch": time_ratio(min, times["batch"], str(limit)),
            "batch_all": time_ratio(min, times["batch"], "all"),
            "one_row": time_ratio(min, times["one_row"], str(limit)),
            "one_row_us": 1e6 * min(times["one_row"][str(limit)]),
        }

    def _split(self, name: str, model_name: str) -> Result:
        data, model, task = self._data(name), self._fitted(name, model_name), TASKS[name]
        ensemble = early_stop(model).ensemble_
        most = 5 * task.n_drawn
        pool = np.concatenate([data.X_calibration, data.X_test])[:most]
        own = np.searchsorted(ensemble.classes, np.ravel(model.predict(pool)))
        scores = scores_of(ensemble, pool)
        bounds, n_fresh = known_bounds(ensemble, scores), len(pool) - task.n_drawn
        wrong, asked = [], []
        for split in range(self.options.splits):
            shuffled = np.random.default_rng(split).permutation(len(pool))
            drawn, fresh = shuffled[: task.n_drawn], shuffled[task.n_drawn :]
            strategy = solve_scores(
                scores[drawn],
                task.limit,
                order=first_order(ensemble, split),
                start=ensemble.start,
                answers=own[drawn],
                bounds=bounds,
                random_state=split,
                drops_classes=ensemble.drops_classes,
            )
            answers, n_asked = strategy.run(scores[fresh])
            wrong.append(int(np.count_nonzero(answers != own[fresh])))
            asked.append(float(n_asked.mean() / ensemble.n_voters))
        return {
            "dataset": name,
            "model": model_name,
            "limit": task.limit,
            "n_calibrated": task.n_drawn,
            "asked": asked,
            **excess(wrong, n_fresh, task.limit),
        }

    def _pack(self, name: str) -> Result:
        data = self._data(name)
        settings = {"min_samples_leaf": 3, "max_features": 0.5, "n_jobs": -1, "random_state": 0}
        model = RandomForestClassifier(N_MEMORY, **settings).fit(data.X_train[:20_000], data.y_train[:20_000])
        states = [tree.tree_.__getstate__() for tree in model.estimators_]
        forest = early_stop(model).ensemble_
        return {
            "n_trees": N_MEMORY,
            "n_nodes": int(sum(len(state["nodes"]) for state in states)),
            "sklearn": int(sum(state["nodes"].nbytes + state["values"].nbytes for state in states)),
            "packed": forest.nbytes,
            "n_lines": len(forest.table),
        }

    def _piece(self, part: str, name: str, model: str, work: Callable[[], Result]) -> Result | None:
        options = self.options
        sizes = f"{options.training_rows} {options.rows} {options.rounds} {options.splits}"
        found: Result | None = self.piece(part, f"{part} {name} {model}", sizes, work)
        return found


def _fewer_by_lead(classifier: Any, data: Dataset, limit: float) -> float:
    """Return how many times fewer trees are asked if the lead is followed and no class is ever dropped."""
    ensemble = classifier.ensemble_
    scores = scores_of(ensemble, data.X_calibration)
    strategy = solve_scores(
        scores,
        limit,
        order=classifier.order_,
        start=ensemble.start,
        bounds=ensemble.score_bounds,
        random_state=classifier.seed_,
    )
    asked = strategy.run(scores_of(ensemble, data.X_test[:5_000]))[1]
    return float(ensemble.n_steps / asked.mean())


def _digits() -> Dataset:
    """Return scikit-learn's digits: half to train, a third to calibrate, the rest to test."""
    X, y = load_digits(return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(len(X))
    X, y = np.ascontiguousarray(X[shuffled], np.float32), y[shuffled]
    train, test = len(X) // 2, len(X) * 5 // 6
    parts = slice(train), slice(train, test), slice(test, None)
    return Dataset("digits", True, len(X), *(array[part].copy() for part in parts for array in (X, y)))


def targets_of(results: list[Result], splits: list[Result], memory: list[Result]) -> list[Target]:
    """Return what must be shown; ratios as the time, or the trees, of ours by those of the model."""
    targets = []
    for one in results:
        what = f"{one['dataset']}, {one['model']}"
        if one["dataset"] in NAMED:
            targets.append(Target(f"{what}: share of trees asked", 1 / FEWER, one["asked"]))
        most = 1 / 5 if one["model"].startswith("forest") else 1.0
        targets.append(Target(f"{what}: batch, time by that of its own predict", most, 1 / one["batch"]))
        targets.append(Target(f"{what}: one row, the same", 1 / 20, 1 / one["one_row"]))
        targets.append(Target(f"{what}: everyone asked, share that differs", 0.0, one["full_differs"]))
    for one in splits:
        what = f"{one['dataset']}, {one['model']}: share of splits above the limit"
        targets.append(Target(what, 0.05, one["surely_above"] / one["n"]))
    targets += [Target("memory by scikit-learn's", 0.1, one["packed"] / one["sklearn"]) for one in memory]
    return targets


def main_table(results: list[Result]) -> str:
    """Return what stopping early asks, how often it differs, and how fast it is."""
    head = [
        "dataset, model", "limit", "trees", "asked", "fewer", "lead alone", "differs", "certified at most",
        "error (of everyone)", "batch (all trees)", "one row", "early_stop",
    ]  # fmt: skip
    rows = [
        [
            f"{one['dataset']}, {one['model']}",
            f"{one['limit']:g}",
            f"{one['n_voters']:,}",
            f"{one['asked'] * one['n_voters']:.1f}",
            f"{1 / one['asked']:.1f} x",
            "-" if one["fewer_by_lead"] is None else f"{one['fewer_by_lead']:.1f} x",
            f"{100 * one['disagreement']:.2f} %",
            "-" if one["bound"] is None else f"{100 * one['bound']:.2f} %",
            f"{100 * one['error']:.1f} % ({100 * one['own_error']:.1f} %)",
            f"{one['batch']:.1f} x ({one['batch_all']:.1f} x)",
            f"{one['one_row']:.0f} x ({one['one_row_us']:.1f} us)",
            f"{one['seconds']:.1f} s",
        ]
        for one in results
    ]
    return table(head, rows)


def memory_table(memory: list[Result]) -> str:
    """Return how small a tuned forest becomes."""
    rows = [
        [
            f"{one['n_trees']:,}",
            f"{one['n_nodes']:,}",
            f"{one['n_lines']:,}",
            f"{one['sklearn'] / 1e6:.1f} MB",
            f"{one['packed'] / 1e6:.1f} MB",
            f"{one['packed'] / one['sklearn']:.3f}",
        ]
        for one in memory
    ]
    return table(["trees", "nodes", "different leaves", "scikit-learn", "packed", "share"], rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Compare limits on the loss of accuracy with limits on the disagreement, and measure decision thresholds.

For every dataset one model is trained. The other rows are divided at random, many times, into calibration and
test rows. Forests of 101 trees count votes; boosted trees add up scores. What a forest loses on test rows is
the mean over all orders of its trees, computed, wherever the promise is about that mean. On a rare class,
``threshold=0.2`` is held against the model's own answers at that threshold.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.ensemble import RandomForestClassifier

from benchmarks.datasets import Dataset, data_folder, load
from benchmarks.forests import N_TREES, Cache
from benchmarks.markdown import put_into, table
from foregone import LabelledVotes, early_stop, evaluate, solve
from foregone.forest import PackedForest

__all__ = ["main"]

ROOT = Path(__file__).parent.parent
DATASETS = ("diabetes", "income", "hospitalization", "dota2", "ground_cover", "sepsis")
BOOSTED = {"diabetes": "LightGBM", "income": "HistGradientBoosting", "hospitalization": "XGBoost"}
LIMITS = (0.001, 0.002, 0.005)
MOST_TRAINING_ROWS = 40_000
# Trees asked without a confidence, as found by the prototype that this grew out of.
PROTOTYPE = {
    "diabetes": (2.0, 1.8, 1.5),
    "hospitalization": (39.9, 34.3, 25.5),
    "dota2": (47.4, 40.6, 29.6),
    "ground_cover": (15.8, 13.3, 9.6),
    "income": (4.4, 3.0, 1.4),
}
IMBALANCED, THRESHOLD, THRESHOLD_LIMIT = "income", 0.2, 0.005

Labels = npt.NDArray[np.int64]
Figures = dict[str, float]


def main(arguments: list[str]) -> int:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.accuracy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, help="folder of NAME.parquet files with a last column `target`")
    add("--only", nargs="+", choices=DATASETS, default=DATASETS, metavar="NAME", help="only these datasets")
    add("--parts", nargs="+", choices=("forests", "boosted", "threshold"), metavar="PART")
    add("--splits", type=int, default=20, help="random calibrations of each model")
    add("--threshold-splits", type=int, default=100, help="random calibrations for the threshold")
    add("--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder for trained models")
    add("--again", action="store_true", help="repeat measurements that are cached")
    add("--write-docs", action="store_true", help="write the tables to docs/measurements/accuracy.md")
    options = parser.parse_args(arguments)
    text = "\n".join(_pages(options))
    print(text)
    if options.write_docs:
        put_into(ROOT / "docs" / "measurements" / "accuracy.md", text)
    return 0


def _pages(options: argparse.Namespace) -> Iterator[str]:
    folder, cache = options.data or data_folder(), Cache(options.cache)
    parts = options.parts or ("forests", "boosted", "threshold")

    def kept(name: str, n_splits: int, work: Callable[[], Any]) -> Any:
        path = options.cache / "accuracy" / f"{name.replace(' ', '_')}-{n_splits}.json"
        if path.exists() and not options.again:
            return json.loads(path.read_text())
        began = time.time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what cannot be certified curtails, which the table shows
            found = work()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
        print(f"{name}: {time.time() - began:.0f} s", file=sys.stderr, flush=True)
        return found

    datasets = [name for name in options.only if folder is None or (folder / f"{name}.parquet").exists()]
    n_splits = options.splits
    if "forests" in parts:
        found = {
            name: kept(f"forest {name}", n_splits, lambda name=name: _forests(name, folder, cache, n_splits))
            for name in datasets
        }
        yield _forest_table(found)
    if "boosted" in parts:
        found = {
            f"{BOOSTED[name]}, {name}": kept(
                f"boosted {name}", n_splits, lambda name=name: _boosted(name, folder, cache, n_splits)
            )
            for name in datasets
            if name in BOOSTED
        }
        yield _boosted_table(found)
    if "threshold" in parts and IMBALANCED in datasets:
        n_splits = options.threshold_splits
        yield _threshold_table(
            kept("threshold", n_splits, lambda: _thresholds(folder, cache, n_splits)), n_splits
        )
    splits = f"{options.splits} splits, {options.threshold_splits} at the threshold"
    yield f"Measured on {datetime.date.today()} by `make bench-accuracy`, {splits}."


# Forests: votes are counted -----------------------------------------------------------------------


def _pool(data: Dataset) -> tuple[Any, Labels]:
    """Return the rows that no model was trained on, and their labels."""
    return np.concatenate([data.X_calibration, data.X_test]), np.concatenate(
        [data.y_calibration, data.y_test]
    )


def _splits(n_rows: int, n_splits: int) -> Iterator[tuple[Labels, Labels]]:
    """Divide rows at random, a third to calibrate on and two thirds to test on, several times."""
    for split in range(n_splits):
        shuffled = np.random.default_rng([20, split]).permutation(n_rows)
        yield shuffled[: n_rows // 3], shuffled[n_rows // 3 :]


def _packed(name: str, folder: Path | None, cache: Cache) -> tuple[Dataset, PackedForest]:
    data = load(name, folder, MOST_TRAINING_ROWS, 10**9)
    path = cache.path(data, "accuracy-forest", str(MOST_TRAINING_ROWS), sklearn.__version__)
    model = cache.model(
        path, lambda: RandomForestClassifier(N_TREES, random_state=0).fit(data.X_train, data.y_train)
    )
    return data, PackedForest.from_sklearn(model)


def _forests(name: str, folder: Path | None, cache: Cache, n_splits: int) -> list[dict[str, Figures]]:
    """Return, for each split, the figures of every way and limit."""
    data, forest = _packed(name, folder, cache)
    X, y = _pool(data)
    votes = forest.votes(X)
    found = []
    for split, (calibration, test) in enumerate(_splits(len(X), n_splits)):
        seen = LabelledVotes.from_yes_counts(votes[calibration], y[calibration], N_TREES)
        tested = votes[test], y[test]
        figures: dict[str, Figures] = {}
        for limit in LIMITS:
            plain = solve("minimean", seen.votes, limit).strategy
            figures[f"disagreement {limit}"] = _over_orders(plain, *tested)
            weighted = solve("minimean", seen.votes, limit, values=seen.values()).strategy
            figures[f"accuracy {limit}"] = _over_orders(weighted, *tested)
            sure = early_stop(forest, X[calibration], max_disagreement=limit, random_state=split)
            figures[f"disagreement {limit} sure"] = _in_use(sure, X[test], y[test])
            sure = early_stop(
                forest, X[calibration], y[calibration], max_accuracy_loss=limit, random_state=split
            )
            figures[f"accuracy {limit} sure"] = {
                **_over_orders(sure.strategy_, *tested),
                "loss in use": _in_use(sure, X[test], y[test])["loss"],
            }
        figures["full"] = {"accuracy": float(np.mean((votes[test] > N_TREES // 2) == y[test]))}
        found.append(figures)
    return found


def _over_orders(strategy: Any, votes: Labels, y: Labels) -> Figures:
    """Return what a strategy asks and loses on rows, on average over orders of the voters."""
    evaluation = evaluate(strategy)
    differs = evaluation.disagreement[votes]
    losses = np.where((votes > N_TREES // 2) == y, differs, -differs)
    return _figures(evaluation.expected_votes[votes], differs, losses)


def _in_use(classifier: Any, X: Any, y: Labels) -> Figures:
    """Return what a classifier asks and loses on rows, as it runs."""
    full, (answers, asked, *_) = classifier.full_predict(X), classifier.predict_with_votes(X)
    losses = (answers != y).astype(float) - (full != y)
    return _figures(asked, (answers != full).astype(float), losses)


def _figures(asked: Any, differs: Any, losses: Any) -> Figures:
    return {
        "asked": float(asked.mean()),
        "disagreement": float(differs.mean()),
        "loss": float(losses.mean()),
        "error": float(losses.std() / np.sqrt(len(losses))),
    }


def _forest_table(found: dict[str, list[dict[str, Figures]]]) -> str:
    head = ["trees asked of 101", "limit", "disagreement", "accuracy", "prototype"]
    head += ["disagreement, 95 %", "accuracy, 95 %"]
    rows = []
    for name, splits in found.items():
        for place, limit in enumerate(LIMITS):
            ways = [f"disagreement {limit}", f"accuracy {limit}"]
            asked = [_mean(splits, way, "asked") for way in (*ways, *(f"{way} sure" for way in ways))]
            first, second, third, fourth = (f"{mean:.1f}" for mean in asked)
            prototype = f"{PROTOTYPE[name][place]:.1f}" if name in PROTOTYPE else ""
            title = name if place == 0 else ""
            rows.append([title, f"{limit:g}", first, second, prototype, third, fourth])
    return f"### Forests\n\n{table(head, rows)}\n\n{_kept_table(found)}"


def _kept_table(found: dict[str, list[dict[str, Figures]]]) -> str:
    """Return what becomes of test rows with a limit on accuracy at 95 % confidence."""
    head = ["accuracy, 95 %", "accuracy of all trees", "limit", "disagreement", "lost", "above the limit"]
    head += ["as it ran"]
    rows = []
    for name, splits in found.items():
        for place, limit in enumerate(LIMITS):
            sure = f"accuracy {limit} sure"
            figures = [f"{_mean(splits, sure, 'disagreement'):.4f}", f"{_mean(splits, sure, 'loss'):.5f}"]
            accuracy = f"{100 * _mean(splits, 'full', 'accuracy'):.1f} %"
            titles = [name, accuracy] if place == 0 else ["", ""]
            ran = sum(split[sure].get("loss in use", split[sure]["loss"]) > limit for split in splits)
            rows.append(
                [*titles, f"{limit:g}", *figures, _above(splits, sure, limit), f"{ran} of {len(splits)}"]
            )
    return table(head, rows) + "\n"


def _mean(splits: list[dict[str, Figures]], way: str, figure: str) -> float:
    return float(np.mean([split[way][figure] for split in splits]))


def _above(splits: list[dict[str, Figures]], way: str, limit: float) -> str:
    """Say in how many splits the test rows lose more than the limit, and more than by two standard errors."""
    losses = [split[way] for split in splits]
    above = sum(found["loss"] > limit for found in losses)
    beyond = sum(found["loss"] - 2 * found["error"] > limit for found in losses)
    return f"{above} of {len(splits)} ({beyond})"


# Boosted trees: scores are added up ---------------------------------------------------------------


def _model(kind: str) -> Any:
    if kind == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
    if kind == "XGBoost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=1, random_state=0)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def _boosted(name: str, folder: Path | None, cache: Cache, n_splits: int) -> list[dict[str, Figures]]:
    data = load(name, folder, MOST_TRAINING_ROWS, 10**9)
    model = _model(BOOSTED[name]).fit(data.X_train, data.y_train)
    X, y = _pool(data)
    found = []
    for split, (calibration, test) in enumerate(_splits(len(X), n_splits)):
        figures: dict[str, Figures] = {
            "full": {"accuracy": float(np.mean(model.predict(X[test]) == y[test]))}
        }
        for limit in LIMITS:
            by_kind = {"disagreement": {"max_disagreement": limit}, "accuracy": {"max_accuracy_loss": limit}}
            for kind, what in by_kind.items():
                sure = early_stop(model, X[calibration], y[calibration], random_state=split, **what)
                figures[f"{kind} {limit} sure"] = _in_use(sure, X[test], y[test])
        found.append({**figures, "all": {"asked": float(sure.ensemble_.n_voters)}})
    return found


def _boosted_table(found: dict[str, list[dict[str, Figures]]]) -> str:
    head = ["trees asked", "of", "limit", "disagreement, 95 %", "accuracy, 95 %"]
    rows = []
    for name, splits in found.items():
        for place, limit in enumerate(LIMITS):
            asked = [_mean(splits, f"{way} {limit} sure", "asked") for way in ("disagreement", "accuracy")]
            titles = [name, f"{_mean(splits, 'all', 'asked'):.0f}"] if place == 0 else ["", ""]
            rows.append([*titles, f"{limit:g}", *(f"{mean:.1f}" for mean in asked)])
    return f"### Boosted trees\n\n{table(head, rows)}\n\n{_kept_table(found)}"


# A decision threshold -----------------------------------------------------------------------------


def _thresholds(folder: Path | None, cache: Cache, n_splits: int) -> dict[str, list[dict[str, Any]]]:
    """Return how often ``threshold=0.2`` differs from the model's own answers at that threshold."""
    from lightgbm import LGBMClassifier

    data = load(IMBALANCED, folder, MOST_TRAINING_ROWS, 10**9)
    X, train = _pool(data)[0], (data.X_train, 1 - data.y_train)  # class 1 is the rare one
    models = {
        "forest of 101 trees, votes": RandomForestClassifier(N_TREES, random_state=0),
        "forest, min_samples_leaf=5": RandomForestClassifier(N_TREES, min_samples_leaf=5, random_state=0),
        "LightGBM": LGBMClassifier(n_jobs=1, random_state=0, verbose=-1),
    }
    found: dict[str, list[dict[str, Any]]] = {}
    for name, model in models.items():
        own = model.fit(*train).predict_proba(X)[:, 1] >= THRESHOLD
        for limit in (THRESHOLD_LIMIT, {0: THRESHOLD_LIMIT, 1: THRESHOLD_LIMIT}):
            title = f"{name}, each class" if isinstance(limit, dict) else name
            found[title] = []
            for split, (calibration, test) in enumerate(_splits(len(X), n_splits)):
                stopped = early_stop(
                    model, X[calibration], max_disagreement=limit, threshold=THRESHOLD, random_state=split
                )
                answers, asked, *_ = stopped.predict_with_votes(X[test])
                differs = answers != own[test]
                found[title].append(
                    {
                        "asked": float(asked.mean()),
                        "all": float(differs.mean()),
                        "no": _share(differs[~own[test]]),
                        "yes": _share(differs[own[test]]),
                        "n": [int((~own[test]).sum()), int(own[test].sum())],
                    }
                )
    return found


def _share(differs: Any) -> float:
    return float(differs.mean()) if len(differs) else 0.0


def _threshold_table(found: dict[str, list[dict[str, Any]]], n_splits: int) -> str:
    head = ["threshold 0.2, limit 0.005", "trees asked", "disagreement", "class 0", "class 1"]
    head += ["splits above a limit"]
    rows = []
    for name, splits in found.items():
        keys = ("no", "yes") if name.endswith("each class") else ("all",)
        above = sum(any(split[key] > THRESHOLD_LIMIT for key in keys) for split in splits)
        beyond = sum(any(_is_beyond(split, key) for key in keys) for split in splits)
        means = [float(np.mean([split[key] for split in splits])) for key in ("asked", "all", "no", "yes")]
        shown = [f"{means[0]:.1f}", *(f"{mean:.5f}" for mean in means[1:])]
        rows.append([name, *shown, f"{above} of {n_splits} ({beyond})"])
    return "### A decision threshold\n\n" + table(head, rows) + "\n"


def _is_beyond(split: dict[str, Any], key: str) -> bool:
    """Whether a disagreement is above the limit by more than two standard errors of the test rows."""
    n_no, n_yes = split["n"]
    n_rows = {"no": n_no, "yes": n_yes, "all": n_no + n_yes}[key]
    return bool(split[key] - 2 * np.sqrt(split[key] / n_rows) > THRESHOLD_LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

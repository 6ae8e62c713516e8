"""Time boosted trees, stopped early and in full, against other engines.

    python -m benchmarks.boosted
    python -m benchmarks.boosted --only income --rounds 15
    python -m benchmarks.boosted --write-docs

Every engine runs in every round on one thread, and medians over the rounds are compared. Engines whose
packages do not go with ours run in environments of their own, in build/environments, made the first time.
Exit status 1 if a rival is ahead of a stopped model, or more than 1.3 times ahead where all trees are asked.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.boosted_rivals import ONE_ROW_ONLY, RIVALS, BoostedTask
from benchmarks.datasets import Dataset, data_folder, load
from benchmarks.environments import REQUIREMENTS
from benchmarks.facts import facts_of
from benchmarks.forests import Cache
from benchmarks.markdown import as_list, put_into, table
from benchmarks.rivals import WrongLabelsError
from benchmarks.score_run import DATASETS
from benchmarks.timing import median_times
from foregone import early_stop

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "measurements" / "scores.md"
LIMITS = (0.002, 0.005)
FULL = "foregone, all trees"
MOST_BEHIND = 1.3  # times slower than the fastest rival, where every tree is asked
ONE_ROW_CALLS, ONE_ROW_ROUNDS = 1000, 3
PACKAGES = ("foregone", "lightgbm", "xgboost", "scikit-learn-intelex", "onnxruntime", "treelite")
Result = dict[str, Any]


def _lightgbm(n_trees: int, **settings: Any) -> Callable[[], Any]:
    def make() -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=n_trees, n_jobs=2, random_state=0, verbose=-1, **settings)

    return make


def _xgboost(n_trees: int) -> Callable[[], Any]:
    def make() -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=n_trees, n_jobs=2, random_state=0)

    return make


MODELS = {
    "LightGBM, 300": _lightgbm(300),
    "LightGBM, 1,000": _lightgbm(1_000),
    "LightGBM, 300 of 63 leaves": _lightgbm(300, num_leaves=63),
    "XGBoost, 300": _xgboost(300),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.boosted",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder of NAME.parquet files with a last column `target`")
    parser.add_argument("--only", nargs="+", choices=DATASETS[:4], default=DATASETS[:4], metavar="NAME")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="NAME")
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=list(RIVALS), metavar="NAME")
    parser.add_argument("--rows", type=int, default=20_000, help="largest number of test rows in a batch")
    parser.add_argument(
        "--rounds", type=int, default=9, help="rounds of timing; single-row calls get three times as many"
    )
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "benchmarks", help="folder for models")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the tables to docs/measurements/scores.md"
    )
    options = parser.parse_args(arguments)
    results = []
    for name in options.only:
        data = load(name, options.data or data_folder(), 200_000, options.rows)
        for model in options.models:
            print(f"{name}, {model} ...", flush=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(_measure(name, model, data, options))
    missed = [text for result in results for text in _missed(result)]
    facts = facts_of("python -m benchmarks.boosted", PACKAGES, list(REQUIREMENTS))
    facts["rounds"] = str(options.rounds)
    text = "\n\n".join(
        [
            as_list(facts),
            "\n".join(f"- MISSED: {one}" for one in missed) or "Every target is met.",
            f"### Batch, one thread: µs a row\n\n{_table(results, 'batch')}",
            f"### One row a call, one thread: µs a call\n\n{_table(results, 'one_row')}",
            f"### What each rival's labels were checked for\n\n{_remarks(results)}",
        ]
    )
    print("\n" + text)
    if options.write_docs:
        put_into(DOCS, text, "boosted")
    return int(bool(missed))


def boosted_model(data: Dataset, kind: str, cache: Cache) -> tuple[Any, Path]:
    """Return a model of `MODELS`, trained or read, and where it is kept."""
    path = cache.path(data, "boosted-" + "".join(filter(str.isalnum, kind)))
    return cache.model(path, lambda: MODELS[kind]().fit(data.X_train, data.y_train)), path


def _measure(name: str, kind: str, data: Dataset, options: argparse.Namespace) -> Result:
    model, path = boosted_model(data, kind, Cache(options.cache))
    folder = path.with_name(f"{path.name}-files")
    folder.mkdir(exist_ok=True)
    task = BoostedTask(model, data.X_test, folder)
    stopped = {
        limit: early_stop(model, data.X_calibration, limit, voting="soft", n_jobs=1, random_state=0)
        for limit in LIMITS
    }
    result: Result = {"name": f"{name}, {kind}", "asked": {}}
    batch: dict[str, Any] = {}
    one_row: dict[str, Any] = {}
    few = data.X_test[:ONE_ROW_CALLS]
    for limit, classifier in stopped.items():
        title, predict = f"foregone, {limit:g}", classifier.predict
        asked = classifier.predict_with_votes(data.X_test)[1].mean() / classifier.ensemble_.n_voters
        result["asked"][title] = float(asked)
        batch[title] = lambda _, predict=predict: predict(data.X_test)
        one_row[title] = lambda k, predict=predict: predict(few[k : k + 1])
    forest = stopped[LIMITS[0]].ensemble_
    full = stopped[LIMITS[0]].full_predict
    remarks = {FULL: task.check(full(data.X_test))}
    batch[FULL] = lambda _: full(data.X_test)
    one_row[FULL] = lambda k: forest.run_one(few[k].copy(), None)
    for title in options.rivals:
        try:
            engine = RIVALS[title](task, 1)
            remarks[title] = engine.verify(data.X_test)
            one_row[title] = engine.call_on(few, one_by_one=True)
            if title not in ONE_ROW_ONLY:
                batch[title] = engine.call_on(data.X_test, one_by_one=False)
        except (ImportError, WrongLabelsError) as error:
            remarks[title] = f"left out: {error}"
        print(f"  {title}: {remarks[title]}", flush=True)
    n_rows = len(data.X_test)
    result["batch"] = {key: 1e6 * s / n_rows for key, s in median_times(batch, options.rounds).items()}
    times = median_times(one_row, ONE_ROW_ROUNDS * options.rounds, ONE_ROW_CALLS)
    result["one_row"] = {key: 1e6 * s for key, s in times.items()}
    return result | {"remarks": remarks}


def _fastest(times: dict[str, float]) -> str | None:
    return min((key for key in times if not key.startswith("foregone")), key=times.__getitem__, default=None)


def _missed(result: Result) -> list[str]:
    found = []
    for kind in ("batch", "one_row"):
        times = result[kind]
        rival = _fastest(times)
        if rival is None:
            continue
        for ours, most in (*((f"foregone, {limit:g}", 1.0) for limit in LIMITS), (FULL, MOST_BEHIND)):
            if times[ours] > most * times[rival]:
                behind = times[ours] / times[rival]
                found.append(f"{result['name']}, {kind}: {ours} takes {behind:.2f} times as long as {rival}")
    return found


def _table(results: list[Result], kind: str) -> str:
    shown = list(dict.fromkeys(key for result in results for key in result[kind]))
    head = ["model (share of trees asked)", *shown, "fastest rival", "all trees beside it", "at 0.002"]
    rows = []
    for result in results:
        times, rival = result[kind], _fastest(result[kind])
        asked = ", ".join(f"{100 * share:.2g} %" for share in result["asked"].values())
        compared = (FULL, f"foregone, {LIMITS[0]:g}")
        beside = [f"{times[rival] / times[ours]:.3g}x" if rival else "-" for ours in compared]
        cells = [f"{times[key]:.3g}" if key in times else "-" for key in shown]
        rows.append([f"{result['name']} ({asked})", *cells, rival or "-", *beside])
    return table(head, rows)


def _remarks(results: list[Result]) -> str:
    shown = list(dict.fromkeys(key for result in results for key in result["remarks"]))
    rows = [[result["name"], *(result["remarks"].get(key, "-") for key in shown)] for result in results]
    return table(["model", *shown], rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

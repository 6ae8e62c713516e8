"""Time a packed forest against scikit-learn and ONNX Runtime: one thread, batches and single rows.

    python benchmarks/engine_timings.py --data FOLDER ground_cover income skin dota2

FOLDER holds ``NAME.parquet`` files whose last column is ``target``; all classes but the largest are merged.
Without it, generated data stands in. Every engine runs once in each round and the medians over the rounds
are compared, so a machine that is busy for a while slows all of them alike. Times are those of the
thread's own clock: waiting for a processor does not count.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from foregone import VoteDistribution, solve
from foregone.forest import PackedForest

N_TREES = 101
MAX_DISAGREEMENT = 1e-3
MOST_TRAINING_ROWS = 100_000


def read(folder: Path | None, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels (whether the class is the largest one), shuffled."""
    if folder is None:
        from sklearn.datasets import make_classification

        flipped = {"easy": 0.0, "medium": 0.1}.get(name, 0.3)
        X, y = make_classification(60_000, 20, n_informative=8, flip_y=flipped, random_state=0)
    else:
        import pandas as pd

        frame = pd.read_parquet(folder / f"{name}.parquet")
        target = frame.pop("target")
        y = (target == target.value_counts().index[0]).to_numpy(int)
        for column in frame.columns:
            if not pd.api.types.is_numeric_dtype(frame[column]):
                frame[column] = pd.factorize(frame[column])[0]
        X = frame.to_numpy(np.float64)
    shuffled = np.random.default_rng(0).permutation(len(X))
    return np.ascontiguousarray(X[shuffled]), y[shuffled]


def onnx_runner(model: Any, n_features: int) -> Callable[[np.ndarray], Any] | None:
    """Return a function that predicts float32 rows on one thread, or None when ONNX is not installed."""
    try:
        import onnxruntime
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError:
        return None
    graph = to_onnx(
        model,
        initial_types=[("rows", FloatTensorType([None, n_features]))],
        options={id(model): {"zipmap": False}},
        target_opset=15,
    )
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    return lambda rows: session.run(["label"], {"rows": rows})


def medians(engines: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return each engine's median time over interleaved rounds, after one that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in engines}
    gc.collect()
    for round_ in range(rounds + 1):
        for name, engine in engines.items():
            began = time.thread_time()
            engine()
            if round_:
                times[name].append(time.thread_time() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def show(title: str, times: dict[str, float], per: int) -> None:
    ours = times["early stopped"]
    parts = [
        f"{name} {seconds / per * 1e6:.3g} us ({seconds / ours:.3g}x)" for name, seconds in times.items()
    ]
    print(f"  {title}: " + ", ".join(parts), flush=True)


def compare(folder: Path | None, name: str, rounds: int) -> None:
    from sklearn.ensemble import RandomForestClassifier

    X, y = read(folder, name)
    n_train = min(len(X) // 2, MOST_TRAINING_ROWS)
    model = RandomForestClassifier(N_TREES, n_jobs=-1, random_state=0).fit(X[:n_train], y[:n_train])
    model.n_jobs = 1
    fresh = X[n_train:]
    forest = PackedForest.from_sklearn(model)
    half = min(len(fresh) // 2, 20_000)
    yes_counts = forest.votes(fresh[:half])
    strategy = solve(
        "minimean", VoteDistribution.from_yes_counts(yes_counts, N_TREES), MAX_DISAGREEMENT
    ).strategy
    rows = np.ascontiguousarray(fresh[half : half + 20_000])
    answers, asked, _ = forest.run(rows, strategy, seed=0)
    disagreement = np.mean(answers != (2 * forest.votes(rows) > N_TREES))
    n_nodes = sum(tree.tree_.node_count for tree in model.estimators_)
    n_bytes = sum(
        tree.tree_.__getstate__()["nodes"].nbytes + tree.tree_.value.nbytes for tree in model.estimators_
    )
    print(
        f"{name}: {X.shape[1]} features, {n_nodes:,} nodes, {forest.nbytes / 1e6:.3g} MB "
        f"({n_bytes / forest.nbytes:.3g}x smaller), "
        f"{asked.mean():.3g} trees asked, disagreement {disagreement:.2g}"
    )
    onnx = onnx_runner(model, X.shape[1])
    narrow = rows.astype(np.float32)

    def run(part: np.ndarray) -> Any:
        return forest.run(part, strategy, seed=0, n_threads=1)

    batch: dict[str, Callable[[], Any]] = {
        "early stopped": lambda: run(rows),
        "each row in its own order": lambda: forest.run(rows, strategy, seed=0, order="per_row", n_threads=1),
        "full vote": lambda: forest.votes(rows, n_threads=1),
        "scikit-learn": lambda: model.predict(rows),
    }
    singles = [rows[k : k + 1] for k in range(200)]
    vectors = [rows[k] for k in range(200)]
    single: dict[str, Callable[[], Any]] = {
        "early stopped": lambda: [forest.run_one(x, strategy, seed=0) for x in vectors],
        "the same by run": lambda: [run(row) for row in singles],
        "full vote": lambda: [forest.run_one(x, None, seed=0) for x in vectors],
    }
    if onnx is not None:
        narrow_singles = [narrow[k : k + 1] for k in range(200)]
        batch["ONNX Runtime"] = lambda: onnx(narrow)
        single["ONNX Runtime"] = lambda: [onnx(row) for row in narrow_singles]
    show("batch, a row", medians(batch, rounds), len(rows))
    show("one row", medians(single, 3 * rounds), len(singles))
    few: dict[str, Callable[[], Any]] = {
        "early stopped": lambda: [run(row) for row in singles[:5]],
        "scikit-learn": lambda: [model.predict(row) for row in singles[:5]],
    }
    show("five calls of one row, by run", medians(few, rounds), 5)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["easy", "medium", "hard"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    for name in chosen.names:
        compare(chosen.data, name, chosen.rounds)


if __name__ == "__main__":
    main(sys.argv[1:])

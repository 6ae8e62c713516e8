"""The measurements on one dataset: make, check and time every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import rivals
from benchmarks.forests import Task, model_bytes, pickle_bytes
from benchmarks.ours import Ours
from benchmarks.timing import median_times

__all__ = ["ENGINE", "FRONT", "FULL", "THREADS", "measure"]

ENGINE, FRONT, FULL = "foregone engine", "foregone predict", "foregone, all trees"
THREADS = (1, 2)
ONE_ROW_CALLS = 1000
ONE_ROW_ROUNDS = 3  # times as many rounds as batches get, since they are short

Call = Callable[[int], Any]
Result = dict[str, Any]


def measure(
    task: Task,
    rival_names: Sequence[str],
    rounds: int,
    say: Callable[[str], None],
    n_threads: Sequence[int] = THREADS,
) -> Result:
    """Return all figures of one dataset; times are microseconds a row, or a call with one row."""
    data, ours = task.dataset, Ours.make(task)
    result: Result = {
        "name": data.name,
        "is_real": data.is_real,
        "n_rows": data.n_rows,
        "n_trained": len(data.X_train),
        "n_calibrated": len(data.X_calibration),
        "n_tested": len(data.X_test),
        "n_features": data.X_test.shape[1],
        "n_nodes": sum(tree.tree_.node_count for tree in task.model.estimators_),
        "model_bytes": model_bytes(task.model),
        "pickle_bytes": pickle_bytes(task.model),
        "packed_bytes": ours.forest.nbytes,
        "file_bytes": ours.file_bytes(),
        **ours.verify(task),
    }
    engines, result["remarks"] = _make_rivals(task, rival_names, say, n_threads)
    result["batch"] = {str(n): _time_batch(task, ours, engines, n, rounds) for n in n_threads}
    result["one_row"] = _time_one_row(task, ours, engines, rounds)
    return result


def _make_rivals(
    task: Task, names: Sequence[str], say: Callable[[str], None], n_threads: Sequence[int]
) -> tuple[dict[tuple[str, int], rivals.Engine], dict[str, str]]:
    engines: dict[tuple[str, int], rivals.Engine] = {}
    remarks: dict[str, str] = {}
    for name in names:
        title = rivals.ADAPTERS[name][2]
        try:
            made = {(title, threads): rivals.make_engine(name, task, threads) for threads in n_threads}
            for engine in made.values():
                remarks[title] = engine.verify(task.dataset.X_test)
            engines |= made
        except ImportError as error:
            remarks[title] = f"left out: not installed ({error})"
        except rivals.WrongLabelsError as error:
            remarks[title] = f"left out: {error}"
        say(f"{title}: {remarks[title]}")
    return engines, remarks


def _time_batch(
    task: Task, ours: Ours, engines: dict[tuple[str, int], rivals.Engine], n_threads: int, rounds: int
) -> dict[str, float]:
    X = task.dataset.X_test
    calls: dict[str, Call] = {ENGINE: lambda _: ours.run(X, n_threads)}
    if ours.front is not None:
        predict = ours.predict(n_threads)
        calls[FRONT] = lambda _: predict(X)
    calls[FULL] = lambda _: ours.forest.votes(X, n_threads=n_threads)
    for (title, threads), engine in engines.items():
        if threads == n_threads:
            calls[title] = engine.call_on(X, one_by_one=False)
    return {name: seconds / len(X) * 1e6 for name, seconds in median_times(calls, rounds).items()}


def _time_one_row(
    task: Task, ours: Ours, engines: dict[tuple[str, int], rivals.Engine], rounds: int
) -> dict[str, float]:
    X = task.dataset.X_test[:ONE_ROW_CALLS]
    rows = [X[k] for k in range(len(X))]
    batches = [X[k : k + 1] for k in range(len(X))]
    calls: dict[str, Call] = {ENGINE: lambda k: ours.run_one(rows[k])}
    if ours.front is not None:
        predict = ours.predict(1)
        calls[FRONT] = lambda k: predict(batches[k])
    calls[FULL] = lambda k: ours.forest.run_one(rows[k], None, seed=0)
    for (title, threads), engine in engines.items():
        calls[f"{title} {threads}"] = engine.call_on(X, one_by_one=True)
    times = median_times(calls, ONE_ROW_ROUNDS * rounds, len(X))
    best = {name: times[name] for name in (ENGINE, FRONT, FULL) if name in times}
    for title, _ in engines:
        best[title] = min(times[f"{title} {threads}"] for other, threads in engines if other == title)
    return {name: seconds * 1e6 for name, seconds in best.items()}

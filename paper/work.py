"""The slow part of a run: pieces in processes of their own, then the timings while nothing else runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from foregone._system.worker_processes import n_cores
from foregone.errors import ForegoneError, InvalidInputError, SolverError
from paper import protocol, timing
from paper.pieces import PieceStore
from paper.request import Reporter
from paper.results import Measure, Piece, Timing
from paper.tasks import ForestTask, Task, finish

__all__ = ["do_tasks", "jobs_that_fit", "measure_all", "time_methods"]


def do_tasks(
    tasks: Sequence[Task], store: PieceStore, pool: Executor, reporter: Reporter
) -> list[tuple[Task, Any]]:
    """Return the result of every task, in a fixed order; do those that are not done yet."""
    found: dict[Task, Any] = {task: store.load(task.inputs, task.result, reporter.line) for task in tasks}
    open_tasks = [task for task in tasks if found[task] is None]
    if not tasks:
        return []
    there = len(tasks) - len(open_tasks)
    reporter.line(f"{len(tasks)} pieces: {there} are there, {len(open_tasks)} to do")
    left = Counter(task.dataset for task in open_tasks)
    with reporter.progress("pieces", len(open_tasks)) as advance:
        futures = {pool.submit(finish, task, store.folder): task for task in open_tasks}
        for future in as_completed(futures):
            task = futures[future]
            found[task] = task.result(_result(future, task.dataset))
            advance()
            left[task.dataset] -= 1
            if not left[task.dataset]:
                reporter.line(f"{task.dataset} is done, {sum(left.values())} pieces to go")
    return list(found.items())


def _result(future: Future[dict[str, Any]], dataset: str) -> dict[str, Any]:
    """Return what a process made, or say what went wrong where."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise SolverError(
            "a working process died, perhaps for lack of memory; what is finished is kept: run the same "
            "command again with fewer --jobs"
        ) from None
    except ForegoneError as error:
        raise InvalidInputError(f"{dataset}: {error}; what is finished is kept") from None


def jobs_that_fit(tasks: Iterable[Task]) -> int:
    """Return how many processes cores and memory allow."""
    needed = max((task.memory for task in tasks if isinstance(task, ForestTask)), default=0)
    if not needed or not hasattr(os, "sysconf"):
        return n_cores()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(n_cores(), int(0.7 * memory / needed)))


def measure_all(pieces: Mapping[str, tuple[Piece, ...]], pool: Executor, reporter: Reporter) -> list[Measure]:
    """Solve and measure on every dataset."""
    if not pieces:
        return []
    with reporter.progress("measuring", len(pieces)) as advance:
        futures = [pool.submit(protocol.measure, found) for found in pieces.values()]
        for _ in as_completed(futures):
            advance()
        return [measure for future in futures for measure in future.result()]


def time_methods(store: PieceStore, reporter: Reporter) -> list[Timing]:
    """Time every method, one after another, while nothing else of ours runs."""
    found: list[Timing] = []
    plan = dict(timing.SIZES)
    if find_spec("pyscipopt") is None:
        del plan["quadratic_program"]
        reporter.line(
            "figS1 leaves out the quadratic program: it needs PySCIPOpt, pip install '.[reference]'"
        )
    with reporter.progress("timing", sum(map(len, plan.values()))) as advance:
        for method, sizes in plan.items():
            too_slow = False
            for n_voters in sizes:
                if not too_slow:
                    timed = _time_one(method, n_voters, store, reporter)
                    too_slow = not timed.finished and timed.seconds >= timing.TIME_LIMIT
                    if timed.finished or too_slow:
                        found.append(timed)
                    else:
                        reporter.line(f"figS1: {method} gives no answer for {n_voters} voters")
                advance()
    return found


def _time_one(method: str, n_voters: int, store: PieceStore, reporter: Reporter) -> Timing:
    inputs = {
        "kind": "timing",
        "method": method,
        "n_voters": n_voters,
        "criterion": timing.CRITERION,
        "max_disagreement": timing.MAX_DISAGREEMENT,
        "time_limit": timing.TIME_LIMIT,
    }
    found = store.load(inputs, lambda content: Timing(**content), reporter.line)
    if found is None:
        found = timing.measure_timing(method, n_voters)
        store.save(inputs, asdict(found))
    return found

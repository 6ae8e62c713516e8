"""Measure the speed on this machine: early stopping, all voters, and the model's own predict, in turns."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

from foregone._system.gpu import find_gpu
from foregone.classifier.deciding import Decider
from foregone.forest import Forest
from foregone.report.reported_model import ReportedModel

__all__ = ["Speed", "measure_speed"]

ROUNDS = 3
MOST_ROWS = 20_000
SECONDS = 0.25  # for the slowest in one round
PROBE = 100


@dataclass(frozen=True)
class Speed:
    """Median seconds on one thread.

    Attributes
    ----------
    n_rows : int
        Size of the batch.
    batch, single : dict of str to float
        Seconds per row in a batch, and for a single row: "stopped" early, "full" for asking all voters and,
        if the model is available, "own" for its ``predict``.
    gpu : float or None
        Seconds per row in a batch with early stopping on a GPU; None without a usable GPU.
    """

    n_rows: int
    batch: dict[str, float]
    single: dict[str, float]
    gpu: float | None = None

    @property
    def slow_way(self) -> str:
        """What early stopping is compared with: "own" if the model is available, else "full"."""
        return "own" if "own" in self.batch else "full"

    def ratio(self, kind: str, way: str) -> float:
        """Return how many times faster than ``way`` early stopping is, in a "batch" or for a "single" row."""
        seconds = self.batch if kind == "batch" else self.single
        return seconds[way] / seconds["stopped"]


def measure_speed(
    model: ReportedModel, decider: Decider, advance: Callable[[], None] = lambda: None
) -> Speed:
    """Measure the speed on the rows of a report, in a few seconds.

    Parameters
    ----------
    model : ReportedModel
        Voters and rows.
    decider : Decider
        The recommended classifier's stopping rule and order of voters.
    advance : callable, optional
        Called after the batch and after single rows.
    """
    rows, own = model.rows, model.own_predict
    ways: dict[str, Callable[[Any], Any]] = {
        "stopped": lambda part: model.predict(part, decider, early=True),
        "full": lambda part: model.predict(part, decider, early=False),
        **({} if own is None else {"own": own}),
    }
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # about names: all are given the same rows, without any
        n_rows = _batch_size(ways, rows, min(MOST_ROWS, model.n_rows))
        batch = _medians(ways, {way: [rows[:n_rows]] for way in ways}, ROUNDS)
        advance()
        some = np.linspace(0, model.n_rows - 1, PROBE).astype(int)
        alone = [rows[place : place + 1] for place in some] * 10
        one = {
            **ways,
            "stopped": lambda row: model.predict_one(row, decider, early=True),
            "full": lambda row: model.predict_one(row, decider, early=False),
        }
        once = _medians(one, dict.fromkeys(one, alone[:1]), 1)
        repeats = {way: int(np.clip(SECONDS / ROUNDS / once[way], 2, len(alone))) for way in one}
        single = _medians(one, {way: alone[: repeats[way]] for way in one}, ROUNDS)
        advance()
        gpu = _on_gpu(model, decider, rows[:n_rows])
    return Speed(
        n_rows=n_rows,
        batch={way: seconds / n_rows for way, seconds in batch.items()},
        single={way: seconds / repeats[way] for way, seconds in single.items()},
        gpu=None if gpu is None else gpu / n_rows,
    )


def _on_gpu(model: ReportedModel, decider: Decider, rows: Any) -> float | None:
    """Return the median seconds with early stopping on a GPU for rows on the host; None without a GPU."""
    if not isinstance(model.ensemble, Forest) or find_gpu().problem is not None:
        return None
    ways = {"gpu": lambda part: decider.run(part, 1, early=True, device="cuda")}
    return _medians(ways, {"gpu": [rows]}, ROUNDS)["gpu"]


def _batch_size(ways: dict[str, Callable[[Any], Any]], rows: Any, most: int) -> int:
    """Return how many rows keep the slowest way busy for long enough, at most ``most``."""
    n_rows = min(PROBE, most)
    while n_rows < most:
        if max(_medians(ways, {way: [rows[:n_rows]] for way in ways}, 1).values()) > SECONDS:
            break
        n_rows = min(2 * n_rows, most)
    return n_rows


def _medians(
    ways: dict[str, Callable[[Any], Any]], parts: dict[str, list[Any]], rounds: int
) -> dict[str, float]:
    """Return the median seconds of each way for its parts; all ways take turns in each round."""
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for way, work in ways.items():
        work(parts[way][0])  # loading and compilation are not counted
    for _ in range(rounds):
        for way, work in ways.items():
            work(parts[way][0][:1])  # refill the caches, which the other ways have used
            start = time.perf_counter()
            for part in parts[way]:
                work(part)
            spent[way].append(time.perf_counter() - start)
    return {way: float(np.median(seconds)) for way, seconds in spent.items()}

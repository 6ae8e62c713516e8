"""Interleaved timing: every engine runs in every round, so a busy moment slows all of them alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

__all__ = ["median_times", "sampled_times"]

SAMPLE_SECONDS = 0.02  # a sample repeats its call until it lasts about this long
SLOW_SECONDS, SLOW_ROUNDS = 1.0, 3  # a call that takes longer is timed in this many rounds only
PAUSE_SECONDS = 0.005  # before each, for threads of the one before that still wait for work, spinning

Engines = dict[str, Callable[[int], Any]]


def median_times(engines: Engines, rounds: int, most_calls: int = 1000) -> dict[str, float]:
    """Return each engine's median wall time a call, in seconds; see `sampled_times`."""
    sampled = sampled_times(engines, rounds, most_calls)
    return {name: statistics.median(values) for name, values in sampled.items()}


def sampled_times(engines: Engines, rounds: int, most_calls: int = 1000) -> dict[str, list[float]]:
    """Return wall times a call of each engine, in seconds, one for each round.

    Parameters
    ----------
    engines : dict
        Functions of the number of the call, 0, 1, ...; each sample starts again at 0.
    rounds : int
        Samples of each engine, fewer where a call takes longer than a second. A few calls go before and are
        not counted: they warm up and find how many calls make a sample.
    most_calls : int
        No sample has more calls than this.
    """
    calls: dict[str, int] = {}
    wanted: dict[str, int] = {}
    for name, engine in engines.items():
        seconds = _warm_seconds(engine, most_calls)
        calls[name] = max(1, min(most_calls, round(SAMPLE_SECONDS / max(seconds, 1e-7))))
        wanted[name] = min(rounds, SLOW_ROUNDS) if seconds > SLOW_SECONDS else rounds
    times: dict[str, list[float]] = {name: [] for name in engines}
    gc.collect()
    gc.disable()
    try:
        for round_ in range(rounds):
            for name, engine in engines.items():
                if round_ >= wanted[name]:
                    continue
                time.sleep(PAUSE_SECONDS)
                times[name].append(_seconds_a_call(engine, calls[name]))
    finally:
        gc.enable()
    return times


def _warm_seconds(engine: Callable[[int], Any], most_calls: int) -> float:
    """Return about how long a call takes once everything is compiled, loaded and started."""
    engine(0)
    seconds = _seconds_a_call(engine, 1)
    if seconds < SAMPLE_SECONDS:
        seconds = min(_seconds_a_call(engine, min(3, most_calls)) for _ in range(3))
    return seconds


def _seconds_a_call(engine: Callable[[int], Any], calls: int) -> float:
    if hasattr(engine, "seconds"):  # it runs in another process, which times it
        return float(engine.seconds(calls))
    began = time.perf_counter()
    for number in range(calls):
        engine(number)
    return (time.perf_counter() - began) / calls

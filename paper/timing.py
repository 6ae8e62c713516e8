"""Figure S1's measurements: how long each method takes to find a minimax strategy, against the voters.

Every measurement runs in a process of its own, which is ended when the time is up: a quadratic program that
takes hours would not stop by itself.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any, Literal

from foregone import ForegoneError, solve
from paper.results import Timing

__all__ = ["CRITERION", "MAX_DISAGREEMENT", "SIZES", "TIME_LIMIT", "measure_timing"]

CRITERION: Literal["minimax"] = "minimax"
MAX_DISAGREEMENT = 0.01
RUNS = 3  # the least of which counts, as in the paper
LONG = 10.0  # seconds; what takes longer is run once
TIME_LIMIT = 60.0
READY = 120.0  # seconds that a process may take to start

_TO_201 = (3, 5, 7, 9, 11, 15, 21, 31, 41, 51, 61, 81, 101, 121, 151, 201)
SIZES = {  # of voters, from the least; larger ones are left out once one takes too long
    "quadratic_program": tuple(range(3, 13)),  # the most that foregone.solve takes
    "linear_program": _TO_201,
    "dual": (*_TO_201, 301, 501, 1001),
}


def measure_timing(method: str, n_voters: int, time_limit: float = TIME_LIMIT) -> Timing:
    """Time one method for one number of voters: the least of three runs, or one long one.

    A method that gives up within the time limit has not finished either; its seconds are below the limit.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, method, n_voters), daemon=True)
    process.start()
    theirs.close()
    try:
        start = time.monotonic()
        seconds, votes = _listen(ours, time_limit)
        waited = time.monotonic() - start
    finally:
        process.kill()
        process.join()
        ours.close()
    if not seconds:
        took = min(waited, time_limit)
        return Timing(method, CRITERION, n_voters, MAX_DISAGREEMENT, took, False)
    return Timing(method, CRITERION, n_voters, MAX_DISAGREEMENT, min(seconds), True, votes)


def _listen(connection: Connection, time_limit: float) -> tuple[list[float], float]:
    """Return the seconds of the runs that finished in time, none at all if the first did not."""
    seconds: list[float] = []
    votes = 0.0
    try:
        if not connection.poll(READY) or connection.recv() != "ready":
            return seconds, votes
        while len(seconds) < RUNS and connection.poll(time_limit):
            message = connection.recv()
            if isinstance(message, str):  # an error: it ended without an answer
                break
            took, votes = message
            seconds.append(took)
            if took > LONG:
                break
    except EOFError:  # it died, as for lack of memory
        pass
    return seconds, votes


def _run(connection: Connection, method: Any, n_voters: int) -> None:
    """Solve again and again and send how long it took; the parent ends it."""
    connection.send("ready")
    for _ in range(RUNS):
        start = time.perf_counter()
        try:
            solution = solve(CRITERION, n_voters, MAX_DISAGREEMENT, method=method)
        except ForegoneError as error:
            connection.send(str(error))
            return
        connection.send((time.perf_counter() - start, solution.expected_votes))

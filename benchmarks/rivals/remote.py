"""Rivals that run in a process, and an environment, of their own, and time themselves."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.environments import python_of
from benchmarks.rivals.engine import WrongLabelsError

__all__ = ["RemoteCall", "RemoteEngine"]

WORKER = Path(__file__).parent / "worker.py"


class RemoteEngine:
    """An engine in another process; its methods are those of `benchmarks.rivals.engine.Engine`.

    Parameters
    ----------
    environment, name : str
        Where it runs, and what `benchmarks.rivals.worker` calls it.
    model : Path
        The file of the model.
    n_threads : int
        How many it may use.
    X : ndarray
        The rows that it will be asked about.
    check : callable
        Given their labels, raises `WrongLabelsError` or returns a remark.
    """

    def __init__(
        self,
        environment: str,
        name: str,
        model: Path,
        n_threads: int,
        X: Any,
        check: Callable[[npt.NDArray[np.int64]], str],
    ) -> None:
        self._check = check
        self._folder = tempfile.TemporaryDirectory()
        rows = Path(self._folder.name) / "rows.npy"
        np.save(rows, X)
        threads = {"OMP_NUM_THREADS": str(n_threads), "CUDA_VISIBLE_DEVICES": ""}
        words = [str(python_of(environment)), "-P", str(WORKER), name, str(model), str(n_threads), str(rows)]
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads},
        )
        self._read()

    def verify(self, X: Any) -> str:
        """Check the labels of all rows, and of some one by one."""
        file = Path(self._folder.name) / "labels.npy"
        alone = self.say(f"labels {file}")["one_by_one"]
        labels = np.load(file).astype(np.int64)
        remark = self._check(labels)
        if alone != labels[: len(alone)].tolist():
            raise WrongLabelsError("a row on its own gets another label than in a batch")
        return remark

    def call_on(self, X: Any, *, one_by_one: bool) -> RemoteCall:
        """Return a call with all rows, or one for each of them."""
        return RemoteCall(self, "rows" if one_by_one else "batch")

    def say(self, command: str) -> dict[str, Any]:
        """Give a command and return what is answered."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        errors = self._process.stderr.read().strip().splitlines()
        raise ImportError(errors[-1] if errors else "it ended without a word")

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self._process.kill()
            self._process.communicate()
            self._folder.cleanup()


class RemoteCall:
    """A call that another process makes and times."""

    def __init__(self, engine: RemoteEngine, kind: str) -> None:
        self._engine, self._kind = engine, kind

    def __call__(self, number: int) -> None:
        """Make one call."""
        self.seconds(1)

    def seconds(self, calls: int) -> float:
        """Return the seconds of a call, the mean of so many."""
        return float(self._engine.say(f"time {self._kind} {calls}")["seconds"])

"""Our engines: the packed forest, stopped early, and the classifier in front of it."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Rows
from benchmarks.forests import Task
from benchmarks.rivals import WrongLabelsError
from foregone import StoppingStrategy, VoteDistribution, solve
from foregone.forest import PackedForest

__all__ = ["CHECKED_ROWS", "CONFIDENCE", "MAX_DISAGREEMENT", "Ours", "check_share_differing"]

MAX_DISAGREEMENT = 1e-3
CONFIDENCE = 0.95  # the classifier's own default
CHECKED_ROWS = 500
STANDARD_ERRORS = 5  # beyond the limit that a disagreement on fresh rows may lie by chance


@dataclass(frozen=True)
class Ours:
    """The engine and, where the library has it already, the public classifier."""

    forest: PackedForest
    strategy: StoppingStrategy
    front: Any | None

    @classmethod
    def make(cls, task: Task) -> Ours:
        """Pack the forest and solve for its votes on the calibration rows."""
        forest = PackedForest.from_sklearn(task.model)
        votes = VoteDistribution.from_yes_counts(forest.votes(task.dataset.X_calibration), forest.n_trees)
        strategy = solve("minimean", votes, MAX_DISAGREEMENT, confidence=CONFIDENCE).strategy
        return cls(forest, strategy, _front(task))

    def run(self, rows: Rows, n_threads: int) -> Any:
        """Run a batch through the engine."""
        return self.forest.run(rows, self.strategy, seed=0, n_threads=n_threads)

    def run_one(self, row: Rows) -> Any:
        """Run one row, a 1-D array, through the engine."""
        return self.forest.run_one(row, self.strategy, seed=0)

    def predict(self, n_threads: int) -> Any:
        """Return the public ``predict`` on so many threads."""
        assert self.front is not None
        self.front.set_params(n_jobs=n_threads)
        return self.front.predict

    def file_bytes(self) -> int:
        """Return the size of the forest's file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "forest"
            self.forest.save(path)
            return path.stat().st_size

    def verify(self, task: Task) -> dict[str, float]:
        """Check votes tree by tree and the disagreement on the test rows; return what was measured."""
        X = task.dataset.X_test
        few = X[:CHECKED_ROWS]
        of_trees = np.sum([tree.predict(few) for tree in task.model.estimators_], axis=0)
        if not np.array_equal(self.forest.votes(few), of_trees):
            raise WrongLabelsError("votes differ from those of scikit-learn's trees")
        answers, asked, _ = self.run(X, 1)
        full = 2 * self.forest.votes(X) > self.forest.n_trees
        check_share_differing(answers != full)
        if self.front is not None:
            check_share_differing((self.front.predict(X) == 1) != full)
        return {
            "trees_asked": float(asked.mean()),
            "disagreement": float(np.mean(answers != full)),
            "soft_disagreement": float(np.mean(answers != (task.predicted == 1))),
        }


def check_share_differing(differs: Any) -> None:
    """Raise if more answers differ from the full vote than the limit and chance explain."""
    limit = MAX_DISAGREEMENT + STANDARD_ERRORS * np.sqrt(MAX_DISAGREEMENT / len(differs))
    if (share := np.mean(differs)) > limit:
        raise WrongLabelsError(f"{share:.2g} of the answers differ from the full vote")


def _front(task: Task) -> Any | None:
    try:
        from foregone import early_stop
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hard votes beside soft ones; the report has the figure
        return early_stop(
            task.model, task.dataset.X_calibration, MAX_DISAGREEMENT, confidence=CONFIDENCE, random_state=0
        )

"""The pieces of work of a run: what each is made from, how it is made, what is kept of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

import foregone
from paper import datasets, protocol, structure
from paper.pieces import PieceStore
from paper.results import RATES, Piece, Rounding, Settings, Structure

__all__ = ["ForestTask", "StructureTask", "Task", "finish"]

# Raised when the protocol changes in a way that gives other numbers: older pieces are then made anew.
PROTOCOL = 1


@dataclass(frozen=True)
class ForestTask:
    """One forest: its votes, or what rounding does to it.

    Attributes
    ----------
    kind : {"votes", "rounding"}
        What is wanted.
    dataset : str
        Name of the set.
    repeat : int
        Which of the repetitions.
    settings : Settings
        Voters and seed.
    file : Path
        Where the rows are.
    fingerprint : str
        Digest of the rows: other rows make another piece, another place does not.
    cost : float
        How long it may take, in no unit.
    memory : float
        How many bytes it may need at most.
    """

    kind: Literal["votes", "rounding"]
    dataset: str
    repeat: int
    settings: Settings
    file: Path
    fingerprint: str
    cost: float
    memory: float

    @property
    def inputs(self) -> dict[str, Any]:
        """Everything the result depends on."""
        import sklearn

        return {
            "kind": self.kind,
            "dataset": self.dataset,
            "repeat": self.repeat,
            "n_voters": self.settings.n_voters,
            "seed": self.settings.seed,
            "rows": self.fingerprint,
            "protocol": PROTOCOL,
            "scikit-learn": sklearn.__version__,
        }

    def work(self) -> dict[str, Any]:
        """Train the forest; return what is kept."""
        run = protocol.run_piece if self.kind == "votes" else protocol.run_rounding
        found = asdict(run(_read(self.file), self.dataset, self.repeat, self.settings))
        return {
            key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in found.items()
        }

    def result(self, content: dict[str, Any]) -> Piece | Rounding:
        """Return the record that `work` took apart."""
        if self.kind == "rounding":
            return Rounding(**content)
        counts = ("calibration_counts", "test_counts")
        arrays = {key: np.array(content[key], np.int64) for key in counts}
        return Piece(**{**content, **arrays})


@dataclass(frozen=True)
class StructureTask:
    """The shapes of the optimal strategies for some numbers of voters."""

    n_voters: tuple[int, ...]
    cost: float = 0.0
    dataset: str = "strategies"  # what it is reported as, beside the datasets

    @property
    def inputs(self) -> dict[str, Any]:
        """Everything the result depends on."""
        return {
            "kind": "structure",
            "n_voters": list(self.n_voters),
            "rates": list(RATES),
            "foregone": foregone.__version__,
        }

    def work(self) -> dict[str, Any]:
        """Solve and describe; return what is kept."""
        found = [shape for n_voters in self.n_voters for shape in structure.structures_of(n_voters)]
        return {"structures": [asdict(shape) for shape in found]}

    def result(self, content: dict[str, Any]) -> list[Structure]:
        """Return the records that `work` took apart."""
        return [structure.from_fields(fields) for fields in content["structures"]]


Task = ForestTask | StructureTask


def finish(task: Task, folder: Path) -> dict[str, Any]:
    """Do the work of a task, keep it in ``folder`` and return its content."""
    content = task.work()
    PieceStore(folder).save(task.inputs, content)
    return content


@lru_cache(maxsize=1)  # tasks on the same rows follow one another
def _read(file: Path) -> datasets.Dataset:
    return datasets.read(file)

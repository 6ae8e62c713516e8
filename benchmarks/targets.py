"""The targets of the benchmark."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.datasets import HARD
from benchmarks.measure import ENGINE, FRONT, FULL

__all__ = ["Target", "fastest_peer", "ratio", "targets_of"]

DEEP = ("ground_cover", "diabetes", "income", "dota2", "hospitalization")
OURS = (ENGINE, FRONT, FULL)
SKLEARN, ONNX = "scikit-learn", "ONNX Runtime"
MOST_BEHIND = 1.3  # times slower than the fastest peer, where every tree is asked


class Target(NamedTuple):
    """How many times better one figure should be than another, and how many times it was."""

    dataset: str
    what: str
    wanted: float
    reached: float

    @property
    def is_met(self) -> bool:
        """Whether the figure measured is the one wanted or better."""
        return self.reached >= self.wanted


def fastest_peer(times: dict[str, float]) -> str | None:
    """Return the rival with the shortest time, or None when none was timed."""
    return min((name for name in times if name not in OURS), key=times.__getitem__, default=None)


def ratio(times: dict[str, float], rival: str | None, ours: str) -> float | None:
    """Return how many times faster we are, or None when one of the two was not timed."""
    if rival is None or rival not in times or ours not in times:
        return None
    return times[rival] / times[ours]


def targets_of(result: dict[str, Any]) -> list[Target]:
    """Return the targets that one dataset's measurements can tell about."""
    name, batch, one_row = result["name"], result["batch"]["1"], result["one_row"]
    peer = fastest_peer(batch)
    wanted: list[tuple[str, float, float | None]] = []
    if name in HARD:
        wanted.append(("batch, fastest peer", 1, ratio(batch, peer, ENGINE)))
    else:
        wanted.append(("batch, scikit-learn", 10, ratio(batch, SKLEARN, ENGINE)))
        wanted.append(("batch, fastest peer", 5, ratio(batch, peer, ENGINE)))
    behind = 1 / MOST_BEHIND
    wanted += [
        ("all trees, batch, fastest peer", behind, ratio(batch, peer, FULL)),
        ("all trees, one row, fastest peer", behind, ratio(one_row, fastest_peer(one_row), FULL)),
        ("one row by predict, ONNX Runtime", 5 if name in DEEP else 1, ratio(one_row, ONNX, FRONT)),
        ("one row by the engine, ONNX Runtime", 4, ratio(one_row, ONNX, ENGINE)),
        ("memory, scikit-learn", 10, result["model_bytes"] / result["packed_bytes"]),
    ]
    return [Target(name, what, least, reached) for what, least, reached in wanted if reached is not None]

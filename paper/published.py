"""Numbers that the paper prints, to put beside ours: Kalman and Moscovich (2026), with its supplement."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["INVARIANCE", "N_VOTERS", "REPEATS", "SUMMARY", "Summary", "tree_certainty"]

N_VOTERS = 101
INVARIANCE = 1.0  # to rounding, of every dataset in supplementary table 1
REPEATS = 30


class Summary(NamedTuple):
    """A column of the paper's table 3: minimean with calibrated votes at 1e-3. All are shares."""

    disagreement: float
    expected_runtime: float
    base_error: float
    error: float


SUMMARY = {
    "ground_cover": Summary(0.001, 0.1302, 0.0405, 0.0407),
    "income": Summary(0.001, 0.0717, 0.0452, 0.0454),
    "diabetes": Summary(0.001, 0.1650, 0.1417, 0.1416),
    "skin": Summary(0.001, 0.0115, 0.0004, 0.0012),
    "sepsis": Summary(0.001, 0.0099, 0.0739, 0.0746),
    "dota2": Summary(0.001, 0.7132, 0.4243, 0.4243),
    "hospitalization": Summary(0.001, 0.5758, 0.3590, 0.3590),
    "shuttle": Summary(0.001, 0.0103, 0.0015, 0.0021),
}

_UNCERTAIN = {"diabetes": 0.9901, "skin": 0.9999, "sepsis": 0.1277, "shuttle": 0.9972, "MiniBooNE": 0.9976}


def tree_certainty(dataset: str) -> float:
    """Return the tree certainty in supplementary table 1.

    Examples
    --------
    >>> tree_certainty("sepsis"), tree_certainty("wine")
    (0.1277, 1.0)
    """
    return _UNCERTAIN.get(dataset, 1.0)

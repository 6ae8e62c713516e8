"""Trees asked by other rules at the same disagreement as ours, on the same test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foregone import ScoreStrategy
from foregone.scores.paths import paths_of
from foregone.scores.rules import constant_margin, lightgbm_margin, qwyc

__all__ = ["asked_by_rules"]

Scores = npt.NDArray[np.float64]
QWYC_ROWS = {"given": 5_000, "optimized": 1_000}  # to learn from: it takes long
QWYC_LIMITS = (0.0, 0.0005, 0.001, 0.002, 0.005)
MOST_VOTERS_TO_ORDER = 101  # it tries every voter at every step


def asked_by_rules(
    strategy: ScoreStrategy, calibration: Scores, fresh: Scores, disagreement: float
) -> dict[str, float | None]:
    """Return the share of voters that each rule asks on fresh rows.

    The margins are tuned on the fresh rows themselves, so that they disagree as often as ours did, which no
    honest calibration could do. QWYC is learned from calibration rows at several limits, and the cheapest
    that does not disagree more often than ours counts; None if there is none.
    """
    order, start, n_voters = strategy.order, strategy.start, strategy.n_voters
    paths = paths_of(fresh, order, start).running
    found: dict[str, float | None] = {
        "margin": _share(constant_margin(paths, disagreement, start=start), paths),
        "margin10": _share(constant_margin(paths, disagreement, looks=10, start=start), paths),
        "default": _share(lightgbm_margin(n_voters, start=start), paths),
    }
    full = fresh.sum(axis=1) + start > 0
    tried = []
    for kind in ("given", "optimized"):
        if kind == "optimized" and n_voters > MOST_VOTERS_TO_ORDER:
            continue
        rows = calibration[: QWYC_ROWS[kind], order]
        for limit in QWYC_LIMITS:
            rule = qwyc(rows, limit, order=kind, start=start)  # type: ignore[arg-type]  # it takes these kinds
            answers, asked = rule.run(fresh[:, order])
            tried.append((float(np.mean(answers != full)), asked.mean() / n_voters))
    within = [share for differing, share in tried if differing <= disagreement]
    return {**found, "qwyc": min(within) if within else None}


def _share(strategy: ScoreStrategy, paths: Any) -> float:
    return float(strategy.run_paths(paths)[1].mean() / strategy.n_voters)

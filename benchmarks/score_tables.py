"""The tables of docs/measurements/scores.md, and the targets of `benchmarks.scores`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from benchmarks.markdown import table

__all__ = ["main_table", "rules_table", "simulation_table", "splits_table", "targets_of", "targets_table"]

Result = dict[str, Any]
# The share of trees that a first prototype asked.
PROTOTYPE = {
    ("diabetes", "forest, default", 0.002): 0.22,
    ("diabetes", "forest, min_samples_leaf=5", 0.002): 0.09,
    ("diabetes", "forest, min_samples_leaf=50", 0.002): 0.036,
    ("income", "forest, default", 0.002): 0.09,
    ("income", "forest, min_samples_leaf=5", 0.002): 0.05,
    ("diabetes", "HistGradientBoosting, 300", 0.002): 0.13,
    ("diabetes", "HistGradientBoosting, 300", 0.005): 0.05,
    ("income", "HistGradientBoosting, 300", 0.002): 0.14,
    ("income", "HistGradientBoosting, 300", 0.005): 0.06,
    ("hospitalization", "HistGradientBoosting, 300", 0.002): 0.91,
}


class Target(NamedTuple):
    """A figure, and what it may be at most."""

    what: str
    most: float
    reached: float

    @property
    def is_met(self) -> bool:
        """Whether the figure is within what it may be."""
        return self.reached <= self.most


def targets_of(results: Sequence[Result], splits: Sequence[Result], draws: Sequence[Result]) -> list[Target]:
    """Return the targets for what was measured; ratios as the time of ours by that of the model's own."""
    targets = []
    for one in results:
        which = one["dataset"], one["model"], one["limit"]
        what = ", ".join(map(str, which))
        if which in PROTOTYPE:
            targets.append(Target(f"{what}: share of trees asked", PROTOTYPE[which], one["asked"]))
        forest = one["model"].startswith("forest")
        most = 0.1 if forest else 1.0 if one["asked"] <= 0.5 else 1.3
        targets.append(Target(f"{what}: batch, time by that of its own predict", most, 1 / one["batch"]))
        if one["model"] != "LightGBM, 300":
            targets.append(Target(f"{what}: one row, the same", 0.05, 1 / one["one_row"]))
    targets.extend(
        Target(f"{_of_what(one)}: share above the limit", 0.05, one["surely_above"] / one["n"])
        for one in (*splits, *draws)
    )
    return targets


def targets_table(targets: Sequence[Target]) -> str:
    """Return the targets that were missed, or that none was."""
    missed = [target for target in targets if not target.is_met]
    said = f"{len(targets) - len(missed)} of {len(targets)} targets are met."
    rows = [[t.what, f"{t.most:.3g}", f"{t.reached:.3g}"] for t in missed]
    return said + ("\n\n" + table(["missed", "at most", "reached"], rows) if rows else "")


def main_table(results: Sequence[Result]) -> str:
    """Return what stopping early asks, how often it differs, and how fast it is."""
    head = [
        "dataset, model", "limit", "trees asked", "differs on fresh rows", "certified at most",
        "error (of everyone)", "votes instead: differ, asked", "batch (median)", "one row",
    ]  # fmt: skip
    rows = []
    for one in results:
        votes = "-"
        if "hard_soft" in one:
            votes = f"{_percent(one['hard_disagreement'])}, {_percent(one['hard_asked'])}"
            votes += " (auto)" if one["auto"] == "hard" else ""
        rows.append(
            [
                f"{one['dataset']}, {one['model']}",
                f"{one['limit']:g}",
                _percent(one["asked"]),
                _percent(one["disagreement"]),
                "-" if one["bound"] is None else _percent(one["bound"]),
                f"{_percent(one['error'])} ({_percent(one['own_error'])})",
                votes,
                f"{one['batch']:.1f} x ({one['batch_median']:.1f} x)",
                f"{one['one_row']:.0f} x",
            ]
        )
    return table(head, rows)


def rules_table(results: Sequence[Result]) -> str:
    """Return what other rules ask at the disagreement that ours had on the same fresh rows."""
    head = [
        "dataset, model", "limit", "disagreement", "ours", "constant margin", "margin, every 10",
        "LightGBM's margin of 10", "QWYC",
    ]  # fmt: skip
    rows = []
    for one in results:
        if "rules" not in one:
            continue
        rules = one["rules"]
        rows.append(
            [
                f"{one['dataset']}, {one['model']}",
                f"{one['limit']:g}",
                _percent(one["disagreement"]),
                _percent(one["asked"]),
                *(
                    "none" if rules[key] is None else _percent(rules[key])
                    for key in ("margin", "margin10", "default", "qwyc")
                ),
            ]
        )
    return table(head, rows)


def splits_table(splits: Sequence[Result]) -> str:
    """Return how often the limit was exceeded over random calibrations of real data."""
    return _excess_table(splits)


def simulation_table(draws: Sequence[Result]) -> str:
    """Return how often the limit was exceeded over drawn calibrations of a known truth."""
    return _excess_table(draws)


def _excess_table(found: Sequence[Result]) -> str:
    head = [
        "what", "limit", "rows to calibrate on", "trees asked", "mean, worst disagreement",
        "above the limit", "beyond test noise",
    ]  # fmt: skip
    rows = []
    for one in found:
        low, high = binomtest(one["above"], one["n"]).proportion_ci(0.95, method="exact")
        rows.append(
            [
                _of_what(one),
                f"{one['limit']:g}",
                f"{one['n_calibrated']:,}",
                _percent(float(np.mean(one["asked"]))),
                f"{_percent(one['disagreement'])}, {_percent(one['worst'])}",
                f"{one['above']} of {one['n']} ({100 * low:.1f} to {100 * high:.1f} %)",
                f"{one['surely_above']} of {one['n']}",
            ]
        )
    return table(head, rows)


def _of_what(one: Result) -> str:
    if "dataset" in one:
        return f"{one['dataset']}, {one['model']}"
    return f"simulated, {one['n_voters']} voters, limit {one['limit']:g}, {one['n_calibrated']:,} rows"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"

"""Measurements as Markdown tables, for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.markdown import table
from benchmarks.measure import ENGINE, FRONT, FULL
from benchmarks.rivals import ADAPTERS
from benchmarks.targets import fastest_peer, ratio, targets_of

__all__ = ["all_tables", "tables_of_more_trees"]

RIVALS = tuple(title for _, _, title in ADAPTERS.values())
Result = dict[str, Any]


def all_tables(results: Sequence[Result]) -> str:
    """Return every table under its heading."""
    parts = [
        ("The forests", _forests(results)),
        ("Batch, one thread: µs a row", _times(results, "1")),
        ("Batch, two threads: µs a row", _times(results, "2")),
        ("One row a call: µs a call", _one_row(results)),
        ("Memory: MB", _memory(results)),
        ("Targets: how many times better, and how many were wanted", _targets(results)),
        ("What each rival's labels were checked for", _remarks(results)),
    ]
    return "\n".join(f"### {title}\n\n{body}\n" for title, body in parts)


def tables_of_more_trees(results: Sequence[Result]) -> str:
    """Return the tables of larger forests."""
    named = [{**r, "name": f"{r['name']}, {r['n_trees']:,} trees"} for r in results]
    parts = [
        ("Larger forests, batch, one thread: µs a row", _times(named, "1")),
        ("Larger forests, one row a call: µs a call", _one_row(named)),
    ]
    return "\n".join(f"### {title}\n\n{body}\n" for title, body in parts)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _times_faster(value: float | None) -> str:
    return "-" if value is None else f"{_number(value)}x"


def _name(result: Result) -> str:
    return result["name"] if result["is_real"] else f"{result['name']} (generated)"


def _forests(results: Sequence[Result]) -> str:
    head = [
        "dataset", "features", "rows trained on", "calibrated on", "timed on", "nodes", "trees asked",
        "disagreement", "… with soft predict",
    ]  # fmt: skip
    counts = ("n_features", "n_trained", "n_calibrated", "n_tested", "n_nodes")
    rows = [
        [
            _name(r),
            *(f"{r[key]:,}" for key in counts),
            _number(r["trees_asked"]),
            f"{r['disagreement']:.1e}",
            f"{r['soft_disagreement']:.1e}",
        ]
        for r in results
    ]
    return table(head, rows)


def _times(results: Sequence[Result], threads: str) -> str:
    shown = [
        name for name in (ENGINE, FRONT, FULL, *RIVALS) if any(name in r["batch"][threads] for r in results)
    ]
    rows = []
    for r in results:
        times = r["batch"][threads]
        peer = fastest_peer(times)
        faster = [ratio(times, "scikit-learn", ENGINE), ratio(times, peer, ENGINE)]
        rows.append(
            [
                _name(r),
                *(_number(times.get(name)) for name in shown),
                *map(_times_faster, faster),
                peer or "-",
            ]
        )
    return table(["dataset", *shown, "engine beside scikit-learn", "beside fastest peer", "which is"], rows)


def _one_row(results: Sequence[Result]) -> str:
    shown = [name for name in (ENGINE, FRONT, FULL, *RIVALS) if any(name in r["one_row"] for r in results)]
    ours = [name for name in (ENGINE, FRONT) if name in shown]
    rows = [
        [_name(r), *(_number(r["one_row"].get(name)) for name in shown)]
        + [_times_faster(ratio(r["one_row"], fastest_peer(r["one_row"]), name)) for name in ours]
        + [fastest_peer(r["one_row"]) or "-"]
        for r in results
    ]
    beside = [f"{name} beside fastest peer" for name in ours]
    return table(["dataset", *shown, *beside, "which is"], rows)


def _memory(results: Sequence[Result]) -> str:
    head = ["dataset", "packed", "scikit-learn's nodes", "ratio", "packed file", "pickle", "file ratio"]
    rows = [
        [
            _name(r),
            _number(r["packed_bytes"] / 1e6),
            _number(r["model_bytes"] / 1e6),
            _times_faster(r["model_bytes"] / r["packed_bytes"]),
            _number(r["file_bytes"] / 1e6),
            _number(r["pickle_bytes"] / 1e6),
            _times_faster(r["pickle_bytes"] / r["file_bytes"]),
        ]
        for r in results
    ]
    return table(head, rows)


def _targets(results: Sequence[Result]) -> str:
    """Show how many times better each figure is, and how many times it should be at least."""
    found = {_name(r): {target.what: target for target in targets_of(r)} for r in results}
    kinds = list(dict.fromkeys(what for targets in found.values() for what in targets))
    rows = []
    for name, targets in found.items():
        cells = []
        for what in kinds:
            target = targets.get(what)
            if target is None:
                cells.append("-")
                continue
            verdict = "" if target.is_met else "MISSED: "
            cells.append(f"{verdict}{_times_faster(target.reached)} (of {_times_faster(target.wanted)})")
        rows.append([name, *cells])
    return table(["dataset", *kinds], rows)


def _remarks(results: Sequence[Result]) -> str:
    shown = [name for name in RIVALS if any(name in r["remarks"] for r in results)]
    rows = [[_name(r), *(r["remarks"].get(name, "-") for name in shown)] for r in results]
    return table(["dataset", *shown], rows)

"""The paper's tables: each as CSV for programs, in shares, and as Markdown for people, beside the paper's."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from foregone._system.atomic_file import write_atomically
from paper import published
from paper.results import SUMMARY_RATE, DatasetFacts, Results, Structure

__all__ = [
    "SUMMARY_APPROACH",
    "benchmark_summary",
    "envelope_structure",
    "markdown_table",
    "table2",
    "table3",
    "tables1",
]

SUMMARY_APPROACH = "minimean_calibrated"  # the approach of table 3
_SUMMARY_COLUMNS = ("dataset", "disagreement_rate", "expected_runtime", "base_error_rate", "error_rate")
_SUMMARY_HEADER = ("disagreement", "expected runtime", "base error", "error")

Rows = Sequence[Sequence[object]]


def table2(results: Results, folder: Path) -> list[Path]:
    """Write which datasets were used; where one differs from the paper's, both numbers."""
    facts = results.datasets
    sources = ["UCI" if f.group == "uci" else "OpenML" for f in facts]
    columns = (
        "dataset", "source", "id", "origin", "rows", "features", "classes", "share_of_largest",
        "paper_rows", "paper_features", "paper_classes", "paper_share_of_largest", "note",
    )  # fmt: skip
    rows = [
        (
            f.name, source, f.identifier, f.origin, f.rows, f.features, f.classes, _share(f.share_of_largest),
            f.paper_rows, f.paper_features, f.paper_classes, _share(f.paper_share_of_largest), f.note,
        )
        for f, source in zip(facts, sources, strict=True)
    ]  # fmt: skip
    header = ("dataset", "number", "rows", "features", "classes", "largest class", "from")
    shown = [
        (
            f.paper_name,
            f"{source} {f.identifier}",
            _differing(f"{f.rows:,}", f"{f.paper_rows:,}"),
            _differing(f"{f.features}", f"{f.paper_features}"),
            _differing(f"{f.classes}", f"{f.paper_classes}"),
            _differing(f"{f.share_of_largest:.1%}", f"{f.paper_share_of_largest:.1%}"),
            f.origin,
        )
        for f, source in zip(facts, sources, strict=True)
    ]
    return _write(folder, "table2", (columns, rows), (header, shown))


def table3(results: Results, folder: Path) -> list[Path]:
    """Write what minimean with calibrated votes does on the UCI sets at 1e-3, in the paper's columns."""
    header = ["dataset"]
    for name in _SUMMARY_HEADER:
        header += [name, "in the paper"]
    comparable = results.settings.n_voters == published.N_VOTERS
    rows, shown = [], []
    for facts in results.group("uci"):
        row, cells = _summary(results, facts)
        rows.append(row)
        paper = published.SUMMARY.get(facts.name) if comparable else None
        theirs = [_percent(value) for value in paper] if paper else [""] * len(cells)
        shown.append([facts.paper_name, *(cell for pair in zip(cells, theirs, strict=True) for cell in pair)])
    return _write(folder, "table3", (_SUMMARY_COLUMNS, rows), (header, shown))


def benchmark_summary(results: Results, folder: Path) -> list[Path]:
    """Write the same for the benchmark sets, of which the paper prints no such table."""
    rows, shown = [], []
    for facts in results.group("benchmark"):
        row, cells = _summary(results, facts)
        rows.append(row)
        shown.append([facts.paper_name, *cells])
    header = ("dataset", *_SUMMARY_HEADER)
    return _write(folder, "benchmark_summary", (_SUMMARY_COLUMNS, rows), (header, shown))


def _summary(results: Results, facts: DatasetFacts) -> tuple[list[str], list[str]]:
    """Return a dataset's row for programs, and its cells for people."""
    m = results.measure(facts.name, SUMMARY_APPROACH, SUMMARY_RATE)
    values = (m.disagreement, m.expected_runtime, m.base_error, m.error)
    spreads = (m.disagreement_spread, m.runtime_spread, m.base_error_spread, m.error_spread)
    cells = [_percent(*parts) for parts in zip(values, (3, 2, 2, 2), spreads, strict=True)]
    return [facts.name, *(_share(value) for value in values)], cells


def tables1(results: Results, folder: Path) -> list[Path]:
    """Write how sure single trees are, and how often rounding their probabilities changes no answer."""
    columns = ("dataset", "tree_certainty", "invariance_to_rounding")
    header = ("dataset", "tree certainty", "in the paper", "invariance to rounding", "in the paper")
    rows, shown = [], []
    for facts in results.datasets:
        found = results.roundings[facts.name]
        certainty = fmean(rounding.tree_certainty for rounding in found)
        invariance = fmean(rounding.invariance_to_rounding for rounding in found)
        rows.append((facts.name, _share(certainty), _share(invariance)))
        paper = _percent(published.tree_certainty(facts.name)), _percent(published.INVARIANCE)
        shown.append((facts.paper_name, _percent(certainty), paper[0], _percent(invariance), paper[1]))
    return _write(folder, "tableS1", (columns, rows), (header, shown))


def envelope_structure(results: Results, folder: Path) -> list[Path]:
    """Write for every strategy of the grid, and count, which have the shape that the paper reports."""
    columns = (
        "criterion", "n_voters", "max_disagreement", "first_stop", "n_randomised", "randomised_asked",
        "randomised_at_first_stop", "has_thresholds", "is_symmetric",
    )  # fmt: skip
    rows = [
        (
            s.criterion, s.n_voters, f"{s.max_disagreement:g}", s.first_stop, s.n_randomised,
            " ".join(map(str, s.randomised_asked)),
            *(str(holds).lower() for holds in (s.randomised_at_first_stop, s.has_thresholds, s.is_symmetric)),
        )
        for s in results.structures
    ]  # fmt: skip
    header = ("criterion", "voters", "strategies", *(name for name, _ in _PROPERTIES))
    shown = []
    for criterion in dict.fromkeys(s.criterion for s in results.structures):
        for parity, number in ((1, "odd"), (0, "even")):
            found = [s for s in results.structures if s.criterion == criterion and s.n_voters % 2 == parity]
            if found:
                counts = [f"{sum(map(holds, found)):,}" for _, holds in _PROPERTIES]
                shown.append((criterion, number, f"{len(found):,}", *counts))
    return _write(folder, "envelope_structure", (columns, rows), (header, shown))


def _thresholds(structure: Structure) -> bool:
    return structure.has_thresholds


def _few_randomised(structure: Structure) -> bool:
    return structure.n_randomised <= 2


def _randomised_at_first_stop(structure: Structure) -> bool:
    return structure.randomised_at_first_stop


def _symmetric(structure: Structure) -> bool:
    return structure.is_symmetric


_PROPERTIES = (
    ("two thresholds a step", _thresholds),
    ("at most two randomised states", _few_randomised),
    ("randomised only at the first stop", _randomised_at_first_stop),
    ("symmetric", _symmetric),
)


def _share(value: float) -> str:
    """Return a share for a CSV: six decimals say more than the repeats can."""
    return f"{value:.6f}"


def _percent(value: float, digits: int = 2, spread: float = 0.0) -> str:
    around = f" ± {100 * spread:.{digits}f}" if spread else ""
    return f"{100 * value:.{digits}f}{around} %"


def _differing(ours: str, paper: str) -> str:
    return ours if ours == paper else f"{ours} (paper {paper})"


def _write(
    folder: Path, name: str, table: tuple[Sequence[str], Rows], shown: tuple[Sequence[str], Rows]
) -> list[Path]:
    """Write ``name.csv`` from ``table`` and ``name.md`` from ``shown``, each a header and rows."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table[0])
    writer.writerows(table[1])
    contents = {"csv": buffer.getvalue(), "md": markdown_table(*shown)}
    for kind, text in contents.items():
        write_atomically(folder / f"{name}.{kind}", [text.encode()])
    return [folder / f"{name}.{kind}" for kind in contents]


def markdown_table(header: Sequence[str], rows: Rows) -> str:
    """Return a table in Markdown; columns of numbers are aligned to the right."""
    words = {"dataset", "number", "from", "criterion", "voters", "close"}
    rule = ["---" if name in words else "---:" for name in header]
    lines = [list(header), rule, *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

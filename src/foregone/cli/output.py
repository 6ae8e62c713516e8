"""How results are printed: numbers, tables and pictures that survive pipes and old terminals."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from foregone.atomic_file import write_atomically
from foregone.display import envelope_picture
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "describe_votes",
    "make_console",
    "print_json",
    "print_picture",
    "print_table",
    "rate",
    "say",
    "votes",
    "write_figure",
]

PICTURE_WIDTH = 80


def make_console() -> Console:
    """Return a console on stdout that prints what it is given and nothing more."""
    return Console(highlight=False, markup=True, soft_wrap=True)


def rate(value: float) -> str:
    """Format a disagreement."""
    return f"{value:.3g}"


def votes(value: float) -> str:
    """Format a number of votes."""
    return f"{value:.2f}"


def describe_votes(distribution: VoteDistribution, file: Path | None = None) -> str:
    """Say in words which votes were meant."""
    if file is not None:
        return f"the votes in {file}"
    if distribution == VoteDistribution.flat(distribution.n_voters):
        return "flat votes: every number of yes votes equally likely"
    return "the votes it was solved for"


def say(console: Console, words: str, *, bullet: bool = False) -> None:
    """Print a paragraph, filled to a comfortable width."""
    first, rest = ("- ", "  ") if bullet else ("", "")
    width = min(console.width, PICTURE_WIDTH) - 1
    filled = fill(words, width, initial_indent=first, subsequent_indent=rest, break_long_words=False)
    console.print(filled, markup=False)


def print_json(content: dict[str, Any]) -> None:
    """Print ``content`` as JSON, floats with every digit."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def print_table(
    console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, emphasised: int = 0
) -> None:
    """Print a table whose first column is text and whose others are numbers.

    Never cropped: where a line does not fit, it is longer than the terminal.
    The first ``emphasised`` rows stand out.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=True)
    for place, row in enumerate(rows):
        table.add_row(*row, style="bold" if place < emphasised else "")
    wide = console.options.update(max_width=10_000)
    wanted = console.measure(table, options=wide).maximum
    width = console.width
    console.width = max(width, wanted)
    console.print(table, crop=False, soft_wrap=False)
    console.width = width


def print_picture(
    console: Console, strategy: StoppingStrategy, *, height: int = 19, largest_lead: int | None = None
) -> None:
    """Print the envelope of a strategy, as wide as the terminal but at most 80 columns."""
    picture = envelope_picture(
        strategy,
        width=min(console.width, PICTURE_WIDTH),
        height=height,
        largest_lead=largest_lead,
        ascii_only=console.options.ascii_only,
    )
    console.print(picture, soft_wrap=True)


def write_figure(figure: Figure, file: Path) -> None:
    """Write a figure to ``file`` as PNG, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    write_atomically(file, [buffer.getvalue()])

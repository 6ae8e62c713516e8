"""Print results: numbers, tables and pictures that survive pipes and old terminals."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from foregone._system.atomic_file import write_atomically
from foregone._system.shown import shown
from foregone.display import envelope_picture
from foregone.kinds import AnyDistribution, AnySolution
from foregone.planning.recommendation import number_of_voters, short_looks
from foregone.solving import MaxDisagreement, Solution
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import Figures
from foregone.strategy.thresholds import majority
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "answers",
    "describe_votes",
    "headline",
    "limited",
    "limits",
    "make_console",
    "number_of_voters",
    "print_comparison_table",
    "print_json",
    "print_picture",
    "print_table",
    "quota_in_words",
    "rate",
    "rates",
    "say",
    "votes",
    "write_csv",
    "write_figure",
]

PICTURE_WIDTH = 80
MOST_LOOKS = 10


class _HarmlessConsole(Console):
    """A console whose texts cannot control the terminal; styles still can."""

    def render_str(self, text: str, *args: Any, **options: Any) -> Text:
        return super().render_str(shown(text), *args, **options)


def make_console() -> Console:
    """Return a console on stdout without highlighting or wrapping.

    In pipes and files the text is the same on every system: old consoles of Windows are a column narrower.
    """
    shows = sys.stdout is not None and sys.stdout.isatty()
    return _HarmlessConsole(
        highlight=False, markup=True, soft_wrap=True, legacy_windows=None if shows else False
    )


def rate(value: float) -> str:
    """Format a disagreement."""
    return f"{value:.3g}"


def votes(value: float) -> str:
    """Format a number of votes."""
    return f"{value:.2f}"


def limits(value: MaxDisagreement) -> str:
    """Format a limit, or the limits for yes and no."""
    return _by_answer(value, "{:g}".format)


def rates(value: MaxDisagreement) -> str:
    """Format a disagreement, or those for yes and no."""
    return _by_answer(value, rate)


def _by_answer(value: MaxDisagreement, form: Callable[[float], str]) -> str:
    if not isinstance(value, Mapping):
        return form(value)
    return " and ".join(f"{form(of_it)} ({side})" for side, of_it in value.items())


def headline(solution: AnySolution) -> str:
    """Describe a solution, in markup."""
    extras = [] if solution.confidence is None else [f"{100 * solution.confidence:g} % confidence"]
    voters = number_of_voters(solution.n_voters)
    if not isinstance(solution, Solution):
        voters += f", {answers(solution.n_classes)}"
    else:
        if solution.looks is not None:
            extras.append(f"stops after {_looks(solution)}")
        if solution.answer != "majority":
            extras.append(f"{solution.answer} answers")
        extras += filter(None, [quota_in_words(solution.strategy)])
    return (
        f"[bold]{solution.criterion}[/] strategy for {voters}, "
        f"{limited(solution)} at most {limits(solution.max_disagreement)}"
        + (f"\nWith {'; '.join(extras)}" if extras else "")
    )


def limited(solution: AnySolution) -> str:
    """Return what the limit of a solution applies to."""
    return "disagreement" if getattr(solution, "values", None) is None else "loss"


def quota_in_words(strategy: StoppingStrategy) -> str:
    """Return the quota in words; empty for a majority."""
    if strategy.quota == majority(strategy.n_voters):
        return ""
    return f"a quota of {strategy.quota} yes vote{'' if strategy.quota == 1 else 's'}"


def _looks(solution: Solution) -> str:
    """Name the looks, shortened if there are many."""
    looks = short_looks(solution.looks, solution.n_voters)
    if isinstance(looks, int):
        return f"every {looks} votes"
    numbers = [str(look) for look in looks or ()]
    if len(numbers) > MOST_LOOKS:
        numbers[MOST_LOOKS // 2 : -MOST_LOOKS // 2] = ["..."]
    return f"{', '.join(numbers)} votes"


def describe_votes(distribution: AnyDistribution, file: Path | None = None) -> str:
    """Describe the votes that means are over."""
    if file is not None:
        return f"the votes in {file}"
    if distribution.n_observations is None and np.ptp(distribution.probabilities) == 0:
        each = "number of yes votes" if isinstance(distribution, VoteDistribution) else "split of the votes"
        return f"flat votes: every {each} equally likely"
    return "the votes it was solved for"


def answers(n_answers: int | None) -> str:
    """Return the number of possible answers in words."""
    return "any answers" if n_answers is None else f"{n_answers} answers"


def say(console: Console, words: str, *, bullet: bool = False) -> None:
    """Print a paragraph, filled to a comfortable width."""
    first, rest = ("- ", "  ") if bullet else ("", "")
    width = min(console.width, PICTURE_WIDTH) - 1
    filled = fill(
        words,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    console.print(filled, markup=False)


def print_json(content: dict[str, Any]) -> None:
    """Print ``content`` as JSON, floats with every digit."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def write_csv(rows: Sequence[Mapping[str, object]], file: Path) -> None:
    """Write rows with the same names to ``file`` as CSV, floats with every digit, whole or not at all.

    Only for numbers and our own words: a spreadsheet could run other texts as formulas.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(file, [text.getvalue().encode()])


def print_table(
    console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, emphasised: int = 0
) -> None:
    """Print a table whose first column is text and whose others are numbers.

    Lines are never cropped, even if they are longer than the terminal is wide. The first ``emphasised`` rows
    are bold.
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


def print_comparison_table(
    console: Console, figures: Mapping[str, tuple[Figures, Figures]], limit: float, *, emphasised: int
) -> None:
    """Print mean and worst figures of strategies by name, and whether they are within a limit."""
    columns = ["", "mean\nvotes", "worst\nvotes", "mean\ndisagreement", "worst\ndisagreement"]
    rows = [
        [
            name,
            votes(mean.expected_votes),
            votes(worst.expected_votes),
            rate(mean.disagreement),
            rate(worst.disagreement),
            _within(mean, worst, limit),
        ]
        for name, (mean, worst) in figures.items()
    ]
    print_table(console, [*columns, "within\nthe limit"], rows, emphasised=emphasised)


def _within(mean: Figures, worst: Figures, limit: float) -> str:
    allowed = limit * (1 + 1e-9)  # what rounding may add
    if worst.disagreement <= allowed:
        return "always"
    return "on average" if mean.disagreement <= allowed else "no"


def print_picture(
    console: Console, strategy: StoppingStrategy, *, height: int = 19, largest_lead: int | None = None
) -> None:
    """Print the envelope of a strategy, as wide as the terminal, at most 80 columns."""
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

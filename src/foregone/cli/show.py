"""``foregone show``: the contents of a saved file, with a picture of its strategy."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from foregone._system.progress import working
from foregone.cli.commands import JsonFlag
from foregone.cli.options import MaxMemory, check_writable
from foregone.cli.output import (
    PICTURE_WIDTH,
    answers,
    headline,
    limited,
    limits,
    make_console,
    number_of_voters,
    print_json,
    quota_in_words,
    rates,
    votes,
    write_figure,
)
from foregone.cli.views import view_of
from foregone.display import EnvelopeDisplay
from foregone.errors import InvalidInputError
from foregone.kinds import kind_of, solution_of, strategy_of
from foregone.monitoring import MonitorState
from foregone.saved_file import SavedFile, open_file
from foregone.strategy import StoppingStrategy
from foregone.strategy.limits import traits_of

__all__ = ["show_command"]

MOST_CLASSES = 10


def show_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Any file saved by foregone: a strategy, solution, forest, classifier or monitor state.",
        ),
    ],
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the strategy to this PNG file as well.")
    ] = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what a saved file contains.

    For a strategy: where it stops, what it promises, costs and risks. For every
    file: kind, voters, classes, features, format version and size.

    \b
    Examples:
      foregone show strategy.json
      foregone show strategy.json --png envelope.png
      foregone show model.foregone
      foregone show state.json
      foregone show strategy.json --json
    """
    check_writable(png)
    saved = open_file(file, max_memory=max_memory)
    content, facts = saved.content, saved.facts()
    if isinstance(content, MonitorState) and png is None:
        if as_json:
            print_json(facts)
        else:
            _print_state(make_console(), saved, facts)
        return
    if png is not None:
        _draw(content, png)
    view = None
    if not saved.is_forest:
        with working(f"Evaluating for {number_of_voters(facts['n_voters'])}"):
            view = view_of(content)
    if as_json:
        of_strategy = {} if view is None else {**view.fields(), "strategy": strategy_of(content).to_fields()}
        print_json({**facts, **of_strategy})
        return
    console = make_console()
    console.print(_headline(saved, facts))
    console.print()
    _print_facts(console, saved, facts)
    if view is not None:
        console.print()
        view.show(console)
    if png is not None:
        console.print(f"\nWritten to {png}", markup=False)


def _draw(content: Any, png: Path) -> None:
    solution = solution_of(content)
    if kind_of(content) == "answers":
        raise InvalidInputError(
            "--png can draw strategies for two answers and for scores, not for votes among many answers: "
            "omit --png; the table shows where the strategy stops"
        )
    name = None
    if solution is not None:
        name = f"{solution.criterion}, {limited(solution)} at most {limits(solution.max_disagreement)}"
    strategy: Any = strategy_of(content)
    write_figure(EnvelopeDisplay.from_strategy(strategy, name=name).figure_, png)


def _headline(saved: SavedFile, facts: dict[str, Any]) -> str:
    """Describe the contents of the file, in markup."""
    solution = solution_of(saved.content)
    strategy = None if saved.is_forest else strategy_of(saved.content)
    if solution is None or facts["classes"] is not None:
        voters = number_of_voters(facts["n_voters"])
        if facts["classes"] is not None:
            return escape(f"{saved.kind[0].upper()}{saved.kind[1:]}, {voters}")
        many = "" if facts["n_answers"] == 2 else f", {answers(facts['n_answers'])}"
        if many and kind_of(saved.content) == "scores":
            many = f", {facts['n_answers']} classes"
        quota = quota_in_words(strategy) if isinstance(strategy, StoppingStrategy) else ""
        return ", ".join(filter(None, [f"Strategy for {voters}{many}", quota]))
    traits = traits_of(solution.criterion)
    cost = "at worst" if traits.minimises_the_worst else "on average"
    risk = "on average" if traits.bounds_the_mean else "at worst"
    return (
        f"{headline(solution)}\n"
        f"Asks {solution.expected_votes:.2f} of them {cost}; "
        f"{limited(solution)} {rates(solution.disagreement)} {risk}"
    )


def _print_facts(console: Console, saved: SavedFile, facts: dict[str, Any]) -> None:
    told = {"kind": saved.kind}
    if facts["classes"] is not None:
        named = [str(name) for name in facts["classes"][:MOST_CLASSES]]
        left = len(facts["classes"]) - len(named)
        told["classes"] = ", ".join(named) + (f" and {left} more" if left else "")
        told["features"] = str(facts["n_features"])
        a_round = facts["trees_a_round"]
        if a_round not in (None, 1):
            n_rounds = facts["n_voters"] // a_round
            told["voters"] = f"{facts['n_voters']:,} trees, {n_rounds:,} rounds of one per class"
    told["promise"] = facts["promise"]
    _print_told(console, saved, told)


def _print_state(console: Console, saved: SavedFile, facts: dict[str, Any]) -> None:
    """Print what a monitor has seen; the file does not contain the promise that it watches."""
    console.print(f"State of a monitor, {number_of_voters(facts['n_voters'])}, {facts['rows']:,} rows")
    console.print()
    told = {"kind": saved.kind}
    if facts["n_answers"]:
        counts = ", ".join(f"{n_rows:,}" for n_rows in facts["rows_by_class"][:MOST_CLASSES])
        told["answered"] = f"{counts} rows by class; {votes(facts['mean_votes_asked'])} votes per row"
    differ = facts["audited_disagreements"]
    told["audited"] = f"{facts['audited']:,} rows" + (
        "" if differ is None else f", {differ:,} differ from the full vote"
    )
    if facts["evidence"] is not None:
        told["evidence"] = ", ".join(f"{kind} {value:.3g}" for kind, value in facts["evidence"].items())
    said = [f"after {one['time']:,} rows: {one['sentence']} {one['advice']}" for one in facts["alarms"]]
    told["alarm"] = " Also ".join(said) or "none"
    _print_told(console, saved, told)


def _print_told(console: Console, saved: SavedFile, told: dict[str, str]) -> None:
    told["file"] = (
        f"format version {saved.version}, {saved.n_bytes:,} bytes, modified {saved.modified:%Y-%m-%d %H:%M}"
    )
    width = min(console.width, PICTURE_WIDTH) - 1
    for name, value in told.items():
        console.print(fill(f"{name:<10}{value}", width, subsequent_indent=" " * 10), markup=False)

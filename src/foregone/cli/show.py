"""``foregone show``: a picture of a strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from foregone.cli.options import StrategyFile, check_writable, load_strategy
from foregone.cli.output import (
    headline,
    limits,
    make_console,
    print_picture,
    print_table,
    rates,
    voters,
    write_figure,
)
from foregone.display import EnvelopeDisplay, EnvelopeShape, envelope_shape
from foregone.solving import Solution
from foregone.strategy import StoppingStrategy

__all__ = ["show_command"]

MOST_CHANCE_LINES = 5


def show_command(
    strategy_file: StrategyFile,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the picture here as well.")] = None,
) -> None:
    """Draw a strategy: where it goes on, where it stops.

    \b
    Examples:
      foregone show strategy.json
      foregone show strategy.json --png envelope.png
    """
    check_writable(png)
    strategy, solution = load_strategy(strategy_file)
    if png is not None:
        name = (
            None
            if solution is None
            else f"{solution.criterion}, max_disagreement {limits(solution.max_disagreement)}"
        )
        write_figure(EnvelopeDisplay.from_strategy(strategy, name=name).figure_, png)
    console = make_console()
    console.print(_headline(strategy, solution))
    console.print()
    shape = envelope_shape(strategy)
    if shape.last_asked == 0:
        console.print("It asks nobody: it answers no at once.")
    else:
        print_picture(console, strategy)
        console.print()
        _print_steps(console, shape)
        _print_chance(console, shape, ascii_only=console.options.ascii_only)
    if png is not None:
        console.print(f"\nWritten to {png}", markup=False)


def _headline(strategy: StoppingStrategy, solution: Solution | None) -> str:
    if solution is None:
        return f"Strategy for {voters(strategy.n_voters)}"
    cost = "at worst" if solution.criterion == "minimax" else "on average"
    risk = "on average" if solution.criterion == "minimean" else "at worst"
    return (
        f"{headline(solution)}\n"
        f"Asks {solution.expected_votes:.2f} of them {cost}; "
        f"disagreement {rates(solution.disagreement)} {risk}"
    )


def _print_steps(console: Console, shape: EnvelopeShape) -> None:
    """Print the thresholds in words for a few steps."""
    steps = sorted({*shape.stop_yes[:, 0].tolist(), *shape.stop_no[:, 0].tolist()})
    chosen = sorted({steps[place] for place in np.linspace(0, len(steps) - 1, 7).round().astype(int)})
    yes, no = dict(shape.stop_yes.tolist()), dict(shape.stop_no.tolist())

    def score(asked: int, lead: int | None) -> str:
        return "" if lead is None else f"{(asked + lead) // 2} : {(asked - lead) // 2}"

    print_table(
        console,
        ["votes asked", "answers yes at (yes : no)", "answers no at (yes : no)"],
        [[str(asked), score(asked, yes.get(asked)), score(asked, no.get(asked))] for asked in chosen],
    )


def _print_chance(console: Console, shape: EnvelopeShape, *, ascii_only: bool) -> None:
    chance = shape.randomised
    if not chance:
        return
    console.print()
    mark = "?" if ascii_only else "◆"
    for asked, lead, probability in chance[:MOST_CHANCE_LINES]:
        console.print(
            f"{mark} Chance decides after {asked} votes at {(asked + lead) // 2} : {(asked - lead) // 2}: "
            f"stops with probability {probability:.4g}"
        )
    if len(chance) > MOST_CHANCE_LINES:
        console.print(f"{mark} ... and in {len(chance) - MOST_CHANCE_LINES} more states")

"""``foregone show``: a picture of a strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from foregone.cli.options import JsonFlag, StrategyFile, check_writable, load_strategy, votes_meant
from foregone.cli.output import (
    describe_votes,
    headline,
    limits,
    make_console,
    number_of_voters,
    print_json,
    print_picture,
    print_table,
    rates,
    say,
    write_figure,
)
from foregone.cli.risks import class_fields, print_margins, print_risks
from foregone.display import EnvelopeDisplay, EnvelopeShape, envelope_shape
from foregone.evaluation import Evaluation, evaluate
from foregone.progress import working
from foregone.solving import Solution
from foregone.strategy import IntArray, StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["show_command"]

MOST_CHANCE_LINES = 5
MOST_LOOKS = 6  # at either end


def show_command(
    strategy_file: StrategyFile,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the picture here as well.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw a strategy: where it goes on, where it stops.

    \b
    Examples:
      foregone show strategy.json
      foregone show strategy.json --png envelope.png
      foregone show strategy.json --json
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
    with working(f"Evaluating for {number_of_voters(strategy.n_voters)}"):
        shape, evaluation = envelope_shape(strategy), evaluate(strategy)
    distribution = votes_meant(strategy, solution)
    if as_json:
        print_json(_fields(strategy, solution, shape, evaluation, distribution))
        return
    console = make_console()
    console.print(_headline(strategy, solution))
    console.print()
    if shape.last_asked == 0:
        console.print(f"It asks nobody: it answers {'yes' if strategy.answer(0, 0) else 'no'} at once.")
    else:
        print_picture(console, strategy)
        console.print()
        _print_steps(console, shape)
        _print_chance(console, shape, ascii_only=console.options.ascii_only)
        _print_peculiarities(console, strategy, shape)
    console.print(f"\nMean over {describe_votes(distribution)}\n", markup=False)
    print_risks(console, evaluation, distribution)
    console.print()
    print_margins(console, evaluation)
    if png is not None:
        console.print(f"\nWritten to {png}", markup=False)


def _fields(
    strategy: StoppingStrategy,
    solution: Solution | None,
    shape: EnvelopeShape,
    evaluation: Evaluation,
    distribution: VoteDistribution,
) -> dict[str, object]:
    """Return what is drawn and said, for JSON; states are [asked, yes] and [asked, yes, probability]."""

    def states(stops: IntArray) -> list[list[int]]:
        return [[asked, (asked + lead) // 2] for asked, lead in stops.tolist()]

    return {
        "n_voters": strategy.n_voters,
        "criterion": None if solution is None else solution.criterion,
        "max_disagreement": None if solution is None else solution.max_disagreement,
        "most_votes_asked": shape.last_asked,
        "answers_yes_from": states(shape.stop_yes),
        "answers_no_from": states(shape.stop_no),
        "chance_decides": [
            [asked, (asked + lead) // 2, probability] for asked, lead, probability in shape.randomised
        ],
        "votes": describe_votes(distribution),
        "mean": evaluation.mean(distribution)._asdict(),
        "worst": evaluation.worst()._asdict(),
        **class_fields(evaluation, distribution),
        "strategy": strategy.to_fields(),
    }


def _headline(strategy: StoppingStrategy, solution: Solution | None) -> str:
    if solution is None:
        return f"Strategy for {number_of_voters(strategy.n_voters)}"
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
        ["votes asked", "answers yes from (yes : no)", "answers no from (yes : no)"],
        [[str(asked), score(asked, yes.get(asked)), score(asked, no.get(asked))] for asked in chosen],
    )


def _print_peculiarities(console: Console, strategy: StoppingStrategy, shape: EnvelopeShape) -> None:
    if shape.has_looks:
        steps = [str(step) for step in shape.stop_steps]
        if len(steps) > 2 * MOST_LOOKS:
            steps = [*steps[:MOST_LOOKS], "...", *steps[-MOST_LOOKS:]]
        console.print()
        say(console, f"It looks only now and then: it can stop after {', '.join(steps)} votes.")
    if not strategy.answers_majority:
        console.print()
        say(
            console,
            "At a stop it does not always answer the majority so far: see where it answers yes and no.",
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

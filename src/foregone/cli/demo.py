"""``foregone demo``: the main job on a built-in example, with a reading of the result."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from foregone import rules
from foregone.cli.compare import COLUMNS, comparison_rows
from foregone.cli.output import make_console, print_picture, print_table, say, write_png
from foregone.display import EnvelopeDisplay, envelope_shape
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.evaluation import evaluate
from foregone.solving import Criterion, Solution, solve
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["demo_command"]

N_VOTERS, LIMIT = 101, 1e-3
ONE_IN = round(1 / LIMIT)
PROMISES: dict[Criterion, str] = {
    "minimean": "fewest votes on average; disagreement bounded on average",
    "minimixed": "fewest votes on average; disagreement bounded for every input",
    "minimax": "fewest votes in the worst case; disagreement bounded for every input",
}


def demo_command(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the picture and the strategies.")
    ] = Path("demo"),
) -> None:
    """Solve a built-in example and explain what comes out.

    101 voters, at most 1 disagreement in 1,000, the three criteria side by side.

    \b
    Examples:
      foregone demo
      foregone demo -o /tmp/demo
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot make the folder {output}: {error.strerror or error}") from None
    console = make_console()
    solutions = {name: solve(name, N_VOTERS, LIMIT) for name in PROMISES}
    _introduce(console)
    _print_pictures(console, solutions)
    _print_comparison(console, solutions)
    _print_reading(console, solutions)
    _write(console, solutions, output)


def _introduce(console: Console) -> None:
    say(
        console,
        f"{N_VOTERS} voters, say the trees of a forest, vote yes or no on an input. The majority is the "
        "answer. Asking all of them is a waste when the first ones agree, so we ask one after another in "
        "random order and stop early, but let the answer differ from that of the full vote in at most 1 "
        f"case in {ONE_IN:,}. When exactly to stop? That depends on what is to be small, and for whom the "
        "limit is to hold. Here is the optimal strategy for each of three criteria:",
    )
    console.print()


def _print_pictures(console: Console, solutions: dict[Criterion, Solution]) -> None:
    shapes = [envelope_shape(solution.strategy) for solution in solutions.values()]
    largest_lead = max(shape.largest_lead for shape in shapes)
    for name, solution in solutions.items():
        console.print(f"[bold]{name}[/]: {PROMISES[name]}")
        print_picture(console, solution.strategy, height=11, largest_lead=largest_lead)
        console.print()


def _print_comparison(console: Console, solutions: dict[Criterion, Solution]) -> None:
    strategies: dict[str, StoppingStrategy] = {
        name: solution.strategy for name, solution in solutions.items()
    }
    strategies["curtailment"] = rules.curtailment(N_VOTERS)
    strategies["Schwing"] = rules.schwing(N_VOTERS, LIMIT)
    rows = comparison_rows(strategies, VoteDistribution.flat(N_VOTERS), LIMIT)
    print_table(console, COLUMNS, rows, emphasised=len(solutions))
    console.print()


def _print_reading(console: Console, solutions: dict[Criterion, Solution]) -> None:
    flat = VoteDistribution.flat(N_VOTERS)
    ours = {name: evaluate(solution.strategy) for name, solution in solutions.items()}
    curtailment = evaluate(rules.curtailment(N_VOTERS)).mean(flat)
    schwing = evaluate(rules.schwing(N_VOTERS, LIMIT))
    minimean, minimixed = ours["minimean"].mean(flat), ours["minimixed"].mean(flat)
    unanimous = int(envelope_shape(solutions["minimean"].strategy).stop_yes[0, 0])
    gap = max(solution.gap for solution in solutions.values())
    mark = "?" if console.options.ascii_only else "◆"
    console.print("[bold]How to read this[/]")
    points = [
        "Each picture shows every state the poll can be in. It starts at the left with no votes; each vote "
        "moves it one step to the right, and up for yes or down for no. Inside the shaded area it goes on "
        f"asking; at the upper edge it stops and answers yes, at the lower edge no. {mark} marks a state "
        f"where chance decides. {unanimous} equal votes at the start are enough for minimean; a close race "
        "is followed to the end.",
        "Curtailment, which stops when the rest cannot change the result, asks "
        f"{curtailment.expected_votes:.0f} votes on average (the table takes every number of yes votes as "
        f"equally likely). Allowing one disagreement in {ONE_IN:,} halves that: minimean asks "
        f"{minimean.expected_votes:.1f}.",
        "Minimean keeps the limit on average and spends it on close calls, where it may disagree in "
        f"{ours['minimean'].worst().disagreement:.1%} of cases. If no input may do worse than the limit, "
        f"take minimixed: {minimixed.expected_votes:.1f} votes.",
        f"Schwing's rule asks {schwing.mean(flat).expected_votes:.1f} and still disagrees at a rate of "
        f"{schwing.worst().disagreement:.2g} in the worst case, {schwing.worst().disagreement / LIMIT:.1f} "
        "times the limit: it was not made to promise it. Minimixed asks fewer and does.",
        "Nothing can do better: each strategy comes with a lower bound that no strategy can undercut, and "
        f"ours meet it to within {gap:.0e} of itself.",
    ]
    for point in points:
        say(console, point, bullet=True)
    console.print()


def _write(console: Console, solutions: dict[Criterion, Solution], output: Path) -> None:
    for name, solution in solutions.items():
        solution.save(output / f"{name}.json")
    command = _command()
    console.print("[bold]What to try next[/]")
    for purpose, arguments in (
        ("one strategy in full", f"show {output / 'minimean.json'}"),
        ("the proof that it is optimal, in exact arithmetic", f"certify {output / 'minimixed.json'}"),
        (
            "all the rules side by side, at another limit",
            f"compare --voters {N_VOTERS} --max-disagreement 0.05",
        ),
        (
            "your own ensemble: how often did n voters say yes?",
            "solve --votes counts.csv --max-disagreement 1e-3",
        ),
    ):
        console.print(f"  # {purpose}", style="dim", markup=False)
        console.print(f"  {command} {arguments}", markup=False)
    try:
        picture = output / "envelopes.png"
        write_png(draw_envelopes(solutions), picture)
        console.print(f"\nThe three envelopes in one picture: {picture}", markup=False)
    except MissingExtraError as error:
        console.print(f"\nNo PNG was drawn. {error}", markup=False)


def _command() -> str:
    """Return how this program is called from here."""
    if shutil.which("foregone"):
        return "foregone"
    installed = Path(sys.prefix) / "bin" / "foregone"
    if installed.is_relative_to(Path.cwd()):
        return str(installed.relative_to(Path.cwd()))
    return f"{sys.executable} -m foregone"


def draw_envelopes(solutions: dict[Criterion, Solution]) -> EnvelopeDisplay:
    """Draw the three envelopes into one picture."""
    strategies: dict[str, StoppingStrategy] = {
        name: solution.strategy for name, solution in reversed(solutions.items())
    }
    display = EnvelopeDisplay.from_strategies(strategies)[-1]
    display.ax_.set_title(
        f"Optimal stopping strategies: {N_VOTERS} voters, disagreement at most {LIMIT:g}", loc="left", pad=30
    )
    return display

"""``foregone demo``: measure and explain a forest that stops early."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console

from foregone._system.file_reading import reason_of
from foregone._system.progress import working
from foregone.cli.commands import JsonFlag
from foregone.cli.compare import print_comparison
from foregone.cli.demo_forest import (
    CONFIDENCE,
    LIMIT,
    N_TEST,
    N_TRAIN,
    N_TREES,
    ManyClasses,
    MeasuredForest,
    measure_forest,
    measure_many_classes,
)
from foregone.cli.output import make_console, print_json, print_picture, print_table, say, write_figure
from foregone.cli.solve import solution_fields
from foregone.cli.views import counted_view
from foregone.display import EnvelopeDisplay, SavingsDisplay, envelope_shape
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.kinds import promise_fields, promise_in_words
from foregone.rules.methods import KnownVotes
from foregone.rules.registry import choose_methods
from foregone.solving import Criterion, Solution, solve
from foregone.strategy import StoppingStrategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["demo_command"]

ONE_IN = round(1 / LIMIT)
CRITERIA: dict[Criterion, str] = {  # from the fewest votes to the most
    "minimean": "fewest votes on average; disagreement limited on average",
    "minimixed": "fewest votes on average; disagreement limited for every row",
    "minimax": "fewest votes in the worst case; disagreement limited for every row",
}


def demo_command(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Folder for the picture, strategies and model."),
    ] = Path("demo"),
    as_json: JsonFlag = False,
) -> None:
    """Train a forest, stop it early, and show what that saves.

    Uses 101 trees on generated rows, with two classes and with five, and allows 1
    disagreement in 1,000. Takes about a minute.

    \b
    Examples:
      foregone demo
      foregone demo -o first-look
      foregone demo --json
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot create the folder {output}: {reason_of(error)}") from None
    console = make_console()
    if not as_json:
        _print_start(console)
    with working("Training and measuring"):
        measured = measure_forest()
        many = measure_many_classes()
    votes = measured.classifier.votes_
    solutions: dict[Criterion, Solution] = {
        name: solve(name, votes, LIMIT, confidence=CONFIDENCE) for name in CRITERIA
    }
    files, missing = _write(measured, solutions, output)
    if as_json:
        print_json(_fields(measured, many, solutions, files))
        return
    _print_clock(console, measured, many)
    _print_strategies(console, solutions)
    _print_reading(console, measured, solutions)
    _print_next(console, files, missing)


def _print_start(console: Console) -> None:
    say(
        console,
        f"A random forest of {N_TREES} trees takes a majority vote on every row. foregone asks the trees one "
        f"by one and stops once the outcome is settled. At most 1 answer in {ONE_IN:,} may differ from the "
        "full vote.",
    )
    console.print(
        f"\nTraining {N_TREES} trees on {N_TRAIN:,} generated rows, then measuring...\n", style="dim"
    )


def _fields(
    measured: MeasuredForest, many: ManyClasses, solutions: dict[Criterion, Solution], files: dict[str, Path]
) -> dict[str, object]:
    """Return what was measured, for JSON."""

    def pair(values: tuple[float, float]) -> dict[str, float]:
        return dict(zip(("scikit_learn", "stopped_early"), values, strict=True))

    return {
        "n_voters": N_TREES,
        "max_disagreement": LIMIT,
        "confidence": CONFIDENCE,
        **promise_fields(measured.classifier),
        "expected_votes": float(measured.asked.mean()),
        "disagreement": measured.n_differing / N_TEST,
        "rows_per_second": pair(measured.rows_per_second),
        "seconds_for_one_row": pair(measured.seconds_for_one_row),
        "megabytes": pair(measured.megabytes),
        "error": pair(measured.errors),
        "seconds_to_calibrate": measured.seconds_to_calibrate,
        "many_classes": {
            "n_classes": many.n_classes,
            "expected_votes": many.mean_asked,
            "disagreement": many.disagreement,
            "promise": many.promise,
            "rows_per_second": pair(many.rows_per_second),
        },
        "criteria": {name: solution_fields(solution) for name, solution in solutions.items()},
        "files": {name: str(file) for name, file in files.items()},
    }


def _print_clock(console: Console, measured: MeasuredForest, many: ManyClasses) -> None:
    def times(ratio: float) -> str:
        return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"

    def asked_and_speed(trees: float, speed: tuple[float, float]) -> list[list[str]]:
        theirs, ours = speed
        return [
            ["trees asked per row", f"{N_TREES}", f"{trees:.1f}", times(N_TREES / trees) + " fewer"],
            ["rows per second, batch", f"{theirs:,.0f}", f"{ours:,.0f}", times(ours / theirs) + " faster"],
        ]

    def differing(share: float) -> list[str]:
        return ["differs from full vote", "", f"{share:.2%}", f"{LIMIT:.2%} allowed"]

    latency, size = measured.seconds_for_one_row, measured.megabytes
    rows = [
        *asked_and_speed(float(measured.asked.mean()), measured.rows_per_second),
        [
            "one row at a time",
            f"{1e6 * latency[0]:,.0f} µs",
            f"{1e6 * latency[1]:.1f} µs",
            times(latency[0] / latency[1]) + " faster",
        ],
        ["memory of the trees", f"{size[0]:.1f} MB", f"{size[1]:.1f} MB", times(size[0] / size[1]) + " less"],
        ["error on test rows", f"{measured.errors[0]:.2%}", f"{measured.errors[1]:.2%}", ""],
        differing(measured.n_differing / N_TEST),
    ]
    print_table(console, ("one thread", "scikit-learn", "stopped early", ""), rows)
    console.print()
    say(console, promise_in_words(measured.classifier))
    console.print()
    rows = [*asked_and_speed(many.mean_asked, many.rows_per_second), differing(many.disagreement)]
    print_table(console, (f"{many.n_classes} classes", "scikit-learn", "stopped early", ""), rows)
    console.print()
    say(console, many.promise)
    console.print()


def _print_strategies(console: Console, solutions: dict[Criterion, Solution]) -> None:
    strategies = {name: solution.strategy for name, solution in solutions.items()}
    console.print("[bold]When it stops[/]: three criteria, on this forest's votes\n")
    largest_lead = max(envelope_shape(strategy).largest_lead for strategy in strategies.values())
    for name, strategy in strategies.items():
        console.print(f"[bold]{name}[/]: {CRITERIA[name]}")
        print_picture(console, strategy, height=11, largest_lead=largest_lead)
        console.print()
    console.print("[bold]Other stopping rules[/] on this forest's votes, in random order")
    votes = solutions["minimean"].votes
    views = {str(name): counted_view(solution) for name, solution in solutions.items()}
    for method in choose_methods(["curtailment", "schwing"], [LIMIT]):
        views[method.label] = counted_view(method.strategy(KnownVotes.of(votes)), votes)
    print_comparison(console, views, LIMIT, emphasised=len(solutions))
    console.print()


def _print_reading(console: Console, measured: MeasuredForest, solutions: dict[Criterion, Solution]) -> None:
    gap = max(solution.gap for solution in solutions.values())
    few = float(np.quantile(measured.asked, 0.5))
    learned = ""
    if measured.classifier.promise_.about == "classifier":
        learned = (
            " When to stop and which trees to ask first were learned on a fifth of the calibration rows; the "
            "other rows certify the classifier exactly as it runs here."
        )
    by_class = " and ".join(
        f"{risk:.2g} of the rows voted {label}"
        for label, risk in measured.classifier.disagreement_by_class_.items()
    )
    mark = "?" if console.options.ascii_only else "◆"
    points = [
        "Each picture shows all states that the poll of one row can reach. A poll starts at the left. Each "
        "tree moves it one step to the right: up for yes, down for no. In the shaded area it keeps asking; "
        f"at the edge it stops and answers. At {mark} chance decides whether it stops. Half of the rows need "
        f"{few:.0f} trees or fewer; close votes need nearly all trees.",
        f"{measured.n_differing} of {N_TEST:,} test rows differ from the full vote. The limit allows "
        f"{LIMIT * N_TEST:.0f} on average, and such a count varies by about {np.sqrt(LIMIT * N_TEST):.0f} by "
        f"chance.{learned} Classes can differ: at most {by_class} change answer. This holds with the same "
        "confidence, but separately from the limit.",
        "minimean keeps the limit on average over rows and spends it on close votes. Use minimixed to keep "
        "the limit for every row, and minimax if the slowest row matters most.",
        "All three strategies are provably optimal among those that count votes in random order: each is "
        f"within {gap:.1e} of its lower bound. Calibrating and certifying the forest took "
        f"{measured.seconds_to_calibrate:.2f} s, compilation not included.",
    ]
    console.print("[bold]How to read this[/]")
    for point in points:
        say(console, point, bullet=True)
    console.print()


def _write(
    measured: MeasuredForest, solutions: dict[Criterion, Solution], output: Path
) -> tuple[dict[str, Path], MissingExtraError | None]:
    """Write strategies, model and picture; return the files, and the extra that the picture lacked."""
    files: dict[str, Path] = {}
    for name, solution in solutions.items():
        files[name] = output / f"{name}.json"
        solution.save(files[name])
    files["model"] = output / "forest.foregone"
    measured.classifier.save(files["model"])
    try:
        figure = _draw(measured, solutions)
    except MissingExtraError as error:
        return files, error
    files["picture"] = output / "forest.png"
    write_figure(figure, files["picture"])
    return files, None


def _print_next(console: Console, files: dict[str, Path], missing: MissingExtraError | None) -> None:
    command, model = _command(), files["model"]
    console.print("[bold]Next steps[/]")
    for purpose, line in (
        ("use your own forest, in Python", "classifier = foregone.early_stop(fitted_forest, X_calibration)"),
        ("show one strategy in full", f"{command} show {files['minimixed']}"),
        ("prove that it is optimal", f"{command} certify {files['minimixed']}"),
        ("compare all rules at another limit", f"{command} compare --voters 101 --max-disagreement 0.05"),
    ):
        console.print(f"  # {purpose}", style="dim", markup=False)
        console.print(f"  {line}", markup=False)
    if missing is None:
        console.print(f"\nPicture: {files['picture']}", markup=False)
    else:
        console.print(f"\nNo picture was drawn: {missing}", markup=False)
    console.print(f"Model, saved without pickle: {model}", markup=False)


def _command() -> str:
    """Return the command that runs this program from here."""
    if shutil.which("foregone"):
        return "foregone"
    installed = Path(sys.prefix) / "bin" / "foregone"
    if installed.is_relative_to(Path.cwd()):
        return str(installed.relative_to(Path.cwd()))
    return f"{sys.executable} -m foregone"


def _draw(measured: MeasuredForest, solutions: dict[Criterion, Solution]) -> Figure:
    """Draw the envelopes, and beside them how many trees were asked."""
    strategies: dict[str, StoppingStrategy] = {name: solutions[name].strategy for name in reversed(CRITERIA)}
    display = EnvelopeDisplay.from_strategies(strategies)[-1]
    figure, envelopes = display.figure_, display.ax_
    figure.set_size_inches(11, 4.6)
    grid = figure.add_gridspec(1, 2, width_ratios=(3, 2))
    envelopes.set_subplotspec(grid[0])
    envelopes.set_title(f"Where it stops: disagreement at most {LIMIT:g}", loc="left", pad=30)
    savings = SavingsDisplay.from_asked(measured.asked, N_TREES, figure.add_subplot(grid[1]))
    savings.ax_.set_title("What a row costs (minimean)", loc="left", pad=30)
    return figure

"""``foregone compare``: the optimal strategies and the usual rules, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from foregone import rules
from foregone._system.progress import working
from foregone.checks import check_max_disagreement
from foregone.cli.compare_many import compare_many
from foregone.cli.options import (
    Answers,
    JsonFlag,
    MaxMemory,
    VoteFile,
    Voters,
    check_writable,
    choose_votes,
    most_answers,
)
from foregone.cli.output import (
    describe_votes,
    make_console,
    number_of_voters,
    print_comparison_table,
    print_json,
    say,
    write_figure,
)
from foregone.cli.risks import print_class_comparison, risk_fields
from foregone.display import EnvelopeDisplay
from foregone.errors import InvalidInputError
from foregone.solving import Criterion, solve
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CRITERIA_SHOWN", "compare_command", "optimal_strategies", "print_comparison"]

CRITERIA_SHOWN: tuple[Criterion, ...] = (
    "minimean",
    "minimixed",
    "minimax",
)  # from the fewest votes to the most
MOST_VOTERS_FOR_ESC = 3_000  # it leaves a tenth of all states to chance, and each is kept by itself


def compare_command(
    max_disagreement: Annotated[
        float,
        typer.Option("--max-disagreement", metavar="RATE", help="Allowed disagreement, from 0 to 1."),
    ] = 1e-3,
    voters: Voters = None,
    vote_file: VoteFile = None,
    lead: Annotated[int, typer.Option(metavar="K", help="The lead at which the rule 'lead' stops.")] = 3,
    window: Annotated[int, typer.Option(metavar="W", help="The window of the rule 'ESC'.")] = 5,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="Draw the three optimal envelopes.")
    ] = None,
    answers: Answers = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Put optimal strategies and the usual rules side by side.

    \b
    Examples:
      foregone compare --voters 101
      foregone compare --voters 101 --png envelopes.png
      foregone compare --voters 101 --max-disagreement 0.05 --json
      foregone compare --votes counts.csv
      foregone compare --voters 15 --answers 4 --max-disagreement 0.05
    """
    check_writable(png)
    limit = check_max_disagreement(max_disagreement)
    if answers is not None:
        if png is not None:
            raise InvalidInputError("--png draws envelopes of two answers: leave out --answers or --png")
        compare_many(limit, voters, most_answers(answers), vote_file, lead, window, as_json, max_memory)
        return
    distribution = choose_votes(voters, vote_file)
    n_voters = distribution.n_voters
    with working(f"Solving for {number_of_voters(n_voters)}"):
        others = {
            "curtailment": rules.curtailment(n_voters),
            "Schwing": rules.schwing(n_voters, limit),
            "IBEP": rules.ibep(n_voters, limit),
            "e-process": rules.e_process(n_voters, limit),
            f"lead of {lead}": rules.lead(n_voters, k=lead),
        }
        if n_voters <= MOST_VOTERS_FOR_ESC:
            others[f"ESC of {window}"] = rules.esc(n_voters, window)
        strategies = {**optimal_strategies(distribution, limit), **others}
        evaluations = {name: evaluate(strategy) for name, strategy in strategies.items()}
    meant = describe_votes(distribution, vote_file)
    if png is not None:
        write_figure(_draw({name: strategies[name] for name in reversed(CRITERIA_SHOWN)}, limit), png)
    if as_json:
        rows = {
            name: {
                "optimal": name in CRITERIA_SHOWN,
                **risk_fields(evaluation, distribution),
            }
            for name, evaluation in evaluations.items()
        }
        print_json({"n_voters": n_voters, "max_disagreement": limit, "votes": meant, "strategies": rows})
        return
    console = make_console()
    console.print(
        f"{number_of_voters(n_voters)}, disagreement at most {limit:g}\nMeans over {meant}\n", markup=False
    )
    print_comparison(console, evaluations, distribution, limit, emphasised=len(CRITERIA_SHOWN))
    console.print()
    say(
        console,
        "The first three are optimal, each for its own criterion. Within the limit: for every input "
        "(always), only on average over these votes, or not at all. The lower table has the disagreement "
        "when the full vote is no or yes, and when so many voters make the majority, of either side.",
    )


def _draw(strategies: Mapping[str, StoppingStrategy], limit: float) -> Figure:
    display = EnvelopeDisplay.from_strategies(strategies)[-1]
    whom = number_of_voters(display.shape.n_voters)
    title = f"Optimal stopping strategies: {whom}, disagreement at most {limit:g}"
    display.ax_.set_title(title, loc="left", pad=30)
    return display.figure_


def optimal_strategies(distribution: VoteDistribution, limit: float) -> dict[str, StoppingStrategy]:
    """Return the optimal strategy of each criterion, by name."""
    return {name: solve(name, distribution, limit).strategy for name in CRITERIA_SHOWN}


def print_comparison(
    console: Console,
    evaluations: Mapping[str, Evaluation],
    distribution: VoteDistribution,
    limit: float,
    *,
    emphasised: int,
) -> None:
    """Print cost and risk of strategies by name, and then their risk by class and by majority."""
    figures = {
        name: (evaluation.mean(distribution), evaluation.worst()) for name, evaluation in evaluations.items()
    }
    print_comparison_table(console, figures, limit, emphasised=emphasised)
    console.print()
    print_class_comparison(console, evaluations, distribution, emphasised=emphasised)

"""``foregone solve``: find the optimal strategy and keep it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from foregone.cli.options import (
    JsonFlag,
    MaxDisagreement,
    VoteFile,
    Voters,
    check_criterion,
    check_writable,
    choose_votes,
)
from foregone.cli.output import describe_votes, make_console, print_json, rate
from foregone.solving import METHODS, Solution, solve

__all__ = ["solution_fields", "solve_command"]


def solve_command(
    max_disagreement: MaxDisagreement,
    voters: Voters = None,
    criterion: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="minimean: fewest votes on average, disagreement bounded on average; minimixed: fewest on "
            "average, bounded for every input; minimax: fewest in the worst case, bounded for every input.",
        ),
    ] = "minimean",
    vote_file: VoteFile = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the strategy and its proof here."),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"How to solve it: {', '.join(METHODS)}.")
    ] = "dual",
    as_json: JsonFlag = False,
) -> None:
    """Find the strategy that asks the fewest voters.

    Of all that disagree with the full vote at most as often as allowed.

    \b
    Examples:
      foregone solve --voters 101 --max-disagreement 1e-3
      foregone solve --voters 101 --max-disagreement 1e-3 -o strategy.json
      foregone solve --voters 101 --max-disagreement 0 --criterion minimax
      foregone solve --votes counts.csv --max-disagreement 0.01 --json
    """
    check_writable(output)
    votes = choose_votes(voters, vote_file)
    solution = solve(check_criterion(criterion), votes, max_disagreement, method=method)  # type: ignore[arg-type]  # it checks
    if output is not None:
        solution.save(output)
    if as_json:
        print_json({**solution_fields(solution), "strategy": solution.strategy.to_fields()})
        return
    _print(solution, describe_votes(votes, vote_file), output)


def solution_fields(solution: Solution) -> dict[str, object]:
    """Return what is to be said of a solution, for JSON."""
    return {
        "criterion": solution.criterion,
        "n_voters": solution.n_voters,
        "max_disagreement": solution.max_disagreement,
        "expected_votes": solution.expected_votes,
        "disagreement": solution.disagreement,
        "lower_bound": solution.lower_bound,
        "gap": solution.gap,
        "method": solution.method,
        "n_observations": solution.votes.n_observations,
    }


def _print(solution: Solution, votes: str, output: Path | None) -> None:
    mean, worst = "on average over these votes", "at worst over all possible votes"
    cost = worst if solution.criterion == "minimax" else mean
    risk = mean if solution.criterion == "minimean" else worst
    chance = len(solution.strategy.randomised)
    console = make_console()
    console.print(
        f"[bold]{solution.criterion}[/] strategy for {solution.n_voters} voters, "
        f"disagreement at most {solution.max_disagreement:g}\n"
        f"Solved for {escape(votes)}\n\n"
        f"  expected votes   {solution.expected_votes:<12.6g} {cost}\n"
        f"  disagreement     {rate(solution.disagreement):<12} {risk}\n"
        f"  lower bound      {solution.lower_bound:<12.6g} no strategy does better "
        f"(gap {solution.gap:.1e})\n"
        f"  chance decides   in {chance} state{'' if chance == 1 else 's'}\n"
    )
    if output is None:
        console.print("Nothing was written. Keep it with  -o strategy.json")
    else:
        console.print(f"Written to {output}. Look at it with  foregone show {output}", markup=False)

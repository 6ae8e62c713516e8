"""``foregone solve``: find the optimal strategy and keep it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from foregone._system.progress import working
from foregone.cli.number_lists import parse_confidence, parse_limits, parse_looks
from foregone.cli.options import (
    AnswerName,
    Answers,
    Confidence,
    CriterionName,
    JsonFlag,
    Looks,
    MaxDisagreement,
    MaxMemory,
    VoteFile,
    Voters,
    check_criterion,
    check_writable,
    choose_votes,
    most_answers,
)
from foregone.cli.output import describe_votes, headline, make_console, number_of_voters, print_json, rate
from foregone.cli.risks import print_risks, risk_fields
from foregone.cli.solve_many import solve_many
from foregone.errors import InvalidInputError
from foregone.solving import METHODS, Solution, solve

__all__ = ["solution_fields", "solve_command"]


def solve_command(
    max_disagreement: MaxDisagreement,
    voters: Voters = None,
    criterion: CriterionName = "minimean",
    vote_file: VoteFile = None,
    confidence: Confidence = "none",
    looks: Looks = None,
    answer: AnswerName = "majority",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the strategy and its proof here."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=lambda: list(METHODS),
            help=f"How to solve it: {', '.join(METHODS)}.",
        ),
    ] = "dual",
    answers: Answers = None,
    max_memory: MaxMemory = None,
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
      foregone solve --votes counts.csv --max-disagreement yes=1e-3,no=1e-2 \\
          --confidence 0.95
      foregone solve --voters 101 --max-disagreement 1e-3 --looks 10
      foregone solve --voters 40 --answers any --votes answers.csv \\
          --max-disagreement 0.01 --confidence 0.95 -o strategy.json
    """
    check_writable(output)
    if answers is not None:
        limit = parse_limits(max_disagreement)
        if isinstance(limit, dict) or looks is not None or (answer, method) != ("majority", "dual"):
            raise InvalidInputError("many answers have one limit, and no --looks, --answer or --method")
        chosen, sure = check_criterion(criterion), parse_confidence(confidence)
        solve_many(limit, voters, most_answers(answers), chosen, vote_file, sure, output, as_json, max_memory)
        return
    votes = choose_votes(voters, vote_file)
    with working(f"Solving for {number_of_voters(votes.n_voters)}"):
        solution = solve(
            check_criterion(criterion),
            votes,
            parse_limits(max_disagreement),
            confidence=parse_confidence(confidence),
            looks=parse_looks(looks),
            answer=answer,  # type: ignore[arg-type]  # it checks
            method=method,  # type: ignore[arg-type]  # it checks
        )
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
        "confidence": solution.confidence,
        "looks": solution.looks,
        "answer": solution.answer,
        "expected_votes": solution.expected_votes,
        "disagreement": solution.disagreement,
        "lower_bound": solution.lower_bound,
        "gap": solution.gap,
        "method": solution.method,
        "n_observations": solution.votes.n_observations,
        **risk_fields(solution.evaluation, solution.votes),
    }


def _print(solution: Solution, votes: str, output: Path | None) -> None:
    mean, worst = "on average over these votes", "at worst over all possible votes"
    cost = worst if solution.criterion == "minimax" else mean
    risk = mean if solution.criterion == "minimean" else worst
    if solution.confidence is not None and solution.criterion == "minimean":
        risk = "largest mean to reckon with at this confidence"
    risks = solution.disagreement
    named = (
        {f"disagreement {side}": of_it for side, of_it in risks.items()}
        if isinstance(risks, dict)
        else {"disagreement": risks}
    )
    chance = len(solution.strategy.randomised)
    console = make_console()
    console.print(
        "\n".join(
            [
                headline(solution),
                f"Solved for {escape(votes)}\n",
                f"  expected votes   {solution.expected_votes:<12.6g} {cost}",
                *(f"  {name:<16} {rate(of_it):<12} {risk}" for name, of_it in named.items()),
                f"  lower bound      {solution.lower_bound:<12.6g} no strategy does better "
                f"(gap {solution.gap:.1e})",
                f"  chance decides   in {chance} state{'' if chance == 1 else 's'}\n",
            ]
        )
    )
    print_risks(console, solution.evaluation, solution.votes)
    console.print()
    if output is None:
        console.print("Nothing was written. Keep it with  -o strategy.json")
    else:
        console.print(f"Written to {output}. Look at it with  foregone show {output}", markup=False)

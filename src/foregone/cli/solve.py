"""``foregone solve``: find the optimal strategy and save it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from foregone._system.progress import working
from foregone.cli.accuracy_limit import AccuracyLimit, check_one_limit, parse_cost_limit
from foregone.cli.commands import JsonFlag
from foregone.cli.number_lists import parse_confidence, parse_costs, parse_limits, parse_looks
from foregone.cli.options import (
    AnswerName,
    AnswersOrClasses,
    Confidence,
    CostsOption,
    CriterionName,
    DropClasses,
    LabelFile,
    Looks,
    MaxAccuracyLossOption,
    MaxDisagreementOption,
    MaxMemory,
    QuotaOption,
    ScoreFile,
    ThresholdOption,
    ValueFile,
    VoteFile,
    VotersOption,
    check_criterion,
    check_writable,
    given_labelled,
    given_quota,
    given_scores,
    given_votes,
    in_classes,
)
from foregone.cli.output import (
    describe_votes,
    headline,
    limited,
    make_console,
    number_of_voters,
    print_json,
    rate,
    say,
)
from foregone.cli.views import counted_view, view_of
from foregone.cli.vote_file import read_values
from foregone.errors import InvalidInputError
from foregone.kinds import AnySolution, distribution_of, promise_fields, promise_in_words, solve, strategy_of
from foregone.plurality import PluralitySolution
from foregone.rules.methods import WhichVotes
from foregone.scores import CannotCertifyWarning, ScoreStrategy
from foregone.solving import METHODS
from foregone.strategy.limits import traits_of

__all__ = ["solution_fields", "solve_command"]

TOLD = (
    "criterion", "n_voters", "n_classes", "quota", "max_disagreement", "values", "confidence",
    "looks", "answer", "expected_votes", "disagreement", "lower_bound", "gap", "method",
    "n_certified_on",
)  # fmt: skip


def solve_command(
    max_disagreement: MaxDisagreementOption = None,
    voters: VotersOption = None,
    criterion: CriterionName = "minimean",
    vote_file: VoteFile = None,
    confidence: Confidence = "none",
    looks: Looks = None,
    answer: AnswerName = "majority",
    quota: QuotaOption = None,
    threshold: ThresholdOption = None,
    values: ValueFile = None,
    max_accuracy_loss: MaxAccuracyLossOption = None,
    costs: CostsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the strategy and its proof to this file."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=lambda: list(METHODS),
            help=f"Solver: {', '.join(METHODS)}.",
        ),
    ] = "dual",
    answers: AnswersOrClasses = None,
    scores: ScoreFile = None,
    labels: LabelFile = None,
    drop_classes: DropClasses = False,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the strategy that asks the fewest voters within your limit.

    The limit is on the disagreement with the full vote or, with true labels, on
    the loss of accuracy. The strategy is optimal among those that count votes in
    random order. With --scores, and with --n-answers and a confidence, it is
    certified but not proven optimal.

    \b
    Examples:
      foregone solve --voters 101 --max-disagreement 1e-3
      foregone solve --voters 101 --max-disagreement 1e-3 -o strategy.json
      foregone solve --voters 101 --max-disagreement 0 --criterion minimax
      foregone solve --votes counts.csv --max-disagreement 0.01 --json
      foregone solve --votes counts.csv --max-disagreement yes=1e-3,no=1e-2 \\
          --confidence 0.95
      foregone solve --voters 101 --max-disagreement 1e-3 --looks 10
      foregone solve --voters 20 --max-disagreement 0.01 --quota 3
      foregone solve --voters 20 --max-disagreement 0.01 --threshold 2/3
      foregone solve --votes labelled.csv --max-accuracy-loss 0.001
      foregone solve --votes labelled.csv --max-accuracy-loss 0.01 \\
          --costs '0,1;10,0'
      foregone solve --voters 40 --n-answers any --votes answers.csv \\
          --max-disagreement 0.01 --confidence 0.95 -o strategy.json
      foregone solve --scores scores.parquet --max-disagreement 0.01 \\
          --confidence 0.95
      foregone solve --scores scores.parquet --labels labels.csv \\
          --max-accuracy-loss 0.005 --confidence 0.95
      foregone solve --scores scores.csv --n-answers 3 --max-disagreement 0.01 \\
          --confidence 0.95
    """
    check_writable(output)
    sure = parse_confidence(confidence)
    check_one_limit(
        max_disagreement,
        max_accuracy_loss,
        costs=costs,
        values=values,
        labels=labels,
        scores=scores,
        confidence=sure,
    )
    votes: Any
    if scores is not None:
        votes = given_scores(
            scores,
            voters,
            vote_file,
            answers,
            drops_classes=drop_classes,
            labels=labels,
            costs=None if costs is None else parse_costs(costs),
        )
    else:
        which: WhichVotes = "averaged" if sure is None else "observed"
        votes = given_votes(voters, vote_file, answers, max_memory, which)
    with working(f"Solving for {number_of_voters(votes.n_voters)}"), warnings.catch_warnings():
        warnings.simplefilter("ignore", CannotCertifyWarning)  # the strategy has the reason
        options: dict[str, Any] = {
            "looks": parse_looks(looks),
            "answer": answer,
            "method": method,
            "quota": given_quota(quota, threshold, votes.n_voters, answers=answers, scores=scores),
        }
        loss = None
        if max_accuracy_loss is None:
            limits = parse_limits(max_disagreement or "")
            options["values"] = None if values is None else read_values(values, votes.n_voters)
        elif scores is not None:
            limits = (
                parse_limits(max_accuracy_loss, "--max-accuracy-loss")
                if costs is None
                else parse_cost_limit(max_accuracy_loss)
            )
        else:
            labelled = None if answers is not None else given_labelled(voters, vote_file)
            loss = AccuracyLimit.of(labelled, max_accuracy_loss, costs, options["quota"])
            limits, options["values"] = loss.limits, loss.values
        chosen = check_criterion(criterion)
        if traits_of(chosen).bounds_the_mean:
            _check_confidence(sure, votes=vote_file, scores=scores)
        solution: Any = solve(chosen, votes, limits, confidence=sure, **options)
    if output is not None:
        solution.save(output)
    told = solution_fields(solution)
    if loss is not None:
        told |= loss.fields(solution)
    if as_json:
        print_json({**told, "strategy": strategy_of(solution).to_fields()})
        return
    console = make_console()
    if scores is None:
        _print(console, solution, describe_votes(votes, vote_file))
        if loss is not None:
            console.print()
            say(console, loss.in_words(solution))
    else:
        whom = number_of_voters(votes.n_voters) + in_classes(votes)
        console.print(f"{whom}, scores on {votes.n_rows:,} rows in {scores}", markup=False)
        say(console, f"Promise: {told['promise']}")
        console.print()
        view_of(solution).show(console)
    console.print()
    if output is None:
        console.print("Not saved. To save it, add  -o strategy.json")
    else:
        console.print(f"Written to {output}. To see it, run  foregone show {output}", markup=False)


def _check_confidence(sure: float | None, *, votes: Path | None, scores: Path | None) -> None:
    """Raise InvalidInputError if a confidence is missing, or given without observed votes."""
    if scores is not None and sure is None:
        raise InvalidInputError("--scores needs a confidence: give --confidence P, such as 0.95")
    if scores is None and votes is None and sure is not None:
        raise InvalidInputError(
            "--confidence needs observed inputs: give their votes with --votes FILE, or omit --confidence; "
            "--criterion minimixed needs none"
        )


def solution_fields(solution: AnySolution | ScoreStrategy) -> dict[str, object]:
    """Return the fields of a solution, for JSON; each kind has some of them."""
    if isinstance(solution, ScoreStrategy):
        certificate = solution.certificate
        return {
            "n_voters": solution.n_voters,
            **promise_fields(solution),
            "expected_votes": solution.n_voters if certificate is None else certificate.mean_asked,
            **view_of(solution).fields(),
        }
    return {
        **{name: getattr(solution, name) for name in TOLD if hasattr(solution, name)},
        **promise_fields(solution),
        "n_observations": distribution_of(solution).n_observations,
        **counted_view(solution).risk_fields(),
    }


def _print(console: Console, solution: AnySolution, votes: str) -> None:
    traits, view = traits_of(solution.criterion), counted_view(solution)
    mean, worst = "on average over these votes", "in the worst case over all possible votes"
    cost = worst if traits.minimises_the_worst else mean
    risk = mean if traits.bounds_the_mean else worst
    if solution.confidence is not None and traits.bounds_the_mean:
        risk = f"worst-case mean at {100 * solution.confidence:g} % confidence"
    best = (
        f"  lower bound      {solution.lower_bound:<12.6g} no counting strategy does better "
        f"(gap {solution.gap:.1e})"
    )
    if isinstance(solution, PluralitySolution) and solution.n_certified_on is not None:
        best = f"  certified on     {solution.n_certified_on:<12,} items, not used for learning"
    risks = solution.disagreement
    what = limited(solution)
    named = (
        {f"{what} {side}": of_it for side, of_it in risks.items()}
        if isinstance(risks, dict)
        else {what: risks}
    )
    console.print(
        "\n".join(
            [
                headline(solution),
                f"Solved for {escape(votes)}\n",
                f"  expected votes   {solution.expected_votes:<12.6g} {cost}",
                *(f"  {name:<16} {rate(of_it):<12} {risk}" for name, of_it in named.items()),
                best,
                f"  chance decides   {view.chance}\n",
            ]
        )
    )
    view.print_risks(console)
    console.print()
    say(console, f"Promise: {promise_in_words(solution)}")

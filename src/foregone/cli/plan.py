"""``foregone plan``: the cost and risk of each limit, and a recommendation."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from foregone._system.progress import working
from foregone.cli.accuracy_limit import LABELLED_VOTES
from foregone.cli.commands import JsonFlag
from foregone.cli.number_lists import parse_confidence, parse_looks, parse_rates
from foregone.cli.options import (
    AnswerName,
    AnswersOrClasses,
    Confidence,
    CriterionName,
    DropClasses,
    LabelFile,
    Looks,
    MaxMemory,
    QuotaOption,
    ScoreFile,
    ThresholdOption,
    VoteFile,
    VotersOption,
    check_criterion,
    check_writable,
    given_labelled,
    given_quota,
    given_scores,
    given_votes,
    in_classes,
    most_answers,
)
from foregone.cli.output import answers as answers_in_words
from foregone.cli.output import (
    describe_votes,
    make_console,
    number_of_voters,
    print_json,
    print_table,
    rate,
    say,
    votes,
    write_csv,
    write_figure,
)
from foregone.display import TradeoffDisplay
from foregone.errors import InvalidInputError
from foregone.kinds import AnyDistribution
from foregone.labelled_votes import LabelledVotes
from foregone.planning import WORTH, Plan, PlanRow, plan
from foregone.rules.methods import WhichVotes
from foregone.scores import ScoreRows
from foregone.strategy.limits import traits_of

__all__ = ["plan_command"]

MOST_CLASSES = 4  # columns
NEXT_LINE = " " if sys.platform == "win32" else " \\\n      "  # the shells of Windows disagree on how


def plan_command(
    vote_file: VoteFile = None,
    n_voters: VotersOption = None,
    limit_list: Annotated[
        str | None,
        typer.Option(
            "--limits",
            metavar="LIST",
            help="Limits to try, such as 1e-2,1e-3; three dots continue a series: 1e-5,...,0.1. Default: "
            "0.1, 0.03, 0.01 and so on to 1e-5; for the loss of accuracy 0.02, 0.01, 0.005 and so on to "
            "1e-4.",
        ),
    ] = None,
    criterion: CriterionName = "minimean",
    confidence: Confidence = "0.95",
    looks: Looks = None,
    answer: AnswerName = "majority",
    worth: Annotated[
        float,
        typer.Option(metavar="X", help="Worth of avoiding one disagreement, or one error, in full votes."),
    ] = WORTH,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the trade-off to this PNG file.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table to this CSV file, with every digit.")
    ] = None,
    answers: AnswersOrClasses = None,
    scores: ScoreFile = None,
    drop_classes: DropClasses = False,
    quota: QuotaOption = None,
    threshold: ThresholdOption = None,
    labels: LabelFile = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what each limit costs and risks, and recommend one.

    Recommends the tightest limit at which each further disagreement avoided
    costs at most --worth full votes, and which the observed votes can support.
    With true labels, limits are on the loss of accuracy.

    \b
    Examples:
      foregone plan --votes counts.csv
      foregone plan --votes counts.csv --limits 1e-2,1e-3 --confidence 0.99
      foregone plan --votes counts.csv --png tradeoff.png --csv tradeoff.csv
      foregone plan --votes labelled.csv
      foregone plan --voters 101 --criterion minimixed --json
      foregone plan --voters 20 --quota 3
      foregone plan --voters 40 --n-answers any --votes answers.csv
      foregone plan --scores scores.parquet
      foregone plan --scores scores.parquet --labels labels.csv
    """
    for file in (png, csv):
        check_writable(file)
    chosen, sure, n_classes = check_criterion(criterion), parse_confidence(confidence), most_answers(answers)
    is_truth = sure is None or not traits_of(chosen).bounds_the_mean
    distribution: AnyDistribution | ScoreRows | LabelledVotes
    if scores is not None:
        distribution = given_scores(
            scores, n_voters, vote_file, answers, drops_classes=drop_classes, labels=labels
        )
    elif labels is not None:
        raise InvalidInputError(f"--labels needs --scores: omit --labels, and {LABELLED_VOTES}")
    else:
        which: WhichVotes = "averaged" if is_truth else "observed"
        labelled = given_labelled(n_voters, vote_file) if answers is None else None
        distribution = labelled or given_votes(n_voters, vote_file, answers, max_memory, which)
    needed = given_quota(quota, threshold, distribution.n_voters, answers=answers, scores=scores)
    with working(f"Planning for {number_of_voters(distribution.n_voters)}"):
        made = plan(
            distribution,
            None if limit_list is None else parse_rates(limit_list, "--limits"),
            criterion=chosen,
            confidence=sure,
            looks=parse_looks(looks),
            answer=answer,  # type: ignore[arg-type]  # it checks
            worth=worth,
            quota=needed,
        )
    if csv is not None:
        write_csv(made.records(), csv)
    if png is not None:
        write_figure(TradeoffDisplay.from_plan(made).figure_, png)
    meant = (
        f"{distribution.n_rows:,} rows in {scores}"
        if isinstance(distribution, ScoreRows)
        else describe_votes(_unlabelled(distribution), vote_file)
    )
    if as_json:
        print_json(_fields(made, meant))
        return
    console = make_console()
    whom = number_of_voters(made.n_voters)
    if isinstance(distribution, ScoreRows):
        whom += in_classes(distribution)
    elif answers is not None:
        whom += f", {answers_in_words(n_classes)}"
    elif needed is not None:
        whom += f", a quota of {needed} yes vote{'' if needed == 1 else 's'}"
    _print_tables(console, made, whom, meant)
    console.print("[bold]Recommendation[/]")
    for paragraph in made.advise():
        say(console, paragraph, bullet=True)
    options = "--drop-classes " if drop_classes else ""
    files = {"votes": vote_file, "scores": scores, "labels": labels}
    console.print(f"\n{_command(made, files, looks, answers, options)}", markup=False)
    for file in (png, csv):
        if file is not None:
            console.print(f"\nWritten to {file}", markup=False)


def _unlabelled(votes: AnyDistribution | LabelledVotes) -> AnyDistribution:
    return votes.votes if isinstance(votes, LabelledVotes) else votes


def _fields(made: Plan, meant: str) -> dict[str, object]:
    budgets = made.class_budgets
    return {
        "n_voters": made.n_voters,
        "votes": meant,
        "n_observations": made.n_observations,
        "criterion": made.criterion,
        "confidence": made.confidence,
        "looks": made.looks,
        "answer": made.answer,
        "quota": made.quota,
        "worth": made.worth,
        "loss": made.loss,
        "full_accuracy": made.full_accuracy,
        "limits": made.records(),
        "class_budgets": None if budgets is None else budgets.record(),
        "votes_in_disagreement": made.votes_in_disagreement,
        "recommended": made.limit,
        "recommendation": made.advise(),
    }


def _print_tables(console: Console, made: Plan, whom: str, meant: str) -> None:
    sure = "" if made.confidence is None else f", {100 * made.confidence:g} % confidence"
    k = made.n_observations
    seen = "" if k is None else f": {k:,} observed input{'' if k == 1 else 's'}"
    means = "Means over"
    if made.is_estimated:
        means = "Estimated from part of" if made.kind == "scores" else "Estimates from"
    console.print(f"{whom}, {made.criterion}{sure}\n{means} {meant}{seen}", markup=False)
    if made.full_accuracy is not None:
        console.print(f"The accuracy of {made.full} is {100 * made.full_accuracy:.2f} %", markup=False)
    console.print()
    rows = [*made.rows, *([] if made.class_budgets is None else [made.class_budgets])]
    if made.loss == "accuracy":
        _print_accuracy(console, rows)
        return
    print_table(
        console,
        [
            "disagreement\nallowed",
            "expected\nvotes",
            "speed-up",
            "mean\ndisagreement",
            "worst\ndisagreement",
            "full votes\nper avoided",
        ],
        [
            [
                _name(row),
                votes(row.expected_votes),
                "-" if math.isinf(row.speed_up) else f"{row.speed_up:,.1f} x",
                rate(row.disagreement),
                "-" if row.worst_disagreement is None else rate(row.worst_disagreement),
                "-" if row.price is None or math.isinf(row.price) else f"{row.price:,.2f}",
            ]
            for row in rows
        ],
    )
    console.print()
    if made.kind != "votes":
        return
    print_table(
        console,
        ["disagreement\nallowed", "mean\nwhen no", "mean\nwhen yes", "worst\nwhen no", "worst\nwhen yes"],
        [
            [
                _name(row),
                *("none" if (risk := row.by_class[side]) is None else rate(risk) for side in ("no", "yes")),
                *(rate(row.worst_by_class[side]) for side in ("no", "yes")),
            ]
            for row in rows
        ],
    )
    console.print()


def _print_accuracy(console: Console, rows: list[PlanRow]) -> None:
    """Print disagreement and loss of accuracy, over all inputs and by true class."""
    print_table(
        console,
        [
            "accuracy loss\nallowed",
            "expected\nvotes",
            "speed-up",
            "mean\ndisagreement",
            "accuracy\nloss",
            "full votes\nper error",
        ],
        [
            [
                _name(row),
                votes(row.expected_votes),
                "-" if math.isinf(row.speed_up) else f"{row.speed_up:,.1f} x",
                rate(row.disagreement),
                _or_dash(row.accuracy_loss),
                "-" if row.price is None or math.isinf(row.price) else f"{row.price:,.2f}",
            ]
            for row in rows
        ],
    )
    console.print()
    classes = list(rows[0].accuracy_loss_by_class)
    if len(classes) > MOST_CLASSES:
        return
    print_table(
        console,
        ["accuracy loss\nallowed", *(f"loss of the\ntruly {name}" for name in classes)],
        [[_name(row), *map(_or_dash, row.accuracy_loss_by_class.values())] for row in rows],
    )
    console.print()


def _or_dash(value: float | None) -> str:
    return "-" if value is None else rate(value)


def _name(row: PlanRow) -> str:
    return f"{row.limit:g} each" if row.limits.by_answer else f"{row.limit:g}"


def _command(
    made: Plan, files: dict[str, Path | None], looks: str | None, answers: str | None, flags: str
) -> str:
    """Return the command that solves for the recommended limit."""
    limit, in_accuracy, scores = made.limit, made.loss == "accuracy", files["scores"]
    said = f"{limit:g}" if not isinstance(limit, dict) else f"yes={limit['yes']:g},no={limit['no']:g}"
    given = {
        **{name: None if file is None else _quoted(file) for name, file in files.items()},
        "voters": made.n_voters
        if scores is None and (files["votes"] is None or answers is not None)
        else None,
        "n-answers": answers,
        "criterion": None if made.criterion == "minimean" else made.criterion,
        "confidence": None
        if made.confidence is None or (in_accuracy and scores is None)
        else f"{made.confidence:g}",
        "quota": made.quota,
        "looks": looks,
        "answer": None if made.answer == "majority" else made.answer,
    }
    options = " ".join(f"--{name} {value}" for name, value in given.items() if value is not None)
    limited = "max-accuracy-loss" if in_accuracy else "max-disagreement"
    return f"  foregone solve {flags}{options}{NEXT_LINE}--{limited} {said} -o strategy.json"


def _quoted(file: Path) -> str:
    """Quote a path for the shell of this system."""
    if sys.platform == "win32":
        from subprocess import list2cmdline

        return list2cmdline([str(file)])
    return shlex.quote(str(file))

"""``foregone replay``: what each way to stop would have done to recorded votes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from foregone._system.progress import counting
from foregone.checks import check_choice, check_n_voters
from foregone.cli.commands import JsonFlag
from foregone.cli.number_lists import parse_rates
from foregone.cli.options import (
    MaxMemory,
    QuotaOption,
    RuleList,
    ThresholdOption,
    check_writable,
    given_quota,
    given_rules,
    most_answers,
)
from foregone.cli.output import (
    make_console,
    print_json,
    print_table,
    rate,
    say,
    votes,
    write_figure,
)
from foregone.display import ReplayDisplay
from foregone.errors import InvalidInputError
from foregone.replaying import (
    Items,
    PluralityItems,
    RecordedVotes,
    Replay,
    YesNoItems,
    are_yes_or_no,
    choose_methods,
    read_votes,
    replay,
)
from foregone.replaying.recorded import COUNTED

__all__ = ["replay_command"]


def replay_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES",
            help="A table (Parquet, CSV or JSON lines) with one vote a row: columns item, draw, answer; or "
            "task, worker, label; or item, epoch, score; and tokens if known. Or a log of Inspect (.eval, "
            ".json).",
        ),
    ],
    voters: Annotated[
        int, typer.Option("--voters", metavar="N", help="Votes in a full vote; each item needs so many.")
    ],
    rule_list: RuleList = None,
    max_disagreement: Annotated[
        str,
        typer.Option("--max-disagreement", metavar="LIST", help="Limits for the methods that take one."),
    ] = "0.01",
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="P", help="Confidence of minimean-confident.")
    ] = 0.95,
    calibrate_share: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of the items to calibrate with; the rest is measured on."),
    ] = 0.5,
    splits: Annotated[int, typer.Option(metavar="N", help="How often to split the items anew.")] = 20,
    seed: Annotated[int, typer.Option(metavar="N", help="What the splits are drawn by.")] = 0,
    yes: Annotated[
        str | None,
        typer.Option(metavar="ANSWER", help="The answer that counts as yes; all others count as no."),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            metavar="K",
            help="Plurality among at most K different answers to an item, or 'any' number, which is the "
            "default if there are more than yes and no, and no --yes.",
        ),
    ] = None,
    count: Annotated[
        str | None,
        typer.Option(
            metavar="answer|score",
            help="What is a vote: answers (in tables, where there are any) or scores (in logs), by default.",
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Whose scores or answers in a log to count; NAME:KEY if it gives several."
        ),
    ] = None,
    quota: QuotaOption = None,
    threshold: ThresholdOption = None,
    skip_short: Annotated[
        bool, typer.Option("--skip-short", help="Leave out items with fewer votes than voters.")
    ] = False,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw calls against disagreement.")] = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Replay recorded votes under our criteria and other rules.

    Calibrates with some of the items and measures on the others, averaged exactly
    over every order of an item's votes, and over random splits of the items.

    \b
    Examples:
      foregone replay votes.parquet --voters 39
      foregone replay votes.csv --voters 11 --max-disagreement 0.05,0.01,0.001
      foregone replay votes.csv --voters 39 --yes pass --skip-short \\
          --rules minimean-confident,esc:5,esc:8,lead:3
      foregone replay votes.parquet --voters 39 --png calls.png --json
      foregone replay votes.csv --voters 20 --quota 3
      foregone replay answers.csv --voters 40 --answers any --splits 5
      foregone replay logs/task.eval --voters 15 --yes C
      foregone replay logs/task.json --voters 15 --scorer pattern --count answer
    """
    check_writable(png)
    if yes is not None and answers is not None:
        raise InvalidInputError("--yes is for two answers and --answers for many: give one of them")
    limits = parse_rates(max_disagreement)
    counted = None if count is None else check_choice(count, "--count", COUNTED)
    recorded = read_votes(file, count=counted, scorer=scorer, max_memory=max_memory)
    many = answers is not None or (yes is None and len(recorded.labels) > 2 and not are_yes_or_no(recorded))
    if many and answers is None and (quota is not None or threshold is not None):
        raise InvalidInputError(
            "--quota and --threshold are for yes and no: say with --yes ANSWER which answer counts as yes"
        )
    needed = given_quota(quota, threshold, check_n_voters(voters), answers=answers)
    names = None if rule_list is None else given_rules(rule_list, max_memory)
    methods = choose_methods(names, limits, confidence, many_answers=many, has_quota=needed is not None)
    items: Items
    if many:
        items = PluralityItems.of(recorded, voters, n_classes=most_answers(answers), skip_short=skip_short)
    else:
        items = YesNoItems.of(recorded, voters, yes=yes, skip_short=skip_short, quota=needed)
    with counting("splits", splits) as advance:
        made = replay(
            items, methods, calibrate_share=calibrate_share, splits=splits, seed=seed, advance=advance
        )
    if png is not None:
        write_figure(ReplayDisplay.from_replay(made).figure_, png)
    if as_json:
        print_json(_fields(file, recorded, items, made))
        return
    console = make_console()
    _print_facts(console, file, recorded, items, made)
    _print_figures(console, made)
    if made.curves:
        _print_equal(console, made)
    if png is not None:
        console.print(f"\nWritten to {png}", markup=False)


def _fields(file: Path, recorded: RecordedVotes, items: Items, made: Replay) -> dict[str, Any]:
    return {
        "file": str(file),
        "n_voters": items.n_voters,
        **({} if items.quota is None else {"quota": items.quota}),
        **items.answer_fields(),
        "votes_without_an_answer": recorded.n_missing,
        "items_left_out": items.n_left_out,
        **made.record(),
    }


def _print_facts(console: Console, file: Path, recorded: RecordedVotes, items: Items, made: Replay) -> None:
    fewest, most = items.drawn.min(), items.drawn.max()
    each = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    console.print(
        f"{file}: {items.n_items:,} items of {each} votes ({items.describe_answers()})\n"
        f"A full vote is {items.n_voters} of them{_needed(items)}; every choice and every order counts "
        "equally",
        markup=False,
    )
    if recorded.n_missing:
        console.print(f"Left out: {recorded.n_missing:,} votes without an answer", markup=False)
    if items.n_left_out:
        console.print(f"Left out: {items.n_left_out:,} items with fewer votes than that", markup=False)
    splits = "1 random split" if made.n_splits == 1 else f"means over {made.n_splits} random splits"
    console.print(
        f"Calibrated with {made.n_calibration:,} items, measured on the other "
        f"{made.n_items - made.n_calibration:,}: {splits}\n",
        markup=False,
    )


def _needed(items: Items) -> str:
    return "" if items.quota is None else f", and says yes from {items.quota} yes on"


def _print_figures(console: Console, made: Replay) -> None:
    has_tokens = made.full_tokens is not None
    columns = ["", "limit", "calls", *(["tokens"] if has_tokens else [])]
    columns += ["disagr.", "above\nlimit", "worst\ndisagr."]
    rows = [
        [
            row.label,
            _or_dash(row.limit, lambda limit: f"{limit:g}"),
            votes(row.calls),
            *([f"{row.tokens:,.0f}"] if row.tokens is not None else []),
            rate(row.disagreement),
            _or_dash(row.above_limit, lambda share: f"{100 * share:.0f} %"),
            rate(row.worst_disagreement),
        ]
        for row in made.rows
    ]
    print_table(console, columns, rows)
    console.print()
    full = f" A full vote takes {made.full_tokens:,.0f} tokens." if made.full_tokens is not None else ""
    say(
        console,
        "Above limit: share of the splits in which the disagreement was above it. Worst: for any votes that "
        f"an item could have, in any split.{full}",
    )


def _print_equal(console: Console, made: Replay) -> None:
    labels = [curve.label for curve in made.curves]
    others = [row for row in made.rows if row.label not in labels]
    if not others:
        return
    console.print(
        "\n[bold]At equal disagreement[/]: calls of ours, its limit tuned to the same disagreement\n"
    )
    print_table(
        console,
        ["", "disagr.", "calls", *(label.replace(", ", "\n") for label in labels)],
        [
            [
                row.label if row.limit is None else f"{row.label} {row.limit:g}",
                rate(row.disagreement),
                votes(row.calls),
                *(_or_dash(row.ours_at_equal[label], votes) for label in labels),
            ]
            for row in others
        ],
    )


def _or_dash(value: float | None, form: Callable[[float], str]) -> str:
    return "-" if value is None else form(value)

"""``foregone replay``: compare stopping rules on recorded votes."""

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
            help="A table (Parquet, CSV or JSON lines) with one vote per row and the columns item, draw, "
            "answer; or task, worker, label; or item, epoch, score; optionally tokens. Or an Inspect log "
            "(.eval, .json).",
        ),
    ],
    voters: Annotated[
        int,
        typer.Option(
            "--voters", metavar="N", help="Votes in a full vote; each item needs at least this many."
        ),
    ],
    rule_list: RuleList = None,
    max_disagreement: Annotated[
        str,
        typer.Option(
            "--max-disagreement", metavar="LIST", help="Limits to try, for rules that take a limit."
        ),
    ] = "0.01",
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="P", help="Confidence of the rule minimean-confident.")
    ] = 0.95,
    calibrate_share: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of the items for calibration; the others are for measurement."
        ),
    ] = 0.5,
    splits: Annotated[
        int, typer.Option(metavar="N", help="Number of random splits into calibration and measurement.")
    ] = 20,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random splits.")] = 0,
    yes: Annotated[
        str | None,
        typer.Option(metavar="ANSWER", help="Answer that counts as yes; all others count as no."),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            "--n-answers",
            metavar="K",
            help="Plurality vote among at most K different answers per item, or 'any' number. Default: 'any' "
            "if there are other answers than yes and no, and --yes is not given.",
        ),
    ] = None,
    count: Annotated[
        str | None,
        typer.Option(
            metavar="answer|score",
            help="What counts as a vote. Default: answers in tables that have them, scores in logs.",
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Scorer in a log whose scores or answers count; NAME:KEY if it gives several.",
        ),
    ] = None,
    quota: QuotaOption = None,
    threshold: ThresholdOption = None,
    skip_short: Annotated[
        bool, typer.Option("--skip-short", help="Leave out items with fewer than --voters votes.")
    ] = False,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw calls against disagreement to this PNG file.")
    ] = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare stopping rules on recorded votes.

    Calibrates on some of the items and measures on the others. Results are exact
    averages over all orders of an item's votes, and means over random splits of
    the items.

    \b
    Examples:
      foregone replay votes.parquet --voters 39
      foregone replay votes.csv --voters 11 --max-disagreement 0.05,0.01,0.001
      foregone replay votes.csv --voters 39 --yes pass --skip-short \\
          --rules minimean-confident,esc:5,esc:8,lead:3
      foregone replay votes.parquet --voters 39 --png calls.png --json
      foregone replay votes.csv --voters 20 --quota 3
      foregone replay answers.csv --voters 40 --n-answers any --splits 5
      foregone replay logs/task.eval --voters 15 --yes C
      foregone replay logs/task.json --voters 15 --scorer pattern --count answer
    """
    check_writable(png)
    if yes is not None and answers is not None:
        raise InvalidInputError("--yes is for two answers, --n-answers for many: give only one of them")
    limits = parse_rates(max_disagreement)
    counted = None if count is None else check_choice(count, "--count", COUNTED)
    recorded = read_votes(file, count=counted, scorer=scorer, max_memory=max_memory)
    many = answers is not None or (yes is None and len(recorded.labels) > 2 and not are_yes_or_no(recorded))
    if many and answers is None and (quota is not None or threshold is not None):
        raise InvalidInputError(
            "--quota and --threshold apply to yes/no votes: give --yes ANSWER, the answer that counts as yes"
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
        f"A full vote is {items.n_voters} of them{_needed(items)}; results are averages over all choices and "
        "orders",
        markup=False,
    )
    if recorded.n_missing:
        console.print(f"Left out: {recorded.n_missing:,} votes without an answer", markup=False)
    if items.n_left_out:
        console.print(f"Left out: {items.n_left_out:,} items with fewer votes", markup=False)
    splits = "1 random split" if made.n_splits == 1 else f"means over {made.n_splits} random splits"
    console.print(
        f"Calibrated on {made.n_calibration:,} items, measured on the other "
        f"{made.n_items - made.n_calibration:,}: {splits}\n",
        markup=False,
    )


def _needed(items: Items) -> str:
    return "" if items.quota is None else f", quota {items.quota}"


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
        "Above limit: share of the splits in which the disagreement exceeded the limit. Worst: over all "
        f"votes that an item could have, in any split.{full}",
    )


def _print_equal(console: Console, made: Replay) -> None:
    labels = [curve.label for curve in made.curves]
    others = [row for row in made.rows if row.label not in labels]
    if not others:
        return
    console.print("\n[bold]At equal disagreement[/]: calls of our strategies, tuned to match each rule\n")
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

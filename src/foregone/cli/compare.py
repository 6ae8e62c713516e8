"""``foregone compare``: optimal strategies and common stopping rules, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from foregone._system.progress import working
from foregone.checks import check_max_disagreement
from foregone.cli.commands import JsonFlag
from foregone.cli.options import (
    AnswersOption,
    MaxMemory,
    QuotaOption,
    RuleList,
    ThresholdOption,
    VoteFile,
    VotersOption,
    check_writable,
    given_quota,
    given_rules,
    given_votes,
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
from foregone.cli.views import CountedView, VoteView, compared_votes, counted_view, print_class_comparison
from foregone.display import EnvelopeDisplay
from foregone.errors import InvalidInputError
from foregone.rules.methods import KnownVotes, Method
from foregone.rules.registry import choose_methods, compared_rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["compare_command", "print_comparison"]

AMONG = "among strategies that count votes in random order"


def compare_command(
    max_disagreement: Annotated[
        float,
        typer.Option("--max-disagreement", metavar="RATE", help="Largest allowed disagreement, from 0 to 1."),
    ] = 1e-3,
    voters: VotersOption = None,
    vote_file: VoteFile = None,
    rule_list: RuleList = None,
    lead: Annotated[int, typer.Option(metavar="K", help="Lead at which the rule 'lead' stops.")] = 3,
    window: Annotated[int, typer.Option(metavar="W", help="Window of the rule 'esc'.")] = 5,
    png: Annotated[
        Path | None,
        typer.Option("--png", metavar="FILE", help="Draw the optimal envelopes to this PNG file."),
    ] = None,
    answers: AnswersOption = None,
    quota: QuotaOption = None,
    threshold: ThresholdOption = None,
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare optimal strategies with common stopping rules.

    Shows votes asked and disagreement of each: mean and worst case, by class, and
    for close votes.

    \b
    Examples:
      foregone compare --voters 101
      foregone compare --voters 101 --png envelopes.png
      foregone compare --voters 101 --max-disagreement 0.05 --json
      foregone compare --voters 101 --rules minimixed,lead:5,my_strategy.json
      foregone compare --votes counts.csv
      foregone compare --voters 20 --quota 3
      foregone compare --voters 15 --n-answers 4 --max-disagreement 0.05
    """
    check_writable(png)
    limit = check_max_disagreement(max_disagreement)
    if answers is not None and png is not None:
        raise InvalidInputError("--png draws envelopes of yes/no strategies: omit --n-answers or --png")
    distribution = given_votes(voters, vote_file, answers, max_memory)
    needed = given_quota(quota, threshold, distribution.n_voters, answers=answers)
    known = KnownVotes.of(distribution, needed)
    with working(f"Solving for {number_of_voters(known.n_voters)}"):
        names = compared_rules(known) if rule_list is None else given_rules(rule_list, max_memory)
        given = {"lead": f"lead:{lead}", "esc": f"esc:{window}"}
        chosen = choose_methods(
            [given.get(name, name) if isinstance(name, str) else name for name in names],
            [limit],
            many_answers=known.many_answers,
        )
        methods = {_name(method, limit): method for method in sorted(chosen, key=lambda one: not one.is_ours)}
        views = {name: counted_view(method.strategy(known), distribution) for name, method in methods.items()}
    n_ours = sum(method.is_ours for method in methods.values())
    meant = describe_votes(distribution, vote_file)
    if png is not None:
        write_figure(_draw(dict(list(views.items())[: n_ours or None]), limit), png)
    size = {"n_classes": known.n_classes} if known.many_answers else {}
    if needed is not None:
        size["quota"] = needed
    if as_json:
        rows = {
            name: {"optimal": methods[name].is_ours, **view.risk_fields()} for name, view in views.items()
        }
        told = {"n_voters": known.n_voters, **size, "max_disagreement": limit, "votes": meant}
        print_json({**told, "strategies": rows})
        return
    console = make_console()
    among = ""
    if known.many_answers:
        n = known.n_classes
        among = ", any answers" if n is None else f", at most {n} different answers"
    if needed is not None:
        among = f", a quota of {needed} yes vote{'' if needed == 1 else 's'}"
    console.print(
        f"{number_of_voters(known.n_voters)}{among}, disagreement at most {limit:g}\nMeans over {meant}\n",
        markup=False,
    )
    print_comparison(console, views, limit, emphasised=n_ours)
    console.print()
    words = [
        *_optimal(n_ours, left_out=rule_list is None and n_ours == 1),
        "Within the limit: for every input (always), only on average over these votes, or not at all (no).",
        "An answer agrees with the full vote if no other answer got more votes."
        if known.many_answers
        else f"The second table shows the disagreement when the full vote is no or yes{_margins(views)}.",
    ]
    say(console, " ".join(words))


def _name(method: Method, limit: float) -> str:
    return method.short_label if method.limit in (None, limit) else f"{method.short_label} {method.limit:g}"


def _optimal(n_ours: int, *, left_out: bool) -> list[str]:
    if left_out:
        return [f"The first is optimal {AMONG}. Other criteria would take minutes; add them with --rules."]
    if n_ours < 2:
        return [f"The first is optimal {AMONG}."] * n_ours
    number = {2: "two", 3: "three"}.get(n_ours, str(n_ours))
    return [f"The first {number} are optimal {AMONG}, each for its own criterion."]


def _margins(views: Mapping[str, CountedView]) -> str:
    """Say for which close full votes the second table has columns."""
    view = next(iter(views.values()))
    titles = list(compared_votes(view)) if isinstance(view, VoteView) else []
    if not titles:
        return ""
    sizes = " and ".join(title.split()[0] for title in titles)
    if isinstance(view, VoteView) and not view.has_majority:
        return f", and for full votes that {sizes} changed votes would turn (the worse of no and yes)"
    plural = "s" if len(titles) > 1 else ""
    return f", and at majority size{plural} {sizes} of {view.strategy.n_voters} (the worse of no and yes)"


def _draw(views: Mapping[str, CountedView], limit: float) -> Figure:
    strategies = {name: view.strategy for name, view in reversed(list(views.items()))}
    display = EnvelopeDisplay.from_strategies(strategies)[-1]
    whom = number_of_voters(display.shape.n_voters)
    title = f"Optimal stopping strategies: {whom}, disagreement at most {limit:g}"
    display.ax_.set_title(title, loc="left", pad=30)
    return display.figure_


def print_comparison(
    console: Console, views: Mapping[str, CountedView], limit: float, *, emphasised: int
) -> None:
    """Print cost and risk of strategies by name; for two answers, also the risk by class and by majority."""
    figures = {name: (view.figures["mean"], view.figures["worst"]) for name, view in views.items()}
    print_comparison_table(console, figures, limit, emphasised=emphasised)
    of_two = {name: view for name, view in views.items() if isinstance(view, VoteView)}
    if of_two:
        console.print()
        print_class_comparison(console, of_two, emphasised=emphasised)

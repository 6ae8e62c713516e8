"""Risk that does not hide behind an average: by what the full vote says, and by how close it is.

Votes among many answers have no yes and no: of those, by the lead in the full vote.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from rich.console import Console

from foregone.cli.output import print_table, rate, votes
from foregone.display.margins import SHARES, majorities
from foregone.kinds import AnyEvaluation
from foregone.plurality import PluralityEvaluation
from foregone.strategy.evaluation import Evaluation, Figures, FullAnswer
from foregone.votes import VoteDistribution

__all__ = ["few", "print_class_comparison", "print_margins", "print_risks", "risk_fields"]

SHARES_COMPARED = (0.1, 0.3)
Thing = TypeVar("Thing")


def few(things: Sequence[Thing], most: int = 7) -> list[Thing]:
    """Return some of many, evenly spread, the first and the last among them."""
    places = np.linspace(0, len(things) - 1, min(most, len(things))).round().astype(int)
    return [things[place] for place in places]


def risk_fields(evaluation: AnyEvaluation, distribution: Any) -> dict[str, object]:
    """Return mean and worst figures, for all and by class or lead; null in place of a mean over nothing."""
    fields = {"mean": evaluation.mean(distribution)._asdict(), "worst": evaluation.worst()._asdict()}
    if isinstance(evaluation, PluralityEvaluation):
        by_lead = evaluation.worst_by_lead()
        leads = [{"lead": lead, **figures._asdict()} for lead, figures in by_lead.items()]
        return {**fields, "worst_by_lead": leads}

    def plain(by_class: Mapping[FullAnswer, Figures]) -> dict[str, dict[str, float | None]]:
        return {
            answer: {name: None if math.isnan(value) else value for name, value in figures._asdict().items()}
            for answer, figures in by_class.items()
        }

    return {
        **fields,
        "mean_by_class": plain(evaluation.by_class(distribution)),
        "worst_by_class": plain(evaluation.worst_by_class()),
    }


def print_risks(console: Console, evaluation: AnyEvaluation, distribution: Any) -> None:
    """Print cost and risk, mean and worst: for all, and given whether the full vote says yes or no."""
    columns = ["", "expected votes", "disagreement"]
    if isinstance(evaluation, PluralityEvaluation):
        figures = {"mean": evaluation.mean(distribution), "worst": evaluation.worst()}
        print_table(console, columns, [row for name in figures for row in _figure_rows(name, figures[name])])
        return
    slowest, riskiest = int(evaluation.expected_votes.argmax()), int(evaluation.disagreement.argmax())
    rows = [
        *_figure_rows("mean", evaluation.mean(distribution), evaluation.by_class(distribution)),
        *_figure_rows("worst", evaluation.worst(), evaluation.worst_by_class()),
        ["  with this many yes votes in all", str(slowest), str(riskiest)],
    ]
    print_table(console, columns, rows)


def _figure_rows(
    name: str, overall: Figures, by_class: Mapping[FullAnswer, Figures] | None = None
) -> list[list[str]]:
    rows = [[name, votes(overall.expected_votes), rate(overall.disagreement)]]
    for answer, figures in (by_class or {}).items():
        cost = "none" if math.isnan(figures.expected_votes) else votes(figures.expected_votes)
        rows.append([f"  when the full vote is {answer}", cost, _rate_or_none(figures.disagreement)])
    return rows


def _rate_or_none(risk: float) -> str:
    """Format a disagreement that is NaN when the class never comes up."""
    return "none" if math.isnan(risk) else rate(risk)


def print_margins(console: Console, evaluation: AnyEvaluation) -> None:
    """Print the disagreement from the closest full votes to the unanimous ones."""
    if isinstance(evaluation, PluralityEvaluation):
        print_table(
            console,
            ["lead in the full vote", "expected votes\nat worst", "disagreement\nat worst"],
            [
                [str(lead), votes(figures.expected_votes), rate(figures.disagreement)]
                for lead, figures in few(list(evaluation.worst_by_lead().items()))
            ],
        )
        return
    n_voters, risk = evaluation.strategy.n_voters, evaluation.disagreement
    first_yes = n_voters // 2 + 1
    worst = n_voters - int(risk[:first_yes].argmax()), first_yes + int(risk[first_yes:].argmax())
    rows = [
        [f"{size} of {n_voters}", rate(risk[n_voters - size]), rate(risk[size]) if size >= first_yes else ""]
        for size in majorities(n_voters, SHARES, worst)
    ]
    print_table(
        console, ["the majority is", "disagreement\nwhen it is no", "disagreement\nwhen it is yes"], rows
    )


def print_class_comparison(
    console: Console,
    evaluations: Mapping[str, Evaluation],
    distribution: VoteDistribution,
    *,
    emphasised: int,
) -> None:
    """Print the disagreement of several strategies by class, and at a few sizes of the majority."""
    n_voters = distribution.n_voters
    sizes = [size for size in majorities(n_voters, SHARES_COMPARED) if 2 * size > n_voters]
    columns = ["", "mean\nwhen no", "mean\nwhen yes", "worst\nwhen no", "worst\nwhen yes"]
    rows = []
    for name, evaluation in evaluations.items():
        by_class, worst = evaluation.by_class(distribution), evaluation.worst_by_class()
        risks = [by_class["no"], by_class["yes"], worst["no"], worst["yes"]]
        close = [max(evaluation.disagreement[[size, n_voters - size]]) for size in sizes]
        rows.append([name, *(_rate_or_none(risk) for _, risk in risks), *map(rate, close)])
    print_table(
        console, [*columns, *(f"{size} of\n{n_voters}" for size in sizes)], rows, emphasised=emphasised
    )

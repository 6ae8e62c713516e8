"""Risk that does not hide behind an average: by what the full vote says, and by how close it is."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Console

from foregone.cli.output import print_table, rate, votes
from foregone.display.margins import SHARES, majorities
from foregone.evaluation import Answer, Evaluation, Figures
from foregone.votes import VoteDistribution

__all__ = ["class_fields", "print_class_comparison", "print_margins", "print_risks"]

SHARES_COMPARED = (0.1, 0.3)


def class_fields(evaluation: Evaluation, distribution: VoteDistribution) -> dict[str, object]:
    """Return the figures by class, for JSON; null in place of a mean over nothing."""

    def plain(by_class: Mapping[Answer, Figures]) -> dict[str, dict[str, float | None]]:
        return {
            answer: {name: None if math.isnan(value) else value for name, value in figures._asdict().items()}
            for answer, figures in by_class.items()
        }

    return {
        "mean_by_class": plain(evaluation.by_class(distribution)),
        "worst_by_class": plain(evaluation.worst_by_class()),
    }


def print_risks(console: Console, evaluation: Evaluation, distribution: VoteDistribution) -> None:
    """Print cost and risk, mean and worst: for all, and given what the full vote says."""
    slowest, riskiest = int(evaluation.expected_votes.argmax()), int(evaluation.disagreement.argmax())
    rows = [
        *_figure_rows("mean", evaluation.mean(distribution), evaluation.by_class(distribution)),
        *_figure_rows("worst", evaluation.worst(), evaluation.worst_by_class()),
        ["  with this many yes votes in all", str(slowest), str(riskiest)],
    ]
    print_table(console, ["", "expected votes", "disagreement"], rows)


def _figure_rows(name: str, overall: Figures, by_class: Mapping[Answer, Figures]) -> list[list[str]]:
    rows = [[name, votes(overall.expected_votes), rate(overall.disagreement)]]
    for answer, figures in by_class.items():
        cost = "none" if math.isnan(figures.expected_votes) else votes(figures.expected_votes)
        rows.append([f"  when the full vote is {answer}", cost, _rate_or_none(figures.disagreement)])
    return rows


def _rate_or_none(risk: float) -> str:
    """Format a disagreement that is NaN when the class never comes up."""
    return "none" if math.isnan(risk) else rate(risk)


def print_margins(console: Console, evaluation: Evaluation) -> None:
    """Print the disagreement from the closest full votes to the unanimous ones."""
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

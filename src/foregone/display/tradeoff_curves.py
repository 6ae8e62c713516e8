"""Data of a TradeoffDisplay: curves of expected votes and disagreement by limit. No drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foregone.kinds import evaluate
from foregone.planning import Plan
from foregone.rules.methods import KnownVotes
from foregone.rules.registry import baseline_methods
from foregone.votes import VoteDistribution

__all__ = ["TradeoffCurve", "baseline_curves", "plan_curve"]


@dataclass(frozen=True)
class TradeoffCurve:
    """Expected votes and disagreement of one stopping rule, by limit.

    Attributes
    ----------
    name : str
        Name in the legend.
    limits : tuple of float
        Allowed disagreements.
    expected_votes, disagreement : tuple of float
        Means over the votes, for each limit.
    """

    name: str
    limits: tuple[float, ...]
    expected_votes: tuple[float, ...]
    disagreement: tuple[float, ...]


def plan_curve(plan: Plan) -> TradeoffCurve:
    """Return the curve of a plan, named after its criterion."""
    return TradeoffCurve(
        plan.criterion,
        tuple(row.limit for row in plan.rows),
        tuple(row.expected_votes for row in plan.rows),
        tuple(row.disagreement for row in plan.rows),
    )


def baseline_curves(
    votes: VoteDistribution, limits: Iterable[float], quota: int | None = None
) -> list[TradeoffCurve]:
    """Return the curves of the baseline rules; with a quota, only of rules that support quotas.

    Examples
    --------
    >>> from foregone import VoteDistribution
    >>> curves = baseline_curves(VoteDistribution.flat(11), [0.1, 0.01])
    >>> curves[-1].name, curves[-1].disagreement
    ('curtailment', (0.0, 0.0))
    """
    tried, known = tuple(limits), KnownVotes.of(votes, quota)
    of_limits = [baseline_methods(limit, has_quota=quota is not None) for limit in tried]
    curves = []
    for methods in zip(*of_limits, strict=True):
        figures = [evaluate(method.strategy(known)).mean(votes) for method in methods]
        expected_votes, disagreement = zip(*figures, strict=True)
        curves.append(TradeoffCurve(methods[0].label, tried, expected_votes, disagreement))
    return curves

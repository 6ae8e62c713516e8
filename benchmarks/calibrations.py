"""Simulated calibrations, with votes from a known distribution, so that the true disagreement is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import betabinom

from foregone import VoteDistribution, evaluate, solve
from foregone.strategy.evaluation import Evaluation

__all__ = ["Case", "Outcome", "drawn_votes", "excess", "simulate", "true_votes"]

N_VOTERS = 101
Limit = float | dict[str, float]


@dataclass(frozen=True)
class Case:
    """One way to solve, for votes drawn from a beta-binomial distribution.

    Attributes
    ----------
    shape : tuple of float
        a and b: the share of yes votes is beta (a, b) distributed over inputs.
    n_rows, n_draws : int
        Inputs in a calibration, and how many calibrations are drawn.
    options : dict
        For `foregone.solve`.
    """

    shape: tuple[float, float]
    n_rows: int
    n_draws: int
    limit: Limit
    criterion: str = "minimean"
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What came of each calibration.

    Attributes
    ----------
    excess : ndarray of shape (n_draws,)
        True disagreement divided by its limit; with a limit for each class, the larger of the two.
    seen_excess : ndarray of shape (n_draws,)
        The same under the votes that were drawn.
    cost : ndarray of shape (n_draws,)
        Expected votes under the true distribution, divided by those of the best strategy for it.
    """

    case: Case
    excess: npt.NDArray[np.float64]
    seen_excess: npt.NDArray[np.float64]
    cost: npt.NDArray[np.float64]


def true_votes(shape: tuple[float, float]) -> VoteDistribution:
    """Return the distribution that votes are drawn from."""
    return VoteDistribution.from_counts(betabinom.pmf(np.arange(N_VOTERS + 1), N_VOTERS, *shape))


def drawn_votes(shape: tuple[float, float], n_rows: int, n_draws: int) -> list[VoteDistribution]:
    """Return calibrations, the same ones every time."""
    seed = [n_rows, *np.array(shape).view(np.uint64).tolist()]
    counts = np.random.default_rng(seed).multinomial(n_rows, true_votes(shape).probabilities, size=n_draws)
    return [VoteDistribution.from_counts(row) for row in counts]


def excess(evaluation: Evaluation, votes: VoteDistribution, limit: Limit) -> float:
    """Return the disagreement divided by its limit; with a limit for each class, the larger of the two.

    Of a class that the votes rule out, the worst disagreement counts.
    """
    if not isinstance(limit, Mapping):
        return evaluation.mean(votes).disagreement / limit
    means, worst = evaluation.by_class(votes), evaluation.worst_by_class()
    risks = {
        side: worst[side].disagreement if np.isnan(figures.disagreement) else figures.disagreement
        for side, figures in means.items()
    }
    return max(risks[side] / limit[side] for side in risks)


def simulate(case: Case) -> Outcome:
    """Solve for every calibration and evaluate the strategies under the truth."""
    truth = true_votes(case.shape)
    # The best there is for the truth: what is allowed is the same, only that nothing has to be estimated.
    choices = {key: value for key, value in case.options.items() if key != "confidence"}
    least = solve("minimean", truth, case.limit, **choices).expected_votes
    figures = []
    for votes in drawn_votes(case.shape, case.n_rows, case.n_draws):
        evaluation = evaluate(solve(case.criterion, votes, case.limit, **case.options).strategy)
        figures.append(
            (
                excess(evaluation, truth, case.limit),
                excess(evaluation, votes, case.limit),
                evaluation.mean(truth).expected_votes / least,
            )
        )
    return Outcome(case, *np.array(figures).T)

"""solve(): find the optimal stopping strategy for votes between two answers, by any method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy.typing as npt

from foregone.checks import check_choice
from foregone.solving.certificate import Certificate, certify
from foregone.solving.problem import ANSWERS, Answer, Problem
from foregone.solving.solution import Multipliers, Solution
from foregone.strategy.limits import CRITERIA, Criterion, MaxDisagreement
from foregone.votes import VoteDistribution

__all__ = [
    "ANSWERS",
    "CRITERIA",
    "METHODS",
    "Answer",
    "Certificate",
    "Criterion",
    "MaxDisagreement",
    "Multipliers",
    "Problem",
    "Solution",
    "certify",
    "solve",
]

METHODS = ("dual", "linear_program", "quadratic_program")


def solve(
    criterion: Criterion,
    votes_or_n_voters: VoteDistribution | int,
    max_disagreement: float | Mapping[str, float],
    *,
    confidence: float | None = None,
    looks: int | Iterable[int] | None = None,
    answer: Answer = "majority",
    quota: int | None = None,
    values: npt.ArrayLike | None = None,
    method: Literal["dual", "linear_program", "quadratic_program"] = "dual",
) -> Solution:
    """Find the optimal strategy for votes between two answers, among strategies that count votes.

    `foregone.solve` takes every kind of vote, calls this function for two answers, and documents the
    parameters.

    Examples
    --------
    >>> round(solve("minimixed", 101, 1e-3).expected_votes, 2)
    43.04
    """
    problem = Problem.check(
        criterion, votes_or_n_voters, max_disagreement, confidence, looks, answer, quota, values
    )
    check_choice(method, "method", METHODS)
    # The reference solvers have heavy imports, so each method is imported on first use.
    if method == "dual":
        from foregone.solving.dual import solve_dual as run
    elif method == "linear_program":
        from foregone.solving.reference.linear_program import solve_linear_program as run
    else:
        from foregone.solving.reference.quadratic_program import solve_quadratic_program as run
    strategy, lower_bound, multipliers = run(problem)
    return Solution.of(problem, strategy, lower_bound, multipliers, method)

"""solve(): one door to every way of finding the optimal stopping strategy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

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
    method: Literal["dual", "linear_program", "quadratic_program"] = "dual",
) -> Solution:
    """Find the stopping strategy that asks the fewest voters within a limit on the disagreement.

    Parameters
    ----------
    criterion : {"minimax", "minimean", "minimixed"}
        ``"minimean"`` minimises the mean number of votes asked and bounds the mean disagreement;
        ``"minimixed"`` minimises the mean and bounds the disagreement of every single input;
        ``"minimax"`` minimises the worst expected number of votes over inputs and bounds every input.
    votes_or_n_voters : VoteDistribution or int
        How the votes are distributed; a number of voters means a flat distribution. Minimax does not
        depend on it but for its ties: among minimax-optimal strategies it takes the one with the least
        mean cost under this distribution.
    max_disagreement : float or mapping
        Largest allowed probability to answer otherwise than the full vote, from 0 to 1; one of at most 1e-290
        counts as 0. With one for each of
        ``"yes"`` and ``"no"``, it is bounded given what the full vote says, so that a rare answer has a
        budget of its own.
    confidence : float, optional
        With at least this probability over which inputs were observed, minimean keeps its limit under the
        true distribution of votes, whatever that is; it needs votes counted from observed inputs. By default
        the observed distribution is taken for the true one. The other criteria bound every single
        input and need no confidence.
    looks : int or iterable of int, optional
        Stop only after every so many votes, or only after these numbers of votes (and when all were asked).
    answer : {"majority", "likeliest"}
        At a stop, answer the majority so far, or what the full vote most likely is given the votes seen
        and their distribution. With one limit and no confidence, minimean never asks more
        for the likeliest answer.
    method : {"dual", "linear_program", "quadratic_program"}
        ``"dual"`` is exact and takes milliseconds. The others are independent references: the paper's
        linear program on HiGHS, and its quadratic program on SCIP (extra ``reference``, up to about 6
        voters).

    Returns
    -------
    Solution
        The strategy, its cost and risk, and a lower bound that no strategy can beat.

    Examples
    --------
    >>> from foregone import solve
    >>> solution = solve("minimixed", 101, 1e-3)
    >>> round(solution.expected_votes, 2), solution.disagreement <= 1e-3, solution.gap < 1e-9
    (43.04, True, True)

    Only after every tenth vote, and with a budget for each answer:

    >>> solution = solve("minimixed", 101, {"yes": 1e-4, "no": 1e-2}, looks=10)
    >>> round(solution.expected_votes, 2), {side: round(p, 6) for side, p in solution.disagreement.items()}
    (44.95, {'yes': 0.0001, 'no': 0.01})
    """
    problem = Problem.check(criterion, votes_or_n_voters, max_disagreement, confidence, looks, answer)
    check_choice(method, "method", METHODS)
    # The reference solvers bring heavy imports of their own; each method is loaded when asked for.
    if method == "dual":
        from foregone.solving.dual import solve_dual as run
    elif method == "linear_program":
        from foregone.solving.reference.linear_program import solve_linear_program as run
    else:
        from foregone.solving.reference.quadratic_program import solve_quadratic_program as run
    strategy, lower_bound, multipliers = run(problem)
    return Solution.of(problem, strategy, lower_bound, multipliers, method)

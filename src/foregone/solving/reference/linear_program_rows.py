"""The parts of the linear program: the states, and the budgets as rows over them.

Symbols: ``N`` voters, ``n`` of them would say yes; state ``(i, j)``: i asked, j of them said yes. States are
numbered row by row: (0,0), (1,0), (1,1), (2,0), ...
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from foregone.checks import BoolArray, FloatArray
from foregone.solving.budget import Budget, NestedBounds, OneDistribution
from foregone.solving.problem import Problem

__all__ = ["SCALE", "RiskRows", "States"]

SCALE = 1e4  # of rows and objective: HiGHS drops coefficients below 1e-9
LARGEST_COEFFICIENT = 1e14  # HiGHS refuses those of 1e15
SMALLEST_SCALED_UP = 1e-290  # what is smaller stays so
NEVER_STOP_BELOW = 1e-12  # where a limit allows no larger stop probability than this, never stop


class States:
    """The states in order, what is answered and what is likely in them."""

    def __init__(self, problem: Problem) -> None:
        self.N = problem.n_voters
        self.i: npt.NDArray[np.intp]
        self.j: npt.NDArray[np.intp]
        self.i, self.j = np.tril_indices(self.N + 1)
        self.says_yes: BoolArray = self.j >= problem.yes_from[self.i]
        self.full_yes: BoolArray = problem.full_yes
        # Where answers are by the share and values are equal, the worst n are next to the quota (the paper's
        # last lemma, for any quota).
        self.worst_next_to_middle: bool = problem.answer == "majority" and problem.values is None
        self.is_look: BoolArray = np.isin(self.i, problem.may_stop_after)

    def row(self, i: int) -> slice:
        """Return where the states with i votes asked are."""
        return slice(i * (i + 1) // 2, (i + 1) * (i + 2) // 2)

    def chances(self, weights: FloatArray) -> FloatArray:
        """Return ``sum_n weights[n] h_n(i, j)`` per state: a vote is deleted at random, one by one."""
        rows = [weights]
        for i in range(self.N - 1, -1, -1):
            j, after = np.arange(i + 1), rows[-1]
            rows.append(((i + 1 - j) * after[:-1] + (j + 1) * after[1:]) / (i + 1))
        return np.concatenate(rows[::-1])

    def wrong(self, weights: FloatArray) -> FloatArray:
        """Return the part of ``chances`` in which stopping in the state disagrees with the full vote."""
        yes = self.full_yes
        return np.where(self.says_yes, self.chances(weights * ~yes), self.chances(weights * yes))

    def could_disagree(self, budget: Budget) -> BoolArray:
        """Return where stopping is wrong for an n that is possible under the budget."""
        return self.wrong(budget.possible().astype(np.float64)) > 0


class RiskRows:
    """The budgets with a limit between zero and one, as rows of a linear program.

    They are kept if and only if ``lost @ disagreement <= limits * (cover @ y)`` for some y >= 0, of which
    those of one budget sum to at most one. A known distribution is one row and one y. Otherwise there is a
    row for every n, and this is the dual of the inner maximum "the largest mean over the distributions": the
    y are its prices on the total weight and on the weight from the middle out to each n. Rows and y are in
    units of what that weight may be at most, lest small ones drown in tolerances.

    Attributes
    ----------
    weights, lost : ndarray of shape (n_rows, N + 1)
        Distributions of n, and these times the loss of a disagreement.
    cover : ndarray of shape (n_rows, n_y)
    limits : ndarray of shape (n_rows,)
    sums : ndarray of shape (n_budgets, n_y)
        Which of the y are a budget's.
    wrong : ndarray of shape (n_rows, n_states)
        The contribution of a stop in each state to ``lost @ disagreement``.
    too_risky : ndarray of bool, shape (n_rows, n_states)
        States where a row allows hardly any stop.
    """

    def __init__(self, budgets: list[Budget], states: States) -> None:
        parts = [_rows(budget.distributions, states) for budget in budgets]
        limits = [
            np.full(len(weights), budget.limit) for budget, (weights, _) in zip(budgets, parts, strict=True)
        ]
        no_rows = np.zeros((0, states.N + 1))
        self.weights: FloatArray = np.vstack([no_rows, *(weights for weights, _ in parts)])
        self.cover: FloatArray = block_diag(np.zeros((0, 0)), *(cover for _, cover in parts))
        self.limits: FloatArray = np.concatenate([np.zeros(0), *limits])
        in_budget = (np.ones(cover.shape[1]) for _, cover in parts)
        self.sums: FloatArray = block_diag(np.zeros((0, 0)), *in_budget)
        lost = [weights * budget.values for budget, (weights, _) in zip(budgets, parts, strict=True)]
        self.lost: FloatArray = np.vstack([no_rows, *lost])
        wrong = np.array([states.wrong(row) for row in self.lost])
        self.wrong: FloatArray = wrong.reshape(-1, len(states.i))
        self.too_risky: BoolArray = self.limits[:, None] <= NEVER_STOP_BELOW * self.wrong

    def scaled(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``wrong`` times a factor per state, each row scaled for HiGHS, and the scales."""
        coefficients = self.wrong * factors
        largest = np.maximum(coefficients.max(axis=1, initial=0.0), SMALLEST_SCALED_UP)
        scales = np.minimum(
            SCALE / np.maximum(self.limits, SMALLEST_SCALED_UP), LARGEST_COEFFICIENT / largest
        )
        return coefficients * scales[:, None], scales

    def most_spent(self, prices: FloatArray) -> float:
        """Return the most that a strategy within the limits pays for its disagreement at these prices."""
        return float(((prices * self.limits) @ self.cover * self.sums).max(axis=1, initial=0.0).sum())

    def deterring(self, prices: FloatArray, worth: FloatArray) -> FloatArray:
        """Raise prices until stopping where it is too risky costs at least what it is ``worth``.

        Such states do not determine the prices; because of `NEVER_STOP_BELOW` this hardly weakens the bound.
        """
        needed = np.divide(worth, self.wrong, out=np.zeros_like(self.wrong), where=self.too_risky)
        return np.asarray(np.maximum(prices, needed.max(axis=1, initial=0.0)))


def _rows(distributions: OneDistribution | NestedBounds, states: States) -> tuple[FloatArray, FloatArray]:
    """Return weights and cover of one budget."""
    if isinstance(distributions, OneDistribution):
        return distributions.weights[None, :], np.ones((1, 1))
    most = np.concatenate([distributions.no[::-1], distributions.yes])  # weight from the middle out to n
    from_middle = np.arange(states.N + 1) - (len(distributions.no) - 0.5)
    n, k = from_middle[:, None], from_middle[None, :]
    inside = (n * k > 0) & (abs(n) <= abs(k))  # n lies between the middle and k
    share = np.divide(most[:, None], most, out=np.zeros(inside.shape), where=inside & (most > 0))
    # A bound of one adds nothing to that on the total.
    cover = np.column_stack([most, share[:, (most > 0) & (most < 1)]])
    rows = most > 0
    if states.worst_next_to_middle and cover.shape[1] == 1:
        rows &= abs(from_middle) < 1
    return np.diag(most)[rows], cover[rows]

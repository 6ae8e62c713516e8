"""The solver: a linear program over strategies and limits, both of which are found as they are needed.

The strategies known so far are mixed at the least cost within the limits known so far; the duals of that
program are prices, at which backward induction on the lattice finds the best strategy of all. It either
improves the mixture, or proves it. The limit has to be kept under too many distributions to list: the worst one
for the mixture at hand is added when it is broken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from foregone._kernels import plurality as kernels
from foregone.errors import SolverError
from foregone.plurality.evaluation import PluralityEvaluation, evaluate_plurality
from foregone.plurality.lattice import Lattice
from foregone.plurality.problem import PluralityProblem
from foregone.plurality.strategy import PluralityStrategy
from foregone.votes import FloatArray

__all__ = ["AS_GOOD_AS_ZERO", "Evidence", "solve_on_lattice"]

AS_GOOD_AS_ZERO = 1e-12  # a limit up to this allows nothing that floats can tell
_MOST_ROUNDS = 3_000
_PULL = 0.7  # towards the best prices so far: where many limits bind, the master's own jump about


@dataclass(frozen=True, eq=False)
class Evidence:
    """Prices that prove a lower bound.

    No strategy within the limit costs less than the least of ``cost_weights @ votes + risk_weights @
    disagreement`` over all strategies, minus ``limit * price``.

    Attributes
    ----------
    cost_weights : ndarray of shape (n_compositions,)
        A distribution: that of the mean, or where the worst is minimised one that the dual chose.
    risk_weights : ndarray of shape (n_compositions,)
        ``price`` times a distribution that the limit must be kept under.
    price : float
        Of one unit of disagreement.
    """

    cost_weights: FloatArray
    risk_weights: FloatArray
    price: float

    def pulled_to(self, other: Evidence, share: float) -> Evidence:
        """Return prices between these and others."""
        return Evidence(
            (1 - share) * self.cost_weights + share * other.cost_weights,
            (1 - share) * self.risk_weights + share * other.risk_weights,
            (1 - share) * self.price + share * other.price,
        )


@dataclass(frozen=True, eq=False)
class _Column:
    """A strategy without randomised states, and what it does for every full vote."""

    stops: npt.NDArray[np.uint8]  # as bits
    votes: FloatArray
    disagreement: FloatArray


class _Prices:
    """Finds the best strategy at given prices."""

    def __init__(self, problem: PluralityProblem) -> None:
        self.problem = problem
        self._mean_reach = problem.lattice.pull_back(problem.mean)
        self._last: tuple[Evidence, FloatArray] | None = None

    def best(self, prices: Evidence) -> tuple[_Column, float]:
        """Return the best strategy, and the lower bound that the prices prove."""
        lattice = self.problem.lattice
        same_mean = prices.cost_weights is self.problem.mean
        reach = self._mean_reach if same_mean else lattice.pull_back(prices.cost_weights)
        stops = np.zeros(lattice.n_states, np.bool_)
        least = kernels.induce(*lattice.edges, reach, self._wrong(prices), 1, stops)
        bound = float(least) - self.problem.limit * prices.price
        return self.column(stops), bound

    def _wrong(self, prices: Evidence) -> FloatArray:
        """Return what stopping costs in each state; the distribution often stays and only the price moves."""
        if self._last is not None:
            before, wrong = self._last
            factor = prices.price / before.price
            if np.allclose(before.risk_weights * factor, prices.risk_weights, rtol=1e-15, atol=0):
                return wrong * factor
        wrong = self.problem.lattice.pull_back_wrong(prices.risk_weights)
        if prices.price > 0:
            self._last = prices, wrong
        return wrong

    def column(self, stops: npt.NDArray[np.bool_]) -> _Column:
        """Return what a strategy does for every full vote."""
        lattice = self.problem.lattice
        votes, disagreement = np.zeros((2, lattice.n_compositions))
        kernels.push_forward(*lattice.edges, stops.astype(np.float64), votes, disagreement)
        return _Column(np.packbits(stops), votes, disagreement)


class _Master:
    """Mixes the strategies known so far within the limits known so far."""

    def __init__(self, problem: PluralityProblem) -> None:
        self.problem = problem
        self.columns: list[_Column] = []
        self.cuts: list[FloatArray] = []
        self.costly: list[FloatArray] = []  # distributions whose votes are bounded by what is minimised
        self._risks: list[list[float]] = []  # of each cut, for each column
        self._costs: list[list[float]] = []

    def add_column(self, column: _Column) -> None:
        for cut, risks in zip(self.cuts, self._risks, strict=True):
            risks.append(float(cut @ column.disagreement))
        for weights, costs in zip(self.costly, self._costs, strict=True):
            costs.append(float(weights @ column.votes))
        self.columns.append(column)

    def add_cut(self, weights: FloatArray) -> None:
        self.cuts.append(weights)
        self._risks.append([float(weights @ column.disagreement) for column in self.columns])

    def add_costly(self, weights: FloatArray) -> None:
        self.costly.append(weights)
        self._costs.append([float(weights @ column.votes) for column in self.columns])

    def solve(self) -> tuple[FloatArray, float, Evidence]:
        """Return the weights of the columns, what they cost, and the prices of the cuts."""
        problem, n_columns = self.problem, len(self.columns)
        n_cuts = len(self.cuts)
        # The last variable is the cost of the worst full vote; its limits are counted from the least votes.
        votes = [float(problem.mean @ column.votes) for column in self.columns]
        worst = problem.minimises_the_worst
        objective = np.append(np.zeros(n_columns) if worst else votes, 1.0 if worst else 0.0)
        rows = np.hstack([np.array(self._risks) / problem.limit, np.zeros((n_cuts, 1))])
        if worst:
            rows = np.vstack([rows, np.hstack([np.array(self._costs), np.full((len(self.costly), 1), -1.0)])])
        right = np.append(np.ones(n_cuts), np.zeros(len(rows) - n_cuts))
        result = linprog(
            objective, A_ub=rows, b_ub=right, A_eq=[[1.0] * n_columns + [0.0]], b_eq=[1.0],
            bounds=[(0, None)] * (n_columns + 1), method="highs-ds",
        )  # fmt: skip
        if result.status != 0:
            raise SolverError(f"the program over strategies could not be solved: {result.message}")
        duals = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
        risk = duals[:n_cuts] / problem.limit
        risk_weights = _combined(risk, self.cuts, problem.lattice.n_compositions)
        cost_weights = problem.mean
        if worst:
            cost = duals[n_cuts:]
            cost_weights = _combined(cost / max(cost.sum(), 1e-300), self.costly, len(risk_weights))
        return result.x[:n_columns], float(result.fun), Evidence(cost_weights, risk_weights, float(risk.sum()))

    def mixed(self, weights: FloatArray, name: str) -> FloatArray:
        """Return votes or disagreement of a mixture, for every full vote."""
        total = np.zeros(self.problem.lattice.n_compositions)
        for weight, column in zip(weights, self.columns, strict=False):  # columns may have come since
            if weight > 0:
                total += weight * getattr(column, name)
        return total


def _combined(amounts: FloatArray, rows: list[FloatArray], length: int) -> FloatArray:
    total = np.zeros(length)
    for amount, row in zip(amounts, rows, strict=True):
        if amount > 0:
            total += amount * row
    return total


def solve_on_lattice(
    problem: PluralityProblem, tolerance: float = 1e-9
) -> tuple[PluralityStrategy, float, Evidence]:
    """Return a strategy, a lower bound on the cost of any, and the prices that prove it.

    The search ends when the strategy costs at most ``tolerance`` more than the bound, relatively.
    """
    if problem.limit <= AS_GOOD_AS_ZERO:
        return _never_wrong(problem)
    oracle, master = _Prices(problem), _Master(problem)
    for weights in problem.possible.first_cuts():
        master.add_cut(weights)
    if problem.minimises_the_worst:
        master.add_costly(problem.mean)
    careful = oracle.column(_never_wrong(problem)[0].stops.copy())
    master.add_column(careful)
    bound, best = -np.inf, Evidence(problem.mean, np.zeros(len(problem.mean)), 0.0)
    pull, least, chosen = 0.0, np.inf, np.array([1.0])
    for _ in range(_MOST_ROUNDS):
        weights, _objective, prices = master.solve()
        cost, feasible = _made_feasible(problem, master, weights)
        if cost < least:
            least, chosen = cost, feasible
        tried = prices.pulled_to(best, pull) if pull else prices
        column, proven = oracle.best(tried)
        if proven > bound:
            bound, best, pull = proven, tried, _PULL
        else:
            pull = 0.0 if pull < 0.3 else pull / 2
        if least - bound <= tolerance * max(least, 1.0):
            break
        known = len(master.columns)
        if not any(np.array_equal(column.stops, other.stops) for other in master.columns):
            master.add_column(column)
        added = _add_rows(problem, master, weights)
        if len(master.columns) == known and not added and not pull:
            break  # rounding leaves no more to gain
    strategy = _mix(problem, master, chosen)
    return strategy, bound, best


def _add_rows(problem: PluralityProblem, master: _Master, weights: FloatArray) -> bool:
    """Add distributions under which the mixture breaks the limit, or costs more than it should."""
    disagreement = master.mixed(weights, "disagreement")
    worst = problem.possible.worst_for(disagreement)
    added = False
    if worst @ disagreement > problem.limit * (1 + 1e-10):
        for cut in problem.possible.bad_for(disagreement, problem.limit * (1 + 1e-10)):
            master.add_cut(cut)
            added = True
    if problem.minimises_the_worst:
        votes = master.mixed(weights, "votes")
        most = max(float(costly @ votes) for costly in master.costly)
        if votes.max() > most * (1 + 1e-10):
            worst_vote = np.zeros(len(votes))
            worst_vote[np.argmax(votes)] = 1.0
            master.add_costly(worst_vote)
            added = True
    return added


def _made_feasible(
    problem: PluralityProblem, master: _Master, weights: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mixture with as much of the first, careful strategy as the limit needs, and its cost."""
    shares = np.append(weights, np.zeros(len(master.columns) - len(weights)))
    disagreement = master.mixed(shares, "disagreement")
    risk = float(problem.possible.worst_for(disagreement) @ disagreement)
    # A mean of disagreements is convex in the strategy, and the careful one has none.
    keep = min(1.0, problem.limit * (1 - 1e-12) / risk) if risk > 0 else 1.0
    shares = shares * keep
    shares[0] += 1.0 - keep
    votes = master.mixed(shares, "votes")
    return float(votes.max() if problem.minimises_the_worst else problem.mean @ votes), shares


def _mix(problem: PluralityProblem, master: _Master, weights: FloatArray) -> PluralityStrategy:
    """Return the strategy that behaves as if one were drawn at random before the first vote."""
    lattice = problem.lattice
    shares = np.append(weights, np.zeros(len(master.columns) - len(weights)))
    shares = shares / shares.sum()
    reached, stopped = np.zeros((2, lattice.n_states))
    theta = _stops_of(master.columns[0], lattice)  # what no part reaches is left to the careful one
    for share, column in zip(shares, master.columns, strict=True):
        if share > 0:
            stop = _stops_of(column, lattice)
            flow = np.zeros(lattice.n_states)
            kernels.fill_reach(*lattice.edges, stop, flow)
            reached += share * flow
            stopped += share * flow * stop
    some = reached > 0
    theta[some] = np.minimum(stopped[some] / reached[some], 1.0)
    strategy = PluralityStrategy.from_probabilities(lattice, theta)
    if problem.risk(evaluate_plurality(strategy)) <= problem.limit:
        return strategy
    lowered = theta.copy()  # rounding has lifted it above the limit: stop a little less often
    inside = lattice.level[-2]
    for _ in range(60):
        lowered[:inside] = theta[:inside] * (1 - 1e-12)
        strategy = PluralityStrategy.from_probabilities(lattice, lowered)
        if problem.risk(evaluate_plurality(strategy)) <= problem.limit:
            return strategy
        theta = lowered.copy()
    raise SolverError("could not keep the limit to the last digit; please report this case")


def _stops_of(column: _Column, lattice: Lattice) -> FloatArray:
    return np.unpackbits(column.stops, count=lattice.n_states).astype(np.float64)


def _never_wrong(problem: PluralityProblem) -> tuple[PluralityStrategy, float, Evidence]:
    """Stop only where the leader is among the leaders of every full vote that can follow."""
    lattice = problem.lattice
    flat = np.full(lattice.n_compositions, 1.0 / lattice.n_compositions)
    stop = (lattice.pull_back_wrong(flat) == 0).astype(np.float64)
    stop[0], stop[lattice.level[-2] :] = 0.0, 1.0
    strategy = PluralityStrategy.from_probabilities(lattice, stop)
    evaluation: PluralityEvaluation = evaluate_plurality(strategy)
    return strategy, problem.cost(evaluation), Evidence(problem.mean, np.zeros(len(flat)), 0.0)

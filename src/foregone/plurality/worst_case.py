"""Solving for the worst case over many distributions: all, or those consistent with a sample.

First a few rounds of fictitious play: the worst distribution for the current strategy is mixed into the
previous ones, and the best reply to the mixture at the right price is already a good strategy. Then a linear
program mixes the strategies found so far at the least cost within the limits found so far. Its duals are
prices, for which backward induction on the lattice finds the best of all strategies. That either improves the
mixture or proves it optimal. There are too many full votes to list a limit for each: those that the current
mixture breaks are added.

The disagreement of every strategy is computed exactly, and the bound proven by any prices is valid. So the
search may end at any round, and reports how far its strategy can be from the optimum.
"""

from __future__ import annotations

import math

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import SolverError
from foregone.plurality.lattice import is_decided
from foregone.plurality.plurality_evaluation import evaluate_plurality
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.plurality.plurality_solution import Evidence
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.plurality.possible import Anything
from foregone.plurality.program import Column, Program, mix_stops

__all__ = ["solve_sampled", "solve_worst_case"]

_PLAYS = 2
_MOST_ROUNDS = 400  # rounds of the linear program
_TOLERANCE = 1e-9  # the gap that is good enough
_TRIES = 4  # of a price, in each round of play
_NEAR_ENOUGH = 0.93  # share of the limit that must be used
_HALVINGS = 8  # to find the largest share of a bold strategy
_BROKEN = 1 + 1e-10  # a limit exceeded by this factor counts as broken
_PULL = 0.7  # towards the best prices so far: if many limits bind, the program's prices oscillate


class _Search:
    """State of the search: strategies, bad distributions, the best bound and the prices that prove it."""

    def __init__(self, problem: PluralityProblem, first: FloatArray) -> None:
        self.problem = problem
        self.first = first
        never_wrong = Column.of(problem, is_decided(problem.lattice))
        self.columns = [never_wrong]
        self.cuts = [first]
        self.costly = [problem.mean]
        # The cheapest within the limit: shares of strategies, and the cost.
        self.mixture: list[tuple[float, Column]] = [(1.0, never_wrong)]
        self.least = problem.cost_of(never_wrong.votes)
        self.bound = -math.inf
        self.best = Evidence(problem.mean, np.zeros(len(problem.mean)), 0.0)

    def reply(self, prices: Evidence, reach: FloatArray, wrong: FloatArray) -> Column:
        """Return the best strategy for these prices, and keep the bound that they prove."""
        stops, priced = self.problem.lattice.best_stops(reach, wrong)
        proven = priced - self.problem.limit * prices.price
        if proven > self.bound:
            self.bound, self.best = proven, prices
        return Column.of(self.problem, stops)

    def play(self) -> None:
        """Alternate between the best strategy and the worst distribution."""
        problem, lattice, limit = self.problem, self.problem.lattice, self.problem.limit
        mean, weights = problem.mean, self.first
        reach, wrong = lattice.pull_back(mean), lattice.pull_back_wrong(weights)
        price = 20.0 / limit
        for number in range(_PLAYS):
            too_cheap, dear_enough = 0.0, math.inf
            bold = careful = None
            for _ in range(_TRIES):
                column = self.reply(Evidence(mean, price * weights, price), reach, price * wrong)
                worst = problem.possible.worst_for(column.disagreement)
                used = float(worst @ column.disagreement) / limit
                self.columns.append(column)
                if used <= 1.0:
                    dear_enough, careful = price, column
                    if used >= _NEAR_ENOUGH:
                        break
                else:
                    too_cheap, bold = price, column
                if too_cheap and math.isfinite(dear_enough):
                    price = math.sqrt(too_cheap * dear_enough)
                else:  # the disagreement is roughly inversely proportional to its price
                    price *= min(max(used, 0.2), 20.0)
            self._keep(self.columns[0] if careful is None else careful, bold)
            self.cuts.append(worst)
            share = 1.0 / (number + 2)
            weights = (1 - share) * weights + share * worst
            wrong = (1 - share) * wrong + share * lattice.pull_back_wrong(worst)
            if problem.minimises_the_worst:
                dearest = np.eye(1, len(mean), int(np.argmax(column.votes)))[0]
                self.costly.append(dearest)
                mean = (1 - share) * mean + share * dearest
                reach = (1 - share) * reach + share * lattice.pull_back(dearest)

    def _keep(self, careful: Column, bold: Column | None) -> None:
        """Keep a careful strategy with as much of a bold one as the limit allows, if none is cheaper."""
        problem, share = self.problem, 0.0
        if bold is not None:
            for halving in range(1, _HALVINGS + 1):
                more = share + 0.5**halving
                mixed = (1 - more) * careful.disagreement + more * bold.disagreement
                if float(problem.possible.worst_for(mixed) @ mixed) <= problem.limit * (1 - problem.margin):
                    share = more
        parts = [(1 - share, careful)]
        if bold is not None and share > 0:
            parts.append((share, bold))
        cost = problem.cost_of(np.sum([part * column.votes for part, column in parts], axis=0))
        if cost < self.least:
            self.mixture, self.least = parts, cost

    def improve(self) -> PluralityStrategy:
        """Mix the strategies at the least cost; add broken limits and better strategies until none remain."""
        problem, lattice = self.problem, self.problem.lattice
        program = Program(problem)
        for column in self.columns:
            program.add_column(column)
        for cut in self.cuts:
            program.add_cut(cut)
        if problem.minimises_the_worst:
            for dear in self.costly:
                program.add_costly(dear)
        least, chosen, pull = math.inf, np.ones(1), 0.0
        for number in range(_MOST_ROUNDS + 1):
            shares, prices = program.solve()
            cost, kept = _within_the_limit(program, shares)
            if cost < least:
                least, chosen = cost, kept
            if number == _MOST_ROUNDS or least - self.bound <= _TOLERANCE * least:
                break
            tried = prices.pulled_to(self.best, pull) if pull else prices
            reach, wrong = lattice.pull_back(tried.cost_weights), lattice.pull_back_wrong(tried.risk_weights)
            is_new = program.add_column(self.reply(tried, reach, wrong))
            if not (_add_broken(program, np.append(shares, [0.0] * is_new)) or is_new or pull):
                break
            pull = _PULL if is_new else 0.0
        parts = [
            (share, column.stop_probabilities(problem))
            for share, column in zip(chosen, program.columns, strict=False)  # some have been added since
            if share > 0
        ]
        return _to_the_last_digit(problem, mix_stops(lattice, parts))


def solve_worst_case(
    problem: PluralityProblem, first: FloatArray
) -> tuple[PluralityStrategy, float, Evidence]:
    """Return a strategy within the limit, a lower bound on the cost of any, and the prices that prove it.

    Parameters
    ----------
    problem : PluralityProblem
        A problem with a limit above zero.
    first : ndarray of shape (n_compositions,)
        A possible distribution to start from, preferably positive for every full vote.
    """
    search = _Search(problem, first)
    search.play()
    strategy = search.improve()
    return strategy, search.bound, search.best


def solve_sampled(problem: PluralityProblem, first: FloatArray) -> tuple[PluralityStrategy, float, Evidence]:
    """Return the same after play alone, for the distributions consistent with a sample.

    The linear program could use the limit at a lower cost. But its mixtures are bold where the sample has no
    data, and on new items they disagree more often than other strategies that ask as many voters.
    """
    search = _Search(problem, first)
    search.play()
    parts = [(share, column.stop_probabilities(problem)) for share, column in search.mixture]
    return _to_the_last_digit(problem, mix_stops(problem.lattice, parts)), search.bound, search.best


def _add_broken(program: Program, shares: FloatArray) -> bool:
    """Add limits that the mixture breaks, and distributions whose votes exceed the objective."""
    problem = program.problem
    votes, disagreement = program.mixed(shares)
    possible = problem.possible
    if isinstance(possible, Anything):
        broken = possible.bad_for(disagreement, problem.limit * _BROKEN)
    else:
        broken = [possible.worst_for(disagreement)]
    for cut in broken:
        program.add_cut(cut)
    if problem.minimises_the_worst:
        most = max(float(weights @ votes) for weights in program.costly)
        if votes.max() > most * _BROKEN:
            program.add_costly(np.eye(1, len(votes), int(np.argmax(votes)))[0])
            return True
    return bool(broken)


def _within_the_limit(program: Program, shares: FloatArray) -> tuple[float, FloatArray]:
    """Return cost and shares of the mixture, with enough of a never-wrong strategy to keep the limit."""
    problem = program.problem
    votes, disagreement = program.mixed(shares)
    risk = float(problem.possible.worst_for(disagreement) @ disagreement)
    keep = 1.0
    if risk > problem.limit * (1 - problem.margin):
        keep = problem.limit * (1 - problem.margin) / risk
    votes = keep * votes + (1 - keep) * program.columns[0].votes
    kept = keep * shares
    kept[0] += 1 - keep
    return problem.cost_of(votes), kept


def _to_the_last_digit(problem: PluralityProblem, strategy: PluralityStrategy) -> PluralityStrategy:
    """Return the strategy, stopping slightly less often if rounding has lifted it above the limit."""
    theta = strategy.stop_probabilities()
    inside = problem.lattice.level[-2]
    for _ in range(40):
        if problem.risk(evaluate_plurality(strategy)) <= problem.limit:
            return strategy
        theta[:inside] *= 1 - 1e-11
        strategy = PluralityStrategy.from_probabilities(problem.lattice, theta)
    raise SolverError("the limit could not be kept to the last digit: please report this case")

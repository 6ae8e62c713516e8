"""Solving for the worst of many distributions: all of them, or those that a sample leaves possible.

First a few rounds of play: against the best strategy so far stands the worst distribution, mixed into those
before it; at the right price, the best reply is a good strategy already. Then a linear program mixes the
strategies found so far at the least cost within the limits known so far; its duals are prices, at which
backward induction on the lattice finds the best strategy of all. That either improves the mixture, or proves
it. There are too many full votes to list a limit for each: those that the mixture at hand breaks are added.

Whatever the strategy, its disagreement is computed exactly; and whatever the prices, the bound they prove
holds. So the search may end at any round, and says how far from the best its strategy can be.
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
_MOST_ROUNDS = 400  # of the program
_TOLERANCE = 1e-9  # the gap that is good enough
_TRIES = 4  # of a price, in each round of play
_NEAR_ENOUGH = 0.93  # share of the limit that is used up
_HALVINGS = 8  # to find how much of a bold strategy may be mixed in
_BROKEN = 1 + 1e-10  # a limit exceeded by this factor is broken
_PULL = 0.7  # towards the best prices so far: where many limits bind, the program's own jump about


class _Search:
    """What was found so far: strategies, bad distributions, the best bound and the prices that prove it."""

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
        """Return the best strategy at these prices, and keep the bound that they prove."""
        stops, priced = self.problem.lattice.best_stops(reach, wrong)
        proven = priced - self.problem.limit * prices.price
        if proven > self.bound:
            self.bound, self.best = proven, prices
        return Column.of(self.problem, stops)

    def play(self) -> None:
        """Let the best strategy and the worst distribution answer each other."""
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
                else:  # the disagreement is roughly in inverse proportion to its price
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
        """Mix the strategies at the least cost, and add what is missing, until nothing is."""
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
            for share, column in zip(chosen, program.columns, strict=False)  # some have come since
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
        With a limit above zero.
    first : ndarray of shape (n_compositions,)
        A distribution to begin with, of the possible ones; best one that leaves no full vote out.
    """
    search = _Search(problem, first)
    search.play()
    strategy = search.improve()
    return strategy, search.bound, search.best


def solve_sampled(problem: PluralityProblem, first: FloatArray) -> tuple[PluralityStrategy, float, Evidence]:
    """Return the same after play alone, for distributions that a sample leaves possible.

    The program could use up the limit at a lower cost. But its mixtures are bold just where the sample says
    nothing, and on new items disagree more often than other strategies that ask as many voters.
    """
    search = _Search(problem, first)
    search.play()
    parts = [(share, column.stop_probabilities(problem)) for share, column in search.mixture]
    return _to_the_last_digit(problem, mix_stops(problem.lattice, parts)), search.bound, search.best


def _add_broken(program: Program, shares: FloatArray) -> bool:
    """Add limits that the mixture breaks, and votes that cost more than they should."""
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
    """Return cost and shares of the mixture with as much of what is never wrong as the limit needs."""
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
    """Return the strategy, stopping a little less often where rounding has lifted it above the limit."""
    theta = strategy.stop_probabilities()
    inside = problem.lattice.level[-2]
    for _ in range(40):
        if problem.risk(evaluate_plurality(strategy)) <= problem.limit:
            return strategy
        theta[:inside] *= 1 - 1e-11
        strategy = PluralityStrategy.from_probabilities(problem.lattice, theta)
    raise SolverError("could not keep the limit to the last digit; please report this case")

"""PluralitySolution: a strategy for many answers, with its cost, its risk, and their proof."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from foregone.checks import FloatArray, IntArray, check_confidence, check_max_disagreement
from foregone.errors import InvalidInputError
from foregone.plurality.bet import Bet
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import Lattice, solving_bytes
from foregone.plurality.plurality_evaluation import PluralityEvaluation, evaluate_plurality
from foregone.plurality.plurality_problem import PluralityProblem
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.strategy.base import SolvedStrategy
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import CRITERIA, Criterion, traits_of

__all__ = ["Evidence", "PluralitySolution"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Prices (dual variables); any non-negative ones prove a lower bound.

    No strategy within the limit costs less than the minimum over all strategies of ``cost_weights @ votes +
    risk_weights @ disagreement``, minus ``limit * price``.

    Attributes
    ----------
    cost_weights : ndarray of shape (n_compositions,)
        A distribution: that of the mean, or, if the worst case is minimised, one found by the dual.
    risk_weights : ndarray of shape (n_compositions,)
        ``price`` times a distribution for which the limit must hold.
    price : float
        Price of one unit of disagreement.
    """

    cost_weights: FloatArray
    risk_weights: FloatArray
    price: float

    def pulled_to(self, other: Evidence, share: float) -> Evidence:
        """Return prices between these and ``other``."""
        return Evidence(
            (1 - share) * self.cost_weights + share * other.cost_weights,
            (1 - share) * self.risk_weights + share * other.risk_weights,
            (1 - share) * self.price + share * other.price,
        )


@dataclass(frozen=True, eq=False)
class PluralitySolution(SolvedStrategy):
    """A stopping strategy for many answers, its cost and risk, and a lower bound on the cost of any strategy.

    Attributes
    ----------
    strategy : PluralityStrategy
        The strategy.
    criterion : {"minimax", "minimean", "minimixed"}
        The criterion it was solved for.
    max_disagreement : float
        The limit it was solved for.
    distribution : CompositionDistribution
        The distribution of full votes it was solved for.
    expected_votes : float
        The criterion's objective: mean expected votes, or for minimax those of the worst full vote. With a
        confidence, the mean is over a smoothed distribution, which is closer to new items.
    disagreement : float
        The limited quantity: mean disagreement for minimean, otherwise the worst. With a confidence it is an
        upper bound. For two answers, this is the worst-case mean over all distributions consistent with the
        data. For more, it is the bound of the bet, by which the strategy was chosen; the guarantee is the
        limit.
    lower_bound : float
        No strategy within the limit has an objective below this (up to rounding; see `certify_plurality`).
        With a bet it is the trivial bound 1, because the optimum depends on the true distribution.
    gap : float
        ``expected_votes - lower_bound``, as a share of ``expected_votes``; never negative. Zero, up to
        rounding, for minimean without a confidence. With one, the strategy need not be optimal.
    confidence : float or None
        The probability, over the sample of items and its split, with which minimean keeps its limit for any
        true distribution; None if the observed distribution was treated as the true one.
    evidence : Evidence
        The prices that prove ``lower_bound``.
    bet : Bet or None
        The items that certify the limit; only with a confidence and more than two answers.
    """

    KIND: ClassVar[str] = PluralityStrategy.KIND

    strategy: PluralityStrategy = field(repr=False)
    criterion: Criterion
    max_disagreement: float
    distribution: CompositionDistribution
    expected_votes: float
    disagreement: float
    lower_bound: float
    gap: float
    confidence: float | None
    evidence: Evidence = field(repr=False)
    bet: Bet | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        criterion: Criterion,
        distribution: CompositionDistribution,
        confidence: float | None,
        problem: PluralityProblem,
        found: tuple[PluralityStrategy, float, Evidence],
    ) -> PluralitySolution:
        """Evaluate the strategy found for ``problem`` and make the solution."""
        strategy, lower_bound, evidence = found
        evaluation = evaluate_plurality(strategy)
        cost, risk = problem.cost(evaluation), problem.risk(evaluation)
        lower_bound = float(min(max(lower_bound, 1.0), cost))  # at least one voter is asked
        solution = cls(
            strategy, criterion, problem.limit, distribution, cost, risk, lower_bound,
            (cost - lower_bound) / cost, confidence, evidence, problem.bet,
        )  # fmt: skip
        solution.__dict__["evaluation"] = evaluation  # already known
        return solution

    @cached_property
    def evaluation(self) -> PluralityEvaluation:
        """The strategy's cost and risk for every full vote, computed once."""
        return evaluate_plurality(self.strategy)

    @property
    def n_classes(self) -> int | None:
        """The largest possible number of different answers; None for any number."""
        return self.strategy.n_classes

    @property
    def n_certified_on(self) -> int | None:
        """The number of held-out items that certify the limit; None without bets."""
        return None if self.bet is None else self.bet.n_items

    @property
    def problem(self) -> PluralityProblem:
        """The problem it solves."""
        return PluralityProblem.of(
            self.strategy.lattice,
            self.criterion,
            self.distribution,
            self.max_disagreement,
            self.confidence,
            self.bet,
        )

    # Files -----------------------------------------------------------------------------------

    def _solution_fields(self) -> dict[str, Any]:
        weights = self.distribution.weights_on(self.strategy.lattice)
        traits = traits_of(self.criterion)
        bet, known = self.bet, traits.bounds_the_mean and self.confidence is None
        follows = known or bet is not None  # from the price, which is zero with a bet
        return {
            "criterion": self.criterion,
            "max_disagreement": self.max_disagreement,
            "confidence": self.confidence,
            "distribution": _encoded(weights),
            "n_observations": self.distribution.n_observations,
            "expected_votes": self.expected_votes,
            "disagreement": self.disagreement,
            "lower_bound": self.lower_bound,
            "price": self.evidence.price,
            "risk_weights": None if follows else _encoded(self.evidence.risk_weights),
            "cost_weights": _encoded(self.evidence.cost_weights) if traits.minimises_the_worst else None,
            "certified_on": None if bet is None else _encoded(bet.counts),
            "first_leader_only": None if bet is None else int(bet.first_leader_only),
        }

    @classmethod
    def _from_fields(cls, fields: Fields) -> PluralitySolution:
        strategy = PluralityStrategy.from_fields(fields)
        lattice, section = strategy.lattice, cls._solution_section(fields)
        fields.memory.take(solving_bytes(lattice.n_states), "to evaluate its strategy")
        criterion = next((name for name in CRITERIA if name == section.text("criterion")), None)
        if criterion is None:
            raise section.error("criterion", f"must be one of {', '.join(CRITERIA)}")
        traits = traits_of(criterion)
        weights = _decoded(section, "distribution", lattice)
        if abs(weights.sum() - 1) > 1e-9:
            raise section.error("distribution", "must hold probabilities that sum to one")
        observed = section.whole("n_observations", 1) if "n_observations" in section else None
        distribution = CompositionDistribution.on_lattice(lattice, weights, observed)
        try:
            limit = check_max_disagreement(section.number("max_disagreement"))
            confidence = check_confidence(section.number("confidence")) if "confidence" in section else None
        except InvalidInputError as error:
            raise section.error("max_disagreement/confidence", f"is not valid: {error}") from None
        if confidence is not None and (not traits.bounds_the_mean or observed is None):
            raise section.error("confidence", "needs minimean and observed items")
        bet = None
        if confidence is not None and "certified_on" in section:
            bet = _bet(section, lattice, distribution)
        problem = PluralityProblem.of(lattice, criterion, distribution, limit, confidence, bet)
        price = section.number("price", 0.0)
        follows = (traits.bounds_the_mean and confidence is None) or bet is not None
        evidence = Evidence(
            _decoded(section, "cost_weights", lattice) if traits.minimises_the_worst else problem.mean,
            price * weights if follows else _decoded(section, "risk_weights", lattice),
            price,
        )
        bound = section.number("lower_bound")
        return cls.of(criterion, distribution, confidence, problem, (strategy, bound, evidence))


def _bet(section: Fields, lattice: Lattice, distribution: CompositionDistribution) -> Bet:
    """Return the certification items, which must be a subset of those observed."""
    counts = _decoded(section, "certified_on", lattice)
    if (counts != np.floor(counts)).any() or (counts > distribution.counts_on(lattice)).any():
        raise section.error("certified_on", "must hold numbers of items, at most those observed")
    return Bet(counts.astype(np.int64), bool(section.whole("first_leader_only", 0, 1)))


def _encoded(weights: FloatArray | IntArray) -> dict[str, Any]:
    """Return the nonzero positions as bits, and the numbers there with full precision."""
    return {
        "where": base64.b64encode(np.packbits(weights > 0).tobytes()).decode(),
        "values": base64.b64encode(weights[weights > 0].astype("<f8").tobytes()).decode(),
    }


def _decoded(section: Fields, key: str, lattice: Lattice) -> FloatArray:
    """Return one finite, non-negative weight per composition."""
    inside, size = section.section(key), lattice.n_compositions
    where, values = (
        inside.decoded(name, "must be bits and numbers in base64") for name in ("where", "values")
    )
    if len(where) != -(-size // 8) or len(values) % 8:
        raise section.error(key, f"must have entries for {size:,} compositions")
    places = np.flatnonzero(np.unpackbits(np.frombuffer(where, np.uint8), count=size))
    numbers = np.frombuffer(values, "<f8").astype(np.float64)
    if len(places) != len(numbers) or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise section.error(key, "must hold a finite number above zero for each position")
    weights = np.zeros(size)
    weights[places] = numbers
    return weights

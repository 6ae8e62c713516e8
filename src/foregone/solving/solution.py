"""Solution: an optimal strategy for votes between two answers, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import InvalidInputError
from foregone.solving.problem import Answer, Problem
from foregone.strategy import SolvedStrategy, StoppingStrategy
from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.strategy.json_file import Fields, is_finite_number
from foregone.strategy.limits import Criterion, Limits, MaxDisagreement
from foregone.votes import VoteDistribution

__all__ = ["Multipliers", "Solution"]

SHOWN = (
    "criterion", "max_disagreement", "votes", "expected_votes", "disagreement", "lower_bound", "gap",
    "method", "confidence", "answer",
)  # fmt: skip


@dataclass(frozen=True)
class Multipliers:
    """Prices on the constraints that prove a lower bound; any non-negative prices prove one.

    With mu the weights over n on the cost (the votes' own distribution where the mean is minimised)
    and lambda those on the disagreement, no strategy that counts votes within the limit costs less than::

        (min over strategies of  sum_n mu_n E[votes asked | n] + sum_n lambda_n disagreement(n)
            - sum over limits of  limit * t) / sum_n mu_n

    where t is the least number such that lambda, restricted to the n of the limit, is at most t times a
    distribution under which the limit must hold: for minimean the price, for the worst case the sum of all
    lambda_n.

    Attributes
    ----------
    mean_disagreement : float
        Price of one unit of mean disagreement (minimean with one limit and no confidence; lambda_n is this
        times the probability of n).
    disagreement_at : tuple of (n, price)
        Price of one unit of disagreement given n (all other problems).
    cost_at : tuple of (n, weight)
        Weight of the expected votes given n (minimax; the weights sum to one up to rounding).
    """

    mean_disagreement: float = 0.0
    disagreement_at: tuple[tuple[int, float], ...] = ()
    cost_at: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Solution(SolvedStrategy):
    """An optimal stopping strategy with its cost, its risk, and a lower bound on the cost.

    It is optimal among strategies that count votes in random order: they see how many voters were asked and
    how many said yes, but not who they are. With a confidence, it is optimal for this confidence set.

    Attributes
    ----------
    strategy : StoppingStrategy
        The strategy.
    criterion : {"minimax", "minimean", "minimixed"}
        The criterion for which it is optimal.
    max_disagreement : float or dict
        The limit that it was solved for, or the limits of "yes" and "no".
    votes : VoteDistribution
        The distribution of yes votes that it was solved for (for minimax: the one that breaks ties).
    expected_votes : float
        The criterion's objective: mean expected votes, or the worst over n for minimax.
    disagreement : float or dict
        The limited quantity, in the shape of ``max_disagreement``: the mean disagreement for minimean,
        otherwise the worst over n. With a confidence it is the worst-case mean over all distributions
        consistent with the data.
    lower_bound : float
        No strategy that counts votes and keeps the limit has a lower objective (up to rounding; see
        `certify`).
    gap : float
        ``expected_votes - lower_bound``, as a share of ``expected_votes`` or of one vote, whichever is
        larger; never negative.
    method : str
        The method that solved it.
    multipliers : Multipliers
        The prices that prove ``lower_bound``.
    confidence : float or None
        The probability, over the sample of observed inputs, with which minimean keeps its limit whatever the
        true distribution is; None if the votes were treated as the true distribution.
    looks : tuple of int or None
        The numbers of votes after which it may stop; None for any number.
    answer : {"majority", "likeliest"}
        The answer at a stop.
    values : tuple of float or None
        The loss of a disagreement, for each number of yes votes. ``max_disagreement`` and ``disagreement``
        are then about this loss: ``values[n]`` times the disagreement. None if every disagreement loses 1.
    """

    KIND: ClassVar[str] = StoppingStrategy.KIND

    strategy: StoppingStrategy
    criterion: Criterion
    max_disagreement: MaxDisagreement
    votes: VoteDistribution
    proven_bound: float  # rounding may have put it slightly above the cost
    method: str
    multipliers: Multipliers
    confidence: float | None = None
    looks: tuple[int, ...] | None = None
    answer: Answer = "majority"
    values: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        strategy: StoppingStrategy,
        lower_bound: float,
        multipliers: Multipliers,
        method: str,
    ) -> Solution:
        """Make the solution of ``problem``; its cost and risk are computed on first access."""
        return cls(
            strategy, problem.criterion, problem.max_disagreement, problem.votes,
            lower_bound, method, multipliers,
            problem.confidence, problem.looks, problem.answer, problem.values,
        )  # fmt: skip

    @cached_property
    def expected_votes(self) -> float:
        """The criterion's objective: mean expected votes, or the worst over n for minimax."""
        return self.problem.cost(self.evaluation)

    @cached_property
    def disagreement(self) -> MaxDisagreement:
        """The quantity that the limit bounds, in the shape of ``max_disagreement``."""
        return self.problem.risk(self.evaluation)

    @property
    def lower_bound(self) -> float:
        """The lower bound: no strategy that counts votes and keeps the limit has a lower objective."""
        return float(min(max(self.proven_bound, 0.0), self.expected_votes))

    @property
    def gap(self) -> float:
        """How far the objective is above ``lower_bound``, relative to it or to one vote."""
        return (self.expected_votes - self.lower_bound) / max(self.expected_votes, 1.0)

    def __repr__(self) -> str:
        return f"Solution({', '.join(f'{name}={getattr(self, name)!r}' for name in SHOWN)})"

    @property
    def quota(self) -> int:
        """The fewest yes votes with which the full vote is yes."""
        return self.strategy.quota

    @property
    def distribution(self) -> VoteDistribution:
        """The same as ``votes``; solutions of every kind have this name for it."""
        return self.votes

    @cached_property
    def evaluation(self) -> Evaluation:
        """The cost and risk of the strategy for every number of yes votes, computed once."""
        return evaluate(self.strategy)

    @property
    def problem(self) -> Problem:
        """The problem that it solves."""
        limits = Limits.of(self.max_disagreement)
        return Problem(
            self.criterion,
            self.votes,
            limits,
            self.confidence,
            self.looks,
            self.answer,
            self.quota,
            self.values,
        )

    # Files -----------------------------------------------------------------------------------

    def _solution_fields(self) -> dict[str, Any]:
        prices = self.multipliers
        return {
            "criterion": self.criterion,
            "max_disagreement": self.max_disagreement,
            "method": self.method,
            "expected_votes": self.expected_votes,
            "disagreement": self.disagreement,
            "lower_bound": self.lower_bound,
            "votes": _votes_to_field(self.votes),
            "n_observations": self.votes.n_observations,
            "confidence": self.confidence,
            "looks": None if self.looks is None else list(self.looks),
            "answer": self.answer,
            "values": None if self.values is None else list(self.values),
            "multipliers": {
                "mean_disagreement": prices.mean_disagreement,
                "disagreement_at": [list(pair) for pair in prices.disagreement_at],
                "cost_at": [list(pair) for pair in prices.cost_at],
            },
        }

    @classmethod
    def _from_fields(cls, fields: Fields) -> Solution:
        strategy = StoppingStrategy.from_fields(fields)
        section = cls._solution_section(fields)
        votes = _votes_from_field(section, strategy.n_voters)
        if fields.version < 3 and "values" in section:
            raise section.error("values", "is not allowed in a file of version 2, whose readers ignore it")
        try:
            problem = Problem.check(
                section.text("criterion"),
                votes,
                Limits.from_field(section),
                section.number("confidence") if "confidence" in section else None,
                section.whole_numbers("looks").tolist() if "looks" in section else None,
                section.text("answer") if "answer" in section else "majority",
                strategy.quota,
                section.numbers("values", strategy.n_voters + 1) if "values" in section else None,
            )
        except InvalidInputError as error:
            raise section.error("criterion/max_disagreement", f"is not valid: {error}") from None
        if not np.array_equal(problem.yes_from, strategy.yes_from):
            raise section.error("answer", "does not match the answers of the strategy")
        prices = section.section("multipliers")
        multipliers = Multipliers(
            prices.number("mean_disagreement", 0.0),
            _pairs(prices, "disagreement_at", strategy.n_voters),
            _pairs(prices, "cost_at", strategy.n_voters),
        )
        return cls.of(problem, strategy, section.number("lower_bound"), multipliers, section.text("method"))


def _votes_to_field(votes: VoteDistribution) -> str | list[float]:
    flat = votes == VoteDistribution.flat(votes.n_voters)
    return "flat" if flat else votes.probabilities.tolist()


def _votes_from_field(section: Fields, n_voters: int) -> VoteDistribution:
    if section.is_text("votes"):
        if section.text("votes") != "flat":
            raise section.error("votes", 'must be "flat" or a list of probabilities')
        return VoteDistribution.flat(n_voters)
    probabilities: FloatArray = section.numbers("votes", n_voters + 1)
    observed = section.whole("n_observations", 1) if "n_observations" in section else None
    if (probabilities < 0).any() or abs(probabilities.sum() - 1) > 1e-9:
        raise section.error("votes", "must contain probabilities that sum to one")
    return VoteDistribution(probabilities, observed)


def _pairs(section: Fields, key: str, n_voters: int) -> tuple[tuple[int, float], ...]:
    pairs: list[tuple[int, float]] = []
    rows: list[list[Any]] = section.rows(key, 2)
    for n, weight in rows:
        if type(n) is not int or not 0 <= n <= n_voters or not (is_finite_number(weight) and weight >= 0):
            raise section.error(key, f"must contain only [n from 0 to {n_voters}, weight of at least 0]")
        pairs.append((n, float(weight)))
    return tuple(pairs)

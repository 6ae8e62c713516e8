"""Problem: a criterion, the votes and the limits, validated once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from foregone._kernels import induction
from foregone._kernels.compiled import pieces
from foregone.checks import (
    BoolArray,
    IntArray,
    as_numbers,
    check_choice,
    check_confidence,
    check_looks,
    check_n_voters,
)
from foregone.errors import InvalidInputError
from foregone.solving.budget import Budget, NestedBounds, OneDistribution, is_yes
from foregone.solving.confidence import bounds_given_class, bounds_overall
from foregone.strategy.evaluation import Evaluation
from foregone.strategy.limits import CRITERIA, Criterion, Limits, MaxDisagreement, Side, as_given, traits_of
from foregone.strategy.thresholds import answers_for, check_quota, majority
from foregone.votes import VoteDistribution

__all__ = ["ANSWERS", "Answer", "Problem", "likeliest_answers"]

Answer = Literal["majority", "likeliest"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem for the solvers of votes between two answers.

    | criterion | minimise | subject to |
    |---|---|---|
    | minimax | max over n of E[votes asked given n] | max over n of disagreement(n) <= limit |
    | minimean | mean over `votes` of the same | mean over `votes` of disagreement <= limit |
    | minimixed | mean over `votes` of the same | max over n of disagreement(n) <= limit |

    With a limit for each class, the constraint applies separately to full votes of yes and of no. With a
    confidence, minimean's mean is over the unknown true distribution.

    Attributes
    ----------
    looks : tuple of int or None
        The numbers of votes after which it may stop, ascending, ending with all voters; None for any number.
    answer : {"majority", "likeliest"}
        The answer at a stop.
    quota : int
        The fewest yes votes with which the full vote is yes.
    values : tuple of float or None
        The loss of a disagreement, for each number of yes votes; the limits are then for this loss. None if
        every disagreement loses 1.
    """

    criterion: Criterion
    votes: VoteDistribution
    limits: Limits
    confidence: float | None = None
    looks: tuple[int, ...] | None = None
    answer: Answer = "majority"
    quota: int = -1  # that of a majority
    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.quota < 0:
            object.__setattr__(self, "quota", check_quota(None, self.n_voters))

    @classmethod
    def check(
        cls,
        criterion: Any,
        votes_or_n_voters: Any,
        max_disagreement: Any,
        confidence: Any = None,
        looks: Any = None,
        answer: Any = "majority",
        quota: Any = None,
        values: Any = None,
    ) -> Problem:
        """Make a problem from user input. Raises InvalidInputError if an argument is invalid."""
        criterion = check_choice(criterion, "criterion", CRITERIA)
        answer = check_choice(answer, "answer", ANSWERS)
        traits = traits_of(criterion)
        if answer == "likeliest" and traits.minimises_the_worst:
            raise InvalidInputError(
                'answer="likeliest" needs a distribution of votes, got criterion="minimax", which assumes '
                'none: use answer="majority", or criterion="minimean" or "minimixed"'
            )
        if isinstance(votes_or_n_voters, VoteDistribution):
            votes = votes_or_n_voters
        elif isinstance(votes_or_n_voters, Real):
            votes = VoteDistribution.flat(check_n_voters(votes_or_n_voters))
        else:
            raise InvalidInputError(
                "votes must be a VoteDistribution or a number of voters, got "
                f"{type(votes_or_n_voters).__name__}: make one with VoteDistribution.from_votes, "
                "from_yes_counts or from_counts; for many answers use solve_plurality"
            )
        if confidence is not None:
            confidence = check_confidence(confidence)
            if traits.bounds_the_mean and votes.n_observations is None:
                raise InvalidInputError(
                    "a confidence needs votes counted from observed inputs, got assumed, fitted or weighted "
                    "votes: make them with VoteDistribution.from_counts (integers), from_yes_counts or "
                    'from_votes, or use confidence=None, or criterion="minimixed", which needs no confidence'
                )
        limits, looks = Limits.of(max_disagreement), check_looks(looks, votes.n_voters)
        quota, values = check_quota(quota, votes.n_voters), _check_values(values, votes.n_voters)
        return cls(criterion, votes, limits, confidence, looks, answer, quota, values)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.votes.n_voters

    @property
    def max_disagreement(self) -> MaxDisagreement:
        """The limits in user form: a number, or a dict by answer."""
        return self.limits.given

    @property
    def bounds_the_mean(self) -> bool:
        """Whether the mean disagreement is bounded, instead of the worst."""
        return traits_of(self.criterion).bounds_the_mean

    @property
    def minimises_the_worst(self) -> bool:
        """Whether the worst expected votes are minimised, instead of the mean."""
        return traits_of(self.criterion).minimises_the_worst

    @property
    def may_stop_after(self) -> Sequence[int]:
        """The numbers of votes after which it may stop."""
        return range(self.n_voters + 1) if self.looks is None else self.looks

    @cached_property
    def budgets(self) -> tuple[Budget, ...]:
        """The limits on the disagreement: one, or one for "yes" and one for "no"."""
        values = np.ones(self.n_voters + 1) if self.values is None else np.array(self.values)
        return tuple(Budget(side, limit, self._distributions(side), values) for side, limit in self.limits)

    def _distributions(self, side: Side) -> OneDistribution | NestedBounds:
        """Return the distributions of n under which a limit must hold, for all inputs or for one class."""
        if not self.bounds_the_mean:
            return NestedBounds.anything(self.n_voters, self.quota, side)
        if self.confidence is not None:
            failure = 1 - self.confidence
            if side == "all":
                return bounds_overall(self.votes, self.quota, failure)
            return bounds_given_class(self.votes, self.quota, side, failure / 2)
        weights = self.votes.probabilities
        if side != "all":
            weights = np.where(self.full_yes == (side == "yes"), weights, 0.0)
        if not weights.any():  # the class was never observed: bound the worst case
            return NestedBounds.anything(self.n_voters, self.quota, side)
        return OneDistribution(weights if side == "all" else weights / weights.sum())

    @property
    def is_plain(self) -> bool:
        """Whether a majority decides, and every disagreement loses the same."""
        return self.quota == majority(self.n_voters) and self.values is None

    @cached_property
    def full_yes(self) -> BoolArray:
        """Whether the full vote is yes, for each number of yes votes."""
        return is_yes(self.n_voters, self.quota)

    @cached_property
    def yes_from(self) -> IntArray:
        """The fewest yes votes with which the answer is yes, for each number of votes asked."""
        if self.answer == "likeliest":
            return likeliest_answers(self.votes, self.quota)
        return answers_for(self.n_voters, self.quota)

    def cost(self, evaluation: Evaluation) -> float:
        """Return the cost of an evaluated strategy, which this problem minimises."""
        figures = evaluation.worst() if self.minimises_the_worst else evaluation.mean(self.votes)
        return figures.expected_votes

    def risk(self, evaluation: Evaluation) -> MaxDisagreement:
        """Return the risk of an evaluated strategy, in the shape of `max_disagreement`, which bounds it."""
        return as_given({budget.side: budget.risk(evaluation.disagreement) for budget in self.budgets})


def _check_values(values: Any, n_voters: int) -> tuple[float, ...] | None:
    """Return ``values`` as floats. Raises InvalidInputError unless they are from 0 to 1."""
    if values is None:
        return None
    given = as_numbers(values, "values").astype(np.float64)
    if given.shape != (n_voters + 1,):
        raise InvalidInputError(
            f"values must be one row of n_voters + 1 = {n_voters + 1} numbers, the loss of a disagreement "
            f"for each number of yes votes, got shape {given.shape}"
        )
    if not ((given >= 0) & (given <= 1)).all():  # also False for NaN
        raise InvalidInputError(
            f"values must be from 0 to 1, got {given.min():g} to {given.max():g}: divide them, and the "
            "limit, by the largest value"
        )
    return tuple(given.tolist())


def likeliest_answers(votes: VoteDistribution, quota: int | None = None) -> IntArray:
    """Return, per step, the fewest yes votes with which the full vote is more likely "yes"; a tie is "no".

    A full vote of yes becomes more likely with each yes vote seen, so there is one threshold per step. Votes
    that the distribution rules out are answered by their majority, as closely as a threshold allows.

    Examples
    --------
    >>> likeliest_answers(VoteDistribution.flat(4))
    array([1, 1, 2, 2, 3])
    >>> likeliest_answers(VoteDistribution.from_counts([1, 1, 1, 1, 9]))
    array([0, 1, 2, 2, 3])
    """
    quota = check_quota(quota, votes.n_voters)
    yes, thresholds = is_yes(votes.n_voters, quota), answers_for(votes.n_voters, quota)
    weights = np.where([yes, ~yes], 0.0, votes.probabilities)
    for rows in reversed(pieces(votes.n_voters, 2 * votes.n_voters)):
        induction.likeliest(*rows, weights, thresholds)
    return thresholds

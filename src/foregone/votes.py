"""VoteDistribution: the probability that n of the N voters say yes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # its submodules are imported on first use, because that is slow

from foregone.checks import MOST_VOTERS, FloatArray, IntArray, as_numbers, check_n_voters
from foregone.errors import InvalidInputError

__all__ = ["BetaBinomial", "VoteDistribution", "check_votes", "fit_beta_binomial"]

# The range in which the likelihood is searched for maxima: from almost binomial to almost always unanimous.
OVERDISPERSIONS = np.logspace(-10, 9, 115)


def _whole_numbers(values: npt.ArrayLike, what: str) -> IntArray:
    array = as_numbers(values, what)
    if not (np.isfinite(array).all() and (array == np.floor(array)).all()):
        raise InvalidInputError(f"{what} must be integers, got other numbers: give counts")
    if array.size and np.abs(array).max() > MOST_VOTERS:
        raise InvalidInputError(f"{what} must be at most {MOST_VOTERS:,}")
    return array.astype(np.int64)


@dataclass(frozen=True, eq=False)
class VoteDistribution:
    """Distribution of the number of yes votes that the full ensemble would cast.

    Use one of the named constructors. ``probabilities[n]`` is the probability that exactly n of the
    ``n_voters`` voters say yes; the entries are non-negative and sum to one.

    Attributes
    ----------
    probabilities : ndarray of shape (n_voters + 1,)
        Read-only.
    n_observations : int or None
        Number of observed inputs; None if the distribution was assumed rather than observed.

    Examples
    --------
    >>> VoteDistribution.flat(4).probabilities
    array([0.2, 0.2, 0.2, 0.2, 0.2])
    >>> seen = VoteDistribution.from_votes([[1, 1, 0], [0, 0, 0]])
    >>> seen.probabilities, seen.n_observations
    (array([0.5, 0. , 0.5, 0. ]), 2)
    """

    probabilities: FloatArray = field(repr=False)
    n_observations: int | None = None

    def __post_init__(self) -> None:
        self.probabilities.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the array read-only again after unpickling or copying."""
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_voters(self) -> int:
        """Number of voters in the ensemble."""
        return len(self.probabilities) - 1

    @classmethod
    def flat(cls, n_voters: int) -> VoteDistribution:
        """Make every number of yes votes from 0 to ``n_voters`` equally likely (an assumption, no data)."""
        n_voters = check_n_voters(n_voters)
        return cls(np.full(n_voters + 1, 1.0 / (n_voters + 1)))

    @classmethod
    def from_counts(cls, counts: npt.ArrayLike) -> VoteDistribution:
        """Make a distribution from ``counts[n]``, how often exactly n of the voters said yes.

        Parameters
        ----------
        counts : array-like of shape (n_voters + 1,)
            Non-negative weights. Integers count observed inputs, so their sum becomes ``n_observations``;
            with fractional weights it is None.
        """
        weights = as_numbers(counts, "counts").astype(np.float64)
        if weights.ndim != 1 or len(weights) < 2:
            raise InvalidInputError(
                f"counts must be one row of n_voters + 1 numbers (at least 2), got shape {weights.shape}: "
                "give one count for each number of yes votes, from 0 to n_voters"
            )
        if not np.isfinite(weights).all():
            raise InvalidInputError("counts must be finite, got NaN or infinity: remove or replace them")
        if (weights < 0).any():
            where = int(np.argmin(weights))
            raise InvalidInputError(f"counts must not be negative: counts[{where}] is {weights[where]:g}")
        largest = weights.max()
        if largest == 0:
            raise InvalidInputError("counts are all zero: give at least one observation")
        if (weights == np.floor(weights)).all() and largest < 2**53 and weights.sum() < 2**53:
            return cls(weights / weights.sum(), int(weights.sum()))
        scaled = weights / largest  # first, so that huge or tiny weights neither overflow nor underflow
        return cls(scaled / scaled.sum())

    @classmethod
    def from_yes_counts(cls, yes_counts: npt.ArrayLike, n_voters: int) -> VoteDistribution:
        """Make a distribution from the number of yes votes of each observed input.

        Parameters
        ----------
        yes_counts : array-like of integers from 0 to ``n_voters``
            One entry per input.
        n_voters : int
            Number of voters in the ensemble.
        """
        n_voters = check_n_voters(n_voters)
        values = _whole_numbers(yes_counts, "yes_counts")
        if values.ndim != 1:
            raise InvalidInputError(
                f"yes_counts must be one row with an entry per input, got shape {values.shape}: for a matrix "
                "of single votes use VoteDistribution.from_votes"
            )
        if values.size == 0:
            raise InvalidInputError("yes_counts is empty: give at least one observed input")
        if values.min() < 0 or values.max() > n_voters:
            raise InvalidInputError(
                f"yes_counts must be from 0 to n_voters={n_voters}, got {values.min():g} to "
                f"{values.max():g}: correct n_voters, or the counts"
            )
        return cls.from_counts(np.bincount(values, minlength=n_voters + 1))

    @classmethod
    def from_votes(cls, matrix: npt.ArrayLike) -> VoteDistribution:
        """Make a distribution from a matrix of votes (0/1 or bool): one row per input, one column per voter.

        Every row must have a vote of every voter.
        """
        votes = as_numbers(matrix, "votes")
        if votes.ndim != 2 or 0 in votes.shape:
            raise InvalidInputError(
                f"votes must be a matrix, one row per input and one column per voter, got shape {votes.shape}"
            )
        if not ((votes == 0) | (votes == 1)).all():
            raise InvalidInputError("votes must be 0/1 or bool, got other values: convert answers to 0 and 1")
        return cls.from_yes_counts(np.count_nonzero(votes, axis=1), votes.shape[1])

    @classmethod
    def fit_beta(cls, yes: npt.ArrayLike, asked: npt.ArrayLike, n_voters: int) -> VoteDistribution:
        """Fit a distribution to past votes that are fewer than ``n_voters`` or vary in number per input.

        The model *assumes* that each input has its own probability of a yes vote, that these probabilities
        follow a beta distribution, and that votes on one input are independent given its probability. The
        beta distribution is fitted by maximum likelihood. Returned is the resulting beta-binomial
        distribution of the yes votes among ``n_voters``.

        A few votes per input cannot test these assumptions, and the share of close full votes depends on
        them. So a minimean limit holds only for the fitted distribution, and a confidence raises an error
        (``n_observations`` is None). Criteria that bound every input (minimixed, minimax) do not depend on
        them. With ``n_voters`` or more votes per input use `from_votes`, which assumes nothing.

        Parameters
        ----------
        yes : array-like of integers
            For each input, how many of its past votes were yes.
        asked : array-like of integers, or one for all
            For each input, its number of past votes. Inputs without votes are ignored. At least one input
            needs two or more votes, because single votes do not show how correlated the votes on one input
            are.
        n_voters : int
            Number of voters in the ensemble.

        Notes
        -----
        If the likelihood has its maximum at a limit of the beta distribution, that limit is used: the
        binomial distribution if the shares of yes votes vary between inputs no more than by chance (so for a
        single split input), and a distribution without split votes if there were none, in which case one
        vote decides. The latter may only reflect too few past votes: collect more.

        Examples
        --------
        >>> yes, asked = [3, 0, 5, 1, 0, 4, 2, 0], [5, 4, 5, 5, 3, 4, 5, 5]
        >>> votes = VoteDistribution.fit_beta(yes, asked, n_voters=7)
        >>> votes.probabilities.round(2)
        array([0.32, 0.11, 0.08, 0.07, 0.07, 0.07, 0.09, 0.18])
        >>> votes
        <VoteDistribution of 7 voters, assumed>
        """
        n_voters = check_n_voters(n_voters)
        counts = [_whole_numbers(yes, "yes"), _whole_numbers(asked, "asked")]
        if counts[0].ndim != 1 or counts[1].ndim > 1 or counts[1].shape not in ((), counts[0].shape):
            raise InvalidInputError(
                "yes must be one row with an entry per input, and asked a row of the same length or one "
                f"number, got shapes {counts[0].shape} and {counts[1].shape}: give both one entry per input"
            )
        said_yes, heard = np.broadcast_arrays(*counts)
        wrong = np.flatnonzero((said_yes < 0) | (said_yes > heard))
        if len(wrong):
            k = wrong[0]
            raise InvalidInputError(
                f"yes must be from 0 to asked, got {said_yes[k]} yes of {heard[k]} votes for input {k}: "
                "correct the counts"
            )
        if heard.max(initial=0) < 2:
            raise InvalidInputError(
                "fit_beta needs at least one input with two or more past votes, because single votes do not "
                "show how correlated the votes on one input are: ask some inputs twice or more"
            )
        return cls(fit_beta_binomial(said_yes, heard).probabilities(n_voters))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VoteDistribution):
            return NotImplemented
        return self.n_observations == other.n_observations and np.array_equal(
            self.probabilities, other.probabilities
        )

    def __hash__(self) -> int:
        return hash((self.n_observations, self.probabilities.tobytes()))

    def __repr__(self) -> str:
        source = "assumed" if self.n_observations is None else f"from {self.n_observations:,} observations"
        voters = "1 voter" if self.n_voters == 1 else f"{self.n_voters} voters"
        return f"<VoteDistribution of {voters}, {source}>"


def check_votes(votes: Any) -> VoteDistribution:
    """Return ``votes``. Raises InvalidInputError unless it is a VoteDistribution."""
    if not isinstance(votes, VoteDistribution):
        raise InvalidInputError(
            f"votes must be a VoteDistribution, got {type(votes).__name__}: make one with "
            "VoteDistribution.from_votes, from_yes_counts or from_counts"
        )
    return votes


# The beta-binomial distribution, fitted to past votes by maximum likelihood -----------------------


class BetaBinomial(NamedTuple):
    """The beta-binomial distribution of the yes votes on an item: mean m and overdispersion t.

    Each item has its own probability p of a yes vote, drawn from a beta distribution with mean m and
    parameters a = m / t and b = (1 - m) / t; its votes are independent, yes with probability p. So k votes
    contain y yes with probability::

        C(k, y) * prod_{r < y} (m + r t) * prod_{r < k - y} (1 - m + r t) / prod_{r < k} (1 + r t)

    This form has no gamma function that could overflow or cancel. It is the binomial distribution at t = 0,
    and puts all weight on unanimous votes as t goes to infinity.
    """

    mean: float
    overdispersion: float

    def probabilities(self, n_votes: int) -> FloatArray:
        """Return the probabilities of 0 to ``n_votes`` yes votes among ``n_votes``."""
        m, t = self.mean, self.overdispersion
        if m in (0.0, 1.0) or math.isinf(t):
            ends = np.zeros(n_votes + 1)
            ends[-1] = m
            ends[0] += 1 - m
            return ends
        votes = np.arange(n_votes)
        yes = np.concatenate([[0.0], np.cumsum(np.log(m + votes * t))])
        no = np.concatenate([[0.0], np.cumsum(np.log((1 - m) + votes * t))])
        n = np.arange(n_votes + 1)
        logs = yes + no[::-1] - scipy.special.gammaln(n + 1) - scipy.special.gammaln(n_votes - n + 1)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


def fit_beta_binomial(yes: IntArray, asked: IntArray) -> BetaBinomial:
    """Return the maximum-likelihood beta-binomial for ``yes`` of ``asked`` votes on each item.

    At least one item must have two or more votes, or the overdispersion is not identified. For every t the
    likelihood has one maximum in m, where a falling function crosses zero. Along these maxima it may have
    several maxima in t: all are found and the highest is used.
    """
    no = asked - yes
    if not ((yes > 0) & (no > 0)).any():  # E[p^k] <= E[p]: unanimous votes are likeliest without other ones
        heard = asked > 0
        return BetaBinomial(float(np.mean(yes[heard] > 0)), math.inf)
    likelihood = _Likelihood(yes, no)
    slopes = [likelihood.slope(t) for t in OVERDISPERSIONS]
    # Below the first one nothing changes any more: there the binomial itself is the maximum, if any is.
    maxima = [0.0] if slopes[0] <= 0 else []
    for k in range(len(slopes) - 1):
        if slopes[k] > 0 >= slopes[k + 1]:
            low, high = np.log(OVERDISPERSIONS[k : k + 2])
            maxima.append(math.exp(_root(lambda u: likelihood.slope(math.exp(u)), low, high, xtol=1e-13)))
    if slopes[-1] > 0:
        maxima.append(float(OVERDISPERSIONS[-1]))
    best = max(maxima, key=likelihood.along_maxima)
    return BetaBinomial(likelihood.best_mean(best), best)


class _Likelihood:
    """The log-likelihood, without the terms that do not depend on the parameters.

    ``yes[r]``, ``no[r]`` and ``all[r]`` count the items with more than r yes votes, no votes and votes: the
    likelihood is a product over r of powers with these exponents.
    """

    def __init__(self, yes: IntArray, no: IntArray) -> None:
        size = int((yes + no).max())
        self.yes, self.no, self.all = (_more_than(counts, size) for counts in (yes, no, yes + no))
        self.ranks = np.arange(size, dtype=np.float64)

    def best_mean(self, t: float) -> float:
        """Return the maximum-likelihood m at this overdispersion; strictly between 0 and 1."""
        steps = self.ranks * t

        def slope(m: float) -> float:
            return float((self.yes / (m + steps)).sum() - (self.no / ((1 - m) + steps)).sum())

        return _root(slope, 1e-300, 1 - 2**-53, xtol=1e-300, rtol=1e-15)

    def slope(self, t: float) -> float:
        """Return the derivative with respect to t, along the best means."""
        m, steps = self.best_mean(t), self.ranks * t
        per_rank = self.yes / (m + steps) + self.no / ((1 - m) + steps) - self.all / (1 + steps)
        return float(per_rank @ self.ranks)

    def along_maxima(self, t: float) -> float:
        """Return the log-likelihood at t and its best mean."""
        m, steps = self.best_mean(t), self.ranks * t
        logs = self.yes * np.log(m + steps) + self.no * np.log((1 - m) + steps)
        return float((logs - self.all * np.log1p(steps)).sum())


def _root(function: Callable[[float], float], low: float, high: float, **tolerances: float) -> float:
    """Return the root of a function."""
    return float(scipy.optimize.brentq(function, low, high, **tolerances))


def _more_than(counts: IntArray, size: int) -> FloatArray:
    """Return, for r from 0 to ``size - 1``, how many counts are larger than r."""
    at_most = np.cumsum(np.bincount(counts, minlength=size + 1))[:size]
    return (len(counts) - at_most).astype(np.float64)

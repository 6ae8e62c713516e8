"""Confidence: what a finite number of observed inputs says about the true distribution of the votes.

Proof and discussion are in docs/theory.md, "A finite calibration set".
"""

from __future__ import annotations

import numpy as np
import scipy  # whose parts are loaded when first used, and take a while

from foregone._kernels.compiled import pieces
from foregone.checks import FloatArray
from foregone.solving.budget import NestedBounds, is_yes
from foregone.votes import VoteDistribution

__all__ = ["bounds_given_class", "bounds_overall", "upper_bounds"]


def bounds_overall(votes: VoteDistribution, quota: int, failure: float) -> NestedBounds:
    """Return bounds on the distribution of n that all hold with a probability of ``1 - failure``."""
    no, yes = _outwards(votes, quota)
    total = int(no[-1:].sum() + yes[-1:].sum())
    return NestedBounds(
        upper_bounds(yes, total, failure / 2),
        upper_bounds(no, total, failure / 2),
    )


def bounds_given_class(votes: VoteDistribution, quota: int, side: str, failure: float) -> NestedBounds:
    """Return the same for the distribution of n given that the full vote says yes, or no.

    Given how many of the observed inputs were voted yes, those are a sample of such inputs; so the class's
    own share, which is not known either, does not matter.
    """
    no, yes = _outwards(votes, quota)
    within = yes if side == "yes" else no
    # All inputs of a class are within the class.
    bounds: FloatArray = upper_bounds(within[:-1], int(within[-1:].sum()), failure)
    bounds = np.concatenate([bounds, np.ones(len(within[-1:]))])
    if side == "yes":
        return NestedBounds(bounds, np.zeros(len(no)))
    return NestedBounds(np.zeros(len(yes)), bounds)


def _outwards(votes: VoteDistribution, quota: int) -> tuple[FloatArray, FloatArray]:
    """Return how many observed inputs are among the r values of n next to the middle, "no" and "yes"."""
    assert votes.n_observations is not None
    counts = np.rint(votes.probabilities * votes.n_observations)
    yes = is_yes(votes.n_voters, quota)
    return np.cumsum(counts[~yes][::-1]), np.cumsum(counts[yes])


def upper_bounds(counts: FloatArray, total: int, failure: float) -> FloatArray:
    """Return bounds on the probabilities of nested sets that all hold with a probability of 1 - failure.

    Each is Clopper and Pearson's. The r-th set gets a part of the failure in proportion to
    1 / ((r + 3) (r + 4)), in all the whole: the sets next to the middle, where disagreement is likeliest, are
    bounded best, however many follow.
    """
    ranks = np.arange(1.0, len(counts) + 1)
    parts = 1 / ((ranks + 3) * (ranks + 4))
    share = failure * parts / (parts.sum() or 1.0)
    bounds = np.ones(len(counts))
    some_outside = np.flatnonzero(counts < total)
    for start, end in pieces(len(some_outside), 10_000):
        some = some_outside[start:end]
        bounds[some] = _clopper_pearson(counts[some], total, share[some])
    # A smaller set cannot be more probable than a larger one.
    bounds = np.minimum.accumulate(bounds[::-1])[::-1]
    return _rounded_up(bounds)


def _clopper_pearson(counts: FloatArray, total: int, failure: FloatArray) -> FloatArray:
    """Return the bounds, each at its own level, for counts below the total."""
    bounds = np.asarray(scipy.special.betainccinv(counts + 1, total - counts, failure))
    # For very many observations the quantile may be off: bounds rise until their tails are small enough.
    step = 2.0**-40
    while np.any(
        short := ~(scipy.special.betaincc(counts + 1, total - counts, bounds) <= failure) & (bounds < 1)
    ):
        bounds[short] = np.minimum(bounds[short] * (1 + step), 1.0)
        step *= 2
    return bounds


def _rounded_up(bounds: FloatArray) -> FloatArray:
    """Return the bounds with 32 significant bits, so that the last digits of a quantile do not matter."""
    mantissa, exponent = np.frexp(bounds)
    return np.asarray(np.minimum(np.ldexp(np.ceil(mantissa * 2.0**32 + 1) / 2.0**32, exponent), 1.0))

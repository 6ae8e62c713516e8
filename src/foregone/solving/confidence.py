"""Confidence sets for the true distribution of the votes, from a finite number of observed inputs.

Proof and discussion are in docs/theory.md, "A finite calibration set".
"""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported on first use, because that is slow

from foregone._kernels.compiled import pieces
from foregone.checks import FloatArray
from foregone.solving.budget import NestedBounds, is_yes
from foregone.votes import VoteDistribution

__all__ = ["bounds_given_class", "bounds_overall", "upper_bounds"]


def bounds_overall(votes: VoteDistribution, quota: int, failure: float) -> NestedBounds:
    """Return bounds on the distribution of n that hold jointly with probability ``1 - failure``."""
    no, yes = _outwards(votes, quota)
    total = int(no[-1:].sum() + yes[-1:].sum())
    return NestedBounds(
        upper_bounds(yes, total, failure / 2),
        upper_bounds(no, total, failure / 2),
    )


def bounds_given_class(votes: VoteDistribution, quota: int, side: str, failure: float) -> NestedBounds:
    """Return the same bounds for the distribution of n given a full vote of yes, or of no.

    Given the number of observed inputs with a full vote of yes, these are a sample of all such inputs. So the
    unknown share of the class does not matter.
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
    """Return the counts of observed inputs at the r values of n next to the middle, for "no" and "yes"."""
    assert votes.n_observations is not None
    counts = np.rint(votes.probabilities * votes.n_observations)
    yes = is_yes(votes.n_voters, quota)
    return np.cumsum(counts[~yes][::-1]), np.cumsum(counts[yes])


def upper_bounds(counts: FloatArray, total: int, failure: float) -> FloatArray:
    """Return bounds on the probabilities of nested sets that hold jointly with probability 1 - failure.

    Each is a Clopper-Pearson bound. The r-th set gets a part of the failure probability in proportion to
    1 / ((r + 3) (r + 4)), and the parts add up to all of it. So the sets next to the middle, where
    disagreement is most likely, have the tightest bounds, however many sets follow.
    """
    ranks = np.arange(1.0, len(counts) + 1)
    parts = 1 / ((ranks + 3) * (ranks + 4))
    share = failure * parts / (parts.sum() or 1.0)
    bounds = np.ones(len(counts))
    some_outside = np.flatnonzero(counts < total)
    for start, end in pieces(len(some_outside), 10_000):
        some = some_outside[start:end]
        bounds[some] = _clopper_pearson(counts[some], total, share[some])
    # A subset cannot be more probable than its superset.
    bounds = np.minimum.accumulate(bounds[::-1])[::-1]
    return _rounded_up(bounds)


def _clopper_pearson(counts: FloatArray, total: int, failure: FloatArray) -> FloatArray:
    """Return the bounds, each at its own level, for counts below the total."""
    bounds = np.asarray(scipy.special.betainccinv(counts + 1, total - counts, failure))
    # SciPy before 1.17 finds no quantile from about 1e12 observations: start from the normal one.
    deviation = np.sqrt((counts + 1) * (1 - counts / total))
    normal = (counts + 1 - scipy.special.ndtri(failure) * deviation) / total
    bounds = np.where(np.isnan(bounds), np.minimum(normal, 1.0), bounds)
    # With very many observations the quantile may be inaccurate: raise bounds until tails are small enough.
    step = 2.0**-40
    while np.any(
        short := ~(scipy.special.betaincc(counts + 1, total - counts, bounds) <= failure) & (bounds < 1)
    ):
        bounds[short] = np.minimum(bounds[short] * (1 + step), 1.0)
        step *= 2
    return bounds


def _rounded_up(bounds: FloatArray) -> FloatArray:
    """Return the bounds rounded up to 32 significant bits, to ignore the last digits of a quantile."""
    mantissa, exponent = np.frexp(bounds)
    return np.asarray(np.minimum(np.ldexp(np.ceil(mantissa * 2.0**32 + 1) / 2.0**32, exponent), 1.0))

"""Evidence that one answer is more frequent than another: the anytime-valid e-value of a lead."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are loaded when first used, and take a while

from foregone.checks import FloatArray

__all__ = ["log_evidence"]


def log_evidence(ahead: npt.ArrayLike, behind: npt.ArrayLike) -> FloatArray:
    """Return the logarithm of the e-value against "this answer is at most as frequent as that one".

    Only votes for one of the two count, each a coin toss that gives the first answer with probability p. The
    e-value is the likelihood of these tosses, averaged over p uniform from 1/2 to 1, divided by that of a
    fair coin::

        e(a, b) = 2^(a + b) * 2 * integral of p^a (1 - p)^b dp from 1/2 to 1
                = 2^(a + b + 1) B(a + 1, b + 1) P(Beta(a + 1, b + 1) > 1/2).

    If independent voters give the first answer at most as often as the second, it is a nonnegative
    supermartingale that starts at 1. So by Ville's inequality it ever reaches ``1 / alpha`` with probability
    at most alpha. It rises in ``ahead`` and falls in ``behind``.

    Parameters
    ----------
    ahead, behind : array-like of int
        Votes for the one answer and votes for the other.

    Examples
    --------
    >>> log_evidence([0, 5, 5], [0, 0, 3]).round(2).tolist()
    [0.0, 2.35, -0.28]
    """
    a, b = np.asarray(ahead, np.float64), np.asarray(behind, np.float64)
    with np.errstate(divide="ignore"):  # far behind: no evidence at all
        above_half = np.log(scipy.special.betaincc(a + 1, b + 1, 0.5))
    return np.asarray((a + b + 1) * math.log(2) + scipy.special.betaln(a + 1, b + 1) + above_half)

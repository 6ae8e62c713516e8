"""In which order to ask: as given, at random, or those first whose sum foretells the full sum best."""

from __future__ import annotations

import numpy as np

from foregone.checks import FloatArray, IntArray

__all__ = ["foretelling_order"]


def foretelling_order(scores: FloatArray, start: float) -> IntArray:
    """Return the voters, each the one with which the sum so far correlates best with the full sum.

    Rows far from the decision count less, because they are soon answered in any order.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_voters)
        Scores of single voters.
    start : float
        The score before the first voter.
    """
    size = np.abs(scores).max() or 1.0
    scores, start = scores / size, start / size  # so that no square overflows
    full = start + scores.sum(axis=1)
    near = np.quantile(np.abs(full), 0.75) or 1.0
    weight = 1 / (1 + (full / near) ** 2)
    weight /= weight.sum()
    centred = scores - weight @ scores
    covariance = (centred * weight[:, None]).T @ centred
    with_full = covariance.sum(axis=1)
    n_voters = scores.shape[1]
    order = np.empty(n_voters, dtype=np.int64)
    left = np.ones(n_voters, dtype=bool)
    # Of the sum so far: its covariance with the full sum, its variance, its covariance with each voter.
    shared, variance, with_sum = 0.0, 0.0, np.zeros(n_voters)
    for step in range(n_voters):
        total = variance + 2 * with_sum + np.diag(covariance)
        gain = shared + with_full
        quality = np.divide(gain * np.abs(gain), total, out=np.zeros(n_voters), where=total > 0)
        voter = int(np.argmax(np.where(left, quality, -np.inf)))
        order[step] = voter
        left[voter] = False
        shared, variance = shared + with_full[voter], float(total[voter])
        with_sum += covariance[voter]
    return order

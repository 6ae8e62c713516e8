"""Orders of voters in which the running sum predicts the full sum best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from foregone.checks import FloatArray, IntArray
from foregone.scores.class_scores import ClassScores
from foregone.scores.paths import Scores, Start, paths_of

__all__ = ["foretelling_order", "greedy_order", "weighted_covariance"]


def foretelling_order(scores: Scores, start: Start) -> IntArray:
    """Return the voters in a greedy order: each maximises the correlation of running sum and full sum.

    For many classes, the correlations of all sums are added up. Rows far from the decision count less,
    because they are answered early in any order.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_voters), or ClassScores
        Scores of single voters.
    start : float or ndarray of float
        The score before the first voter, or one per class.
    """
    if isinstance(scores, ClassScores):
        _, n_voters, n_classes = scores.shape
        lead = paths_of(scores, np.arange(n_voters), start).running[:, -1]
        return greedy_order(weighted_covariance(map(scores.of_class, range(n_classes)), lead))
    size = np.abs(scores).max() or 1.0
    scores, start = scores / size, start / size  # so that no square overflows
    return greedy_order(weighted_covariance([scores], start + scores.sum(axis=1)))


def weighted_covariance(
    parts: Iterable[FloatArray], lead: FloatArray, share_near: float = 0.75
) -> FloatArray:
    """Return the covariance of voters, added up over parts of their outputs.

    Parameters
    ----------
    parts : iterable of ndarray of shape (n_rows, n_voters)
        The voters' outputs, or, for each of many classes, whether they vote for it.
    lead : ndarray of shape (n_rows,)
        How far each row is from the decision: rows far from it count less.
    share_near : float
        The share of rows that count as near.
    """
    near = np.quantile(np.abs(lead), share_near) or 1.0
    weight = 1 / (1 + (lead / near) ** 2)
    weight /= weight.sum()
    covariance: Any = 0.0
    for part in parts:
        centred = part - weight @ part
        covariance = covariance + (centred * weight[:, None]).T @ centred
    return np.asarray(covariance)


def greedy_order(covariance: FloatArray) -> IntArray:
    """Return the voters in the greedy order of `foretelling_order`, given their covariance."""
    with_full = covariance.sum(axis=1)
    n_voters = len(covariance)
    order = np.empty(n_voters, dtype=np.int64)
    left = np.ones(n_voters, dtype=bool)
    # Of the running sum: its covariance with the full sum, its variance, its covariance with each voter.
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

"""danger(): which full votes are easily taken for another, ranked before any was observed."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from foregone.checks import IntArray
from foregone.plurality.lattice import Lattice
from foregone.plurality.plurality_evaluation import evaluate_plurality
from foregone.plurality.rules import adaptive_consistency

__all__ = ["danger"]

_THRESHOLD = 0.9  # of the rule whose disagreement is the measure
_FACTOR = 1.5  # between the disagreement of one rank and the next
_LEAST = 1e-5  # all below are one rank


@lru_cache(maxsize=4)
def danger(lattice: Lattice) -> IntArray:
    """Return a rank for every full vote: 0 for the most dangerous ones, and up, none left out.

    Danger is the disagreement of one rule that is fixed beforehand (Adaptive-Consistency's), so that the
    ranks depend on nothing that is observed. Any ranks lead to a valid guarantee; where the strategy to be
    bounded disagrees in about the same order, its bound is a good one. Ranking by how close the
    leader and the next answer are is much worse: with many answers, votes scattered over all of them
    are wrong far more often than close ones, and far rarer.
    """
    rule = adaptive_consistency(lattice.n_voters, _THRESHOLD, n_classes=lattice.n_classes)
    disagreement = np.maximum(evaluate_plurality(rule).disagreement, _LEAST)
    steps = np.floor(-np.log(np.minimum(disagreement, 1.0)) / np.log(_FACTOR))
    _, ranks = np.unique(steps, return_inverse=True)
    return np.asarray(ranks, np.int64).ravel()

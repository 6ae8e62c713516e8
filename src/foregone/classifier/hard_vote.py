"""Hard against soft: how often the majority of votes differs from what the ensemble itself predicts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.classifier.limits import could_be, limited_rows
from foregone.solving import MaxDisagreement

__all__ = ["HardVoteWarning", "is_small_beside", "measure_hard_soft_disagreement"]

SMALL = 0.1  # a disagreement below this share of max_disagreement does not matter


class HardVoteWarning(UserWarning):
    """The majority of votes differs from the ensemble's own predictions too often to be passed over."""


def is_small_beside(n_differing: int, n_rows: int, max_disagreement: float) -> bool:
    """Whether so many differing rows may well come from a rate that is small beside ``max_disagreement``.

    Small is a tenth of it, see `could_be`. Where that is 1, which means no limit, nothing is too large.

    Examples
    --------
    >>> is_small_beside(2, 10_000, 1e-3), is_small_beside(4, 10_000, 1e-3)
    (True, False)
    """
    return max_disagreement == 1 or could_be(n_differing, n_rows, SMALL * max_disagreement)


def measure_hard_soft_disagreement(
    hard: npt.NDArray[Any], own: npt.NDArray[Any], limits: MaxDisagreement, classes: npt.NDArray[Any]
) -> float:
    """Return how often two predictions for the same rows differ; warn when that is not small.

    Parameters
    ----------
    hard, own : ndarray of shape (n_rows,)
        Labels by the majority of votes, and by the ensemble's own ``predict``.
    limits : float or dict
        What the user allows between stopping early and asking everyone. With a limit each for "yes" and
        "no", the rows that the majority gives to a class are held against the limit of that class.
    classes : ndarray of shape (2,)
        The labels for no and yes.
    """
    differs = hard != own
    for limited in limited_rows(limits, hard, classes):
        n_differing, n_rows = int(np.count_nonzero(differs[limited.rows])), int(limited.rows.sum())
        if is_small_beside(n_differing, n_rows, limited.limit):
            continue
        warnings.warn(
            f"the majority of votes differs from the estimator's own predict on {n_differing:,} of "
            f"{n_rows:,} {limited.rows_in_words} ({n_differing / n_rows:.2g}), which is not small beside "
            f"{limited.limit_in_words}. "
            "The estimator averages probabilities; stopping early is held against the majority of votes "
            "(full_predict). Voters that are sure of themselves, such as fully grown trees "
            "(max_depth=None, min_samples_leaf=1), make the two agree.",
            HardVoteWarning,
            stacklevel=4,
        )
    return float(np.mean(differs))

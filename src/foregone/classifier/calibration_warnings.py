"""Warnings about calibration: too few rows, a class that loses, votes that differ from the model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # its submodules are imported on first use, because that is slow

from foregone.certifying import RowLosses
from foregone.classifier.deciding import Labels, Terms
from foregone.planning.recommendation import allowed_by_class, losing_accuracy, losing_class
from foregone.strategy.limits import Limits, by_label, traits_of

__all__ = [
    "CalibrationWarning",
    "HardVoteWarning",
    "RareClassWarning",
    "is_small_beside",
    "measure_hard_soft_disagreement",
    "warn_if_too_few",
    "warn_of_losing_classes",
]

SURPRISE = 0.05
SMALL = 0.1  # a disagreement below this share of max_disagreement is ignored
OF_FIT = 5  # stack levels from a warning here, through a decider's calibrate, to the caller of fit


class CalibrationWarning(UserWarning):
    """There are too few calibration rows for the limit, and no confidence was requested."""


class RareClassWarning(UserWarning):
    """One class uses up the limit for all rows: a far larger share of its rows change answer."""


class HardVoteWarning(UserWarning):
    """The majority vote differs from the ensemble's own predictions too often to ignore."""


def warn_if_too_few(terms: Terms, full: Labels, classes: Labels) -> None:
    """Warn if there are too few rows to observe events as rare as the allowed disagreement.

    Only minimean without a confidence treats the observed votes as the true distribution. It ignores votes
    that were not observed, and an event of probability p is likely to be missing from fewer than 1 / p rows.
    A class without rows needs no warning, because it is bounded in the worst case. Nor does a confidence:
    with fewer rows the limit still holds, but more voters are asked.

    Parameters
    ----------
    terms : Terms
        Criterion, limits and confidence.
    full : ndarray of shape (n_rows,)
        The label that the full vote gives each calibration row.
    classes : ndarray
        The labels.
    """
    if not traits_of(terms["criterion"]).bounds_the_mean or terms["confidence"] is not None:
        return
    for limited in _limited_rows(terms, full, classes):
        n_rows = int(np.count_nonzero(limited.rows))
        if 0 < n_rows * limited.limit < 1:
            warnings.warn(
                f"{n_rows:,} {limited.rows_in_words} are too few for {limited.limit_in_words} to hold on new "
                f"rows. Give at least {math.ceil(1 / limited.limit):,}, raise the limit, set a confidence "
                "such as 0.95, which asks more voters if rows are few, or use "
                'criterion="minimixed", which bounds every input.',
                CalibrationWarning,
                stacklevel=OF_FIT,
            )


def warn_of_losing_classes(
    terms: Terms, full: Labels, answers: Labels, classes: Labels, losses: RowLosses
) -> None:
    """Warn if one class takes most of the loss that the mean over all rows allows, as in a plan.

    Parameters
    ----------
    terms : Terms
        Only minimean bounds a mean. There is no warning if each class has a limit, if the limit is 1 (no
        limit), or for costs, which already weight the classes.
    full, answers : ndarray of shape (n_rows,)
        The full vote on each calibration row, and the early answer.
    classes : ndarray
        The labels.
    losses : RowLosses
        The kind of loss and, for accuracy, the true classes of the rows.
    """
    limits = Limits.of(terms["max_disagreement"])
    limit = limits.loosest
    bounds_the_mean = traits_of(terms["criterion"]).bounds_the_mean
    if terms["loss"] == "cost" or limits.by_answer or limit == 1 or not bounds_the_mean:
        return
    of_class, name = full, "max_disagreement"
    words: Callable[[Any, float, float], str] = losing_class
    differs = (answers != full).astype(np.int64)
    if losses.truth is not None:
        of_class, name, words = classes.take(losses.truth), "max_accuracy_loss", losing_accuracy
        differs = (answers != of_class).astype(np.int64) - (full != of_class)
    said = []
    for label in classes.tolist():
        own = of_class == label
        n_rows, n_lost = int(np.count_nonzero(own)), max(int(differs[own].sum()), 0)
        if not _could_be(n_lost, n_rows, allowed_by_class(limit)):
            said.append(f"{words(label, n_lost / n_rows, limit)} ({n_lost:,} of {n_rows:,})")
    if not said:
        return
    each = ", ".join(f"{label!r}: {limit:g}" for label in classes.tolist())
    advice = (
        f"set a separate limit for each class, {name}={{{each}}}"
        if len(classes) == 2
        else f"use a smaller {name}"
    )
    warnings.warn(
        f"a class is hit hard: {'; '.join(said)}. The limit is a mean over all rows: {advice}",
        RareClassWarning,
        stacklevel=OF_FIT,
    )


def measure_hard_soft_disagreement(terms: Terms, hard: Labels, own: Labels, classes: Labels) -> float:
    """Return how often the majority vote and the model's own predictions differ; warn if too often.

    Parameters
    ----------
    terms : Terms
        The limits on the disagreement with the full vote. With a limit for each class, rows are compared with
        the limit of the class that the majority votes for.
    hard, own : ndarray of shape (n_rows,)
        Labels by the majority of votes, and by the ensemble's own ``predict``.
    classes : ndarray
        The labels.
    """
    differs = hard != own
    for limited in _limited_rows(terms, hard, classes):
        n_differing, n_rows = int(np.count_nonzero(differs[limited.rows])), int(limited.rows.sum())
        if is_small_beside(n_differing, n_rows, limited.limit):
            continue
        votes = "the majority of votes" if terms["quota"] is None else "the share of votes at the threshold"
        warnings.warn(
            f"{votes} differs from the estimator's own predict on {n_differing:,} of "
            f"{n_rows:,} {limited.rows_in_words} ({n_differing / n_rows:.2g}), above a tenth of "
            f"{limited.limit_in_words}. The estimator averages probabilities, but the limit applies to the "
            'majority vote (full_predict), not to predict. Use voting="auto" or "soft", or voters with '
            "probabilities of 0 or 1, such as fully grown trees (max_depth=None, min_samples_leaf=1).",
            HardVoteWarning,
            stacklevel=OF_FIT,
        )
    return float(np.mean(differs))


def is_small_beside(n_differing: int, n_rows: int, max_disagreement: float) -> bool:
    """Whether this many differing rows are consistent with a rate far below ``max_disagreement``.

    Far below means a tenth of it. With a limit of 1, which means no limit, the result is always True.

    Examples
    --------
    >>> is_small_beside(2, 10_000, 1e-3), is_small_beside(4, 10_000, 1e-3)
    (True, False)
    """
    return max_disagreement == 1 or _could_be(n_differing, n_rows, SMALL * max_disagreement)


def _could_be(n_differing: int, n_rows: int, rate: float) -> bool:
    """Whether this many differing rows are consistent with this rate, or a lower one.

    They are not if, at this rate, this many or more occur with a probability below 0.05. The true rate is
    then higher, with 95 % confidence.
    """
    if n_differing == 0 or rate >= 1:
        return True
    # The probability of n_differing or more of n_rows is this incomplete beta function of the rate.
    return bool(scipy.special.betainc(n_differing, n_rows - n_differing + 1, rate) >= SURPRISE)


class _LimitedRows(NamedTuple):
    """Rows that share a limit, and their description for messages."""

    limit: float
    limit_in_words: str
    rows: npt.NDArray[np.bool_]
    rows_in_words: str


def _limited_rows(terms: Terms, full: Labels, classes: Labels) -> Iterator[_LimitedRows]:
    """Yield all rows with the single limit, or for each class the rows with this full vote."""
    limits = Limits.of(terms["max_disagreement"])
    name = "max_disagreement" if terms["loss"] == "disagreement" else "max_accuracy_loss"
    if not limits.by_answer:
        everyone, limit = np.ones(len(full), np.bool_), limits.loosest
        yield _LimitedRows(limit, f"{name}={limit:g}", everyone, "calibration rows")
        return
    for label, limit in by_label(dict(limits), classes.tolist()).items():
        yield _LimitedRows(
            limit,
            f"{name}[{label!r}]={limit:g}",
            np.asarray(full == label, np.bool_),
            f"calibration rows with a full vote of {label!r}",
        )

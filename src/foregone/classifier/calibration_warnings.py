"""What calibration rows give reason to warn of: they are too few, a class loses, votes are not the model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are loaded when first used, and take a while

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
SMALL = 0.1  # a disagreement below this share of max_disagreement does not matter
OF_FIT = 5  # stack levels from a warning here, by way of a decider's calibrate, to the caller of fit


class CalibrationWarning(UserWarning):
    """There are too few calibration rows to vouch for the allowed disagreement without a confidence."""


class RareClassWarning(UserWarning):
    """One limit for all rows is spent on a class: far more of its rows are answered otherwise."""


class HardVoteWarning(UserWarning):
    """The majority of votes differs from the ensemble's own predictions too often to be passed over."""


def warn_if_too_few(terms: Terms, full: Labels, classes: Labels) -> None:
    """Warn when a mean over so few rows says nothing about events as rare as the allowed disagreement.

    Only minimean without a confidence takes the distribution of votes at its word: what was not seen may
    then go wrong for free, and an event of probability p is likely to be missing from fewer than 1 / p rows.
    A class without any rows is another matter: it is bounded in the worst case. With a confidence nothing
    has to be said: few rows cost votes, not the limit.

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
                f"{n_rows:,} {limited.rows_in_words} are too few to vouch for {limited.limit_in_words} on "
                f"new rows: give at least {math.ceil(1 / limited.limit):,}, allow more disagreement, set a "
                "confidence such as 0.95, which makes up for few rows by asking more voters, or choose "
                'criterion="minimixed", which keeps the limit for every input.',
                CalibrationWarning,
                stacklevel=OF_FIT,
            )


def warn_of_losing_classes(
    terms: Terms, full: Labels, answers: Labels, classes: Labels, losses: RowLosses
) -> None:
    """Warn when a class pays for the mean over all rows: the same rule and words as in a plan.

    Parameters
    ----------
    terms : Terms
        Only minimean bounds a mean. Nothing is said if each class has a limit, if the limit is 1 (no limit),
        or of costs, which themselves say what matters.
    full, answers : ndarray of shape (n_rows,)
        The label that everyone together gives each calibration row, and that of stopping early.
    classes : ndarray
        The labels.
    losses : RowLosses
        What is limited, and the true classes of the rows where that is accuracy.
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
        f"give each class a limit of its own, {name}={{{each}}}"
        if len(classes) == 2
        else f"take a smaller {name}"
    )
    warnings.warn(
        f"a class loses: {'; '.join(said)}. The limit is a mean over all rows: {advice}",
        RareClassWarning,
        stacklevel=OF_FIT,
    )


def measure_hard_soft_disagreement(terms: Terms, hard: Labels, own: Labels, classes: Labels) -> float:
    """Return how often two predictions for the same rows differ; warn when that is not small.

    Parameters
    ----------
    terms : Terms
        With the limits on stopping early instead of asking everyone. With a limit for each class, the rows
        that the majority gives to a class are held against the limit of that class.
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
            f"{n_rows:,} {limited.rows_in_words} ({n_differing / n_rows:.2g}), which is not small beside "
            f"{limited.limit_in_words}. "
            "The estimator averages probabilities; stopping early is held against the votes "
            "(full_predict). Voters that are sure of themselves, such as fully grown trees "
            "(max_depth=None, min_samples_leaf=1), make the two agree.",
            HardVoteWarning,
            stacklevel=OF_FIT,
        )
    return float(np.mean(differs))


def is_small_beside(n_differing: int, n_rows: int, max_disagreement: float) -> bool:
    """Whether so many differing rows may well come from a rate that is small beside ``max_disagreement``.

    Small is a tenth of it. Where that is 1, which means no limit, nothing is too large.

    Examples
    --------
    >>> is_small_beside(2, 10_000, 1e-3), is_small_beside(4, 10_000, 1e-3)
    (True, False)
    """
    return max_disagreement == 1 or _could_be(n_differing, n_rows, SMALL * max_disagreement)


def _could_be(n_differing: int, n_rows: int, rate: float) -> bool:
    """Whether so many differing rows may well come from this rate, or a lower one.

    They may not where, at this rate, as many would come up less than 5 times in 100: then the true rate
    is, with 95 % confidence, above it.
    """
    if n_differing == 0 or rate >= 1:
        return True
    # The chance of n_differing or more of n_rows is this incomplete beta function of the rate.
    return bool(scipy.special.betainc(n_differing, n_rows - n_differing + 1, rate) >= SURPRISE)


class _LimitedRows(NamedTuple):
    """Rows that have a limit in common, and how to speak of them."""

    limit: float
    limit_in_words: str
    rows: npt.NDArray[np.bool_]
    rows_in_words: str


def _limited_rows(terms: Terms, full: Labels, classes: Labels) -> Iterator[_LimitedRows]:
    """Yield all rows with the one limit, or for each class those that the full vote gives to it."""
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
            f"calibration rows voted {label!r}",
        )

"""Limits by class label: from what a user says of labels to what the solver says of yes and no, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from foregone.checks import check_share
from foregone.errors import InvalidInputError
from foregone.solving import MaxDisagreement, Solution
from foregone.strategy.evaluation import Evaluation
from foregone.strategy.limits import Limits

__all__ = ["LimitedRows", "could_be", "limited_rows", "limits_by_side", "risk_by_label", "to_labels"]

SURPRISE = 0.05

Value = TypeVar("Value")


def limits_by_side(max_disagreement: Any, classes: npt.NDArray[Any]) -> MaxDisagreement:
    """Return the one limit, or those given by label as limits for "yes" and "no"; or say what is wrong.

    Examples
    --------
    >>> limits_by_side({"spam": 1e-4, "ham": 0.01}, np.array(["ham", "spam"]))
    {'yes': 0.0001, 'no': 0.01}
    """
    if not isinstance(max_disagreement, Mapping):
        return Limits.of(max_disagreement).given
    no, yes = classes.tolist()
    if len(max_disagreement) != 2 or no not in max_disagreement or yes not in max_disagreement:
        raise InvalidInputError(
            f"max_disagreement must be a number, or have one for each of the labels {no!r} and {yes!r} "
            f"(1 for no limit), not {max_disagreement!r}"
        )
    return {
        side: check_share(max_disagreement[label], f"max_disagreement[{label!r}]")
        for side, label in (("yes", yes), ("no", no))
    }


def could_be(n_differing: int, n_rows: int, rate: float) -> bool:
    """Whether so many differing rows may well come from this rate, or a lower one.

    They may not where, at this rate, as many would come up less than 5 times in 100: then the true rate
    is, with 95 % confidence, above it.
    """
    if n_differing == 0 or rate >= 1:
        return True
    # The chance of n_differing or more of n_rows is this incomplete beta function of the rate.
    return bool(betainc(n_differing, n_rows - n_differing + 1, rate) >= SURPRISE)


def to_labels(by_side: Mapping[str, Value], classes: npt.NDArray[Any]) -> dict[Any, Value]:
    """Return values for "yes" and "no" keyed by label, in the order of ``classes``."""
    no, yes = classes.tolist()
    return {no: by_side["no"], yes: by_side["yes"]}


def risk_by_label(solution: Solution, evaluation: Evaluation, classes: npt.NDArray[Any]) -> dict[Any, float]:
    """Return what limits for each class would bound, whatever limits the solution was solved for.

    Given that the full vote is for the class: the mean disagreement for minimean, with a confidence the
    largest mean that has to be reckoned with; the worst for the other criteria, and for a class never seen.
    """
    each = replace(solution.problem, limits=Limits.for_each(1.0))
    by_side = {str(budget.side): budget.risk(evaluation.disagreement) for budget in each.budgets}
    return to_labels(by_side, classes)


class LimitedRows(NamedTuple):
    """Rows that have a limit in common, and how to speak of them."""

    limit: float
    limit_in_words: str
    rows: npt.NDArray[np.bool_]
    rows_in_words: str


def limited_rows(
    limits: MaxDisagreement, full: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> Iterator[LimitedRows]:
    """Yield all rows with the one limit, or for each class those that the full vote gives to it.

    Parameters
    ----------
    limits : float or dict
        One limit, or those of "yes" and "no".
    full : ndarray of shape (n_rows,)
        The label that the full vote gives each row.
    classes : ndarray of shape (2,)
        The labels for no and yes.
    """
    if not isinstance(limits, dict):
        everyone = np.ones(len(full), np.bool_)
        yield LimitedRows(limits, f"max_disagreement={limits:g}", everyone, "calibration rows")
        return
    for label, limit in to_labels(limits, classes).items():
        yield LimitedRows(
            limit,
            f"max_disagreement[{label!r}]={limit:g}",
            np.asarray(full == label, np.bool_),
            f"calibration rows voted {label!r}",
        )

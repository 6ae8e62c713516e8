"""Solve for labelled votes: the fewest voters within limits on the loss of accuracy or the rise in cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from foregone.labelled_votes import LabelledVotes
from foregone.solving import Solution, solve
from foregone.strategy.limits import Limits

__all__ = ["BOLD", "CAREFUL", "LEARNING_SHARE", "LEAST_VALUE", "solve_labelled"]

LEARNING_SHARE = 0.2  # of the inputs; the others certify
CAREFUL, BOLD = 0.02, 30.0  # the limits that a ladder is solved for, as shares of the limit
# The least assumed loss of a disagreement in a ladder. With 0 even the most careful rung disagrees wherever
# the learning inputs happen to show no loss, and then a few other inputs cannot certify it. Measured on five
# datasets: values from 0.03 to 0.3 ask about equally many voters, 0 and 1 more.
LEAST_VALUE = 0.1


def solve_labelled(
    labelled: LabelledVotes, limits: Limits, *, costs: Any = None, least_value: float = 0.0, **terms: Any
) -> Solution:
    """Solve for limits on the loss of accuracy, or for one limit on the rise in cost.

    Parameters
    ----------
    labelled : LabelledVotes
        The votes with true answers.
    limits : Limits
        One limit for all inputs, or one for each true class; for costs, in units of the largest difference.
    costs : array-like of shape (2, 2) or CheckedCosts, optional
        As in `LabelledVotes.values`.
    least_value : float
        The least assumed loss of a disagreement.
    **terms
        ``confidence``, ``looks``, ``answer`` and ``quota``, as in `foregone.solve`.
    """
    quota = terms["quota"]
    if limits.by_answer:
        limits, values = labelled.by_class(limits, quota=quota)
    else:
        values = labelled.values(costs, quota=quota)
    return solve("minimean", labelled.votes, limits.given, values=np.maximum(values, least_value), **terms)

"""The weighted program of labelled votes: fewest voters within limits on the loss of accuracy or costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from foregone.labelled_votes import LabelledVotes
from foregone.solving import Solution, solve
from foregone.strategy.limits import Limits

__all__ = ["BOLD", "CAREFUL", "LEARNING_SHARE", "LEAST_VALUE", "solve_labelled"]

LEARNING_SHARE = 0.2  # of the inputs; the others certify
CAREFUL, BOLD = 0.02, 30.0  # what a ladder is solved for, as shares of the limit
# In a ladder, the least that a disagreement is taken to lose. With 0 even the most careful rung disagrees
# wherever the inputs learned from, by chance or not, show no loss, and then few others cannot certify it.
# Measured on five datasets: 0.03 to 0.3 ask about as many voters, 0 and 1 more.
LEAST_VALUE = 0.1


def solve_labelled(
    labelled: LabelledVotes, limits: Limits, *, costs: Any = None, least_value: float = 0.0, **terms: Any
) -> Solution:
    """Solve for limits on the loss of accuracy, or one on that of costs.

    Parameters
    ----------
    labelled : LabelledVotes
        The votes, and what is true.
    limits : Limits
        One for all inputs, or one for those of each true class; of costs, in units of the largest difference.
    costs : array-like of shape (2, 2) or CheckedCosts, optional
        As in `LabelledVotes.values`.
    least_value : float
        The least that a disagreement is taken to lose, whatever the inputs say.
    **terms
        ``confidence``, ``looks``, ``answer`` and ``quota``, as `foregone.solve` takes them.
    """
    quota = terms["quota"]
    if limits.by_answer:
        limits, values = labelled.by_class(limits, quota=quota)
    else:
        values = labelled.values(costs, quota=quota)
    return solve("minimean", labelled.votes, limits.given, values=np.maximum(values, least_value), **terms)

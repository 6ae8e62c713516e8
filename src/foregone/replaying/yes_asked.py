"""expected_yes(strategy): how many of the votes asked are yes, on average."""

from __future__ import annotations

import numpy as np

from foregone.checks import FloatArray
from foregone.strategy import StoppingStrategy

__all__ = ["expected_yes"]


def expected_yes(strategy: StoppingStrategy) -> FloatArray:
    """Return, for every number of yes votes of all, the mean number of yes votes among those asked.

    Where yes and no votes differ in cost, that is what the cost depends on.

    Examples
    --------
    >>> from foregone import rules
    >>> expected_yes(rules.lead(3, k=1))  # asks one voter
    array([0.        , 0.33333333, 0.66666667, 1.        ])
    """
    n_voters = strategy.n_voters
    # Given that the votes so far hold j yes: the chance that they were all asked, and the sum of what the
    # polls that ended before had of yes votes.
    reached, ended = np.ones(1), np.zeros(1)
    for asked in range(n_voters + 1):
        stop = strategy.stop_probabilities(asked)
        ended = ended + reached * stop * np.arange(asked + 1)
        if asked == n_voters:
            break
        reached, ended = _one_more(reached * (1 - stop)), _one_more(ended)
    return ended


def _one_more(row: FloatArray) -> FloatArray:
    """Return the means with one vote more, over which of the votes came last."""
    last_was_yes = np.arange(len(row) + 1) / len(row)
    return np.asarray(np.append(row, 0.0) * (1 - last_was_yes) + np.concatenate([[0.0], row]) * last_was_yes)

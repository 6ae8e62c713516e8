"""Evidence: prices that prove that no strategy within a limit asks fewer voters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone.checks import FloatArray

__all__ = ["BoolArray", "Evidence"]

BoolArray = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Prices; any non-negative ones prove a lower bound.

    No strategy within the limit costs less than the least of ``cost_weights @ votes + risk_weights @
    disagreement`` over all strategies, minus ``limit * price``.

    Attributes
    ----------
    cost_weights : ndarray of shape (n_compositions,)
        A distribution: that of the mean, or where the worst is minimised one that the dual chose.
    risk_weights : ndarray of shape (n_compositions,)
        ``price`` times a distribution that the limit must be kept under.
    price : float
        Of one unit of disagreement.
    """

    cost_weights: FloatArray
    risk_weights: FloatArray
    price: float

    def pulled_to(self, other: Evidence, share: float) -> Evidence:
        """Return prices between these and others."""
        return Evidence(
            (1 - share) * self.cost_weights + share * other.cost_weights,
            (1 - share) * self.risk_weights + share * other.risk_weights,
            (1 - share) * self.price + share * other.price,
        )

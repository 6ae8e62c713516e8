"""A small logistic regression: Newton's method with a little ridge, enough for three coefficients."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray

__all__ = ["fit_logistic"]

RIDGE = 1e-2  # keeps separable rows finite; far below what any row weighs
LARGEST_STEP = 4.0


def fit_logistic(features: FloatArray, is_yes: npt.NDArray[np.bool_], first: FloatArray) -> FloatArray:
    """Return the coefficients of the log odds of ``is_yes``, starting the search from ``first``.

    Examples
    --------
    >>> ones = np.ones((4, 1))
    >>> coefficients = fit_logistic(ones, np.array([True, True, True, False]), np.zeros(1))
    >>> round(float(coefficients[0]), 1)  # log 3, but for the ridge
    1.1
    """
    coefficients = first.copy()
    identity = RIDGE * np.eye(features.shape[1])
    for _ in range(50):
        log_odds = np.clip(features @ coefficients, -30, 30)
        chance = 1 / (1 + np.exp(-log_odds))
        weight = chance * (1 - chance)
        hessian = (features * weight[:, None]).T @ features + identity
        step = np.linalg.solve(hessian, features.T @ (is_yes - chance) - RIDGE * coefficients)
        size = float(np.abs(step).max())
        coefficients += step * min(1.0, LARGEST_STEP / max(size, 1e-300))
        if size < 1e-4:
            break
    return coefficients

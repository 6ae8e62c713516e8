"""LightGBM's early stop: every so many trees, stop if the score is far enough from 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foregone.checks import check_looks, check_n_voters
from foregone.errors import InvalidInputError
from foregone.scores.paths import check_start
from foregone.scores.score_strategy import ScoreStrategy

__all__ = ["lightgbm_margin"]


def lightgbm_margin(
    n_voters: int, margin: float = 10.0, every: int = 10, *, start: float = 0.0
) -> ScoreStrategy:
    """Stop after every ``every`` voters if twice the distance of the score from 0 is above ``margin``.

    That is what ``pred_early_stop`` does for two classes, with LightGBM's defaults. It knows neither how many
    trees are left nor how often it may be wrong, so it guarantees nothing.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    margin : float, default 10.0
        LightGBM's ``pred_early_stop_margin``, at least 0.
    every : int, default 10
        LightGBM's ``pred_early_stop_freq``.
    start : float, default 0.0
        The score before the first voter.

    Examples
    --------
    >>> strategy = lightgbm_margin(25)
    >>> strategy.looks, strategy.decide(asked=10, running=5.0), strategy.decide(asked=10, running=5.1)
    (array([10, 20, 25]), None, True)
    """
    n_voters = check_n_voters(n_voters)
    margin = _check_margin(margin)
    looks = check_looks(every, n_voters)
    steps = np.array(range(n_voters) if looks is None else looks[:-1])[1:]
    upper = np.append(np.full(n_voters, np.inf), 0.0)
    upper[steps] = math.nextafter(margin / 2, math.inf)  # above it, not at it
    return ScoreStrategy.from_thresholds(-upper, upper, start=check_start(start))


def _check_margin(margin: Any) -> float:
    try:
        number = math.nan if isinstance(margin, bool | np.bool_ | str) else float(margin)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InvalidInputError(f"margin must be a finite number of at least 0, not {margin!r}")
    return number

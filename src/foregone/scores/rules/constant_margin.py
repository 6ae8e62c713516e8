"""Constant margin: stop when the score is a constant away from 0, tuned on rows to a disagreement."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from foregone.checks import check_looks, check_max_disagreement
from foregone.scores.families import everywhere
from foregone.scores.paths import check_order, check_scores, check_start, running_scores
from foregone.scores.score_strategy import ScoreStrategy

__all__ = ["constant_margin"]


def constant_margin(
    paths: npt.ArrayLike,
    max_disagreement: float,
    *,
    order: npt.ArrayLike | None = None,
    looks: int | Iterable[int] | None = None,
    start: float = 0.0,
) -> ScoreStrategy:
    """Stop at the smallest constant distance from 0 that keeps the limit on these very rows.

    The limit holds for the rows it was tuned on, and nothing is promised for others: about every other time
    they will disagree more often.

    Parameters
    ----------
    paths : array-like of shape (n_rows, n_voters)
        With ``order=None`` running scores, otherwise scores of single voters, as in `solve_scores`.
    max_disagreement : float
        The largest share of these rows to be answered differently from the full sum.
    order : array-like of int, shape (n_voters,), optional
        The voters in the order asked.
    looks : int or iterable of int, optional
        As in `solve_scores`; by default after every voter.
    start : float, default 0.0
        The score before the first voter.

    Examples
    --------
    >>> strategy = constant_margin([[1, 2, 3], [2, 1, -1], [-3, -4, -5], [1, 3, 2]], 0.0)
    >>> bool(strategy.upper[1] > 2), strategy.run_paths([[1, 2, 3], [-3, -4, -5]])
    (True, (array([ True, False]), array([3, 1])))
    """
    limit, start = check_max_disagreement(max_disagreement), check_start(start)
    matrix = check_scores(paths, "paths")
    n_voters = matrix.shape[1]
    voters = np.arange(n_voters) if order is None else check_order(order, n_voters)
    running = matrix if order is None else running_scores(matrix, voters, start)
    given = check_looks(looks, n_voters)
    steps = np.array(range(n_voters) if given is None else given)
    steps = steps[(steps > 0) & (steps < n_voters)]

    # A row goes wrong at a margin if the first score that is as far from 0 lies on the wrong side: that is at
    # the margins between an earlier record of the distance and a new one on the wrong side.
    towards = np.where(running[:, -1:] > 0, 1.0, -1.0) * running[:, steps - 1]
    record = np.maximum.accumulate(np.abs(towards), axis=1)
    earlier = np.concatenate([np.zeros((len(record), 1)), record[:, :-1]], axis=1)
    is_wrong = (towards < 0) & (record > earlier)
    first, last = np.sort(earlier[is_wrong]), np.sort(record[is_wrong])
    margins = np.unique(last)
    n_wrong = (len(last) - np.searchsorted(last, margins)) - (len(first) - np.searchsorted(first, margins))
    too_bold = margins[n_wrong > math.floor(limit * len(matrix) + 1e-9)]
    margin = np.full(len(steps), math.nextafter(too_bold.max(initial=0.0), math.inf))
    return ScoreStrategy.from_thresholds(
        *everywhere(n_voters, steps, (-margin, margin)), order=voters, start=start
    )

"""QWYC, "quit when you can": greedily the voter that lets most rows quit, within a number of errors."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, check_max_disagreement
from foregone.errors import InvalidInputError
from foregone.scores.paths import check_scores, check_start
from foregone.scores.score_strategy import ScoreStrategy

__all__ = ["qwyc"]

Quit = tuple[int, float, float]  # how many rows quit, and the thresholds


def qwyc(
    scores: npt.ArrayLike,
    max_disagreement: float,
    *,
    order: Literal["optimized", "given"] = "optimized",
    start: float = 0.0,
) -> ScoreStrategy:
    """Order voters and set thresholds greedily, so that these very rows keep the limit.

    The method of Wang, Gupta and You (2018), for voters that cost the same: at each step every voter not yet
    asked is tried; thresholds are set so that as many of the rows left as possible stop, while all wrong
    answers so far stay within the limit; the voter that lets most rows stop is asked next. The limit holds
    for the rows it was learned from, and nothing is promised for others. Takes time in proportion to the
    rows and to the square of the voters.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_voters)
        Scores of single voters.
    max_disagreement : float
        The largest share of these rows to be answered differently from the full sum.
    order : {"optimized", "given"}
        Whether voters are put in order, or only the thresholds are learned, in the order of the columns.
    start : float, default 0.0
        The score before the first voter.

    Examples
    --------
    >>> strategy = qwyc([[0.1, 3.0], [-0.1, -3.0], [0.2, -2.0], [-0.3, 2.0]], 0.0)
    >>> strategy.order, strategy.run([[0.2, -2.0], [-0.1, 3.0]])
    (array([1, 0]), (array([False,  True]), array([1, 1])))
    """
    limit, start = check_max_disagreement(max_disagreement), check_start(start)
    if order not in ("optimized", "given"):
        raise InvalidInputError(f'order must be "optimized" or "given", not {order!r}')
    matrix = check_scores(scores, "scores")
    n_rows, n_voters = matrix.shape
    final_yes = start + matrix.sum(axis=1) > 0
    errors_left = math.floor(limit * n_rows + 1e-9)
    running, left, asked = np.full(n_rows, start), list(range(n_voters)), []
    lower, upper = np.full(n_voters + 1, -np.inf), np.full(n_voters + 1, np.inf)
    for step in range(1, n_voters):
        if len(running) == 0:
            break
        tried = left if order == "optimized" else left[:1]
        quits = [_most_quits(running + matrix[:, voter], final_yes, errors_left) for voter in tried]
        best = max(range(len(tried)), key=lambda place: quits[place][0])
        voter, (_, lower[step], upper[step]) = tried[best], quits[best]
        left.remove(voter)
        asked.append(voter)
        running = running + matrix[:, voter]
        no, yes = running <= lower[step], running >= upper[step]
        errors_left -= int(np.count_nonzero(no & final_yes) + np.count_nonzero(yes & ~final_yes))
        stay = ~(no | yes)
        running, matrix, final_yes = running[stay], matrix[stay], final_yes[stay]
    lower[-1] = upper[-1] = 0.0
    return ScoreStrategy.from_thresholds(lower, upper, order=asked + left, start=start)


def _most_quits(running: FloatArray, final_yes: npt.NDArray[np.bool_], errors: int) -> Quit:
    """Return how many rows can stop with at most so many errors in all, and the thresholds that do it."""
    order = np.argsort(running, kind="stable")
    ordered, says_yes = running[order], final_yes[order]
    # The score of the row at which "no" would make one error too many, for 0, 1, ... errors; likewise "yes".
    too_high = np.append(ordered[says_yes], np.inf)
    too_low = np.append(ordered[~says_yes][::-1], -np.inf)
    spent = np.arange(errors + 1)
    block_no = too_high[np.minimum(spent, len(too_high) - 1)]
    block_yes = too_low[np.minimum(errors - spent, len(too_low) - 1)]
    n_no = np.searchsorted(ordered, block_no, side="left")
    n_yes = len(ordered) - np.searchsorted(ordered, block_yes, side="right")
    n_quit = np.minimum(n_no + n_yes, len(ordered))
    place = int(np.argmax(n_quit))
    first, end = int(n_no[place]), len(ordered) - int(n_yes[place])
    lower = -np.inf if first == 0 else float(ordered[first - 1])
    if first >= end:  # the two meet: whoever is not "no" is "yes"
        if first == len(ordered):
            return len(ordered), lower, math.nextafter(lower, math.inf)
        return len(ordered), lower, float(ordered[first])
    upper = np.inf if end == len(ordered) else float(ordered[end])
    return int(n_quit[place]), lower, upper

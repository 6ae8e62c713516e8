"""Stopping rules on scores to compare with `solve_scores`; each returns a ScoreStrategy.

Curtailment is never wrong. The other rules guarantee nothing on new rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, check_looks, check_max_disagreement, check_n_voters, check_order
from foregone.errors import InvalidInputError
from foregone.scores.class_scores import ClassScores
from foregone.scores.curtailing import check_bounds, curtailing
from foregone.scores.families import everywhere, steps_before_all
from foregone.scores.paths import (
    ClassPaths,
    Paths,
    Scores,
    Start,
    check_scores,
    check_start,
    paths_given,
    paths_of,
)
from foregone.scores.score_strategy import ScoreStrategy

__all__ = ["constant_margin", "curtailment", "lightgbm_margin", "qwyc"]

Quit = tuple[int, float, float]  # the number of rows that stop, and the thresholds


def constant_margin(
    paths: npt.ArrayLike,
    max_disagreement: float,
    *,
    order: npt.ArrayLike | None = None,
    looks: int | Iterable[int] | None = None,
    start: float | npt.ArrayLike = 0.0,
) -> ScoreStrategy:
    """Stop at the smallest constant distance from 0, or lead, that keeps the limit on the given rows.

    The limit holds for the rows it was tuned on. Nothing is guaranteed for new rows: about half of the time
    they exceed it.

    Parameters
    ----------
    paths : array-like of shape (n_rows, n_voters) or (n_rows, n_voters, n_classes)
        Running scores if ``order=None``, otherwise scores of single voters, as in `solve_scores`.
    max_disagreement : float
        The largest share of these rows whose answer may differ from the full sum's.
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
    limit, known = check_max_disagreement(max_disagreement), check_scores(paths, "paths")
    n_voters, begin = known.shape[1], _start_for(known, start)
    voters = np.arange(n_voters) if order is None else check_order(order, n_voters)
    followed = paths_given(known, begin) if order is None else paths_of(known, voters, begin)
    steps = steps_before_all(looks, n_voters)

    # A row is wrong at a margin if its first score at that distance from 0 is on the wrong side: that is, for
    # margins between an earlier record distance and a new record on the wrong side.
    by_step = [_is_right(followed, step) for step in steps.tolist()]
    is_right = np.array(by_step, np.bool_).reshape(len(steps), len(known)).T
    towards = np.where(is_right, 1.0, -1.0) * np.abs(followed.running[:, steps - 1])
    record = np.maximum.accumulate(np.abs(towards), axis=1)
    earlier = np.concatenate([np.zeros((len(record), 1)), record[:, :-1]], axis=1)
    is_wrong = (towards < 0) & (record > earlier)
    first, last = np.sort(earlier[is_wrong]), np.sort(record[is_wrong])
    margins = np.unique(last)
    n_wrong = (len(last) - np.searchsorted(last, margins)) - (len(first) - np.searchsorted(first, margins))
    too_bold = margins[n_wrong > math.floor(limit * len(known) + 1e-9)]
    margin = np.full(len(steps), math.nextafter(too_bold.max(initial=0.0), math.inf))
    lower = -margin if isinstance(begin, float) else None
    return ScoreStrategy(voters, begin, *everywhere(n_voters, steps, lower, margin))


def _is_right(paths: Paths, step: int) -> npt.NDArray[np.bool_]:
    """Whether the answer at a step is that of the full sum."""
    if isinstance(paths, ClassPaths):
        return paths.is_upwards(step)
    return np.asarray((paths.running[:, step - 1] > 0) == paths.final)


def _start_for(scores: Scores, start: Any) -> Start:
    """Return the start for scores of two classes, or of many."""
    return check_start(start, scores.shape[2] if isinstance(scores, ClassScores) else None)


def curtailment(
    bounds: npt.ArrayLike,
    *,
    order: npt.ArrayLike | None = None,
    start: float | npt.ArrayLike = 0.0,
    looks: int | Iterable[int] | None = None,
    drops_classes: bool = False,
) -> ScoreStrategy:
    """Stop where the voters not yet asked cannot change the answer, whatever they say.

    It agrees with the full sum, added up in the same order and including rounding, on every row whose scores
    are within the bounds. At least one voter is asked.

    Parameters
    ----------
    bounds : array-like of shape (2, n_voters), or (2, n_voters, n_classes) for more than two classes
        The smallest and the largest score that each voter can give, in the voters' own numbering.
    order : array-like of int, shape (n_voters,), optional
        The voters in the order asked.
    start : float, default 0.0
        The score before the first voter.
    looks : int or iterable of int, optional
        As in `solve_scores`; by default after every voter.
    drops_classes : bool
        Whether each of many classes has separate voters, as in `solve_scores`: the voters of a class that can
        no longer win are asked no more.

    Examples
    --------
    >>> strategy = curtailment([[-1, -2, -1], [1, 2, 1]], order=[1, 0, 2])
    >>> strategy.run([[1, 2, -1], [-1, 1.5, 1]])
    (array([ True,  True]), array([2, 3]))
    """
    checked = check_bounds(bounds)
    n_voters = checked.shape[1]
    voters = np.arange(n_voters) if order is None else check_order(order, n_voters)
    first = check_start(start, checked.shape[2] if checked.ndim == 3 else None)
    steps = steps_before_all(looks, n_voters)
    thresholds = curtailing(checked[:, voters], steps, n_voters, first, drops_classes=drops_classes)
    reason = "stopping only where the answer is certain was asked for"
    return ScoreStrategy(voters, first, *thresholds, None, reason, drops_classes)


def lightgbm_margin(
    n_voters: int, margin: float = 10.0, every: int = 10, *, start: float | npt.ArrayLike = 0.0
) -> ScoreStrategy:
    """Look after every ``every`` voters, and stop if twice the score's distance from 0 exceeds ``margin``.

    For more than two classes, it stops if the lead exceeds ``margin``. This is LightGBM's
    ``pred_early_stop``, with its defaults. It uses neither the number of trees left nor a limit, so it
    guarantees nothing.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    margin : float, default 10.0
        LightGBM's ``pred_early_stop_margin``, at least 0.
    every : int, default 10
        LightGBM's ``pred_early_stop_freq``.
    start : float or array-like of float, default 0.0
        The score before the first voter; for more than two classes, one per class.

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
    first = check_start(start)
    of_two = isinstance(first, float)
    upper = np.append(np.full(n_voters, np.inf), 0.0)
    upper[steps] = math.nextafter(margin / 2 if of_two else margin, math.inf)  # above it, not at it
    return ScoreStrategy.from_thresholds(-upper if of_two else None, upper, start=first)


def _check_margin(margin: Any) -> float:
    try:
        number = math.nan if isinstance(margin, bool | np.bool_ | str) else float(margin)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InvalidInputError(f"margin must be a finite number of at least 0, got {margin!r}")
    return number


def qwyc(
    scores: npt.ArrayLike,
    max_disagreement: float,
    *,
    order: Literal["optimized", "given"] = "optimized",
    start: float = 0.0,
) -> ScoreStrategy:
    """Order voters and set thresholds greedily, such that the given rows keep the limit.

    The method of Wang, Gupta and You (2018), for voters of equal cost. Each step tries every voter not yet
    asked: it sets thresholds that stop as many of the remaining rows as possible while all wrong answers so
    far stay within the limit, and the voter that stops most rows is asked next. The limit holds for the rows
    it was learned from; nothing is guaranteed for new rows. The time is proportional to the rows and to the
    square of the number of voters.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_voters)
        Scores of single voters.
    max_disagreement : float
        The largest share of these rows whose answer may differ from the full sum's.
    order : {"optimized", "given"}
        Whether to learn the order of the voters, or only the thresholds, in the order of the columns.
    start : float, default 0.0
        The score before the first voter.

    Examples
    --------
    >>> strategy = qwyc([[0.1, 3.0], [-0.1, -3.0], [0.2, -2.0], [-0.3, 2.0]], 0.0)
    >>> strategy.order, strategy.run([[0.2, -2.0], [-0.1, 3.0]])
    (array([1, 0]), (array([False,  True]), array([1, 1])))
    """
    limit, first = check_max_disagreement(max_disagreement), float(check_start(start))
    if order not in ("optimized", "given"):
        raise InvalidInputError(f'order must be "optimized" or "given", got {order!r}')
    matrix = check_scores(scores, "scores")
    if isinstance(matrix, ClassScores):
        raise InvalidInputError(
            "qwyc is for two classes, with scores of shape (n_rows, n_voters): use solve_scores for more "
            "classes"
        )
    n_rows, n_voters = matrix.shape
    final_yes = first + matrix.sum(axis=1) > 0
    errors_left = math.floor(limit * n_rows + 1e-9)
    running, left, asked = np.full(n_rows, first), list(range(n_voters)), []
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
    return ScoreStrategy.from_thresholds(lower, upper, order=asked + left, start=first)


def _most_quits(running: FloatArray, final_yes: npt.NDArray[np.bool_], errors: int) -> Quit:
    """Return how many rows can stop with at most ``errors`` errors in all, and the thresholds for it."""
    order = np.argsort(running, kind="stable")
    ordered, says_yes = running[order], final_yes[order]
    # The score at which answering "no" makes one error too many, for 0, 1, ... errors; likewise for "yes".
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
    if first >= end:  # the thresholds meet: every row not answered "no" is answered "yes"
        if first == len(ordered):
            return len(ordered), lower, math.nextafter(lower, math.inf)
        return len(ordered), lower, float(ordered[first])
    upper = np.inf if end == len(ordered) else float(ordered[end])
    return int(n_quit[place]), lower, upper

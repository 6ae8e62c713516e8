"""ESC: stop when a window of votes is unanimous."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foregone.checks import FloatArray, check_n_voters, check_whole
from foregone.rules.curtailment import is_decided
from foregone.strategy import StoppingStrategy

__all__ = ["esc"]


def esc(n_voters: int, window: int = 5) -> StoppingStrategy:
    """Stop at the end of a unanimous window of votes, or when the remaining voters cannot change the answer.

    Early-stopping self-consistency, from Li, Yuan, Feng, Pan, Wang, Sun, Wang and Li, "Escape sky-high cost:
    early-stopping self-consistency for multi-step reasoning" (ICLR 2024). Votes are collected in consecutive
    windows; the first unanimous one ends the poll, and the majority of all votes so far is the answer. It
    has no limit on the disagreement and no guarantee.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    window : int, default 5
        Votes per window, at least 1. The last window may be shorter.

    Returns
    -------
    StoppingStrategy
        Randomised at the ends of windows; see the notes.

    Notes
    -----
    Whether a window is unanimous depends on the order of the votes, not only on ``(asked, yes)``. But voters
    are asked in random order: given ``(asked, yes)``, every order of these votes is equally likely, whatever
    the full vote. So among the orders that reach ``(asked, yes)``, the rule stops with a probability that
    depends only on this state. The returned strategy has these probabilities. Averaged over orders it asks
    exactly as many votes as the original rule, and disagrees exactly as often, for every full vote. (This
    holds for every rule that uses the order, so none beats the best strategy on ``(asked, yes)``.)

    Examples
    --------
    >>> strategy = esc(39)
    >>> strategy.stop_probability(asked=5, yes=5), strategy.stop_probability(asked=9, yes=8)
    (1.0, 0.0)
    >>> round(strategy.stop_probability(asked=10, yes=8), 3)  # as often as both no were among the first five
    0.286
    """
    n_voters, window = check_n_voters(n_voters), check_whole(window, "window")
    rows = _stop_rows(n_voters, window)
    return StoppingStrategy.from_rows(n_voters, lambda asked: next(rows))


def _stop_rows(n_voters: int, window: int) -> Iterator[FloatArray]:
    """Yield the stop probabilities step by step.

    ``reach[k][j]``: among the orders of the votes so far with j yes, the share that has not stopped and whose
    window has only yes (k = 0), only no (1), or both (2). An empty window counts half as 0 and half as 1.
    """
    reach = np.array([[0.5], [0.5], [0.0]])
    for asked in range(n_voters):
        at_end = asked > 0 and asked % window == 0
        stop = np.zeros((3, asked + 1))
        stop[:2] = at_end
        stop[:, is_decided(n_voters, asked)] = 1.0
        total = reach.sum(axis=0)
        stopped = (reach * stop).sum(axis=0)
        # 1 in states that no order reaches; a ratio of equal sums may round above 1.
        yield np.minimum(np.divide(stopped, total, out=np.ones(asked + 1), where=total > 0), 1.0)
        going_on = reach * (1 - stop)
        if at_end:
            going_on[:2] = going_on[2] / 2
            going_on[2] = 0.0
        reach = _after_one_more(going_on, new_window=asked % window == 0)


def _after_one_more(going_on: FloatArray, new_window: bool) -> FloatArray:
    """Return the shares after one more vote, averaged over which of the votes came last."""
    votes = going_on.shape[1]
    yes = np.arange(votes + 1) / votes  # the probability that the last of the votes was a yes
    with_yes, with_no = np.zeros((2, 3, votes + 1))
    with_yes[:, 1:] = going_on
    with_no[:, :-1] = going_on
    with_yes *= yes
    with_no *= 1 - yes
    if new_window:
        return np.array([with_yes[:2].sum(axis=0), with_no[:2].sum(axis=0), np.zeros(votes + 1)])
    only_yes, only_no = with_yes[0], with_no[1]
    both = with_yes[1] + with_yes[2] + with_no[0] + with_no[2]
    return np.array([only_yes, only_no, both])

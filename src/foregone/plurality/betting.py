"""Certifying many answers by bets: a ladder of strategies learned on some items, tried on the others.

The proof is in docs/theory.md, "Many answers".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from foregone.certifying import Parts, climb
from foregone.checks import FloatArray, IntArray
from foregone.plurality.bet import Bet
from foregone.plurality.compositions import likely, pessimistic
from foregone.plurality.known_distribution import solve_nearly
from foregone.plurality.lattice import Lattice, is_decided
from foregone.plurality.plurality_evaluation import PluralityEvaluation, evaluate_plurality
from foregone.plurality.plurality_strategy import PluralityStrategy, settle_ties

__all__ = ["climb_by_bets", "divide_items", "ladder", "makes_bets"]

LEARNING_SHARE = 0.3  # of the items
BOLDNESS = np.geomspace(0.1, 30, 24)  # limits that are solved for, as shares of the one to be kept
GUARDED = 0.1  # share of the weight that leaves no full vote out
NEXT_TO_ZERO = 1e-14  # limits up to it are not solved for


def makes_bets(lattice: Lattice) -> bool:
    """Whether limits with a confidence are certified by bets: by the number of answers there can be alone.

    Between two answers nested bounds (`foregone.plurality.possible`) ask fewer.
    """
    return lattice.n_classes > 2


def ladder(
    lattice: Lattice, observed: FloatArray, limit: float, *, first_leader_only: bool = False
) -> Iterator[PluralityStrategy]:
    """Yield strategies from careful to bold, learned from the full votes of some items.

    First what is never wrong; then all but optimal strategies for limits from a tenth to thirty times the one
    to be kept, if all items were like a smoothed distribution of those observed. Their disagreement is
    limited under one with some weight on every full vote: a strategy that is often wrong on full votes that
    were not seen can only be certified by very many items.

    Parameters
    ----------
    lattice : Lattice
        The states.
    observed : ndarray of shape (n_compositions,)
        How the full votes of the items are distributed.
    limit : float
        The largest mean disagreement that is to be kept, from 0 to 1.
    first_leader_only : bool
        Whether of several leaders of the full vote only the first is right; all then settle ties.
    """
    if first_leader_only:
        yield from map(settle_ties, ladder(lattice, observed, limit))
        return
    yield PluralityStrategy.from_probabilities(lattice, is_decided(lattice))
    mean, guard = likely(lattice, observed), pessimistic(lattice, observed)
    weights = (1 - GUARDED) * mean + GUARDED * guard / guard.sum()
    limits = np.minimum(BOLDNESS * limit, 1.0)
    last = None
    for bolder in solve_nearly(lattice, mean, weights, limits[limits > NEXT_TO_ZERO].tolist()):
        if bolder == last:
            return  # it asks one voter already
        yield bolder
        last = bolder


def divide_items(counts: IntArray, random_state: int) -> tuple[IntArray, IntArray]:
    """Divide items at random into those to learn from and those to certify with.

    Parameters
    ----------
    counts : ndarray of int, shape (n_compositions,)
        How many items have each full vote; at least one in all.
    random_state : int
        Fixes the draw, which depends on nothing else but these counts.

    Examples
    --------
    >>> learning, certifying = divide_items(np.array([700, 0, 300]), 0)
    >>> int(learning.sum()), (learning + certifying).tolist()
    (300, [700, 0, 300])
    """
    seen = np.flatnonzero(counts)
    n_learning = max(1, round(LEARNING_SHARE * int(counts.sum())))
    learning = np.zeros_like(counts)
    rng = np.random.default_rng(random_state)
    learning[seen] = rng.multivariate_hypergeometric(counts[seen], n_learning, method="marginals")
    return learning, counts - learning


def climb_by_bets(
    rungs: Iterable[PluralityStrategy], bet: Bet, limit: float, confidence: float
) -> PluralityStrategy:
    """Return the last rung before the first that fails; the first one cannot.

    Parameters
    ----------
    rungs : iterable of PluralityStrategy
        As `ladder` yields them: the first never disagrees, and none depends on the items of the bet.
    bet : Bet
        The items that certify.
    limit, confidence : float
        What is to be kept, and how surely.
    """
    bolder = iter(rungs)
    never_wrong = next(bolder)

    def most(rung: PluralityEvaluation) -> float:
        return float(bet.losses(rung).max())

    parts = Parts((bet.part(limit),))
    rung = climb(map(evaluate_plurality, bolder), bet.losses, parts, confidence, most).rung
    return never_wrong if rung is None else rung.strategy

"""Certifying many answers by bets: a ladder of strategies learned on some items, tested on the others.

The proof is in docs/theory.md, "Many answers".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.certifying import Parts, climb
from foregone.checks import FloatArray, IntArray
from foregone.plurality.bet import Bet
from foregone.plurality.compositions import likely, pessimistic
from foregone.plurality.known_distribution import solve_nearly
from foregone.plurality.lattice import Lattice, is_decided
from foregone.plurality.plurality_evaluation import PluralityEvaluation, evaluate_plurality
from foregone.plurality.plurality_problem import difficulty_ranks
from foregone.plurality.plurality_strategy import PluralityStrategy, settle_ties
from foregone.plurality.possible import NestedSets
from foregone.plurality.program import mix_stops

__all__ = ["climb_by_bets", "divide_items", "foresee", "ladder", "makes_bets"]

LEARNING_SHARE = 0.2  # of the items
BOLDNESS = np.geomspace(0.1, 30, 24)  # limits that are solved for, as multiples of the given one
MIXTURES = (0.25, 0.5, 0.75, 1.0)  # of each rung with the next: how much of the next
GUARDED = 0.2  # share of the weight on difficult full votes
GUARD_FAILS = 0.05  # probability that they are more frequent than assumed for it
NEXT_TO_ZERO = 1e-14  # limits up to it are not solved for


def makes_bets(lattice: Lattice) -> bool:
    """Whether limits with a confidence are certified by bets; depends only on the number of answers.

    For two answers, nested bounds (`foregone.plurality.possible`) ask fewer votes.
    """
    return lattice.n_classes > 2


def ladder(
    lattice: Lattice,
    learning: IntArray,
    limit: float,
    *,
    boldness: npt.ArrayLike = BOLDNESS,
    first_leader_only: bool = False,
) -> Iterator[PluralityStrategy]:
    """Yield strategies from careful to bold, learned from the full votes of some items.

    The first is never wrong. The others are nearly optimal for multiples of the limit, assuming a smoothed
    distribution of the observed items. The constraint puts part of the weight on full votes that nested
    bounds leave possible: a strategy that is often wrong on difficult full votes, seen or not, needs very
    many items to be certified.

    Parameters
    ----------
    lattice : Lattice
        The states.
    learning : ndarray of int, shape (n_compositions,)
        How many of the items have each full vote.
    limit : float
        The limit on the mean disagreement, from 0 to 1.
    boldness : array-like of float, ascending
    The multiples of the limit that are solved for; by default from 0.1 to 30.
    first_leader_only : bool
        Whether only the first of several leaders of the full vote is correct; ties are then settled.
    """
    if first_leader_only:
        yield from map(settle_ties, ladder(lattice, learning, limit, boldness=boldness))
        return
    yield PluralityStrategy.from_probabilities(lattice, is_decided(lattice))
    observed = learning / learning.sum()
    mean = likely(lattice, observed)
    bounds = NestedSets.observed(difficulty_ranks(lattice), learning.astype(np.float64), GUARD_FAILS)
    weights = (1 - GUARDED) * mean + GUARDED * bounds.spread(pessimistic(lattice, observed))
    limits = np.minimum(np.asarray(boldness) * limit, 1.0)
    last = None
    for bolder in solve_nearly(lattice, mean, weights, limits[limits > NEXT_TO_ZERO].tolist()):
        if bolder == last:
            return  # it already asks only one voter
        yield bolder
        last = bolder


def divide_items(counts: IntArray, random_state: int) -> tuple[IntArray, IntArray]:
    """Split items at random into learning items and certification items.

    Parameters
    ----------
    counts : ndarray of int, shape (n_compositions,)
        How many items have each full vote; at least one in all.
    random_state : int
        Seed of the split, which otherwise depends only on these counts.

    Examples
    --------
    >>> learning, certifying = divide_items(np.array([700, 0, 300]), 0)
    >>> int(learning.sum()), (learning + certifying).tolist()
    (200, [700, 0, 300])
    """
    seen = np.flatnonzero(counts)
    n_learning = max(1, round(LEARNING_SHARE * int(counts.sum())))
    learning = np.zeros_like(counts)
    rng = np.random.default_rng(random_state)
    learning[seen] = rng.multivariate_hypergeometric(counts[seen], n_learning, method="marginals")
    return learning, counts - learning


class _Mixed(NamedTuple):
    """A mixture of two rungs: uses the bolder one with some probability, drawn before the first vote."""

    careful: PluralityEvaluation
    bold: PluralityEvaluation
    share: float

    def losses(self, bet: Bet) -> FloatArray:
        """Return the loss of an item, for every full vote, without evaluating the mixture."""
        return (1 - self.share) * bet.losses(self.careful) + self.share * bet.losses(self.bold)

    def strategy(self) -> PluralityStrategy:
        """Return an equivalent single strategy."""
        parts = [(1 - self.share, self.careful.strategy), (self.share, self.bold.strategy)]
        lattice = self.bold.strategy.lattice
        return mix_stops(lattice, [(part, of_it.stop_probabilities()) for part, of_it in parts if part > 0])


def climb_by_bets(
    rungs: Iterable[PluralityStrategy], bet: Bet, limit: float, confidence: float
) -> PluralityStrategy:
    """Return the last rung, or mixture of two successive rungs, before the first that fails.

    Parameters
    ----------
    rungs : iterable of PluralityStrategy
        The output of `ladder`: the first never disagrees, and none depends on the items of the bet.
    bet : Bet
        The items that certify.
    limit, confidence : float
        The limit, and the confidence with which it must hold.
    """
    evaluated = map(evaluate_plurality, rungs)
    never_wrong = next(evaluated)

    def mixtures() -> Iterator[_Mixed]:
        careful = never_wrong
        for bold in evaluated:
            yield from (_Mixed(careful, bold, share) for share in MIXTURES)
            careful = bold

    found = climb(
        mixtures(),
        lambda rung: rung.losses(bet),
        Parts((bet.part(limit),)),
        confidence,
        most=lambda rung: float(rung.losses(bet).max()),
    )
    return never_wrong.strategy if found.rung is None else found.rung.strategy()


def foresee(
    lattice: Lattice, counts: IntArray, limit: float, confidence: float, random_state: int = 0
) -> tuple[PluralityStrategy, FloatArray]:
    """Predict what will be certified; also return the distribution of the items used for the prediction.

    The certification items are not used, so you can choose a limit by this and certify it on them. As many
    items like the learning items stand in for them.

    Parameters
    ----------
    lattice : Lattice
        The states.
    counts : ndarray of int, shape (n_compositions,)
        How many of all items have each full vote.
    limit, confidence : float
        The limit, and the confidence with which it must hold.
    random_state : int
        As in `divide_items`.
    """
    learning, certifying = divide_items(counts, random_state)
    alike = np.rint(learning * (certifying.sum() / learning.sum())).astype(np.int64)
    strategy = climb_by_bets(ladder(lattice, learning, limit), Bet(alike), limit, confidence)
    return strategy, learning / learning.sum()

"""PluralitySchedule: a strategy for many classes, an order and a seed, in the kernels' format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.plurality_run import ALWAYS, MAYBE, NEVER
from foregone.checks import IntArray
from foregone.errors import InvalidInputError
from foregone.forest.rows import RowFormat
from foregone.forest.schedule import Order, VoteSchedule, as_signed, seeded_roots
from foregone.plurality import PluralityStrategy

__all__ = ["PluralitySchedule"]


@dataclass(frozen=True, eq=False)
class PluralitySchedule(VoteSchedule):
    """The schedule of votes among many classes.

    Attributes
    ----------
    rule : tuple of arrays
        The strategy as `foregone._kernels.plurality_run` reads it.
    n_slots : int
        Number of classes that a row can have votes for.
    """

    strategy: PluralityStrategy
    rule: tuple[npt.NDArray[Any], ...]
    n_slots: int

    @classmethod
    def make(
        cls,
        tree_start: IntArray,
        n_classes: int,
        strategy: PluralityStrategy,
        seed: int,
        order: Order,
        rows: RowFormat | None = None,
    ) -> PluralitySchedule:
        """Check the parts against each other and lay them out; ``rows`` is None if voters are not trees."""
        seed, roots, own_orders = seeded_roots(tree_start, strategy, seed, order)
        n_slots = min(n_classes, roots.shape[1])
        if strategy.lattice.n_classes < n_slots:
            raise InvalidInputError(
                f"the strategy is for at most {strategy.lattice.n_classes} different answers, but the forest "
                f"has {n_classes} classes: solve with n_classes={n_classes}"
            )
        rule = _rule_of(strategy)
        takes, rules = (0, None) if rows is None else (rows.takes, rows.kernel_rules)
        packed = (roots, rule, as_signed(seed), own_orders, takes, rules, n_slots)
        return cls(strategy, seed, order, packed, roots, own_orders, rule, n_slots)


def _rule_of(strategy: PluralityStrategy) -> tuple[npt.NDArray[Any], ...]:
    lattice = strategy.lattice
    start = np.searchsorted(strategy.states, lattice.level)
    looks = np.logical_or.reduceat(strategy.stops, lattice.level[:-1]) | (np.diff(start) > 0)
    numbered = looks.astype(np.int64)
    numbered[0] = np.argmax(looks)
    exceptions = np.empty((len(strategy.states), 2), np.int64)
    exceptions[:, 0], exceptions[:, 1] = strategy.states, np.ceil(strategy.probabilities * 2.0**53)
    bits = np.packbits(strategy.stops, bitorder="little")
    return lattice.level, lattice.counts, numbered, _by_top(strategy), bits, start, exceptions


def _by_top(strategy: PluralityStrategy) -> npt.NDArray[np.uint8]:
    """Return whether it always, maybe or never stops, by the number of votes and those of the leader."""
    lattice = strategy.lattice
    n_voters = lattice.n_voters
    # By rank, states of one level come in the order of their largest count, those of all levels one by one.
    n_up_to = lattice.counts[:, lattice.n_classes, :]
    asked, top = np.nonzero(np.diff(n_up_to, axis=1, prepend=0)[1:])
    asked += 1
    first = lattice.level[asked] + n_up_to[asked, top - 1]
    may_stop = strategy.stops.copy()
    may_stop[strategy.states] = True
    table = np.full((n_voters + 1, n_voters + 1), NEVER, np.uint8)
    table[asked, top] = np.where(np.logical_or.reduceat(may_stop, first), MAYBE, NEVER)
    always = np.logical_and.reduceat(strategy.stops, first)
    table[asked[always], top[always]] = ALWAYS
    return table

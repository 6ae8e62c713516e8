"""Schedules: a strategy, an order of the trees and a seed, laid out for the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import NO_RULES
from foregone._kernels.forest_random import ORDER_OF_ALL, bits_of_row, fill_order
from foregone._kernels.forest_run import LOWER, START, STEP_SIZE, UPPER, YES_FROM
from foregone.checks import IntArray, check_seed
from foregone.errors import InvalidInputError
from foregone.forest.rows import RowFormat
from foregone.strategy import StoppingStrategy
from foregone.strategy.json_file import Fields

__all__ = [
    "BaseSchedule",
    "Order",
    "Schedule",
    "as_signed",
    "check_n_trees",
    "random_order",
    "read_order",
    "row_bits",
    "seeded_roots",
]

Order = Literal["shared", "per_row"]


@dataclass(frozen=True, eq=False)
class BaseSchedule:
    """Which trees to ask in which order, and when to stop; each kind of leaf adds what its kernels read.

    Attributes
    ----------
    strategy : strategy or None
        None asks every tree.
    seed, order : int, "shared" or "per_row"
        As in `PackedForest.run`.
    roots : ndarray of int, shape (n_trees,)
        Roots in the order asked; in storage order when each row draws its own.
    packed : ndarray of int or tuple
        All of it, as the kernel that runs a row alone reads it.
    """

    strategy: Any
    seed: int
    order: Order
    roots: IntArray
    packed: Any

    @property
    def signed_seed(self) -> int:
        """The seed's 64 bits as a signed number, the type numba gives to whole numbers of Python."""
        return as_signed(self.seed)


@dataclass(frozen=True, eq=False)
class Schedule(BaseSchedule):
    """The schedule of votes between two classes; see `foregone._kernels.forest_run`.

    Attributes
    ----------
    steps : ndarray of int, shape (n_trees + 2, 4)
        Lower and upper threshold, start of the exceptions, and the fewest yes votes that are answered with
        yes, after 0, 1, ... votes.
    exceptions : ndarray of int, shape (n_exceptions, 2)
        Yes votes, and the stop probability times 2**53, rounded up: a draw below it stops.
    """

    strategy: StoppingStrategy | None
    steps: IntArray
    exceptions: IntArray

    @classmethod
    def make(
        cls,
        tree_start: IntArray,
        rows: RowFormat | None,
        strategy: StoppingStrategy | None,
        seed: int,
        order: Order,
    ) -> Schedule:
        """Check the parts against each other and lay them out; ``rows`` is None where voters are no trees."""
        seed, roots = seeded_roots(tree_start, strategy, seed, order)
        n_trees = len(roots)
        steps, exceptions = _ask_everyone(n_trees) if strategy is None else _steps_of(strategy)
        takes, rules = (0, NO_RULES) if rows is None else (rows.takes, rows.rules)
        header = [n_trees, as_signed(seed), order == "per_row", takes, len(exceptions)]
        parts = [np.array(header, np.int64), roots, steps.ravel(), exceptions.ravel(), rules]
        return cls(strategy, seed, order, roots, np.concatenate(parts), steps, exceptions)


def seeded_roots(tree_start: IntArray, strategy: Any, seed: Any, order: Any) -> tuple[int, IntArray]:
    """Return the seed and the roots in the order in which it asks the trees, once all are checked."""
    seed = check_seed(seed)
    if order not in ("shared", "per_row"):
        raise InvalidInputError(f'order must be "shared" or "per_row", not {order!r}')
    n_trees = len(tree_start) - 1
    check_n_trees(strategy, n_trees)
    roots = tree_start[:-1].copy()
    if strategy is not None and order == "shared":
        roots = roots[random_order(n_trees, seed)]
    return seed, roots


def check_n_trees(strategy: Any, n_trees: int) -> None:
    """Raise InvalidInputError if a strategy is for another number of voters."""
    if strategy is not None and strategy.n_voters != n_trees:
        raise InvalidInputError(
            f"the strategy is for {strategy.n_voters} voters, the forest has {n_trees} trees: "
            f"solve for {n_trees}"
        )


def _ask_everyone(n_trees: int) -> tuple[IntArray, IntArray]:
    steps = np.zeros((n_trees + 2, STEP_SIZE), np.int64)
    steps[:, LOWER], steps[:, UPPER] = -1, np.arange(1, n_trees + 3)
    steps[n_trees, LOWER] = n_trees // 2
    steps[n_trees, [UPPER, YES_FROM]] = n_trees // 2 + 1
    return steps, np.zeros((0, 2), np.int64)


def _steps_of(strategy: StoppingStrategy) -> tuple[IntArray, IntArray]:
    lower, upper, start, yes, probability, yes_from = strategy.kernel_arrays
    steps = np.zeros((strategy.n_voters + 2, STEP_SIZE), np.int64)
    steps[:-1, LOWER], steps[:-1, UPPER], steps[:, START], steps[:-1, YES_FROM] = (
        lower,
        upper,
        start,
        yes_from,
    )
    exceptions = np.empty((len(yes), 2), np.int64)
    exceptions[:, 0], exceptions[:, 1] = yes, np.ceil(probability * 2.0**53)
    return steps, exceptions


def as_signed(seed: int) -> int:
    """Return a seed's 64 bits as a signed number, the type numba gives to whole numbers of Python."""
    return seed - (1 << 64) if seed >> 63 else seed


def read_order(fields: Fields) -> Order:
    """Return the order that a file names."""
    order = fields.text("order")
    if order not in ("shared", "per_row"):
        raise fields.error("order", 'must be "shared" or "per_row"')
    return cast(Order, order)


def row_bits(x: npt.NDArray[Any], rows: RowFormat | None = None) -> int:
    """Return the 64 bits that stand for a row's values wherever chance plays a part.

    They are rounded to float32, unless ``rows`` says what a forest makes of them.
    """
    rows = rows or RowFormat("", len(x), takes_missing=True, takes_infinite=True)
    keys = rows.new_keys(1)
    _, shift = rows.load(x[None], keys)
    return int(bits_of_row(keys, np.uint64(shift), np.uint64(0), len(x)))


def random_order(n_trees: int, seed: int, row: int | None = None) -> IntArray:
    """Return the order in which a seed asks the trees: the one all rows share, or that of a row's bits."""
    order = np.empty(n_trees, np.int64)
    fill_order(order, as_signed(seed), ORDER_OF_ALL if row is None else row)
    return order

"""Schedules: a strategy, an order of the trees and a seed, in the kernels' format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_deal import fill_bits, fill_dealt
from foregone._kernels.forest_random import ORDER_OF_ALL, fill_order
from foregone._kernels.forest_run import LOWER, START, STEP_SIZE, UPPER, YES_FROM
from foregone.checks import IntArray, check_order, check_seed
from foregone.errors import InvalidInputError
from foregone.forest.execution import Loaded
from foregone.forest.rows import RowFormat
from foregone.strategy import StoppingStrategy
from foregone.strategy.json_file import Fields

__all__ = [
    "N_ORDERS",
    "BaseSchedule",
    "FixedOrder",
    "Order",
    "Record",
    "Schedule",
    "VoteSchedule",
    "as_signed",
    "bits_of_rows",
    "check_n_trees",
    "dealt_orders",
    "order_for",
    "random_order",
    "read_order",
    "row_bits",
    "seeded_roots",
    "with_rules",
]

# Number of orders that rows are dealt over. With one order, the disagreement in use varies by more than a
# quarter of its value (standard deviation over seeds; 101 trees, two moons, limit 1e-3), with 32 by a
# fourteenth, and twice as many change that little. Batches take 15 to 25 % longer than with one order, a
# single row up to 12 % (make bench-orders). Files do not store the number: changing it would change the
# answers of saved classifiers with dealt orders.
N_ORDERS = 32


class FixedOrder:
    """A given order of the voters, used for all rows instead of a random one.

    Make one and pass it to every run: two are equal only if they are the same object.

    Parameters
    ----------
    voters : array-like of int, shape (n_voters,)
        The voters in the order asked, by number: each of 0, 1, ... exactly once.

    Attributes
    ----------
    voters : ndarray of int, shape (n_voters,)
        The same, read-only.

    Examples
    --------
    >>> FixedOrder([2, 0, 1]).voters
    array([2, 0, 1])
    """

    def __init__(self, voters: npt.ArrayLike) -> None:
        self.voters: IntArray = check_order(voters)
        self.voters.setflags(write=False)

    def __repr__(self) -> str:
        return f"<FixedOrder of {len(self.voters)} voters>"

    def __reduce__(self) -> tuple[type[FixedOrder], tuple[IntArray]]:
        return FixedOrder, (self.voters,)  # a copied array would be writable


OrderKind = Literal["shared", "dealt", "per_row"]
Order: TypeAlias = OrderKind | FixedOrder

ORDER_KINDS: tuple[OrderKind, ...] = ("shared", "dealt", "per_row")


@dataclass
class Record:
    """Statistics of the rows run with one schedule: how many there were, how many are done, trees asked."""

    n_rows: int = 0
    n_done: int = 0
    n_asked: int = 0  # trees asked about the rows that are done

    def add(self, asked: npt.NDArray[Any]) -> None:
        """Add the numbers of trees asked about the rows of a block."""
        self.n_done += len(asked)
        self.n_asked += int(asked.sum())


@dataclass(frozen=True, eq=False)
class BaseSchedule:
    """Which trees to ask in which order, and when to stop; subclasses add what their kernels read.

    Attributes
    ----------
    strategy : strategy or None
        None asks every tree.
    seed, order : int, Order
        As in `PackedForest.run`.
    packed : ndarray of int or tuple
        All of it, in the format of the kernel for a single row.
    record : Record
        Statistics of the batches run with it.
    kernels : dict
        Kernels for a single row, by the type of its values, once known.
    """

    strategy: Any
    seed: int
    order: Order
    packed: Any
    record: Record = field(init=False, default_factory=Record)
    kernels: dict[np.dtype[Any], Callable[..., Any]] = field(init=False, default_factory=dict)


@dataclass(frozen=True, eq=False)
class VoteSchedule(BaseSchedule):
    """Schedule for trees whose votes are counted.

    Attributes
    ----------
    roots : ndarray of int, shape (n_orders, n_trees)
        Roots in the order asked, one line per order that rows are dealt over; one line in storage order if
        each row draws its own.
    own_orders : bool
        Whether each row draws its own order; False if all trees are asked, because no order matters then.
    """

    roots: IntArray
    own_orders: bool

    @property
    def signed_seed(self) -> int:
        """The seed's 64 bits as a signed integer, the type that numba gives to Python integers."""
        return as_signed(self.seed)

    def deal(self, loaded: Loaded, n_rows: int, n_features: int) -> tuple[npt.NDArray[np.uint32], IntArray]:
        """Return the rows of a block, grouped by the order they are dealt, and where each group ends."""
        n_orders = len(self.roots)
        if n_orders == 1:
            return np.arange(n_rows, dtype=np.uint32), np.array([n_rows])
        bits = np.empty(n_rows, np.int64)
        fill_bits(loaded.keys, loaded.stride, loaded.shift, n_features, bits)
        dealt = dealt_orders(self.seed, bits, n_orders).astype(np.uint16)  # which are sorted fastest
        by_order = np.argsort(dealt, kind="stable").astype(np.uint32)
        return by_order, np.cumsum(np.bincount(dealt, minlength=n_orders))


@dataclass(frozen=True, eq=False)
class Schedule(VoteSchedule):
    """Schedule for votes between two classes; see `foregone._kernels.forest_run`.

    Attributes
    ----------
    steps : ndarray of int, shape (n_trees + 2, 4)
        Lower and upper threshold, start of the exceptions, and the fewest yes votes for which the answer is
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
        """Check the parts against each other and lay them out; ``rows`` is None if voters are not trees."""
        seed, roots, own_orders = seeded_roots(tree_start, strategy, seed, order)
        n_trees = roots.shape[1]
        steps, exceptions = _ask_everyone(n_trees) if strategy is None else _steps_of(strategy)
        takes, rules = (0, None) if rows is None else (rows.takes, rows.kernel_rules)
        n_orders = 0 if own_orders else len(roots)
        header = [n_trees, as_signed(seed), n_orders, takes, len(exceptions)]
        parts = [np.array(header, np.int64), roots.ravel(), steps.ravel(), exceptions.ravel()]
        packed = with_rules(np.concatenate(parts), rules)
        return cls(strategy, seed, order, packed, roots, own_orders, steps, exceptions)


def with_rules(numbers: IntArray, rules: IntArray | None) -> Any:
    """Return a schedule in the format of the kernel for a single row."""
    return numbers if rules is None else (numbers, rules)


def seeded_roots(tree_start: IntArray, strategy: Any, seed: Any, order: Any) -> tuple[int, IntArray, bool]:
    """Check all of them; return the seed, the roots in every order, and whether each row draws its own."""
    seed = check_seed(seed)
    n_trees = len(tree_start) - 1
    _check_order_kind(order, n_trees)
    check_n_trees(strategy, n_trees)
    orders, own_orders = np.arange(n_trees)[None], False
    if isinstance(order, FixedOrder):
        orders = order.voters[None]
    elif strategy is not None:
        own_orders = order == "per_row"
        if not own_orders:
            # The first is the order that all rows share if they are not dealt over several.
            numbers = range(N_ORDERS if order == "dealt" else 1)
            orders = np.array([random_order(n_trees, seed, ORDER_OF_ALL - number) for number in numbers])
    return seed, tree_start[orders], own_orders


def _check_order_kind(order: Any, n_trees: int) -> None:
    if isinstance(order, FixedOrder):
        if len(order.voters) != n_trees:
            raise InvalidInputError(
                f"the order must list each of the {n_trees} voters once, but it has {len(order.voters)}"
            )
    elif not (isinstance(order, str) and order in ORDER_KINDS):
        raise InvalidInputError(f'order must be "shared", "dealt", "per_row" or a FixedOrder, got {order!r}')


def check_n_trees(strategy: Any, n_trees: int) -> None:
    """Raise InvalidInputError if a strategy is for another number of voters."""
    if strategy is not None and strategy.n_voters != n_trees:
        raise InvalidInputError(
            f"the strategy is for {strategy.n_voters} voters, but the forest has {n_trees} trees: "
            f"solve with n_voters={n_trees}"
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
    """Return a seed's 64 bits as a signed number, the type numba gives to integers of Python."""
    return seed - (1 << 64) if seed >> 63 else seed


def read_order(fields: Fields, key: str) -> Order:
    """Return the order that a file stores, by name or as a list of voters."""
    if not fields.is_text(key):
        try:
            return FixedOrder(fields.whole_numbers(key))
        except InvalidInputError as error:
            raise fields.error(key, f"is not valid: {error}") from None
    order = fields.text(key)
    if order not in ORDER_KINDS:
        raise fields.error(key, 'must be "shared", "dealt" or "per_row"')
    return order


def bits_of_rows(X: npt.NDArray[Any], rows: RowFormat | None = None) -> IntArray:
    """Return a 64-bit hash of each row's values, which seeds whatever is random about the row.

    Values are rounded to float32, unless ``rows`` gives the format of a forest's rows.
    """
    n_rows, n_features = X.shape
    rows = rows or RowFormat("", n_features, takes_missing=True, takes_infinite=True)
    keys = rows.new_keys(n_rows)
    stride, shift = rows.load(X, keys)
    bits = np.empty(n_rows, np.int64)
    fill_bits(keys, stride, shift, n_features, bits)
    return bits


def row_bits(x: npt.NDArray[Any], rows: RowFormat | None = None) -> int:
    """Return the 64-bit hash of one row, see `bits_of_rows`."""
    return int(bits_of_rows(x[None], rows)[0])


def random_order(n_trees: int, seed: int, row: int | None = None) -> IntArray:
    """Return the order of the trees for a seed: the shared one, or that of a row with this hash."""
    order = np.empty(n_trees, np.int64)
    fill_order(order, as_signed(seed), ORDER_OF_ALL if row is None else row)
    return order


def dealt_orders(seed: int, bits: IntArray, n_orders: int) -> IntArray:
    """Return which of ``n_orders`` orders each row is dealt, given the hashes of the rows."""
    dealt = np.empty(len(bits), np.int64)
    fill_dealt(as_signed(seed), bits, n_orders, dealt)
    return dealt


def order_for(n_trees: int, seed: int, order: Order, row: int | None) -> IntArray:
    """Return the order in which the trees are asked about a row, given its hash."""
    _check_order_kind(order, n_trees)
    if isinstance(order, FixedOrder):
        return order.voters.copy()
    if order == "shared":
        return random_order(n_trees, seed)
    if row is None:
        raise InvalidInputError(f'order="{order}" depends on the row: pass the row as x')
    if order == "dealt":
        return random_order(
            n_trees, seed, ORDER_OF_ALL - int(dealt_orders(seed, np.array([row]), N_ORDERS)[0])
        )
    return random_order(n_trees, seed, row)

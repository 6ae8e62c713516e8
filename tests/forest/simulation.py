"""Plain-Python references: the generator, the order of the trees, and a strategy followed vote by vote."""

import struct
from fractions import Fraction
from functools import cache

import numpy as np

from foregone.forest import FixedOrder
from foregone.forest.schedule import N_ORDERS

ORDERS = ["shared", "dealt", "per_row", "fixed"]

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def _mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def random_bits(seed, row, counter):
    mixed = _mix((seed + GOLDEN) & WORD)
    for number in (row, counter):
        mixed = _mix((mixed + (number + 1) * GOLDEN) & WORD)
    return mixed


def bits_of_row(x):
    """64 bits that stand for a row: its values as float32, with one NaN and one zero."""
    mixed = 0
    for value in np.asarray(x, np.float64).astype(np.float32).tolist():
        bits = struct.unpack("<I", struct.pack("<f", value + 0.0))[0]
        key = WORD >> 32 if value != value else bits ^ (0xFFFFFFFF if bits >> 31 else 0x80000000)
        mixed = ((mixed ^ key) * 0xBF58476D1CE4E5B9) & WORD
        mixed ^= mixed >> 31
    return mixed


@cache
def order_of(n_trees, seed, row=None):
    """Fisher and Yates, with Lemire's unbiased choice of a number below a bound."""
    row = WORD if row is None else row
    order = list(range(n_trees))
    for place in range(n_trees - 1):
        choices, attempt = n_trees - place, 0
        while True:
            bits = random_bits(seed, row, 2 * (512 * place + attempt) + 1) >> 32
            if (bits * choices) % 2**32 >= 2**32 % choices:
                break
            attempt += 1
        other = place + bits * choices // 2**32
        order[place], order[other] = order[other], order[place]
    return order


@cache
def order_named(name, n_trees):
    """What to pass as ``order``: one of `ORDERS`, where "fixed" stands for some order."""
    return FixedOrder(np.random.default_rng(n_trees).permutation(n_trees)) if name == "fixed" else name


def dealt_to(seed, row, n_orders=N_ORDERS):
    """Which of the orders a row is dealt: 32 random bits as a fraction of all, times their number."""
    return (random_bits(seed, row, -1) >> 32) * n_orders // 2**32


def sequence_of(n_trees, seed, order, row):
    """In which order the trees are asked about the row with these bits."""
    if isinstance(order, FixedOrder):
        return order.voters.tolist()
    if order == "shared":
        return order_of(n_trees, seed)
    return order_of(n_trees, seed, row if order == "per_row" else WORD - dealt_to(seed, row))


def simulate(strategy, votes, seed, order, X):
    """Follow the strategy over a matrix of votes on the rows of X, one row and one vote at a time."""
    outcome = []
    n_trees = votes.shape[1]
    for x, row_votes in zip(X, votes, strict=True):
        row = bits_of_row(x)
        sequence = sequence_of(n_trees, seed, order, row)
        asked = yes = 0
        while True:
            draw = Fraction(random_bits(seed, row, 2 * asked) >> 11, 2**53)
            if draw < Fraction(strategy.stop_probability(asked, yes)):
                break
            yes += int(row_votes[sequence[asked]])
            asked += 1
        outcome.append((strategy.answer(asked, yes), asked, yes))
    answers, asked, yes = zip(*outcome, strict=True)
    return np.array(answers), np.array(asked), np.array(yes)

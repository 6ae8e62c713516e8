"""Walks on a GPU: one lane through one tree. Nodes are those of `foregone._kernels.forest_nodes`, in a line.

A row's keys come from where a *reader* finds them: ``read(memory, rules, row, feature)`` returns the key of a
value, and whether it is missing. Places have 32 bits, and so has what is computed of compact nodes. Trees
that compare ranks are those of `foregone._kernels.looping_nodes`, with votes for leaves; they have no sets
and no missing values.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from foregone._kernels.forest_keys import is_in_set
from foregone._kernels.forest_nodes import (
    LOW_32,
    OFFSET_27,
    OFFSET_59,
    U0,
    U1,
    U2,
    U3,
    U4,
    U15,
    U32,
    U36,
    U63,
)
from foregone._kernels.gpu.gpu_rows import RANK_BITS, KernelShape, key_reader
from foregone._kernels.gpu.gpu_words import halves

S0, S1, S2, S3, S8, S9, S13, S16, S32 = (np.uint32(number) for number in (0, 1, 2, 3, 8, 9, 13, 16, 32))
LOW_8 = np.uint32(0xFF)
S_COLUMN = np.uint32(0x1FF)


@cache
def value_reader(shape: KernelShape) -> Any:
    """Return the reader of values, which are turned into keys when a node looks at them."""
    read_key = key_reader(shape)

    @cuda.jit(device=True)
    def read(values, rules, row, feature):
        return read_key(values[row, feature], rules, feature)

    return read


@cuda.jit(device=True)
def ranked_step(nodes, categories, ranks, rules, row, place):
    """Take one step by ranks, four in a word; a leaf leads back to itself."""
    word = nodes[place]
    column = np.uint32((word >> S8) & LOW_8)
    four = ranks[np.uint32(np.uint32(column >> S2) * S32 + row)]
    own = np.uint32((four >> np.uint32(np.uint32(column & S3) * S8)) & LOW_8)
    right = np.uint32(own > np.uint32(word & LOW_8))
    offset = np.uint32(word >> S16)
    side = S0 if offset != S0 else np.uint32(S2 + np.uint32(column & S1))
    return np.uint32(place + offset + right), side


@cache
def stepper(shape: KernelShape, reader: Callable[[KernelShape], Any]) -> Any:
    """Return the device function that takes one step: to the next place, by the bits of the side taken."""
    is_short, has_categories = shape.key_bits == 32, shape.has_categories
    read = reader(shape)
    if shape.key_bits == RANK_BITS:
        return ranked_step

    @cuda.jit(device=True)
    def step_compact(nodes, categories, memory, rules, row, place):
        low, key = halves(nodes, place)
        column = np.uint32(low & S_COLUMN)
        own, is_missing = read(memory, rules, row, np.uint32(column >> S1))
        goes_right = own > key
        if is_missing:
            goes_right = (column & S1) == S0
        right = np.uint32(goes_right)
        sides = np.uint32(low >> S9)
        side = np.uint32(np.uint32(sides >> S2) & S3) if goes_right else np.uint32(sides & S3)
        return np.uint32(place + np.uint32(low >> S13) + right), side

    @cuda.jit(device=True)
    def step_wide(nodes, categories, memory, rules, row, place):
        word, more = nodes[U2 * place], nodes[U2 * place + U1]
        if is_short:
            key, column = word >> U32, word & LOW_32
            sides, offset = more & U15, (more >> U4) & OFFSET_59
        else:
            key, column = word, more & LOW_32
            sides, offset = (more >> U32) & U15, (more >> U36) & OFFSET_27
        found, is_missing = read(memory, rules, row, column >> U1)
        own = np.uint64(found)
        goes_right = own > key
        if has_categories and (more >> U63) != U0:
            goes_right = not is_in_set(categories, key, own)
        if is_missing:
            goes_right = (column & U1) == U0
        right = np.uint64(goes_right)
        return np.uint32(place + offset + right), np.uint32((sides >> (right + right)) & U3)

    return step_compact if shape.is_compact else step_wide


@cache
def walker(shape: KernelShape, reader: Callable[[KernelShape], Any] = value_reader) -> Any:
    """Return the device function that walks to a leaf: to its place, by the bits of the side taken."""
    step = stepper(shape, reader)

    @cuda.jit(device=True)
    def walk(nodes, categories, memory, rules, row, root):
        place, side = np.uint32(root), S0
        while side == S0:
            place, side = step(nodes, categories, memory, rules, row, place)
        return place, side

    return walk

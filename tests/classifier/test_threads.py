"""A classifier that several threads use at once, from its first call on, as in a server."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from tests.kinds import KINDS, Kind, data_of, stopped

N_THREADS = 6


@pytest.fixture
def _many_switches() -> Iterator[None]:
    """Let threads take turns often, also with the GIL."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_many_switches")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.packed], ids=lambda kind: kind.name)
def test_every_thread_gets_the_same_answers_from_the_first_call_on(kind: Kind) -> None:
    fresh, new = stopped(kind), data_of(kind).new[:20]
    expected = copy.deepcopy(fresh).predict_with_votes(new)
    for _ in range(3):
        shared, begin = copy.deepcopy(fresh), Barrier(N_THREADS)

        def ask(number: int, shared: Any = shared, begin: Barrier = begin) -> list[Any]:
            begin.wait()
            if number % 2:
                return list(shared.predict_with_votes(new))
            rows = [shared.predict_with_votes(new[row : row + 1]) for row in range(len(new))]
            return [np.concatenate(parts) for parts in zip(*rows, strict=True)]

        with ThreadPoolExecutor(N_THREADS) as pool:
            for got in pool.map(ask, range(N_THREADS)):
                for mine, whole in zip(got, expected, strict=True):
                    np.testing.assert_array_equal(mine, whole)

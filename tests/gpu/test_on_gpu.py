"""Everything that a GPU does, on a GPU, against the CPU; skipped where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foregone._system.gpu import find_gpu
from foregone.errors import InvalidInputError
from tests.gpu.cases import ALL_CASES, N_TREES, by_chance, forest, same

GPU = find_gpu()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(GPU.problem is not None, reason=f"there is no GPU to test on: {GPU.problem}"),
]
N_ROWS = 20_000


@pytest.mark.parametrize("name", ALL_CASES)
def test_the_gpu_answers_as_the_cpu_does(name: str) -> None:
    ALL_CASES[name](N_ROWS)


def on_gpu(library: str, X: Any) -> Any:
    module = pytest.importorskip(library)
    return module.asarray(X) if library == "cupy" else module.as_tensor(X).cuda()


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_rows_on_the_gpu_stay_there_and_so_do_results(library: str) -> None:
    packed, new = forest(N_ROWS)
    there = on_gpu(library, new)
    outcome = packed.run(there, by_chance(), seed=0, device="cuda")
    assert all(type(part).__module__.partition(".")[0] == library for part in outcome)
    same(
        packed.run(new, by_chance(), seed=0),
        tuple(np.asarray(part.get() if library == "cupy" else part.cpu()) for part in outcome),
    )
    with pytest.raises(InvalidInputError, match='device="cuda"'):
        packed.run(there, None, seed=0)
    with pytest.raises(InvalidInputError, match="float32 or float64"):
        packed.run(there > 0, None, seed=0, device="cuda")
    assert packed.votes(there, device="cuda").shape == (N_ROWS,)
    assert packed.n_trees == N_TREES

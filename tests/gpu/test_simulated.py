"""Everything that a GPU does, on numba's simulator of one, against the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.gpu.cases import ALL_CASES

pytestmark = pytest.mark.xdist_group("simulated GPU")
ROOT = Path(__file__).parents[2]


@cache
def simulate(folder: str | None = None) -> dict[str, str | None]:
    """Return what went wrong in each case, None if nothing did."""
    command = [sys.executable, "-m", "tests.gpu.run_simulated", *([] if folder is None else [folder])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_CASES)
def test_a_simulated_gpu_answers_as_the_cpu_does(name: str) -> None:
    problem = simulate()[name]
    assert problem is None, problem

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from foregone import VoteDistribution, evaluate, solve
from foregone._kernels import compiled
from tests.systems import posix

# The command itself, which says when the solver is at work.
PROGRAM = """
import sys
from foregone.cli import main
from foregone.solving import dual

solve = dual.solve_dual

def solve_audibly(problem):
    print("solving", flush=True)
    return solve(problem)

dual.solve_dual = solve_audibly
sys.exit(main(sys.argv[1:]))
"""


@posix
@pytest.mark.parametrize("options", [[], ["--criterion", "minimax"]])
def test_an_interruption_ends_a_long_solve_at_once(tmp_path: Path, options: list[str]) -> None:
    arguments = ["solve", "--voters", "1000000", "--max-disagreement", "1e-3", "-o", "strategy.json"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments, *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may have had interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "solving\n"
        time.sleep(2)  # until it is in the middle of a compiled loop
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)  # the whole solve takes many minutes
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "foregone: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("criterion", ["minimean", "minimixed", "minimax"])
def test_loops_cut_into_pieces_give_the_same(criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    votes = VoteDistribution.from_counts(np.arange(402) % 5)
    options = {"answer": "likeliest"} if criterion != "minimax" else {"looks": 3}

    def figures() -> tuple[object, ...]:
        solution = solve(criterion, votes, {"yes": 1e-3, "no": 1e-2}, **options)
        asked = evaluate(solution.strategy).votes_asked(votes)
        return solution.strategy, solution.lower_bound, solution.disagreement, asked.tolist()

    whole = figures()
    monkeypatch.setattr(compiled, "CELLS", 3_000)
    assert len(compiled.pieces(401, 401)) > 50
    assert figures() == whole

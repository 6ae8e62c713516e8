from __future__ import annotations

from pathlib import Path

import pytest

from foregone import Solution
from tests.cli.conftest import Run


def test_the_demo_draws_compares_and_explains(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = run("demo", "-o", tmp_path / "demo")
    assert outcome.code == 0
    assert max(len(line) for line in outcome.out.splitlines() if str(tmp_path) not in line) <= 80
    for words in ("go on asking", "curtailment", "Schwing", "How to read this", "What to try next"):
        assert words in outcome.out
    assert outcome.out.count("stop: the answer is YES") == 3
    written = sorted(file.name for file in (tmp_path / "demo").iterdir())
    assert written == ["envelopes.png", "minimax.json", "minimean.json", "minimixed.json"]
    assert Solution.load(tmp_path / "demo" / "minimax.json").n_voters == 101

"""What the guide shows is what comes out."""

from __future__ import annotations

import doctest
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "polling.md"


def test_its_examples_run():
    results = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert results.attempted > 15
    assert results.failed == 0

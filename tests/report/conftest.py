"""A browser, and one report of a small forest for all who look at it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone.report import Report, make_report

# What a careless page would run, in the places that labels and names are shown.
HOSTILE = "<script>throw 1</script>\"'&\x1b[31m\u202e\u200b"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def rare() -> tuple[Any, Any, Any, Any]:
    """Rows of a rare class with a label that means harm: to fit on with labels, and fresh with labels."""
    X, y = make_classification(2500, 6, n_informative=4, weights=[0.9], flip_y=0.02, random_state=1)
    labels = np.array(["ham", HOSTILE], dtype=object)[y]
    return X[:500], labels[:500], X[500:], labels[500:]


@pytest.fixture(scope="session")
def forest(rare: Any) -> RandomForestClassifier:
    return RandomForestClassifier(21, max_depth=4, random_state=0).fit(*rare[:2])


@pytest.fixture(scope="session")
def report(forest: RandomForestClassifier, rare: Any) -> Report:
    names = {"model": f"{HOSTILE}.skops", "data": HOSTILE}
    return make_report(forest, rare[2], voting="hard", names=names)


@pytest.fixture(scope="session")
def labelled_report(forest: RandomForestClassifier, rare: Any) -> Report:
    """The same with labels, and so with limits on the loss of accuracy."""
    table = np.column_stack([rare[2].astype(object), rare[3]])
    return make_report(forest, table, target="-1", voting="hard")


@pytest.fixture(scope="module")  # no longer: while it runs, no other test can use asyncio
def browser() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium on this machine: install it with the system's package manager")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()

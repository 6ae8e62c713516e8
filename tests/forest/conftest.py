"""Batches of tests are small: without this they would be run row by row, or in one form only."""

import math

import pytest

from foregone.forest import forest
from foregone.forest.batch_trees import BatchTrees
from foregone.forest.ranked_trees import rank_trees


@pytest.fixture(autouse=True)
def _batches_are_batches(monkeypatch):
    """Run more than a few rows as a batch, however large the trees are."""
    monkeypatch.setattr(forest, "NODES_A_ROW", math.inf)


@pytest.fixture(scope="module", params=["keys", "ranks"])
def form(request):
    """Let batches compare keys, or ranks wherever the trees allow it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "ranks":
            patch.setattr(BatchTrees, "_ranked_if_it_pays", _rank)
        yield request.param


def _rank(self, looping, shift, record):
    if shift not in self._ranked:
        self._ranked[shift] = rank_trees(*looping, self._no_keys, shift)
    return self._ranked[shift]

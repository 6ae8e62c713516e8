"""The stops of calibration rows in a classifier's file: what is damaged is refused by the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import FileFormatError
from foregone.forest import container
from tests.classifier import models


@pytest.fixture
def file(tmp_path: Path) -> Path:
    early_stop(models.forest(5), models.fresh()[:500], max_disagreement=0.05, random_state=0).save(
        tmp_path / "model"
    )
    return tmp_path / "model"


def change(file: Path, stops: Any) -> None:
    fields, arrays = container.read(file, "classifier")
    container.write(file, "classifier", {**fields._content, "stops": stops}, arrays)


def test_stops_come_back(file: Path) -> None:
    stops = EarlyStoppingClassifier.load(file).stops_
    classifier = early_stop(models.forest(5), models.fresh()[:500], max_disagreement=0.05, random_state=0)
    np.testing.assert_array_equal(stops.counts, classifier.stops_.counts)
    assert stops.n_differing == classifier.stops_.n_differing
    assert stops.n_rows > 0


def test_a_file_without_stops_is_read_and_has_none(file: Path) -> None:
    change(file, None)
    classifier = EarlyStoppingClassifier.load(file)
    assert not hasattr(classifier, "stops_") or classifier.stops_ is None
    assert classifier.monitor().reference is None


FINE = {"n_voters": 5, "n_classes": 2, "n_differing": 0, "rows": [[0, 3, 100], [1, 5, 50]]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_voters": 6}, 'field "stops" does not match the number of voters or classes'),
        ({"n_classes": 3}, 'field "stops" does not match the number of voters or classes'),
        ({"n_voters": 0}, 'field "n_voters"'),
        ({"n_voters": 2**31, "n_classes": 2**31}, "memory"),
        ({"n_differing": 151}, 'field "n_differing" is larger than the number of rows'),
        ({"n_differing": -1}, 'field "n_differing"'),
        ({"rows": [[0, 6, 1]]}, 'field "rows" must hold rows, columns and counts within 2 by 6'),
        ({"rows": [[2, 0, 1]]}, 'field "rows"'),
        ({"rows": [[0, 0, -1]]}, 'field "rows"'),
        ({"rows": [[0, 0, 0.5]]}, 'field "rows" must hold integers of at most'),
        ({"rows": [[0, 0, 2**53], [0, 1, 2**53]]}, 'field "rows" must hold integers of at most'),
        ({"rows": [[0, 0, "1"]]}, 'field "rows"'),
        ({"rows": [[0, 0]]}, 'field "rows" must contain only lists of 3'),
        ({"rows": {}}, 'field "rows" must be a list'),
    ],
)
def test_damaged_stops_are_refused(changes: dict[str, Any], message: str, file: Path) -> None:
    change(file, {**FINE, **changes})
    with pytest.raises(FileFormatError, match=message):
        EarlyStoppingClassifier.load(file)


def test_stops_that_are_no_object_are_refused(file: Path) -> None:
    change(file, FINE)
    assert EarlyStoppingClassifier.load(file).stops_.n_rows == 150
    change(file, [1, 2])
    with pytest.raises(FileFormatError, match='field "stops" must be an object'):
        EarlyStoppingClassifier.load(file)

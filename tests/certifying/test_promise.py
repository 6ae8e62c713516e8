"""What a promise says, and that it comes back from a file as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foregone.certifying import Judged, Promise
from foregone.errors import FileFormatError
from foregone.strategy.json_file import Fields, read_file, write_file

PLAIN = Promise("classifier", "disagreement", 0.001, 0.95, 0.0008, 16_000)
BY_CLASS = Promise.certified(
    (Judged("yes", None, 0.001, 4_000, 0.0, 0.0007), Judged("no", None, 0.01, 9_000, 0.001, 0.002)),
    0.95,
    13_000,
)
BY_GROUP = Promise.certified(
    (Judged("all", "a", 0.01, 400, 0.0, 0.008), Judged("all", 7, 0.01, 900, 0.001, 0.009)), 0.9, 1_300
)
BY_BOTH = Promise.certified(
    tuple(Judged(side, group, 0.1, 400, 0.0, 0.01) for group in "ab" for side in ("yes", "no")),
    0.95,
    1_600,
    in_clusters=True,
)
OVER_ORDERS = Promise("orders", "disagreement", 0.001, 0.95, 0.00099, 1_000, rows_to_certify=5_990)
EVERY = Promise(
    "orders", "disagreement of every row", {"yes": 0.1, "no": 0.01}, None, {"yes": 0.1, "no": 0.01}, 0
)
CERTAIN = Promise.certain(0.001)
ACCURACY = Promise.certified((Judged("all", None, 0.002, 9_000, 0.0, 0.0015),), 0.95, 9_000, loss="accuracy")
ACCURACY_BY_CLASS = Promise.certified(
    (Judged("yes", None, 0.002, 400, 0.0, 0.001), Judged("no", None, 0.01, 900, 0.0, 0.009)),
    0.9,
    1_300,
    loss="accuracy",
)
ACCURACY_OVER_ORDERS = Promise.certified(
    (Judged("all", None, 0.001, 2_000, -0.001, 0.0009),), 0.95, 2_000, loss="accuracy", about="orders"
)
COST = Promise.certified((Judged("all", None, 0.01, 800, 0.0, 0.005),), 0.95, 800, loss="cost", unit=30.0)
OBSERVED_ACCURACY = Promise.over_orders("minimean", 0.005, None, 0.005, 700, loss="accuracy")
LOSSES = (ACCURACY, ACCURACY_BY_CLASS, ACCURACY_OVER_ORDERS, COST, OBSERVED_ACCURACY)
ALL = (PLAIN, BY_CLASS, BY_GROUP, BY_BOTH, OVER_ORDERS, EVERY, CERTAIN, *LOSSES)


def fields_of(promise: Promise, folder: Path) -> Fields:
    write_file(folder / "promise.json", {"promise": promise.to_fields()})
    return read_file(folder / "promise.json").section("promise")


@pytest.mark.parametrize("promise", ALL)
def test_it_comes_back_from_a_file(promise: Promise, tmp_path: Path) -> None:
    assert Promise.from_fields(fields_of(promise, tmp_path)) == promise


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (
            BY_CLASS,
            "at most 0.001 of new rows voted 'sick' and 0.01 of new rows voted 'fit', if they are like",
        ),
        (BY_GROUP, "at most 0.01 of new rows in each of 2 groups, if they are like the 1,300"),
        (BY_BOTH, "counting each cluster once."),
        (OVER_ORDERS, "over new inputs like the 1,000 observed and over random orders of the voters; 5,990 "),
        (EVERY, "at most 0.1 for inputs voted 'sick' and 0.01 for inputs voted 'fit', for every input, on"),
        (CERTAIN, "This classifier always agrees with its full vote"),
        (
            ACCURACY,
            "With 95 % confidence, the accuracy of this classifier on new rows is at most 0.002 below that "
            "of its full vote, if they are like the 9,000 it was certified on.",
        ),
        (ACCURACY_BY_CLASS, "at most 0.002 for class 'sick' and 0.01 for class 'fit' below that of its full"),
        (
            ACCURACY_OVER_ORDERS,
            "the accuracy of stopping early on new rows is at most 0.001 below that of the full vote, if "
            "they are like the 2,000 observed, on average over random orders of the voters.",
        ),
        (COST, "the mean cost of this classifier on new rows is at most 0.3 above that of its full vote"),
        (OBSERVED_ACCURACY, "The accuracy of stopping early on"),
    ],
)
def test_what_it_says(promise: Promise, words: str) -> None:
    said = str(promise.labelled(["fit", "sick"]))
    assert words in said
    assert said.count(".") - said.count("0.") == 1  # one sentence


def test_bounds_are_by_label_group_or_both() -> None:
    assert BY_CLASS.labelled(["fit", "sick"]).bound == {"sick": 0.0007, "fit": 0.002}
    assert BY_GROUP.labelled(["fit", "sick"]).bound == {"a": 0.008, 7: 0.009}
    assert BY_BOTH.labelled(["fit", "sick"]).bound == {
        (label, group): 0.01 for group in "ab" for label in ("sick", "fit")
    }


def test_costs_are_in_the_units_that_were_given() -> None:
    assert (COST.limit, COST.bound) == (pytest.approx(0.3), pytest.approx(0.15))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("about", "everything"), ("loss", 3), ("limit", 2), ("confidence", -1), ("bound", []),
        ("bound", [["all", None, 2.0]]), ("bound", [["maybe", None, 0.1]]), ("n_rows", -1),
        ("in_clusters", 2),
    ],
)  # fmt: skip
def test_other_fields_are_refused(key: str, value: object, tmp_path: Path) -> None:
    fields = {**PLAIN.to_fields(), key: value}
    write_file(tmp_path / "promise.json", {"promise": json.loads(json.dumps(fields))})
    with pytest.raises(FileFormatError, match=key):
        Promise.from_fields(read_file(tmp_path / "promise.json").section("promise"))

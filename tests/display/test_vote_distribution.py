from __future__ import annotations

import numpy as np
import pytest

from foregone import VoteDistribution
from foregone.display import VoteDistributionDisplay
from foregone.errors import InvalidInputError

pytest.importorskip("matplotlib")

YES_COUNTS, LABELS = [0, 0, 1, 3, 2, 3, 3], ["b", "b", "b", "b", "s", "s", "s"]


def heights(display: VoteDistributionDisplay) -> dict[str, list[float]]:
    return {patch.get_label(): patch.get_data().values.tolist() for patch in display.ax_.patches}


def test_votes_are_split_by_the_full_vote_and_a_tie_is_no() -> None:
    display = VoteDistributionDisplay.from_votes(VoteDistribution.from_counts([4, 1, 2, 1, 2]))
    assert heights(display) == {
        "full vote no": [0.4, 0.1, 0.2, 0, 0],
        "full vote yes": [0, 0, 0, 0.1, 0.2],
    }


def test_rows_are_counted_by_true_class() -> None:
    display = VoteDistributionDisplay.from_yes_counts(YES_COUNTS, LABELS, 3)
    assert heights(display) == {
        "true class b": [0.5, 0.25, 0, 0.25],
        "true class s": pytest.approx([0, 0, 1 / 3, 2 / 3]),
    }


def test_shares_can_be_of_all_rows() -> None:
    display = VoteDistributionDisplay.from_yes_counts(YES_COUNTS, LABELS, 3, share_of="all")
    assert sum(map(sum, heights(display).values())) == pytest.approx(1)
    assert heights(display)["true class b"] == pytest.approx([2 / 7, 1 / 7, 0, 1 / 7])
    assert "all rows" in display.ax_.get_ylabel()


def test_given_classes_decide_which_is_no_and_may_be_missing_in_the_rows() -> None:
    display = VoteDistributionDisplay.from_yes_counts([0, 1], ["x", "x"], 1, classes=["z", "x"])
    assert heights(display) == {"true class z": [0, 0], "true class x": [0.5, 0.5]}


def test_classes_differ_in_more_than_colour() -> None:
    no, yes = VoteDistributionDisplay.from_yes_counts(YES_COUNTS, LABELS, 3).ax_.patches
    assert no.get_hatch() != yes.get_hatch()


def test_what_is_rare_can_be_seen() -> None:
    display = VoteDistributionDisplay.from_votes(VoteDistribution.from_counts([9999, 0, 0, 1]))
    low, high = display.ax_.transData.transform([[0, 0], [0, 1e-4]])[:, 1]
    whole = display.ax_.bbox.height
    assert (high - low) / whole > 0.005
    assert np.isfinite(high)


@pytest.mark.parametrize(
    ("y", "classes", "word"),
    [(["a"], None, "one label"), (["a"] * 7, None, "two classes"), (LABELS, ["b", "c"], "two classes")],
)
def test_bad_labels_are_errors(y: list[str], classes: list[str] | None, word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        VoteDistributionDisplay.from_yes_counts(YES_COUNTS, y, 3, classes=classes)


def test_bad_shares_are_errors() -> None:
    with pytest.raises(InvalidInputError, match="share_of"):
        VoteDistributionDisplay({"no": np.ones(3)}, share_of="some")
    with pytest.raises(InvalidInputError, match="two classes"):
        VoteDistributionDisplay({"no": np.ones(3), "yes": np.ones(4)})

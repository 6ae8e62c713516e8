"""Limits and criteria as values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone.errors import FileFormatError, InvalidInputError
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import CRITERIA, Limits, as_given, by_side, traits_of

shares = st.floats(0, 1)
limits_given = shares | st.fixed_dictionaries({"yes": shares, "no": shares})


@given(limits_given)
def test_limits_are_given_back_as_they_were_given(limits):
    assert Limits.of(limits).given == limits
    assert Limits.of(Limits.of(limits)) == Limits.of(limits)


@given(limits_given)
def test_a_file_holds_limits_as_they_are_given(limits):
    assert Limits.from_field(Fields({"max_disagreement": limits}, "file")) == Limits.of(limits)


@pytest.mark.parametrize("wrong", [None, "0.1", True, 2, -0.1, [0.1], {"yes": 0.1}, {"yes": 0.1, "no": 2}])
def test_a_file_with_other_limits_is_refused(wrong):
    with pytest.raises(FileFormatError):
        Limits.from_field(Fields({"max_disagreement": wrong}, "file"))


@pytest.mark.parametrize(
    "wrong", [None, "0.1", True, 2, math.nan, {"yes": 0.1}, {"yes": 0, "no": 0, "all": 0}]
)
def test_other_limits_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="max_disagreement"):
        Limits.of(wrong)


@given(limits_given)
def test_what_there_is_for_each_side_is_given_back_in_the_same_shape(limits):
    assert as_given(by_side(limits)) == limits


def test_limits_can_be_set_to_nothing_one_by_one():
    assert Limits.of({"yes": 0.1, "no": 0.2}).without(["no"]).given == {"yes": 0.1, "no": 0.0}
    assert Limits.of(0.1).without(["all"]).given == 0.0


def test_every_criterion_has_traits_of_its_own():
    assert len({traits_of(criterion) for criterion in CRITERIA}) == len(CRITERIA)
    for wrong in ("minimum", None, ["minimax"]):
        with pytest.raises(InvalidInputError, match="criterion must be one of minimax, minimean, minimixed"):
            traits_of(wrong)

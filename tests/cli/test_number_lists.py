from __future__ import annotations

import pytest

from foregone.cli.number_lists import parse_rates, parse_voters
from foregone.errors import InvalidInputError


def test_a_range_includes_its_stop() -> None:
    assert parse_voters("11:41:10") == [11, 21, 31, 41]
    assert parse_voters("3:5") == [3, 4, 5]
    assert parse_voters("9,1:3,9") == [1, 2, 3, 9]


@pytest.mark.parametrize("text", ["", "x", "5:1", "1:5:0", "1:5:-1", "1:2:3:4", "1,,2", "0", "1.5", "-4"])
def test_what_is_no_list_of_voters_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_voters(text)


@pytest.mark.parametrize("dots", ["...", "…", " ... "])
def test_three_dots_mean_powers_of_ten_exactly(dots: str) -> None:
    assert parse_rates(f"0,1e-6,{dots},0.1") == [0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]


def test_three_dots_follow_the_ratio_of_the_two_numbers_before() -> None:
    assert parse_rates("0.01,0.02,...,0.08,0.5") == [0.01, 0.02, 0.04, 0.08, 0.5]


NUMBERS = ["", "x", "2", "-1", "nan", "1,,2"]
DOTS = [
    "...",
    "...,1",
    "0.1,...",
    "0,...,0.1",
    "0.1,...,0.3",
    "0.2,0.1,...,0.01",
    "0.1,...,...,1",
    "0.1,0.1,...,1",
]


@pytest.mark.parametrize("text", [*NUMBERS, *DOTS])
def test_what_is_no_list_of_rates_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--max-disagreement"):
        parse_rates(text)

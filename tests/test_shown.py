"""Texts from elsewhere: nothing in them moves a cursor, hides, or becomes a formula."""

import pytest

from foregone._system.shown import shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\bb\rc", r"a\x08b\rc"),
        ("\x7f\x9b", r"\x7f\x9b"),
        ("\u202etxt\u2066\u200f", r"\u202etxt\u2066\u200f"),
        ("a\u200bb\ufeff\u2028", r"a\u200bb\ufeff\u2028"),
        ("\udc80", r"\udc80"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_is_not_seen_or_obeyed_by_terminals_becomes_a_visible_escape(text, expected):
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text", ["", "größe 名前", "two\nlines\tand a tab", "thin\u2009and\xa0fixed", "🙂 \\x1b"]
)
def test_what_is_seen_stays_as_it_is(text):
    assert shown(text) == text

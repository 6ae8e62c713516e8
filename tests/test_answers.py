"""Replies read as answers: equal answers in different words have equal canonical forms, others have not."""

from __future__ import annotations

import asyncio
import functools
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import poll, poll_async, poll_many, rules, solve_plurality
from foregone.answers import (
    UNPARSABLE,
    boxed,
    choice,
    first_of,
    is_refusal,
    json_field,
    number,
    reading,
    text,
    yes_no,
)
from foregone.errors import InvalidInputError, NoVoteError, PollError
from foregone.plurality import rules as plurality_rules

EXTRACTORS = [text, number, boxed, choice, yes_no, json_field("a"), json_field("a.0", number)]
MARKS = "0123456789,./-+ ^eE%$\\frac{}boxed*x\u2212\u00bd\u00b2\u00a0()=\"'ABanswer:is\n"
replies = st.one_of(st.text(), st.text(alphabet=MARKS, max_size=40))


# Texts -----------------------------------------------------------------------------------------


@given(replies)
def test_every_extractor_gives_a_text_a_boolean_or_nothing_for_any_reply(reply):
    for extract in EXTRACTORS:
        answer = extract(reply)
        assert answer is None or isinstance(answer, bool) or (isinstance(answer, str) and answer)
    assert isinstance(is_refusal(reply), bool)


@given(replies, st.sampled_from([text, number, choice]))
def test_a_canonical_form_is_its_own_canonical_form(reply, extract):
    answer = extract(reply)
    assert answer is None or extract(answer) == answer


@pytest.mark.parametrize("extract", [*EXTRACTORS, is_refusal])
def test_what_is_not_a_text_is_refused(extract):
    with pytest.raises(InvalidInputError, match="pass the text of the reply"):
        extract(42)


@pytest.mark.parametrize(
    "reply",
    [
        "new york",
        "New York",
        " New\n York. ",
        "**New York**",
        '"New York!"',
        "\u201c\uff2eew York\u201d",
        "`new york`:",
    ],
)
def test_case_spaces_quotes_and_final_punctuation_do_not_matter(reply):
    assert text(reply) == "new york"


@pytest.mark.parametrize("reply", ["", "  ", "...", '"**"'])
def test_nothing_is_no_answer(reply):
    assert text(reply) is None


@pytest.mark.parametrize(("one", "other"), [("-5", "5"), ("C#", "C"), ("> 5", "5"), ("a b", "ab")])
def test_what_may_matter_is_kept(one, other):
    assert text(one) != text(other)


# Numbers ---------------------------------------------------------------------------------------


def spellings(value: Fraction) -> list[str]:
    """The same number as people write it."""
    sign, top, bottom = "-" if value < 0 else "", abs(value.numerator), value.denominator
    found = [
        f"{sign}{top}/{bottom}",
        f"{sign}\\frac{{{top}}}{{{bottom}}}",
        f"\\dfrac{{{sign}{top}}}{{{bottom}}}",
        f"{sign.replace('-', chr(0x2212))}{top:,} / {bottom}",
    ]
    if top > bottom > 1:
        found += [
            f"{sign}{top // bottom} {top % bottom}/{bottom}",
            f"{sign}{top // bottom}\\frac{{{top % bottom}}}{{{bottom}}}",
        ]
    if 10**6 % bottom == 0:
        millionths = top * 10**6 // bottom
        whole, rest = divmod(millionths, 10**6)
        found += [
            f"{sign}{whole}.{rest:06}",
            f"{sign}{whole:,}.{rest:06}",
            f"{sign}${whole:,}.{rest:06}0",
            f"{sign}{whole:,}.{rest:06}".replace(",", "{,}"),
            f"{sign}{whole:,}.{rest:06}".replace(",", " "),
            f"{sign}{millionths}e-6",
            f"{sign}{millionths} \\times 10^{{-6}}",
            f"{sign}{millionths} \u00d7 10⁻⁶",
            f"{sign}{whole}.{rest:06}%",
        ]
    return found


numbers = st.one_of(
    st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**4),
    st.integers(-(10**12), 10**12).map(lambda n: Fraction(n, 1000)),
    st.integers(-(10**9), 10**9).map(Fraction),
)


@given(numbers)
def test_a_number_is_the_same_in_every_spelling(value):
    assert {number(f"It may be 7, it is {spelled}.") for spelled in spellings(value)} == {number(f"{value}")}
    assert {boxed(rf"7, so \boxed{{{spelled}}}") for spelled in spellings(value)} == {number(f"{value}")}


@given(numbers)
def test_a_number_is_read_exactly(value):
    assert Fraction(number(f"{value}")) == value


@given(numbers, numbers)
def test_different_numbers_are_different_answers(one, other):
    assert (number(f"{one}") == number(f"{other}")) == (one == other)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("42", "42"),
        ("42.0", "42"),
        ("#### 1,234", "1234"),
        ("**-3.50**", "-3.5"),
        ("x=-5", "-5"),
        ("10-5", "5"),
        ("3 to 4", "4"),
        ("5 m²", "5"),
        ("10²", "100"),
        ("1½ cups", "1.5"),
        ("₹1,00,000", "100000"),
        ("-$5", "-5"),
        ("2^{10}", "1024"),
        ("1 of 3, not v1.2", "3"),
        ("5/0", None),
        ("none", None),
        ("x2", None),
        ("1e999999999", None),
        pytest.param("9" * 5000, None, id="long"),
        ("2^99999999", None),
    ],
)
def test_the_last_number_of_a_reply(reply, expected):
    assert number(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (r"\boxed{1}, or rather $\boxed{ \frac{2}{4} }$.", "0.5"),
        (r"\boxed{\frac12}", "0.5"),
        (r"\boxed{x = 7}", "7"),
        (r"\boxed{50\%}", "50"),
        (r"\boxed{5\text{ cm}^2}", "5"),
        (r"\boxed{90^\circ}", "90"),
        (r"\fbox{7}", "7"),
        (r"\boxed 7$", "7"),
        (r"\boxed{\dfrac{\sqrt3}{2}}", r"\frac{\sqrt{3}}{2}"),
        (r"\boxed{\left( 1, \tfrac{1}{2} \right)}", "(1,1/2)"),
        (r"\boxed{\{a, b\}}", r"\{a,b\}"),
        (r"\boxed{\text{Yes}}", "Yes"),
        (r"\boxed{\frac{1}{2", None),
        (r"\boxed{}", None),
        ("1/2", None),
    ],
)
def test_the_last_box_of_a_reply(reply, expected):
    assert boxed(reply) == expected
    assert expected is None or boxed(rf"\boxed{{{expected}}}") == expected


# Words with a meaning ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("C", "C"),
        ("(c)", "C"),
        ("C) Paris", "C"),
        ("C. Paris", "C"),
        ("The answer is (C).", "C"),
        ("A) x\nB) y\n\n**Answer:** B", "B"),
        ("It is not option: A. The correct answer is option (b)", "B"),
        (r"$\boxed{\text{(D)}}$", "D"),
        ("I compare them.\nE", "E"),
        ("The answer is A because it fits.", "A"),
        ("The answer is A matter of taste", None),
        ("Answer: A and C", None),
        ("A) x\nB) y", None),
        ("The answer is F", None),
        ("Cats", None),
    ],
)
def test_the_letter_of_a_multiple_choice(reply, expected):
    assert choice(reply) == expected


def test_there_may_be_other_letters():
    assert functools.partial(choice, letters="ABCDEFGHIJ")("The answer is (J).") == "J"
    with pytest.raises(InvalidInputError, match="letters must be a string of letters"):
        choice("C", letters="A-D")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Yes", True),
        ("**no**.", False),
        ("Yes it does", True),
        ("False, since", False),
        ("I doubt it.\nAnswer: No", False),
        ("Well,\nyes.", True),
        ("No reason is given.", None),
        ("perhaps", None),
    ],
)
def test_yes_and_no(reply, expected):
    assert yes_no(reply) is expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I cannot assist with this request", True),
        ("As an AI language model, I am unable to", True),
        ("Unfortunately, I won\u2019t do that.", True),
        ("Sorry to say so: 7", False),
        ("I can see that it is 7.", False),
        ("It is 7. I cannot say more.", False),
    ],
)
def test_refusals_are_told_by_how_they_begin(reply, expected):
    assert is_refusal(reply) is expected


# JSON, and several extractors --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"answer": "Paris."}', "paris"),
        ('Sure:\n```json\n{"why": "{x}", "answer": 1.50}\n```\nDone {', "1.50"),
        ('{"answer": "a"} and {"answer": "b"} and {"other": 1}', "b"),
        ('{"x": {"answer": "inside"}}', None),
        ('{"answer": true}', "true"),
        ('{"answer": [2, {"b": 1, "a": null}]}', '["2",{"a":null,"b":"1"}]'),
        ('{"answer": null}', None),
        ('{"answer": "cut off', None),
        pytest.param('{"answer":' * 5000, None, id="deep"),
        ("no JSON", None),
    ],
)
def test_a_field_of_the_json_in_a_reply(reply, expected):
    assert json_field("answer")(reply) == expected


def test_a_path_leads_into_objects_and_lists():
    reply = '{"result": {"votes": [{"n": "$1,000"}], "a.b": 3}}'
    assert json_field("result.votes.0.n", number)(reply) == "1000"
    assert json_field("result.a.b", number)(reply) == "3"
    assert json_field("result.votes.7.n", number)(reply) is None
    assert json_field("ok", yes_no)('{"ok": false}') is False
    with pytest.raises(InvalidInputError, match="the name of a field"):
        json_field("")


def test_the_first_extractor_with_an_answer_is_taken():
    read = first_of(yes_no, boxed, number)
    assert read("no") is False  # an answer, although it is false
    assert read(r"3 steps: \boxed{4}") == "4"
    assert read("3 steps") == "3"
    assert read("?") is None
    with pytest.raises(InvalidInputError, match="at least one extractor"):
        first_of()


# Polls -------------------------------------------------------------------------------------------

STRATEGY = plurality_rules.lead(9, 3)
REPLIES = ["It is 7.", "I'm sorry, but I can't do 2 things.", "7.0", "no idea", "seven: 7", r"\boxed{7}"]


def replying(called: list[int]):
    """A model that gives one reply for each voter, and again if it is asked again."""

    def ask(voter):
        called.append(voter)
        return REPLIES[voter % len(REPLIES)]

    return ask


class AsyncModel:
    def __init__(self, called):
        self.ask = replying(called)

    async def __call__(self, voter):
        await asyncio.sleep(0)
        return self.ask(voter)


def in_a_coroutine(called):
    async def ask(voter):
        return replying(called)(voter)

    return ask


def coroutine_from_a_plain_function(called):
    return lambda voter: in_a_coroutine(called)(voter)


@pytest.mark.parametrize("model", [replying, in_a_coroutine, AsyncModel, coroutine_from_a_plain_function])
def test_unparsable_replies_are_no_votes_and_others_are_asked_instead(model):
    called = []
    ask = reading(model(called), number, refused=is_refusal)
    verdict = asyncio.run(poll_async(ask, STRATEGY, concurrency=1, retries=2, seed=0))
    assert (verdict.answer, verdict.asked, verdict.yes) == ("7", 3, 3)
    assert called == [0, 1, 1, 1, 2, 3, 3, 3, 4]  # asked again as often as retries say


@pytest.mark.parametrize("model", [replying, in_a_coroutine, AsyncModel, coroutine_from_a_plain_function])
def test_unparsable_replies_may_count_as_one_answer(model):
    called = []
    ask = reading(model(called), number, unparsable="answer", refused=is_refusal)
    verdict = asyncio.run(poll_async(ask, STRATEGY, concurrency=1, seed=0))
    assert (verdict.answer, verdict.asked, verdict.yes) == ("7", 7, 5)
    assert called == list(range(7))


def test_voters_asked_one_by_one_are_read_as_well():
    voters = [reading(functools.partial(replying([]), k), number, refused=is_refusal) for k in range(9)]
    assert poll(iter(voters), STRATEGY, seed=0).answer == "7"
    unparsable = [reading(lambda: "?", number, unparsable="answer")] * 9
    assert poll(unparsable, STRATEGY).answer == UNPARSABLE


def test_a_model_that_always_refuses_ends_the_poll_after_so_many_calls():
    called = []

    def ask(voter):
        called.append(voter)
        return "I'm sorry, but I can't."

    with pytest.raises(PollError, match=r"NoVoteError: no answer in \"I'm sorry, but I can't\.\""):
        asyncio.run(poll_async(reading(ask, number), STRATEGY, concurrency=1, retries=1, max_failures=2))
    assert called == [0, 0, 1, 1, 2, 2]


def test_a_reply_of_none_is_unparsable_and_another_object_is_named():
    assert reading(lambda: None, number, unparsable="answer")() == UNPARSABLE
    with pytest.raises(NoVoteError, match="no answer in None"):
        reading(lambda: None, number)()
    with pytest.raises(InvalidInputError, match="got dict"):
        reading(dict, number)()


@pytest.mark.parametrize("model", [replying, in_a_coroutine])
def test_many_polls_keep_what_was_read_in_their_journal(tmp_path, model):
    journal, calls = tmp_path / "votes.jsonl", []

    def both(question, voter):
        return model(calls)(voter + question)

    ask = reading(both, number, unparsable="answer", refused=is_refusal)
    strategy = plurality_rules.curtailment(5)
    verdicts = poll_many([0, 1], ask, strategy, journal=journal, seed=0).run()
    votes = [json.loads(line).get("vote") for line in journal.read_text().splitlines()[1:]]
    assert set(votes) == {"7", UNPARSABLE}
    assert poll_many([0, 1], None, strategy, journal=journal).run() == verdicts  # nobody is asked

    called_before = len(calls)
    failing = tmp_path / "failures.jsonl"
    ask = reading(both, number, refused=is_refusal)
    verdicts = poll_many([0, 1], ask, strategy, journal=failing, retries=0, seed=0).run()
    assert {verdict.answer for verdict in verdicts.values()} == {"7"}
    records = [json.loads(line) for line in failing.read_text().splitlines()[1:]]
    assert len(calls) - called_before == sum("failed" not in record for record in records)
    assert "NoVoteError" in failing.read_text()
    assert poll_many([0, 1], None, strategy, journal=failing).run() == verdicts


def test_yes_and_no_are_votes_of_strategies_for_two_answers():
    ask = reading(lambda voter: "Yes." if voter % 4 else "I cannot say.", yes_no)
    assert asyncio.run(poll_async(ask, rules.lead(9, 3), seed=0)).answer is True


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(InvalidInputError, match="unparsable must be one of no_vote, answer"):
        reading(len, number, unparsable="drop")
    with pytest.raises(InvalidInputError, match="two functions"):
        reading(len, "number")


def test_recorded_replies_become_answers_to_solve_for():
    recorded = [["It is 7", "7.0", "8", "seven, 7"]] * 30
    solution = solve_plurality([list(map(number, one)) for one in recorded], 0.2, n_voters=4, confidence=None)
    assert solution.distribution.compositions.tolist() == [[3, 1]]

"""Yes/no items against every choice of votes and every order of them, one by one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import StoppingStrategy, VoteDistribution, evaluate, rules
from foregone.errors import InvalidInputError
from foregone.replaying import RecordedVotes, YesNoItems
from foregone.replaying.items import expected_yes
from tests.strategies import answering_strategies


def recorded(rows: list[list[object]], tokens: list[list[float]] | None = None) -> RecordedVotes:
    columns: dict[str, list[object]] = {"item": [], "draw": [], "answer": []}
    for item, row in enumerate(rows):
        for draw, answer in enumerate(row):
            for name, value in zip(columns, (item, draw, answer), strict=True):
                columns[name].append(value)
    if tokens is not None:
        columns["tokens"] = [cost for row in tokens for cost in row]
    return RecordedVotes.from_columns(columns)


def run(strategy: StoppingStrategy, votes: list[bool], tokens: list[float]) -> tuple[float, float, float]:
    """Return calls, disagreement and tokens in this very order, averaged over the strategy's own chance."""
    going, calls, wrong, spent = 1.0, 0.0, 0.0, 0.0
    for asked in range(len(votes) + 1):
        yes = sum(votes[:asked])
        stopped = going * strategy.stop_probability(asked, yes)
        calls += stopped * asked
        spent += stopped * sum(tokens[:asked])
        wrong += stopped * (strategy.answer(asked, yes) != (sum(votes) >= strategy.quota))
        going -= stopped
    return calls, wrong, spent


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_means_are_those_over_every_choice_and_order_of_the_votes(data):
    n_voters = data.draw(st.integers(1, 4))
    row = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=n_voters, max_size=5)
    rows = data.draw(st.lists(row, min_size=1, max_size=3))
    strategy = data.draw(answering_strategies(n_voters))
    votes = recorded([[vote for vote, _ in row] for row in rows], [[cost for _, cost in row] for row in rows])
    found = YesNoItems.of(votes, n_voters).play(strategy).on(np.arange(len(rows)))
    by_item = []
    for row in rows:
        orders = list(permutations(row, n_voters))
        each = [run(strategy, [v for v, _ in order], [c for _, c in order]) for order in orders]
        by_item.append(np.mean(each, axis=0))
    np.testing.assert_allclose(found, np.mean(by_item, axis=0), rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6).flatmap(answering_strategies))
def test_yes_and_no_votes_asked_are_all_votes_asked(strategy):
    mirrored = StoppingStrategy.from_table(
        [np.append(row[: k + 1][::-1], row[k + 1 :]) for k, row in enumerate(strategy.table())]
    )
    no = expected_yes(mirrored)[::-1]
    np.testing.assert_allclose(expected_yes(strategy) + no, evaluate(strategy).expected_votes, rtol=1e-9)


def test_asking_everyone_takes_the_tokens_of_a_full_vote():
    items = YesNoItems.of(recorded([[1, 0, 1, 1], [0, 0, 0, 0]], [[1, 2, 3, 4], [5, 6, 7, 8]]), 3)
    everyone = StoppingStrategy.from_rows(3, lambda asked: np.zeros(asked + 1))
    assert items.play(everyone).on(np.arange(2)).tokens == pytest.approx(items.full_tokens())
    assert items.full_tokens() == pytest.approx(3 * (10 / 4 + 26 / 4) / 2)
    assert YesNoItems.of(recorded([[1, 0, 1]]), 3).full_tokens() is None


def test_only_the_items_asked_for_count():
    items = YesNoItems.of(recorded([[1, 1, 1], [1, 0, 0], [0, 0, 0]]), 3)
    played = items.play(rules.lead(3, 1))
    assert played.on(np.array([0, 2])).disagreement == 0
    assert played.on(np.array([1])).disagreement == pytest.approx(1 / 3)
    assert played.worst().disagreement == pytest.approx(1 / 3)


def test_calibration_averages_over_choices_observes_the_first_votes_and_fits_all():
    items = YesNoItems.of(recorded([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]), 2)
    calibration = items.calibrate(np.array([0, 1]))
    np.testing.assert_allclose(calibration.averaged.probabilities, [(1 / 6 + 1) / 2, 4 / 6 / 2, 1 / 6 / 2])
    assert calibration.observed == VoteDistribution.from_counts([1, 0, 1])
    assert calibration.expected == VoteDistribution.fit_beta([2, 0], [4, 4], 2)


@pytest.mark.parametrize(
    ("row", "yes", "label"),
    [
        (["Yes", "no", "YES "], None, "Yes or YES"),
        ([True, False, True], None, "True"),
        ([1, 0, 1], None, "1"),
        (["0.0", "1.0", "1"], None, "1.0 or 1"),
        (["n", "n", "n"], None, ""),
        (["pass", "fail", "pass"], "pass", "pass"),
        (["A", "B", "C"], "A", "A"),
    ],
)
def test_what_counts_as_yes_is_told_from_the_words_or_by_the_user(row, yes, label):
    items = YesNoItems.of(recorded([row]), 3, yes=yes)
    assert items.yes_label == label
    expected = {"Yes or YES": 2, "": 0, "A": 1}.get(label, 2)
    assert items.yes.tolist() == [expected]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([["A", "B", "A"]], {}, r"yes or no votes, found 'A' \(2\), 'B' \(1\): choose"),
        ([["yes", "no", "unsure"]], {}, "expected yes or no"),
        ([["yes", "no", "no"]], {"yes": "maybe"}, "no vote has the answer yes='maybe'.* found: 'no'"),
        ([["yes"] * 3, ["no"] * 2], {}, "1 of 2 items have fewer than 3 votes, such as '1' with 2"),
        ([["yes"] * 2, ["no"] * 2], {"skip_short": True}, "no item has 3 votes, the largest number is 2"),
        ([[None, None, None]], {}, "no vote has an answer"),
    ],
)
def test_votes_that_cannot_be_replayed_are_refused_with_the_reason(rows, options, message):
    with pytest.raises(InvalidInputError, match=message):
        YesNoItems.of(recorded(rows), 3, **options)


def test_short_items_are_left_out_when_asked_for_and_counted():
    items = YesNoItems.of(recorded([["yes"] * 3, ["no"] * 2, ["no", None, "no", "yes"]]), 3, skip_short=True)
    assert items.n_left_out == 1
    assert items.yes.tolist() == [3, 1]
    assert items.drawn.tolist() == [3, 3]

"""StoppingStrategy: two thresholds a step and the states that do not follow them; as exact as a table."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import StoppingStrategy, evaluate, rules
from foregone.errors import InvalidInputError
from foregone.strategy.thresholds import answers_for
from tests.strategies import answering_strategies, answers, stopping_strategies, tables

small_tables = st.integers(1, 6).flatmap(tables)

# Stops for sure at (4, 2), between two states where it goes on; by chance at (2, 0).
HOLED = np.ones((6, 6))
HOLED[0, 0] = HOLED[1, :2] = HOLED[2, 1:3] = HOLED[3, 1:3] = HOLED[4, 1] = HOLED[4, 3] = 0
HOLED[2, 0] = 0.125


def always_stopping(n_voters: int) -> StoppingStrategy:
    return StoppingStrategy.from_rows(n_voters, lambda asked: np.ones(asked + 1))


def reachable_answers(table: np.ndarray, yes_from: list[int]) -> dict[tuple[int, int], bool]:
    """What is answered in the states where a run can stop."""
    return {
        (asked, yes): yes >= yes_from[asked]
        for (asked, yes), stop in reachable_decisions(table).items()
        if stop > 0
    }


def reachable_decisions(table: np.ndarray) -> dict[tuple[int, int], float]:
    """Stop probabilities of the states a run can come to, by following every vote from the start."""
    states, found = [(0, 0)], {}
    while states:
        asked, yes = states.pop()
        if (asked, yes) in found:
            continue
        found[asked, yes] = table[asked][yes]
        if table[asked][yes] < 1:
            states += [(asked + 1, yes), (asked + 1, yes + 1)]
    return found


@given(small_tables)
def test_the_table_comes_back_as_it_was_given(table):
    possible = np.tril(np.ones(table.shape, dtype=bool))
    np.testing.assert_array_equal(StoppingStrategy.from_table(table).table(), np.where(possible, table, 1.0))


@given(small_tables)
def test_single_states_and_steps_are_those_of_the_table(table):
    strategy = StoppingStrategy.from_table(table)
    for asked in range(len(table)):
        np.testing.assert_array_equal(strategy.stop_probabilities(asked), table[asked, : asked + 1])
        for yes in range(asked + 1):
            assert strategy.stop_probability(asked, yes) == table[asked, yes]


@given(small_tables)
def test_thresholds_keep_their_invariants_and_exceptions_lie_between_them(table):
    strategy = StoppingStrategy.from_table(table)
    steps = np.arange(len(table))
    lower, upper = strategy.lower, strategy.upper
    assert (lower >= -1).all()
    assert (lower < upper).all()
    assert (upper <= steps + 1).all()
    always = np.array([(table[asked, : asked + 1] == 1).all() for asked in steps])
    np.testing.assert_array_equal(upper == lower + 1, always)
    np.testing.assert_array_equal(lower[always], steps[always] // 2)
    assert strategy.exceptions == [
        (asked, yes, table[asked, yes])
        for asked in steps
        for yes in range(lower[asked] + 1, upper[asked])
        if table[asked, yes] > 0
    ]
    assert strategy.randomised == [state for state in strategy.exceptions if state[2] < 1]


@given(small_tables)
def test_thresholds_and_exceptions_make_the_same_strategy_again(table):
    strategy = StoppingStrategy.from_table(table)
    again = StoppingStrategy.from_thresholds(strategy.lower, strategy.upper, reversed(strategy.exceptions))
    np.testing.assert_array_equal(again.table(), strategy.table())


def test_a_stop_region_with_holes_is_kept_exactly():
    strategy = StoppingStrategy.from_table(HOLED)
    assert strategy.exceptions == [(2, 0, 0.125), (4, 2, 1.0)]
    assert strategy.randomised == [(2, 0, 0.125)]
    np.testing.assert_array_equal(strategy.table(), HOLED)


def test_a_step_at_which_it_goes_on_everywhere_has_thresholds_outside():
    strategy = StoppingStrategy.from_rows(3, lambda asked: np.zeros(asked + 1))
    np.testing.assert_array_equal(strategy.lower, [-1, -1, -1, 1])
    np.testing.assert_array_equal(strategy.upper, [1, 2, 3, 2])


def test_sure_stops_at_the_edge_of_a_band_become_part_of_the_threshold():
    strategy = StoppingStrategy.from_thresholds([-1, -1, -1, 1], [1, 2, 3, 2], [(2, 0, 1.0), (2, 2, 1.0)])
    np.testing.assert_array_equal(strategy.lower, [-1, -1, 0, 1])
    np.testing.assert_array_equal(strategy.upper, [1, 2, 2, 2])
    assert strategy.exceptions == []


def test_two_thresholds_take_memory_proportional_to_the_voters():
    strategy = StoppingStrategy.from_rows(2001, lambda asked: np.abs(2 * np.arange(asked + 1) - asked) >= 40)
    held = sum(array.nbytes for array in strategy.kernel_arrays)
    assert held <= 2002 * 8 * 5
    assert strategy.exceptions == []


# Answers -------------------------------------------------------------------------------------


@given(stopping_strategies(7))
def test_by_default_it_answers_the_majority_and_a_tie_is_no(strategy):
    assert strategy.answers_majority
    for asked in range(8):
        for yes in range(asked + 1):
            assert strategy.answer(asked, yes) is (2 * yes > asked)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(tables(n), answers(n))))
def test_every_way_of_making_one_takes_the_same_answers(given_both):
    table, yes_from = given_both
    n_voters = len(table) - 1
    first = StoppingStrategy.from_table(table, yes_from=yes_from)
    second = StoppingStrategy.from_rows(n_voters, lambda asked: table[asked, : asked + 1], yes_from=yes_from)
    third = StoppingStrategy.from_thresholds(first.lower, first.upper, first.exceptions, yes_from=yes_from)
    assert first == second == third
    for strategy in (first, second, third):
        np.testing.assert_array_equal(strategy.yes_from, yes_from)
        for asked in range(n_voters + 1):
            assert [strategy.answer(asked, yes) for yes in range(asked + 1)] == [
                yes >= yes_from[asked] for yes in range(asked + 1)
            ]


@given(st.integers(1, 5).flatmap(answering_strategies))
def test_it_answers_the_majority_exactly_when_it_equals_the_one_that_does(strategy):
    plain = StoppingStrategy.from_table(
        strategy.table(), yes_from=answers_for(strategy.n_voters, strategy.quota)
    )
    assert strategy.answers_majority == (strategy == plain)


# Quotas --------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.data())
def test_a_stop_answers_by_the_share_of_yes_votes_so_far(n_voters, data):
    quota = data.draw(st.integers(0, n_voters))
    yes_from = answers_for(n_voters, quota)
    share = Fraction(2 * quota - 1, 2 * n_voters)  # halfway between quota - 1 and quota of all
    for asked in range(1, n_voters + 1):
        assert [yes >= yes_from[asked] for yes in range(asked + 1)] == [
            Fraction(yes, asked) > share for yes in range(asked + 1)
        ]
    assert yes_from[0] == (quota > 0)
    assert yes_from[-1] == quota


@given(st.integers(1, 500))
def test_answers_for_the_quota_of_a_majority_are_the_majority_so_far(n_voters):
    asked = np.arange(n_voters + 1)
    np.testing.assert_array_equal(answers_for(n_voters, n_voters // 2 + 1), asked // 2 + 1)


@pytest.mark.parametrize("n_voters", [1, 2, 7])
def test_for_any_the_first_yes_answers_and_for_all_nothing_but_yes_does(n_voters):
    np.testing.assert_array_equal(answers_for(n_voters, 1), np.ones(n_voters + 1))
    asked = np.arange(n_voters + 1)
    np.testing.assert_array_equal(answers_for(n_voters, n_voters), np.maximum(asked, 1))
    np.testing.assert_array_equal(answers_for(n_voters, 0), np.zeros(n_voters + 1))


@given(st.integers(1, 12), st.data())
def test_ask_all_asks_everyone_and_answers_as_they_do(n_voters, data):
    quota = data.draw(st.none() | st.integers(0, n_voters))
    strategy = StoppingStrategy.ask_all(n_voters, quota)
    fewest = n_voters // 2 + 1 if quota is None else quota
    assert strategy.quota == fewest
    assert not strategy.table()[:-1][np.tril_indices(n_voters)].any()
    assert [strategy.answer(n_voters, yes) for yes in range(n_voters + 1)] == [
        yes >= fewest for yes in range(n_voters + 1)
    ]
    evaluation = evaluate(strategy)
    assert (evaluation.expected_votes == n_voters).all()
    assert not evaluation.disagreement.any()


def test_fingerprints_differ_by_quota_and_those_of_majorities_are_what_they_were():
    found = {StoppingStrategy.ask_all(7, quota).fingerprint for quota in range(8)}
    assert len(found) == 8
    assert StoppingStrategy.ask_all(7, 4) == StoppingStrategy.ask_all(7)
    assert StoppingStrategy.from_table(HOLED).fingerprint == "dd88f6575d2ab60f101d4584af4dfe69"
    # Even where it stops before anyone is asked: the full vote that it stands for is another.
    stops = [
        StoppingStrategy.from_rows(3, lambda asked: np.ones(asked + 1), yes_from=[1, 1, 1, quota])
        for quota in (1, 2)
    ]
    assert stops[0] != stops[1]


@pytest.mark.parametrize("quota", [-1, 6, 2.0, True, "3", np.nan])
def test_a_quota_that_no_vote_can_have_is_refused(quota):
    for make in (StoppingStrategy.ask_all, lambda n, q: rules.curtailment(n, quota=q)):
        with pytest.raises(InvalidInputError, match="quota must"):
            make(5, quota)


def test_its_repr_says_how_many_must_say_yes():
    assert repr(StoppingStrategy.ask_all(9, 2)) == "<StoppingStrategy for 9 voters, of whom 2 must say yes>"


# Equality ------------------------------------------------------------------------------------


@given(st.integers(1, 4), st.data())
def test_strategies_are_equal_exactly_when_they_do_the_same_wherever_they_can_come(n_voters, data):
    first, second = data.draw(tables(n_voters)), data.draw(tables(n_voters))
    same = reachable_decisions(first) == reachable_decisions(second)
    assert (StoppingStrategy.from_table(first) == StoppingStrategy.from_table(second)) == same


@given(st.integers(1, 4), st.data())
def test_answers_make_a_difference_exactly_where_a_run_can_stop_and_in_the_full_vote(n_voters, data):
    table, first, second = (
        data.draw(tables(n_voters)),
        data.draw(answers(n_voters)),
        data.draw(answers(n_voters)),
    )
    same = reachable_answers(table, first) == reachable_answers(table, second) and first[-1] == second[-1]
    strategy = StoppingStrategy.from_table(table, yes_from=first)
    other = StoppingStrategy.from_table(table, yes_from=second)
    assert (strategy == other) == same
    assert not same or hash(strategy) == hash(other)


@given(small_tables, st.data())
def test_states_that_cannot_be_reached_change_neither_equality_nor_hash(table, data):
    reached = reachable_decisions(table)
    changed = table.copy()
    for asked in range(len(table) - 1):
        for yes in range(len(table)):
            if (asked, yes) not in reached:
                changed[asked, yes] = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    strategy, other = StoppingStrategy.from_table(table), StoppingStrategy.from_table(changed)
    assert strategy == other
    assert hash(strategy) == hash(other)


@given(small_tables, st.data())
def test_any_change_in_a_reachable_state_makes_it_another_strategy(table, data):
    before_the_last = sorted(state for state in reachable_decisions(table) if state[0] < len(table) - 1)
    state = data.draw(st.sampled_from(before_the_last))
    changed = table.copy()
    changed[state] = 0.75 if table[state] != 0.75 else 0.25
    assert StoppingStrategy.from_table(table) != StoppingStrategy.from_table(changed)


def test_strategies_of_different_numbers_of_voters_are_different():
    assert always_stopping(2) != always_stopping(3)
    assert StoppingStrategy.from_table(HOLED) != "a strategy"


# Frozen --------------------------------------------------------------------------------------


def arrays_of(strategy: StoppingStrategy) -> tuple[np.ndarray, ...]:
    lower, upper, _, yes, probability, yes_from = strategy.kernel_arrays
    return lower, upper, yes, probability, yes_from


def test_it_cannot_be_changed():
    strategy = StoppingStrategy.from_table(HOLED)
    assert not any(array.flags.writeable for array in arrays_of(strategy))
    with pytest.raises(AttributeError):
        strategy.lower = np.zeros(6)


def test_changing_what_it_was_made_from_or_gave_out_does_not_change_it():
    table, lower, upper, yes_from = HOLED.copy(), np.array([-1, 0]), np.array([1, 1]), np.array([0, 1])
    from_table = StoppingStrategy.from_table(table)
    from_thresholds = StoppingStrategy.from_thresholds(lower, upper, yes_from=yes_from)
    table[:], lower[:], upper[:], yes_from[:] = 1, 0, 1, 1
    from_table.table()[:] = 1
    from_table.stop_probabilities(2)[:] = 1
    np.testing.assert_array_equal(from_table.table(), HOLED)
    assert from_thresholds.stop_probability(0, 0) == 0
    assert from_thresholds.answer(0, 0)


@pytest.mark.parametrize("remake", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])  # noqa: S301  # our own
def test_a_copy_is_equal_and_cannot_be_changed_either(remake):
    strategy = remake(StoppingStrategy.from_table(HOLED))
    assert strategy == StoppingStrategy.from_table(HOLED)
    assert not any(array.flags.writeable for array in arrays_of(strategy))


def test_its_repr_counts_the_randomised_states():
    assert repr(always_stopping(2)) == "<StoppingStrategy for 2 voters>"
    assert repr(StoppingStrategy.from_table(HOLED)) == "<StoppingStrategy for 5 voters, 1 randomised state>"


def test_its_repr_says_when_it_does_not_answer_the_majority():
    nobody = StoppingStrategy.from_rows(2, lambda asked: np.ones(asked + 1), yes_from=[0, 1, 2])
    assert repr(nobody) == "<StoppingStrategy for 2 voters, does not answer the majority everywhere>"
    never_there = StoppingStrategy.from_rows(2, lambda asked: np.ones(asked + 1), yes_from=[1, 0, 2])
    assert repr(never_there) == "<StoppingStrategy for 2 voters>"


# Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1.5], [1, 1]], "from 0 to 1"),
        ([[-0.1, 1], [1, 1]], "from 0 to 1"),
        ([[float("nan"), 1], [1, 1]], "from 0 to 1"),
        ([[0, float("nan")], [1, 1]], "from 0 to 1"),
        ([[0, 1], [1, 0.5]], "last row"),
        ([[0, 1], [0, 0]], "last row"),
        ([[0, 1, 1], [1, 1, 1]], r"square.*\(2, 3\)"),
        ([[1]], "square"),
        ([], "square"),
        ([1, 1], "square"),
        ([[0, 1], [1]], "rows of equal length"),
        ([["0", "1"], ["1", "1"]], "must be numbers"),
        (None, "must be numbers"),
    ],
)
def test_a_table_that_is_none_is_refused_with_the_reason(table, message):
    with pytest.raises(InvalidInputError, match=message):
        StoppingStrategy.from_table(table)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (lambda asked: np.ones(asked), r"step 0 must have 1 stop probabilities, .*got shape \(0,\)"),
        (lambda asked: np.zeros(2), r"step 0 must have 1"),
        (lambda asked: 1.0, r"step 0 must have 1"),
        (lambda asked: np.full(asked + 1, 0.8 * asked), "step 2 must be from 0 to 1"),
        (lambda asked: [float("nan")] * (asked + 1), "step 0 must be from 0 to 1"),
        (lambda asked: ["stop"] * (asked + 1), "step 0 must be numbers"),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_step(row, message):
    with pytest.raises(InvalidInputError, match=message):
        StoppingStrategy.from_rows(4, row)


@pytest.mark.parametrize("n_voters", [0, -3, 2.5, True, None])
def test_rows_for_no_number_of_voters_are_refused(n_voters):
    with pytest.raises(InvalidInputError, match="n_voters"):
        StoppingStrategy.from_rows(n_voters, lambda asked: np.ones(asked + 1))


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([-1, 0], [1], "two rows"),
        ([0], [1], "two rows"),
        ([[-1, 0]], [[1, 1]], "two rows"),
        ([-1.0, 0.0], [1, 1], "integers"),
        ([-1, 0], [True, True], "integers"),
        (["a", "b"], [1, 1], "must be numbers"),
        ([-2, 0], [1, 1], "step 0 must satisfy"),
        ([-1, 0], [2, 1], "step 0 must satisfy"),
        ([0, 0], [0, 1], "step 0 must satisfy"),
        ([-1, -1], [1, 2], "last step must always stop"),
        (np.array([2**64 - 1, 0], np.uint64), [1, 1], "step 0 must satisfy"),  # would wrap around to -1
    ],
)
def test_thresholds_that_are_none_are_refused_with_the_reason(lower, upper, message):
    with pytest.raises(InvalidInputError, match=message):
        StoppingStrategy.from_thresholds(lower, upper)


@pytest.mark.parametrize(
    ("exceptions", "message"),
    [
        ([(3, 1, 0.5)], r"between the thresholds, got state \(3, 1\)"),
        ([(2, 3, 0.5)], r"between the thresholds, got state \(2, 3\)"),
        ([(-1, 0, 0.5)], r"between the thresholds, got state \(-1, 0\)"),
        ([(9, 0, 0.5)], r"between the thresholds, got state \(9, 0\)"),
        ([(1, 0, 0.0)], r"\(1, 0\) must be .*got 0.0"),
        ([(1, 0, 1.5)], r"\(1, 0\) must be .*got 1.5"),
        ([(1, 0, float("nan"))], r"\(1, 0\) must be .*got nan"),
        ([(1, 0, 0.5), (0, 0, 0.5), (1, 0, 0.25)], r"got \(1, 0\) twice"),
        ([(1, 0)], "every exception must be"),
        ([(1.5, 0, 0.5)], "every exception must be"),
        ([(1, 0, 10**400)], "every exception must be"),
        ([(1, 0, None)], "every exception must be"),
        ([7], "every exception must be"),
    ],
)
def test_exceptions_that_are_none_are_refused_with_the_state(exceptions, message):
    with pytest.raises(InvalidInputError, match=message):
        StoppingStrategy.from_thresholds([-1, -1, -1, 1], [1, 2, 3, 2], exceptions)


@pytest.mark.parametrize(
    ("yes_from", "message"),
    [
        ([1, 1, 2], r"one row of n_voters \+ 1 = 4 integers, got shape \(3,\)"),
        ([[1, 1, 2, 2]], r"got shape \(1, 4\)"),
        (2, r"got shape \(\)"),
        ([1.0, 1.0, 2.0, 2.0], "integers"),
        ([True, True, True, True], "integers"),
        (["a", "b", "c", "d"], "must be numbers"),
        ([1, -1, 2, 2], r"step 1 must be from 0 \(always yes\) to 2 \(always no\), got -1"),
        ([1, 3, 2, 2], "step 1 must be from 0"),
        (np.array([2**64 - 1, 1, 2, 2], np.uint64), "step 0 must be from 0"),
        (
            [1, 1, 2, 4],
            "quota of the full vote, must be at most n_voters=3, got 4: the full vote could never be yes",
        ),
    ],
)
def test_answers_that_are_none_are_refused_with_the_reason(yes_from, message):
    make = [
        lambda: StoppingStrategy.from_table(np.ones((4, 4)), yes_from=yes_from),
        lambda: StoppingStrategy.from_rows(3, lambda asked: np.ones(asked + 1), yes_from=yes_from),
        lambda: StoppingStrategy.from_thresholds([-1, -1, -1, 1], [1, 2, 3, 2], yes_from=yes_from),
    ]
    for attempt in make:
        with pytest.raises(InvalidInputError, match=message):
            attempt()


@pytest.mark.parametrize("state", [(-1, 0), (3, 0), (1, 2), (1, -1), (0, 1)])
def test_impossible_states_are_refused(state):
    strategy = StoppingStrategy.from_rows(2, lambda asked: np.zeros(asked + 1))
    for ask in (strategy.stop_probability, strategy.answer):
        with pytest.raises(InvalidInputError, match="a state must satisfy"):
            ask(*state)


@pytest.mark.parametrize("asked", [-1, 3])
def test_impossible_steps_are_refused(asked):
    with pytest.raises(InvalidInputError, match="asked must be from 0"):
        StoppingStrategy.from_rows(2, lambda asked: np.ones(asked + 1)).stop_probabilities(asked)


@given(stopping_strategies(4))
def test_everyone_asked_always_stops(strategy):
    assert (strategy.stop_probabilities(4) == 1).all()

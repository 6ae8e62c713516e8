"""LabelledVotes: what disagreements lose, against plain loops over inputs whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from foregone import LabelledVotes, certify, evaluate, solve
from foregone.certifying import check_costs
from foregone.errors import InvalidInputError
from foregone.strategy.limits import Limits

COSTS = [[0, 1], [10, 2]]  # by truth and answer


@st.composite
def inputs(draw: st.DrawFn) -> tuple[list[int], list[int], int, int]:
    """Yes votes and truth of some inputs, the number of voters and a quota."""
    n_voters = draw(st.integers(1, 6))
    counts = draw(st.lists(st.integers(0, n_voters), min_size=1, max_size=25))
    truth = draw(st.lists(st.integers(0, 1), min_size=len(counts), max_size=len(counts)))
    return counts, truth, n_voters, draw(st.integers(0, n_voters))


def many() -> tuple[np.ndarray, np.ndarray]:
    """Votes of 15 voters on inputs of which many are hard, and their truth."""
    random = np.random.default_rng(0)
    chance = random.beta(0.5, 0.8, 5_000)
    return random.binomial(15, chance), random.random(5_000) < 0.1 + 0.8 * chance


@given(inputs())
def test_counts_are_by_truth(given_inputs):
    counts, truth, n_voters, _ = given_inputs
    labelled = LabelledVotes.from_yes_counts(counts, truth, n_voters)
    for n in range(n_voters + 1):
        pairs = list(zip(counts, truth, strict=True))
        assert (labelled.no[n], labelled.yes[n]) == (pairs.count((n, 0)), pairs.count((n, 1)))
    assert labelled.n_voters == n_voters
    assert labelled.votes.n_observations == len(counts)
    assert repr(labelled) == f"<LabelledVotes of {n_voters} voters, {len(counts)} inputs>"


@given(inputs())
def test_the_chance_of_yes_is_isotonic_regression_of_the_truth(given_inputs):
    counts, truth, n_voters, _ = given_inputs
    labelled = LabelledVotes.from_yes_counts(counts, truth, n_voters)
    model = IsotonicRegression(out_of_bounds="clip").fit(np.array(counts, float), np.array(truth, float))
    assert labelled.chance_of_yes == pytest.approx(model.predict(np.arange(n_voters + 1.0)), abs=1e-9)
    assert (np.diff(labelled.chance_of_yes) >= -1e-12).all()


@given(inputs(), st.sampled_from([None, COSTS]))
def test_values_are_what_the_other_answer_costs_more_on_average(given_inputs, costs):
    counts, truth, n_voters, quota = given_inputs
    labelled = LabelledVotes.from_yes_counts(counts, truth, n_voters)
    values = labelled.values(costs, quota=quota)
    table = np.array([[0, 1], [1, 0]] if costs is None else costs, float)
    unit = max(abs(row[0] - row[1]) for row in table)
    for n in range(n_voters + 1):
        answer, chance = int(n >= quota), labelled.chance_of_yes[n]
        more = (1 - chance) * (table[0, 1 - answer] - table[0, answer])
        more += chance * (table[1, 1 - answer] - table[1, answer])
        assert values[n] == pytest.approx(min(max(more / unit, 0), 1), abs=1e-12)
    np.testing.assert_array_equal(labelled.values(check_costs(table, 2), quota=quota), values)


@given(inputs(), st.sampled_from([None, COSTS]), st.integers(0, 2**32 - 1))
def test_losses_are_those_of_a_loop_over_inputs(given_inputs, costs, seed):
    counts, truth, n_voters, quota = given_inputs
    labelled = LabelledVotes.from_yes_counts(counts, truth, n_voters)
    disagreement = np.random.default_rng(seed).random(n_voters + 1)
    table = np.array([[0, 1], [1, 0]] if costs is None else costs, float)
    unit = max(abs(row[0] - row[1]) for row in table)
    lost: dict[str, list[float]] = {"all": []}
    for n, truly in zip(counts, truth, strict=True):
        answer = int(n >= quota)
        more = disagreement[n] * (table[truly, 1 - answer] - table[truly, answer]) / unit
        lost["all"].append(more)
        lost.setdefault("yes" if truly else "no", []).append(more)
    found = labelled.losses(disagreement, costs, quota=quota)
    assert found == {name: pytest.approx(np.mean(each), abs=1e-12) for name, each in lost.items()}


@given(inputs())
def test_accuracy_is_that_of_the_full_vote(given_inputs):
    counts, truth, n_voters, quota = given_inputs
    labelled = LabelledVotes.from_yes_counts(counts, truth, n_voters)
    right = [(n >= quota) == bool(truly) for n, truly in zip(counts, truth, strict=True)]
    assert labelled.accuracy(quota=quota) == pytest.approx(np.mean(right), abs=1e-12)
    majority = [(2 * n > n_voters) == bool(truly) for n, truly in zip(counts, truth, strict=True)]
    assert labelled.accuracy() == pytest.approx(np.mean(majority), abs=1e-12)


@pytest.mark.parametrize("quota", [None, 3, 12])
@pytest.mark.parametrize("limit", [0.0005, 0.005])
def test_a_solution_for_its_values_keeps_the_limit_on_accuracy(limit, quota):
    counts, truth = many()
    labelled = LabelledVotes.from_yes_counts(counts, truth, 15)
    values = labelled.values(quota=quota)
    solution = solve("minimean", labelled.votes, limit, values=values, quota=quota)
    assert certify(solution).holds
    disagreement = evaluate(solution.strategy).disagreement
    # Isotonic regression pools counts, within which the mean of the truth is kept only on average.
    assert labelled.losses(disagreement, quota=quota)["all"] <= 1.3 * limit
    plain = solve("minimean", labelled.votes, limit, quota=quota)
    assert solution.expected_votes < plain.expected_votes


@pytest.mark.parametrize("quota", [None, 4])
def test_limits_by_class_keep_the_accuracy_of_each_true_class(quota):
    counts, truth = many()
    labelled = LabelledVotes.from_yes_counts(counts, truth, 15)
    asked = Limits.of({"yes": 0.002, "no": 0.01})
    limits, values = labelled.by_class(asked, quota=quota)
    solution = solve("minimean", labelled.votes, limits.given, values=values, quota=quota)
    assert certify(solution).holds
    disagreement = evaluate(solution.strategy).disagreement
    fewest = 8 if quota is None else quota
    n = np.arange(16)
    for side, members, right in (("yes", labelled.yes, n >= fewest), ("no", labelled.no, n < fewest)):
        lost = (members * disagreement * right).sum() / members.sum()
        assert lost <= asked[side] * 1.3
    assert labelled.losses(disagreement, quota=quota)["yes"] <= asked["yes"] * 1.3


def test_a_limit_of_one_stays_no_limit_and_so_does_that_of_an_answer_never_given():
    labelled = LabelledVotes.from_yes_counts([0, 0, 1, 3], [0, 1, 0, 0], 3)
    limits, _ = labelled.by_class(Limits.of({"yes": 1, "no": 0.1}))
    assert limits.given == {"yes": 1.0, "no": pytest.approx(0.1 * (3 / 4) / (3 / 4))}
    never_yes = LabelledVotes.from_yes_counts([0, 1], [0, 1], 3)
    assert never_yes.by_class(Limits.of({"yes": 0.1, "no": 0.1}))[0]["yes"] == 1


def test_counts_by_truth_make_the_same():
    counts, truth = many()
    labelled = LabelledVotes.from_yes_counts(counts, truth, 15)
    again = LabelledVotes.from_counts(labelled.no, labelled.yes)
    np.testing.assert_array_equal(again.values(), labelled.values())
    for no, yes in (([1, 2], [1, 2, 3]), ([1], [1]), ([0, 0], [0, 0]), ([1, -1], [1, 1]), ([1, 0.5], [1, 1])):
        with pytest.raises(InvalidInputError):
            LabelledVotes.from_counts(no, yes)


def test_a_vote_that_is_right_as_often_as_wrong_has_no_value():
    labelled = LabelledVotes.from_yes_counts([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 1, 0, 1, 1, 1], 3)
    assert labelled.values().tolist() == [1, 0, 0, 1]
    # Where the full vote is usually wrong a disagreement gains, and counts as losing nothing.
    wrong = LabelledVotes.from_yes_counts([0, 3, 3], [0, 0, 0], 3)
    assert wrong.values().tolist() == [1, 1, 0, 0]
    assert wrong.losses(np.ones(4))["all"] == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    ("counts", "truth", "n_voters", "words"),
    [
        ([0, 1], [0], 3, "truth must have one answer for each of the 2 inputs"),
        ([0, 1], [0, 2], 3, "truth must be 0/1 or bool"),
        ([0, 1], ["no", "yes"], 3, "truth must be 0/1 or bool"),
        ([0, 1], [0, float("nan")], 3, "truth must be 0/1 or bool"),
        ([0, 4], [0, 1], 3, "3"),
        ([], [], 3, "yes_counts is empty"),
        ([0, 1], [0, 1], 0, "n_voters"),
    ],
)
def test_bad_input_is_told_what_is_wrong(counts, truth, n_voters, words):
    with pytest.raises(InvalidInputError, match=words):
        LabelledVotes.from_yes_counts(counts, truth, n_voters)


@pytest.mark.parametrize("quota", [-1, 4, 0.5])
def test_quotas_that_no_vote_can_have_are_refused(quota):
    labelled = LabelledVotes.from_yes_counts([0, 3], [0, 1], 3)
    for ask in (labelled.values, labelled.accuracy, lambda quota: labelled.losses(np.ones(4), quota=quota)):
        with pytest.raises(InvalidInputError, match="quota must"):
            ask(quota=quota)


def test_counts_by_truth_are_taken_as_they_are() -> None:
    labelled = LabelledVotes.from_counts([5, 2, 0], [1, 2.0, 7])
    again = LabelledVotes.from_yes_counts([0] * 6 + [1] * 4 + [2] * 7, [0] * 5 + [1, 0, 0] + [1] * 9, 2)
    for side in ("no", "yes"):
        assert getattr(labelled, side).tolist() == getattr(again, side).tolist()
        assert getattr(labelled, side).dtype == np.int64


@pytest.mark.parametrize(
    ("no", "yes", "complaint"),
    [
        ([1, 2], [1, 2, 3], "two rows of n_voters"),
        ([1], [1], "two rows of n_voters"),
        ([[1, 2]], [[1, 2]], "two rows of n_voters"),
        ([1, 2.5], [1, 2], "no must be integers"),
        ([1, 2], [1, -2], "yes must be integers"),
        ([1, 2], [1, np.nan], "yes must be integers"),
        ([0, 0], [0, 0], "all counts are zero"),
        (["a", "b"], [1, 2], "no"),
    ],
)
def test_counts_by_truth_that_are_none_are_refused(no: list, yes: list, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        LabelledVotes.from_counts(no, yes)

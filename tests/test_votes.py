"""VoteDistribution: made from anything sensible, always normalised, nothing else let in."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import ForegoneError, VoteDistribution
from foregone.errors import InvalidInputError
from tests.strategies import vote_distributions

BAD_N_VOTERS = [0, -1, 1.5, True, np.True_, "7", None, float("nan"), float("inf"), [3]]


@pytest.mark.parametrize("n_voters", BAD_N_VOTERS)
def test_a_number_of_voters_must_be_a_whole_number_of_at_least_one(n_voters):
    with pytest.raises(InvalidInputError, match="n_voters must be an integer of at least 1"):
        VoteDistribution.flat(n_voters)
    with pytest.raises(InvalidInputError, match="n_voters must be an integer of at least 1"):
        VoteDistribution.from_yes_counts([0, 1], n_voters)


@pytest.mark.parametrize("n_voters", [1, 4, 101, np.int32(4), 4.0, np.float64(4)])
def test_flat_gives_every_number_of_yes_votes_the_same_probability(n_voters):
    votes = VoteDistribution.flat(n_voters)
    assert votes.n_voters == n_voters
    assert type(votes.n_voters) is int
    np.testing.assert_array_equal(votes.probabilities, 1 / (n_voters + 1))
    assert votes.n_observations is None


def test_counts_are_normalised_and_remembered_as_observations():
    votes = VoteDistribution.from_counts([1, 0, 3])
    np.testing.assert_array_equal(votes.probabilities, [0.25, 0, 0.75])
    assert votes.n_observations == 4


def test_fractional_weights_are_no_observations():
    votes = VoteDistribution.from_counts([0.5, 1.5])
    np.testing.assert_array_equal(votes.probabilities, [0.25, 0.75])
    assert votes.n_observations is None


@pytest.mark.parametrize("size", [1e308, 5e-324, 2.0**60])
def test_weights_of_any_size_are_normalised_without_overflow(size):
    votes = VoteDistribution.from_counts([size, size, 0, size, size])
    np.testing.assert_array_equal(votes.probabilities, [0.25, 0.25, 0, 0.25, 0.25])
    assert votes.n_observations is None


@given(st.integers(1, 30).flatmap(vote_distributions))
def test_probabilities_are_never_negative_and_sum_to_one(votes):
    assert (votes.probabilities >= 0).all()
    assert votes.probabilities.sum() == pytest.approx(1, rel=1e-14)


@given(st.data(), st.integers(1, 12))
def test_yes_counts_and_votes_give_what_their_counts_give(data, n_voters):
    row = st.lists(st.booleans(), min_size=n_voters, max_size=n_voters)
    matrix = data.draw(st.lists(row, min_size=1, max_size=20))
    yes_counts = [sum(row) for row in matrix]
    seen = Counter(yes_counts)
    expected = VoteDistribution.from_counts([seen[n] for n in range(n_voters + 1)])
    assert VoteDistribution.from_yes_counts(yes_counts, n_voters) == expected
    assert VoteDistribution.from_votes(matrix) == expected
    for dtype in (np.uint8, np.int64, np.float32, np.float64):
        assert VoteDistribution.from_votes(np.array(matrix, dtype=dtype)) == expected
    assert expected.n_observations == len(matrix)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, float("nan")], "must be finite"),
        ([1, float("inf")], "must be finite"),
        ([2, -1, 3], r"must not be negative: counts\[1\] is -1"),
        ([0, 0, 0], "are all zero"),
        ([3], "at least 2"),
        ([], "at least 2"),
        (3, "at least 2"),
        ([[1, 2], [3, 4]], r"got shape \(2, 2\)"),
        ([[1, 2], [3]], "rows of equal length"),
        (["1", "2"], "must be numbers"),
        ([1, None], "must be numbers"),
        ([1j, 2], "must be numbers"),
        (None, "must be numbers"),
    ],
)
def test_counts_that_are_no_weights_are_refused_with_the_reason(counts, message):
    with pytest.raises(InvalidInputError, match=message):
        VoteDistribution.from_counts(counts)


@pytest.mark.parametrize(
    ("yes_counts", "message"),
    [
        ([], "is empty"),
        ([1, 4], "from 0 to n_voters=3, got 1 to 4"),
        ([-1, 2], "from 0 to n_voters=3, got -1 to 2"),
        ([1.5], "must be integers"),
        ([float("nan")], "must be integers"),
        ([float("inf")], "must be integers"),
        (["a"], "must be numbers"),
        ([[0, 1, 1], [1, 1, 1]], "use VoteDistribution.from_votes"),
        (2, "one row"),
    ],
)
def test_yes_counts_that_cannot_be_are_refused_with_the_reason(yes_counts, message):
    with pytest.raises(InvalidInputError, match=message):
        VoteDistribution.from_yes_counts(yes_counts, 3)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 2]], "0/1 or bool"),
        ([[0, -1]], "0/1 or bool"),
        ([[0.5, 1]], "0/1 or bool"),
        ([[float("nan"), 1]], "0/1 or bool"),
        ([0, 1], "must be a matrix"),
        ([], "must be a matrix"),
        ([[]], "must be a matrix"),
        (np.empty((0, 3)), "must be a matrix"),
        ([[0, 1], [1]], "rows of equal length"),
        ([["yes", "no"]], "must be numbers"),
    ],
)
def test_votes_other_than_a_matrix_of_0_and_1_are_refused_with_the_reason(matrix, message):
    with pytest.raises(InvalidInputError, match=message):
        VoteDistribution.from_votes(matrix)


def test_every_refusal_is_one_of_ours_and_a_value_error():
    with pytest.raises(ForegoneError):
        VoteDistribution.flat(0)
    with pytest.raises(ValueError, match="n_voters"):
        VoteDistribution.flat(0)


def test_it_cannot_be_changed():
    counts = np.array([1.0, 2.0])
    votes = VoteDistribution.from_counts(counts)
    with pytest.raises(ValueError, match="read-only"):
        votes.probabilities[0] = 1
    with pytest.raises(AttributeError):
        votes.n_observations = 5
    counts[0] = 100  # the caller's array stays the caller's
    assert votes == VoteDistribution.from_counts([1.0, 2.0])


@pytest.mark.parametrize("remake", [lambda v: pickle.loads(pickle.dumps(v)), copy.deepcopy])  # noqa: S301  # our own
def test_a_copy_is_equal_and_cannot_be_changed_either(remake):
    votes = remake(VoteDistribution.from_counts([1, 2]))
    assert votes == VoteDistribution.from_counts([1, 2])
    assert not votes.probabilities.flags.writeable


def test_equality_and_hash_look_at_probabilities_and_observations():
    assert VoteDistribution.from_counts([1, 2]) == VoteDistribution.from_counts([1, 2])
    assert hash(VoteDistribution.from_counts([1, 2])) == hash(VoteDistribution.from_counts([1, 2]))
    assert VoteDistribution.from_counts([1, 2]) != VoteDistribution.from_counts([2, 4])
    assert VoteDistribution.from_counts([1, 2]) != VoteDistribution.from_counts([2, 1])
    assert VoteDistribution.flat(1) != VoteDistribution.from_counts([1, 1])
    assert VoteDistribution.flat(1) != VoteDistribution.flat(2)
    assert VoteDistribution.flat(1) != "flat"


def test_its_repr_says_how_many_voters_and_where_it_is_from():
    assert repr(VoteDistribution.flat(3)) == "<VoteDistribution of 3 voters, assumed>"
    seen = VoteDistribution.from_counts([1000, 200, 0])
    assert repr(seen) == "<VoteDistribution of 2 voters, from 1,200 observations>"

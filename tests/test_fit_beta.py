"""VoteDistribution.fit_beta: the likeliest beta-binomial, checked against scipy's likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom, binom

from foregone import VoteDistribution, solve
from foregone.errors import InvalidInputError
from foregone.votes import BetaBinomial, fit_beta_binomial

past_votes = st.lists(
    st.integers(0, 12).flatmap(lambda asked: st.tuples(st.integers(0, asked), st.just(asked))),
    min_size=1,
    max_size=25,
).filter(lambda items: max(asked for _, asked in items) >= 2)


def log_likelihood(yes, asked, mean, overdispersion):
    if np.ndim(overdispersion) == 0 and overdispersion == 0:
        return binom.logpmf(yes, asked, mean).sum(axis=-1)
    a, b = mean / overdispersion, (1 - mean) / overdispersion
    return betabinom.logpmf(yes, asked, a, b).sum(axis=-1)


@settings(max_examples=60)
@given(past_votes)
def test_no_beta_distribution_on_a_grid_is_likelier(items):
    yes, asked = np.array(items).T
    found = fit_beta_binomial(yes, asked)
    if found.mean in (0, 1) or np.isinf(found.overdispersion):
        best = np.log(np.where(yes[asked > 0] > 0, found.mean, 1 - found.mean)).sum()
    else:
        best = log_likelihood(yes, asked, *found)
    mean = np.linspace(0.02, 0.98, 13)[:, None, None]
    overdispersion = np.array([1e-3, 1e-2, 0.05, 0.2, 0.5, 1, 2, 5, 20, 100])[:, None]
    assert (log_likelihood(yes, asked, mean, overdispersion) <= best + 1e-7).all()
    assert (log_likelihood(yes, asked, mean[:, 0], 0) <= best + 1e-7).all()


@settings(max_examples=60)
@given(past_votes, st.integers(1, 20))
def test_the_fit_is_a_distribution_and_mirrors_when_yes_and_no_change_places(items, n_voters):
    yes, asked = np.array(items).T
    votes = VoteDistribution.fit_beta(yes, asked, n_voters)
    assert votes.n_voters == n_voters
    assert votes.n_observations is None
    assert (votes.probabilities >= 0).all()
    assert votes.probabilities.sum() == pytest.approx(1, rel=1e-12)
    mirrored = VoteDistribution.fit_beta(asked - yes, asked, n_voters)
    np.testing.assert_allclose(mirrored.probabilities[::-1], votes.probabilities, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("shape", [(2.0, 2.0), (0.4, 0.6), (0.1, 1.2), (30.0, 10.0)])
def test_many_items_give_back_the_distribution_they_were_drawn_from(shape):
    generator = np.random.default_rng(1)
    asked = generator.integers(1, 12, 40_000)
    yes = generator.binomial(asked, generator.beta(*shape, len(asked)))
    votes = VoteDistribution.fit_beta(yes, asked, 39)
    np.testing.assert_allclose(votes.probabilities.cumsum(), betabinom(39, *shape).cdf(range(40)), atol=0.01)
    found = fit_beta_binomial(yes, asked)
    assert 1 / found.overdispersion == pytest.approx(sum(shape), rel=0.1)


@pytest.mark.parametrize(("mean", "overdispersion"), [(0.3, 0.5), (0.5, 1e-6), (0.01, 40.0), (0.9, 3.0)])
@pytest.mark.parametrize("n_voters", [1, 2, 7, 200])
def test_the_probabilities_are_scipys(mean, overdispersion, n_voters):
    found = BetaBinomial(mean, overdispersion).probabilities(n_voters)
    expected = betabinom(n_voters, mean / overdispersion, (1 - mean) / overdispersion)
    np.testing.assert_allclose(found, expected.pmf(range(n_voters + 1)), rtol=1e-6)


def test_equal_shares_give_the_binomial_distribution():
    votes = VoteDistribution.fit_beta([2, 2, 2, 2], 5, 11)
    np.testing.assert_allclose(votes.probabilities, binom(11, 0.4).pmf(range(12)), rtol=1e-9)


def test_a_single_split_item_gives_the_binomial_distribution():
    votes = VoteDistribution.fit_beta([1], [4], 3)
    np.testing.assert_allclose(votes.probabilities, binom(3, 0.25).pmf(range(4)), rtol=1e-9)


def test_unanimous_items_leave_no_split_votes():
    votes = VoteDistribution.fit_beta([3, 0, 0, 2], [3, 2, 5, 2], 9)
    np.testing.assert_array_equal(votes.probabilities, [0.5, *[0] * 8, 0.5])
    np.testing.assert_array_equal(VoteDistribution.fit_beta([3, 2], [3, 2], 2).probabilities, [0, 0, 1])


def test_items_without_votes_do_not_matter_and_single_votes_count_for_the_mean_alone():
    votes = VoteDistribution.fit_beta([2, 0, 0], [4, 0, 0], 5)
    assert votes == VoteDistribution.fit_beta([2], [4], 5)
    with_singles = fit_beta_binomial(np.array([2, 1, 1, 1]), np.array([4, 1, 1, 1]))
    assert with_singles.mean > 0.6


def test_hundreds_of_thousands_of_votes_per_item_are_fitted():
    votes = VoteDistribution.fit_beta([10_000, 90_000], [100_000, 100_000], 3)
    assert votes.probabilities[[0, 3]].sum() > 0.5


@pytest.mark.parametrize(
    ("yes", "asked", "message"),
    [
        ([1, 0], [1, 1], "two or more past votes"),
        ([0, 0], [0, 0], "two or more past votes"),
        ([], [], "two or more past votes"),
        ([3], [2], "got 3 yes of 2 votes for input 0"),
        ([1, -1], [2, 2], "got -1 yes of 2 votes for input 1"),
        ([1, 1], [2, 2, 2], "same length"),
        ([[1, 1]], [[2, 2]], "one row"),
        ([0.5], [2], "yes must be integers"),
        ([1], [float("nan")], "asked must be integers"),
        (["1"], [2], "must be numbers"),
        ([1], [10**12], "at most"),
    ],
)
def test_past_votes_that_cannot_be_fitted_are_refused_with_the_reason(yes, asked, message):
    with pytest.raises(InvalidInputError, match=message):
        VoteDistribution.fit_beta(yes, asked, 5)


def test_a_confidence_is_refused_since_nobody_observed_the_fitted_votes():
    votes = VoteDistribution.fit_beta([0, 5, 2, 0], 5, 11)
    assert solve("minimean", votes, 0.01).expected_votes < solve("minimean", 11, 0.01).expected_votes
    with pytest.raises(InvalidInputError, match="fitted"):
        solve("minimean", votes, 0.01, confidence=0.95)

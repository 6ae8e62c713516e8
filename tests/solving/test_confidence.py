import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import betaincc
from scipy.stats import betabinom, binom

from foregone import VoteDistribution
from foregone.solving.confidence import bounds_given_class, bounds_overall, upper_bounds

counts_of_votes = st.integers(1, 12).flatmap(
    lambda n_voters: st.lists(st.integers(0, 50), min_size=n_voters + 1, max_size=n_voters + 1).filter(any)
)


def nested_counts(votes: VoteDistribution) -> tuple[np.ndarray, np.ndarray]:
    """Return, by counting one by one, the observations in the r values next to the middle (yes, no)."""
    counts, N = np.rint(votes.probabilities * votes.n_observations), votes.n_voters
    m = N // 2
    yes = [sum(counts[m + 1 : m + 1 + r]) for r in range(1, N - m + 1)]
    no = [sum(counts[m - r + 1 : m + 1]) for r in range(1, m + 2)]
    return np.array(yes), np.array(no)


def clopper_pearson(seen: float, total: int, level: float) -> float:
    """Return the largest p under which so few are seen with at least this probability, by bisection."""
    if seen == total:
        return 1.0
    return brentq(lambda p: binom.cdf(seen, total, p) - level, 0.0, 1.0, xtol=1e-15)


@given(counts_of_votes, st.sampled_from([0.5, 0.05, 1e-4]))
def test_every_bound_is_clopper_and_pearsons_at_its_share_of_the_level(counts, failure):
    votes = VoteDistribution.from_counts(counts)
    bounds = bounds_overall(votes, votes.n_voters // 2 + 1, failure)
    spent = 0.0
    for side, seen in zip((bounds.yes, bounds.no), nested_counts(votes), strict=True):
        parts = [1 / ((r + 3) * (r + 4)) for r in range(1, len(side) + 1)]
        levels = [failure / 2 * part / sum(parts) for part in parts]
        single = [clopper_pearson(c, votes.n_observations, p) for c, p in zip(seen, levels, strict=True)]
        for r, bound in enumerate(side):
            assert bound == pytest.approx(min(single[r:]), rel=2e-9)
            assert bound >= min(single[r:]) * (1 - 1e-12)
        spent += sum(levels)
    assert spent == pytest.approx(failure, rel=1e-12)


@pytest.mark.parametrize(("seen", "total"), [(1, 10**8), (10, 10**9), (10**14, 10**15)])
@pytest.mark.parametrize("level", [0.05, 0.025, 1e-3, 1e-5])
def test_the_tail_of_a_bound_is_small_enough_for_very_many_observations_too(seen, total, level):
    (bound,) = upper_bounds(np.array([float(seen)]), total, level)
    assert betaincc(seen + 1, total - seen, bound) <= level
    assert bound <= (seen + 6 * np.sqrt(seen) + 20) / total


@pytest.mark.parametrize(("a", "b"), [(0.15, 0.15), (0.1, 1.2), (2, 2)])
@pytest.mark.parametrize("rows", [30, 1000])
def test_the_true_distribution_is_among_those_reckoned_with_as_often_as_promised(a, b, rows):
    n_voters = 21
    truth = betabinom.pmf(np.arange(n_voters + 1), n_voters, a, b)
    random = np.random.default_rng(1)
    m = n_voters // 2
    true_yes, true_no = np.cumsum(truth[m + 1 :]), np.cumsum(truth[m::-1])
    missed = 0
    for counts in random.multinomial(rows, truth / truth.sum(), size=400):
        bounds = bounds_overall(VoteDistribution.from_counts(counts), m + 1, 0.2)
        missed += bool((true_yes > bounds.yes).any() or (true_no > bounds.no).any())
    assert missed <= 0.2 * 400


@given(counts_of_votes.filter(lambda counts: len(counts) > 2), st.integers(0, 50))
def test_bounds_given_a_class_do_not_depend_on_the_other(counts, other):
    votes = VoteDistribution.from_counts(counts)
    changed = list(counts)
    changed[0] += other
    again = VoteDistribution.from_counts(changed)
    yes, still_yes = (bounds_given_class(v, v.n_voters // 2 + 1, "yes", 0.05) for v in (votes, again))
    np.testing.assert_array_equal(yes.yes, still_yes.yes)
    assert yes.yes[-1] == 1
    assert not yes.no.any()


def test_a_class_never_seen_is_bounded_by_nothing_but_one():
    votes = VoteDistribution.from_counts([5, 3, 0, 0])
    assert (bounds_given_class(votes, 2, "yes", 0.05).yes == 1).all()
    assert (bounds_given_class(votes, 2, "no", 0.05).no < 1).any()

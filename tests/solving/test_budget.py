import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from foregone.solving.budget import Budget, NestedBounds, OneDistribution, is_yes


@st.composite
def nested_bounds(draw):
    n_voters = draw(st.integers(1, 9))
    m = draw(st.integers(-1, n_voters - 1))  # the largest n whose full vote is "no"
    shares = st.floats(0, 1)
    yes = sorted(draw(st.lists(shares, min_size=n_voters - m, max_size=n_voters - m)))
    no = sorted(draw(st.lists(shares, min_size=m + 1, max_size=m + 1)))
    if yes[-1] + sum(no[-1:]) < 1:
        yes[-1] = 1.0
    return NestedBounds(np.array(yes), np.array(no))


def as_linear_program(bounds: NestedBounds) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and right-hand sides of ``rows @ weights <= sides`` that define the set."""
    m, n_yes = len(bounds.no) - 1, len(bounds.yes)
    rows = np.zeros((n_yes + m + 1, n_yes + m + 1))
    for r in range(n_yes):
        rows[r, m + 1 : m + 2 + r] = 1.0
    for r in range(m + 1):
        rows[n_yes + r, m - r : m + 1] = 1.0
    return rows, np.concatenate([bounds.yes, bounds.no])


@given(nested_bounds(), st.data())
def test_the_worst_distribution_is_the_one_a_linear_program_finds(bounds, data):
    rows, sides = as_linear_program(bounds)
    size = rows.shape[1]
    disagreement = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    weights = bounds.worst_for(disagreement)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    assert (rows @ weights <= sides + 1e-12).all()
    best = linprog(-disagreement, rows, sides, np.ones((1, size)), [1.0])
    assert weights @ disagreement == pytest.approx(-best.fun, abs=1e-6)  # as exact as HiGHS is
    assert Budget("all", 0.1, bounds, np.ones(size)).risk(disagreement) == min(weights @ disagreement, 1)
    values = np.array(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size)))
    worst = linprog(-disagreement * values, rows, sides, np.ones((1, size)), [1.0])
    assert Budget("all", 0.1, bounds, values).risk(disagreement) == pytest.approx(-worst.fun, abs=1e-6)


@given(nested_bounds(), st.data())
def test_the_first_cuts_hold_the_worst_one_for_disagreement_on_one_side_that_falls_outwards(bounds, data):
    size = len(bounds.yes) + len(bounds.no)
    m = len(bounds.no) - 1
    values = np.array(sorted(data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))))
    yes = is_yes(size - 1, m + 1)
    on_yes = np.where(yes, np.concatenate([np.zeros(m + 1), values[: size - m - 1][::-1]]), 0.0)
    on_no = np.where(yes, 0.0, np.concatenate([values[: m + 1], np.zeros(size - m - 1)]))
    matters = np.ones(size, bool)
    for disagreement in (on_yes, on_no):
        worst = bounds.worst_for(disagreement) @ disagreement
        assert max(cut @ disagreement for cut in bounds.first_cuts(matters)) == pytest.approx(
            worst, abs=1e-12
        )


@pytest.mark.parametrize(
    ("n_voters", "quota"), [(1, 1), (2, 2), (5, 3), (6, 4), (6, 1), (6, 6), (1, 0), (6, 0)]
)
def test_reckoning_with_anything_means_the_two_values_next_to_the_quota(n_voters, quota):
    m, matters = quota - 1, np.ones(n_voters + 1, bool)
    cuts = NestedBounds.anything(n_voters, quota).first_cuts(matters)
    assert sorted(int(np.flatnonzero(cut)[0]) for cut in cuts) == [m, m + 1][quota == 0 :]
    assert all(cut.sum() == 1 for cut in cuts)
    only_yes = NestedBounds.anything(n_voters, quota, "yes")
    assert [np.flatnonzero(cut).tolist() for cut in only_yes.first_cuts(matters)] == [[m + 1]]
    np.testing.assert_array_equal(only_yes.possible(), is_yes(n_voters, quota))


def test_where_nothing_is_lost_nothing_is_possible_to_lose():
    values = np.array([1.0, 0.0, 0.5, 0.0])
    budget = Budget("all", 0.1, NestedBounds.anything(3, 2), values)
    assert budget.possible().tolist() == [True, False, True, False]
    assert budget.risk(np.array([0.1, 1.0, 0.4, 1.0])) == 0.2
    assert sorted(np.flatnonzero(cut).tolist() for cut in budget.first_cuts()) == [[0], [2]]


def test_one_distribution_is_its_own_worst():
    weights = np.array([0.5, 0.0, 0.25, 0.25])
    known = OneDistribution(weights)
    assert known.worst_for(np.array([0.0, 1.0, 0.0, 0.0])) is weights
    assert known.possible().tolist() == [True, False, True, True]

"""Rules on scores to compare with: each against its own definition, read slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone.errors import InvalidInputError
from foregone.scores.rules import constant_margin, lightgbm_margin, qwyc
from tests.scores.test_solve_scores import draw

rows_of = st.integers(2, 5).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(-3, 3).map(float), min_size=n, max_size=n), min_size=1, max_size=8
    )
)


def share_wrong(strategy, scores) -> float:
    final = strategy.start + np.cumsum(np.array(scores)[:, strategy.order], axis=1)[:, -1] > 0
    return float(np.mean(strategy.run(scores)[0] != final))


def test_lightgbm_looks_every_ten_trees_at_twice_the_distance_from_zero():
    strategy = lightgbm_margin(300, start=-1.0)
    np.testing.assert_array_equal(strategy.looks, np.arange(10, 301, 10))
    assert strategy.decide(10, 5.0) is None
    assert strategy.decide(10, math.nextafter(5.0, 6.0)) is True
    assert strategy.decide(10, -math.nextafter(5.0, 6.0)) is False
    assert strategy.start == -1.0
    assert strategy.certificate is None


@pytest.mark.parametrize("every", [1, 7, 400])
def test_lightgbm_may_look_at_every_tree_or_at_none(every):
    expected = sorted({*range(every, 300, every), 300})
    assert lightgbm_margin(300, 4, every).looks.tolist() == expected


@pytest.mark.parametrize(("margin", "every"), [(-1, 10), (math.nan, 10), (math.inf, 10), ("x", 10), (1, 0)])
def test_lightgbm_refuses_what_is_no_margin(margin, every):
    with pytest.raises(InvalidInputError, match=r"(margin|looks) must"):
        lightgbm_margin(20, margin, every)


@given(rows=rows_of, limit=st.sampled_from([0.0, 0.2, 0.5]), every=st.sampled_from([1, 2]))
def test_the_constant_margin_is_the_smallest_from_which_on_the_limit_is_kept(rows, limit, every):
    paths = np.cumsum(rows, axis=1)
    strategy = constant_margin(paths, limit, looks=every)

    def wrong(margin: float) -> int:
        count = 0
        for path in paths:
            at_looks = [f for asked, f in enumerate(path, 1) if asked % every == 0 or asked == len(path)]
            first = next((f for f in at_looks[:-1] if abs(f) >= margin), at_looks[-1])
            count += (first > 0) != (path[-1] > 0)
        return count

    margins = [k + 0.5 for k in range(20)]  # between the integers that sums can be
    allowed = limit * len(rows) + 1e-9
    smallest = next(m for k, m in enumerate(margins) if all(wrong(n) <= allowed for n in margins[k:]))
    by_hand = np.array([f for f in strategy.upper[1:-1] if f < math.inf])
    assert all(math.ceil(f) == math.ceil(smallest) for f in by_hand)
    assert np.mean(strategy.run_paths(paths)[0] != (paths[:, -1] > 0)) <= limit + 1e-9


def test_the_constant_margin_adds_up_scores_in_an_order():
    scores = draw(500)
    order = np.arange(20)[::-1]
    strategy = constant_margin(scores, 0.01, order=order, start=0.25)
    same = constant_margin(0.25 + np.cumsum(scores[:, order], axis=1), 0.01, start=0.25)
    np.testing.assert_allclose(strategy.upper[1:-1], same.upper[1:-1], rtol=1e-9)
    assert share_wrong(strategy, scores) <= 0.01


@given(rows=rows_of, limit=st.sampled_from([0.0, 0.2, 0.5]), order=st.sampled_from(["optimized", "given"]))
def test_qwyc_keeps_the_limit_on_its_own_rows(rows, limit, order):
    strategy = qwyc(rows, limit, order=order, start=0.5)
    assert sorted(strategy.order) == list(range(len(rows[0])))
    assert share_wrong(strategy, rows) <= limit + 1e-9


@given(rows=rows_of, errors=st.integers(0, 2))
def test_the_first_step_of_qwyc_lets_as_many_rows_quit_as_any_thresholds(rows, errors):
    strategy = qwyc(rows, min(1.0, errors / len(rows)))
    scores = np.array(rows)
    final_yes = scores.sum(axis=1) > 0
    cuts = np.arange(-3.5, 4)

    def most(voter: int) -> int:
        counts = [0]
        for low in cuts:
            for high in cuts[cuts >= low]:
                no, yes = scores[:, voter] <= low, scores[:, voter] >= high
                if (no & final_yes).sum() + (yes & ~final_yes).sum() <= errors:
                    counts.append((no | yes).sum())
        return max(counts)

    quits = np.count_nonzero(strategy.run(rows)[1] == 1)
    assert quits == max(most(voter) for voter in range(scores.shape[1]))
    assert quits == most(int(strategy.order[0]))


def test_qwyc_asks_fewer_than_in_the_given_order():
    scores = draw(400) * np.linspace(0.1, 3, 20)
    optimized, given_order = qwyc(scores, 0.01), qwyc(scores, 0.01, order="given")
    assert optimized.run(scores)[1].mean() < given_order.run(scores)[1].mean()


def test_qwyc_refuses_other_orders():
    with pytest.raises(InvalidInputError, match='order must be "optimized" or "given"'):
        qwyc([[1.0, 2.0]], 0.1, order="random")

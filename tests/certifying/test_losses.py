"""What rows lose: disagreement, accuracy and costs, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from foregone.certifying import RowLosses, check_costs
from foregone.errors import InvalidInputError

COSTS = [[0, 2, 9], [1, 0, 4], [5, 5, 3]]


def rows(seed: int = 0, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the truth, the answers given and those of everyone, of a few hundred rows."""
    random = np.random.default_rng(seed)
    truth, full = random.integers(0, n_classes, (2, 300))
    answers = np.where(random.random(300) < 0.5, full, random.integers(0, n_classes, 300))
    return truth, answers, full


def test_losses_are_those_of_a_loop() -> None:
    truth, answers, full = rows()
    disagreement = RowLosses().of(answers, full)
    assert disagreement.dtype == np.bool_
    accuracy = RowLosses("accuracy", truth).of(answers, full)
    costs = check_costs(COSTS, 3)
    cost = RowLosses("cost", truth, costs).of(answers, full)
    for row, (truly, said, everyone) in enumerate(zip(truth, answers, full, strict=True)):
        assert disagreement[row] == (said != everyone)
        assert accuracy[row] == int(said != truly) - int(everyone != truly)
        assert cost[row] == pytest.approx((COSTS[truly][said] - COSTS[truly][everyone]) / 9)
    for losses in (accuracy, cost):
        assert np.abs(losses).max() <= 1
    right = np.mean(full == truth) - np.mean(answers == truth)
    assert accuracy.mean() == pytest.approx(right)


@pytest.mark.parametrize("yes", [True, 1])
def test_of_two_classes_answers_may_be_true_and_false(yes: bool) -> None:
    truth, answers, full = rows(1, 2)
    by_number = RowLosses("accuracy", truth).of(answers, full)
    np.testing.assert_array_equal(RowLosses("accuracy", truth).of(answers == yes, full == yes), by_number)
    costs = check_costs([[0, 1], [10, 0]], 2)
    np.testing.assert_array_equal(
        RowLosses("cost", truth, costs).of(answers == yes, full == yes),
        RowLosses("cost", truth, costs).of(answers, full),
    )


def test_what_a_row_loses_if_its_answer_differs() -> None:
    truth, _, full = rows(2, 2)
    assert (RowLosses().if_differs(full) == 1).all()
    np.testing.assert_array_equal(
        RowLosses("accuracy", truth).if_differs(full), np.where(full == truth, 1.0, -1.0)
    )
    costs = check_costs([[0, 1], [10, 0]], 2)
    expected = [0.1, -0.1, 1.0, -1.0]  # right and wrong about a no, right and wrong about a yes
    found = RowLosses("cost", np.array([0, 0, 1, 1]), costs).if_differs(np.array([0, 1, 1, 0]))
    assert found == pytest.approx(expected)


def test_classes_are_by_truth_where_it_is_known_and_else_by_the_full_answer() -> None:
    truth, _, full = rows(3, 2)
    np.testing.assert_array_equal(RowLosses().in_class_yes(full), full == 1)
    np.testing.assert_array_equal(RowLosses("accuracy", truth).in_class_yes(full), truth == 1)


def test_some_rows_can_be_taken() -> None:
    truth, answers, full = rows()
    some = np.array([5, 2, 9])
    losses = RowLosses("accuracy", truth)
    np.testing.assert_array_equal(
        losses.take(some).of(answers[some], full[some]), losses.of(answers, full)[some]
    )
    plain = RowLosses()
    assert plain.take(some) is plain
    assert (losses.may_gain, plain.may_gain) == (True, False)


def test_costs_are_in_units_of_the_largest_difference_that_an_answer_makes() -> None:
    checked = check_costs([[-3, 1], [10, 2]], 2)
    assert checked.unit == 8
    np.testing.assert_array_equal(checked.matrix * 8, [[-3, 1], [10, 2]])
    assert check_costs([[5, 5], [1, 0]], 2).unit == 1  # what is the same for every answer does not count


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([[0, 1]], r"costs must have shape \(2, 2\), got \(1, 2\)"),
        ([0, 1], "costs must have shape"),
        ([[0, 1, 2], [1, 0, 2], [1, 1, 1]], r"got \(3, 3\)"),
        ([[0, np.nan], [1, 0]], "NaN or infinity"),
        ([[0, np.inf], [1, 0]], "NaN or infinity"),
        ([[1, 1], [2, 2]], "costs must differ between answers"),
        ([["a", "b"], ["c", "d"]], "costs must be numbers"),
        (None, "costs must be numbers"),
    ],
)
def test_costs_that_are_none_are_refused(costs: object, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        check_costs(costs, 2)

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import Plan, VoteDistribution, evaluate, plan, solve
from foregone.errors import InvalidInputError
from foregone.planning import LIMITS

N = 21
EVEN = VoteDistribution.from_counts([400, 60, *[8] * (N - 3), 50, 350])
RARE = VoteDistribution.from_counts([4000, 300, 100, 60, 40, *[15] * 6, *[4] * (N - 14), 5, 6, 8, 9])
GRID = [1e-1, 1e-2, 1e-3, 1e-4]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confidence": 0.8, "looks": 4},
        {"confidence": None, "answer": "likeliest"},
        {"criterion": "minimixed", "looks": [3, 9, 14]},
        {"criterion": "minimax"},
    ],
)
def test_every_figure_is_that_of_the_solved_and_evaluated_strategy(options: dict[str, Any]) -> None:
    found = plan(RARE, GRID, **options)
    asked_for = {"criterion": "minimean", "confidence": 0.95, **options}
    if asked_for["criterion"] != "minimean":
        asked_for["confidence"] = None
    criterion = asked_for.pop("criterion")
    assert [row.max_disagreement for row in found.rows] == GRID
    for row in found.rows:
        solution = solve(criterion, RARE, row.max_disagreement, **asked_for)
        evaluation = evaluate(solution.strategy)
        risk, cost, weights = evaluation.disagreement, evaluation.expected_votes, RARE.probabilities
        yes = np.arange(N + 1) > N / 2
        assert row.expected_votes == pytest.approx(weights @ cost, rel=1e-12)
        assert row.expected_votes == 0 or row.speed_up == pytest.approx(N / row.expected_votes)
        assert row.disagreement == pytest.approx(weights @ risk, rel=1e-12)
        assert row.guaranteed == solution.disagreement
        assert row.worst_disagreement == risk.max()
        for side, of_it in (("yes", yes), ("no", ~yes)):
            assert row.by_class[side] == pytest.approx(
                weights[of_it] @ risk[of_it] / weights[of_it].sum(), rel=1e-12
            )
            assert row.worst_by_class[side] == risk[of_it].max()
    assert found.confidence == asked_for["confidence"]


def test_the_usual_limits_fall_by_half_decades() -> None:
    assert LIMITS[0] == 1e-1
    assert LIMITS[-1] == 1e-5
    assert all(3 <= round(loose / tight, 9) < 3.4 for loose, tight in pairwise(LIMITS))
    assert [row.max_disagreement for row in plan(5, confidence=None).rows] == list(LIMITS)


def test_limits_are_sorted_and_taken_once() -> None:
    assert [row.limit for row in plan(5, [0.0, 0.1, 0.01, 0.1], confidence=None).rows] == [0.1, 0.01, 0.0]


def test_the_price_is_full_votes_for_each_disagreement_avoided() -> None:
    found = plan(EVEN, GRID)
    assert found.rows[0].price is None
    for loose, tight in pairwise(found.rows):
        votes = tight.expected_votes - loose.expected_votes
        avoided = solve("minimean", EVEN, loose.limit, confidence=0.95).disagreement
        avoided -= solve("minimean", EVEN, tight.limit, confidence=0.95).disagreement  # type: ignore[operator]  # floats
        assert tight.price == pytest.approx(votes / avoided / N)


@pytest.mark.parametrize("worth", [0.5, 5, 50, 5000])
def test_it_tightens_as_long_as_the_price_is_worth_it(worth: float) -> None:
    votes = VoteDistribution.from_counts(10_000 * EVEN.probabilities)  # weighted: no floor, no confidence
    assert votes.n_observations is None
    found = plan(votes, GRID, worth=worth)
    place = found.rows.index(found.chosen)
    assert all(row.price <= worth for row in found.rows[1 : place + 1] if row.price is not None)
    following = found.rows[place + 1 :]
    assert (following[0].price or 0) > worth if following else found.reason == "end"


def test_it_does_not_go_below_what_the_observations_can_tell() -> None:
    few = VoteDistribution.from_counts([30, *[0] * (N - 1), 20])
    found = plan(few, GRID, worth=1e9)
    assert (found.chosen.limit, found.reason) == (0.1, "observations")
    assert "50 observed inputs cannot distinguish" in found.recommendation
    every_input = plan(few, GRID, worth=1e9, criterion="minimixed")
    assert (every_input.chosen.limit, every_input.reason) == (1e-4, "end")


def test_a_class_that_loses_gets_a_limit_of_its_own() -> None:
    found = plan(RARE, [1e-2])
    losing = found.chosen.by_class["yes"]
    assert losing is not None
    assert losing > 0.1
    limits = {"yes": 1e-2, "no": 1e-2}
    assert found.max_disagreement == limits
    budgets = found.class_budgets
    assert budgets is found.recommended
    assert budgets is not None
    solution = solve("minimean", RARE, limits, confidence=0.95)
    assert budgets.expected_votes == pytest.approx(solution.expected_votes, rel=1e-12)
    assert all(risk is not None and risk <= 1e-2 for risk in budgets.by_class.values())
    assert "does not protect every class" in found.recommendation
    assert f"{100 * losing:.3g} %" in found.recommendation
    assert "solve('minimean', votes, {'yes': 0.01, 'no': 0.01}, confidence=0.95)" in found.recommendation


def test_no_class_loses_where_every_input_is_bounded() -> None:
    found = plan(RARE, [1e-2], criterion="minimixed")
    assert found.class_budgets is None
    assert found.max_disagreement == 1e-2
    assert "loses" not in found.recommendation


def test_a_class_that_was_never_seen_is_not_taken_for_safe() -> None:
    found = plan(VoteDistribution.from_counts([900, 100, *[0] * (N - 1)]), [0.01])
    assert found.rows[0].by_class["yes"] is None
    assert found.class_budgets is not None
    assert found.class_budgets.worst_by_class["yes"] <= 0.01 * (1 + 1e-9)
    assert "no observed input has a full vote of 'yes'" in found.recommendation


@pytest.mark.parametrize(
    "votes", [N, VoteDistribution.flat(N), VoteDistribution.from_counts(np.arange(N + 1) / 7)]
)
def test_without_observations_the_confidence_is_dropped_and_that_is_said(votes: Any) -> None:
    found = plan(votes, GRID)
    assert found.confidence is None
    assert "Confidence 0.95 was ignored" in found.recommendation
    assert found.rows == plan(votes, GRID, confidence=None).rows
    assert plan(votes, GRID, confidence=None).notes == ()


def test_where_every_input_is_bounded_no_confidence_is_needed() -> None:
    assert "No confidence is needed" in plan(EVEN, GRID, criterion="minimax").recommendation


def test_a_strategy_that_asks_nobody_has_no_finite_speed_up() -> None:
    row = plan(RARE, [0.5]).rows[0]
    assert (row.expected_votes, row.speed_up) == (0, np.inf)
    assert row.record()["speed_up"] is None
    assert "No voter is asked" in plan(RARE, [0.5]).recommendation


def test_labels_replace_yes_and_no() -> None:
    found = plan(RARE, [1e-2], labels=("healthy", "ill"))
    assert found.max_disagreement == {"healthy": 1e-2, "ill": 1e-2}
    assert "'ill'" in found.recommendation
    assert "yes" not in found.recommendation
    assert "max_disagreement={'healthy': 0.01, 'ill': 0.01}" in found.recommendation


def test_the_call_it_ends_in_can_be_made() -> None:
    found = plan(RARE, GRID, looks=5, answer="likeliest")
    call = found.recommendation.split("The call: ")[1]
    solution = eval(call, {"solve": solve, "votes": RARE})  # noqa: S307  # it is our own text
    assert solution.answer == "likeliest"
    assert solution.looks == (0, 5, 10, 15, 20, 21)
    assert solution.max_disagreement == found.max_disagreement
    assert solution.expected_votes == pytest.approx(found.recommended.expected_votes)


def test_it_is_the_same_every_time_and_survives_pickling_and_copying() -> None:
    found = plan(RARE, GRID)
    assert plan(RARE, GRID) == found
    assert plan(RARE, GRID).recommendation == found.recommendation
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):  # noqa: S301  # just pickled
        assert isinstance(other, Plan)
        assert other == found
        assert other.recommendation == found.recommendation


def test_its_records_make_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    found = plan(EVEN, GRID)
    frame = pandas.DataFrame(found.records())
    assert frame["max_disagreement"].tolist() == GRID
    assert frame["expected_votes"].tolist() == [row.expected_votes for row in found.rows]
    assert frame["worst_disagreement_yes"].tolist() == [row.worst_by_class["yes"] for row in found.rows]


def test_its_repr_says_what_it_is_for() -> None:
    expected = "<Plan for 1 voter, minimean: 1 limit of 0.1, recommended 0.1>"
    assert repr(plan(1, [0.1])) == expected


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=10).filter(any), st.booleans())
def test_any_votes_get_a_recommendation_within_its_limit(counts: list[int], sure: bool) -> None:
    votes = VoteDistribution.from_counts(counts)
    found = plan(votes, [0.5, 0.05, 0.0], confidence=0.9 if sure else None)
    assert found.chosen in found.rows
    assert found.recommended.disagreement <= found.recommended.limit + 1e-9
    assert found.recommendation


@pytest.mark.parametrize(
    ("arguments", "options", "hint"),
    [
        ((N, []), {}, "limits is empty"),
        ((N, 0.1), {}, "limits must be a list"),
        ((N, "0.1"), {}, "limits must be a list"),
        ((N, {"yes": 0.1, "no": 0.1}), {}, "limits must be a list"),
        ((N, [0.1, 1.5]), {}, "from 0 to 1"),
        ((N, [-0.1]), {}, "from 0 to 1"),
        ((N, [float("nan")]), {}, "from 0 to 1"),
        ((N, ["many"]), {}, "from 0 to 1"),
        ((N,), {"criterion": "best"}, "criterion must be one of"),
        ((N,), {"confidence": 1.0}, "strictly between"),
        ((EVEN,), {"confidence": 0}, "strictly between"),
        ((N,), {"looks": 0}, "looks must be"),
        ((N,), {"answer": "perhaps"}, "answer must be one of"),
        ((N,), {"criterion": "minimax", "answer": "likeliest"}, "needs a distribution of votes"),
        ((N,), {"worth": 0}, "worth must be"),
        ((N,), {"worth": "much"}, "worth must be"),
        ((N,), {"worth": float("inf")}, "worth must be"),
        ((0,), {}, "at least 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], hint: str
) -> None:
    with pytest.raises(InvalidInputError, match=hint):
        plan(*arguments, **options)


def test_what_the_confidence_covers_is_said() -> None:
    alone = plan(EVEN, GRID)
    assert str(alone.promise) in alone.advise()[0]
    assert "over random orders of the voters" in alone.recommendation
    assert "The confidence covers all limits of this plan together." in alone.advise()
    assert "Fitting" not in alone.recommendation
    of_classifier = plan(EVEN, [1e-2], labels=("no", "yes"))
    assert (
        "fit it with the chosen limit on about 600 rows, preferably not these" in of_classifier.recommendation
    )
    assert "together" not in plan(EVEN, GRID, confidence=None).recommendation
    assert "together" not in plan(EVEN, GRID, criterion="minimax").recommendation


def test_switching_to_limits_for_each_class_is_paid_for_with_confidence() -> None:
    found = plan(RARE, [1e-2])
    assert found.class_budgets is not None
    assert "with 90 % confidence, because the same inputs decided on the switch" in found.recommendation
    assert "about 600 rows of each class" in plan(RARE, [1e-2], labels=("healthy", "ill")).recommendation
    assert "decided on it" not in plan(RARE, [1e-2], confidence=None).recommendation

"""With another quota than a majority, every picture divides yes from no where the quota does."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import LabelledVotes, VoteDistribution, early_stop, evaluate, plan, rules, solve
from foregone.display import (
    EnvelopeDisplay,
    RiskDisplay,
    StateGraphDisplay,
    TradeoffDisplay,
    VoteDistributionDisplay,
    envelope_picture,
    envelope_shape,
)
from foregone.display.risk import votes_to_turn
from foregone.errors import InvalidInputError

pytest.importorskip("matplotlib")

N = 20
QUOTAS = [0, 1, 3, 10, 14, N]


@pytest.mark.parametrize("quota", QUOTAS)
def test_heights_are_yes_votes_above_the_share_of_the_quota(quota: int) -> None:
    shape = envelope_shape(rules.curtailment(N, quota=quota))
    assert shape.share == max(quota - 0.5, 0) / N
    for stops, sign in ((shape.stop_yes, 1), (shape.stop_no, -1)):
        for asked, lead in stops.tolist():
            height = shape.heights(asked, lead)
            assert height == pytest.approx((asked + lead) / 2 - shape.share * asked)
            assert sign * height >= 0
    low, high = shape.span
    assert low <= 0 <= high


@pytest.mark.parametrize("n_voters", [1, 2, 20, 21])
def test_a_majority_is_drawn_as_before_by_its_lead(n_voters: int) -> None:
    shape = envelope_shape(rules.curtailment(n_voters, quota=n_voters // 2 + 1))
    assert shape.is_majority
    assert shape.heights(7, -3) == -3
    assert shape.span == (-shape.largest_lead, shape.largest_lead)
    assert shape.height_label == "yes votes minus no votes"


@pytest.mark.parametrize("quota", QUOTAS)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_picture_in_a_terminal_has_its_edges_on_either_side_of_zero(quota: int, ascii_only: bool) -> None:
    strategy = solve("minimixed", N, 0.01, quota=quota).strategy
    lines = str(envelope_picture(strategy, width=70, height=15, ascii_only=ascii_only)).splitlines()
    assert lines[0] == f"yes votes above {100 * max(quota - 0.5, 0) / N:.3g} % of those asked"
    assert max(map(len, lines)) <= 70
    assert any(line.strip().startswith("0 ") for line in lines)
    assert "stop: the answer is YES" in lines[1]
    assert ("continue" in "\n".join(lines)) == (quota > 0)


@pytest.mark.parametrize("quota", QUOTAS)
@pytest.mark.parametrize("height", ["lead", "yes"])
def test_every_line_of_an_envelope_can_be_seen(quota: int, height: str) -> None:
    display = EnvelopeDisplay.from_strategy(solve("minimixed", N, 0.01, quota=quota).strategy, height=height)
    low, high = display.ax_.get_ylim()
    drawn = [line for line in display.ax_.lines if line.get_gid() or line.get_linewidth() > 1]
    heights = np.concatenate([np.asarray(line.get_ydata(), float) for line in drawn])
    heights = heights[np.isfinite(heights)]
    assert low <= heights.min()
    assert heights.max() <= high
    label = "yes votes" if height == "yes" else "% of those asked"
    assert display.ax_.get_ylabel().endswith(label)


def test_strategies_of_different_quotas_do_not_share_axes() -> None:
    with pytest.raises(InvalidInputError, match="same quota"):
        EnvelopeDisplay.from_strategies(
            {"any": rules.curtailment(N, quota=1), "most": rules.curtailment(N, quota=14)}
        )


@pytest.mark.parametrize("quota", QUOTAS)
def test_by_margin_risk_is_the_larger_of_those_that_as_many_votes_would_turn(quota: int) -> None:
    strategy = solve("minimean", N, 0.05, quota=quota).strategy
    display = RiskDisplay.from_strategy(strategy, by="margin")
    (line,) = (line for line in display.ax_.lines if line.get_gid())
    risk, largest = evaluate(strategy).disagreement, {}
    for n_yes, distance in enumerate(votes_to_turn(N, quota).tolist()):
        largest[distance] = max(largest.get(distance, 0.0), risk[n_yes])
    assert line.get_xydata().tolist() == [[distance, largest[distance]] for distance in sorted(largest)]
    assert "change the full vote" in display.ax_.get_xlabel()


def test_by_yes_votes_risk_says_where_yes_begins() -> None:
    strategy = solve("minimean", N, 0.05, quota=3).strategy
    assert "yes from 3" in [text.get_text() for text in RiskDisplay.from_strategy(strategy).ax_.texts]
    plain = solve("minimean", N, 0.05).strategy
    assert not RiskDisplay.from_strategy(plain).ax_.texts


def test_a_vote_distribution_is_divided_at_the_quota() -> None:
    shares = VoteDistributionDisplay.from_votes(VoteDistribution.flat(4), quota=1).shares
    assert np.flatnonzero(shares["full vote no"]).tolist() == [0]
    assert np.flatnonzero(shares["full vote yes"]).tolist() == [1, 2, 3, 4]
    with pytest.raises(InvalidInputError, match="quota"):
        VoteDistributionDisplay.from_votes(VoteDistribution.flat(4), quota=5)


def test_the_votes_of_a_classifier_are_divided_at_its_threshold() -> None:
    X, y = make_classification(800, random_state=0)
    forest = RandomForestClassifier(10, random_state=0).fit(X[:300], y[:300])
    classifier = early_stop(
        forest, X[300:], max_disagreement=0.1, voting="hard", threshold=0.3, confidence=None
    )
    display = VoteDistributionDisplay.from_estimator(classifier)
    assert np.flatnonzero(display.shares["full vote yes"]).min() >= 3
    assert np.flatnonzero(display.shares["full vote no"]).max() <= 2


def test_a_state_graph_of_any_vote_stops_at_the_first_yes() -> None:
    flow = StateGraphDisplay.from_strategy(rules.curtailment(4, quota=1)).flow
    assert all(flow.stops[asked, 1] == 1 for asked in range(1, 5))
    assert (2, 2) not in flow.states


def test_beside_a_plan_with_a_quota_stand_the_rules_that_know_of_it() -> None:
    display = TradeoffDisplay.from_plan(plan(N, [0.1, 0.01], confidence=None, quota=3), baselines=True)
    assert [curve.name for curve in display.curves] == ["minimean", "curtailment"]


def test_a_plan_in_accuracy_is_drawn_by_what_is_true() -> None:
    labelled = LabelledVotes.from_counts([50, 20, 9, 5, 1], [2, 4, 8, 30, 60])
    made = plan(labelled, [0.1, 0.03, 0.01], confidence=None)
    display = TradeoffDisplay.from_plan(made)
    votes, risk = display.axes_
    assert votes.get_xlabel() == "allowed loss of accuracy"
    assert risk.get_ylabel() == "loss of accuracy"
    names = [line.get_label() for line in risk.lines]
    assert {"all inputs", "truly no", "truly yes", "disagreement (not limited)", "the limit"} <= {*names}
    drawn = dict(zip(names, risk.lines, strict=True))
    expected = sorted((row.limit, max(row.accuracy_loss, 0.0)) for row in made.rows)
    assert drawn["all inputs"].get_xydata() == pytest.approx(np.array(expected))
    with pytest.raises(InvalidInputError, match="leave out baselines"):
        TradeoffDisplay.from_plan(made, baselines=True)

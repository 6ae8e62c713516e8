"""Bets: no probability that the calibration rows leave plausible lets them gain on average."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from foregone.certifying import Promise, clopper_pearson_bound
from foregone.errors import InvalidInputError
from foregone.monitoring.bets import AuditBets, SpreadBets, asked_steps
from foregone.monitoring.stops import Stops


def promise(limit=0.01, loss="disagreement"):
    return Promise("classifier", loss, limit, 0.95, 0.0, 5000)


def drawn(n_voters, n_classes, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    asked = np.minimum(rng.geometric(0.2, n_rows), n_voters)
    return Stops.count(asked, rng.integers(n_classes, size=n_rows), n_voters, n_classes)


@pytest.mark.parametrize("n_voters", [1, 2, 3, 7, 8, 101, 1000])
def test_steps_begin_with_one_and_stay_within_the_voters(n_voters):
    steps = asked_steps(n_voters)
    assert steps[0] == 1
    assert steps == sorted(set(steps))
    assert steps[-1] <= n_voters < 1.6 * steps[-1] + 1


@pytest.mark.parametrize(("n_voters", "n_classes"), [(1, 2), (5, 2), (20, 3), (101, 2)])
def test_every_cell_of_the_stops_is_counted_once_by_votes_and_once_by_class(n_voters, n_classes):
    reference = drawn(n_voters, n_classes, 300)
    bets = SpreadBets.against(reference, 0.01)
    cells = bets.cells(reference.counts)
    assert cells.sum() == 2 * reference.n_rows
    assert len(cells) == bets.log_payoffs.shape[1]
    assert bets.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(("n_voters", "n_classes"), [(5, 2), (20, 3), (101, 2)])
def test_no_plausible_spread_lets_a_bet_gain(n_voters, n_classes):
    """Every distribution that keeps to the bound of a bet: those that put a share into its event."""
    reference = drawn(n_voters, n_classes, 300)
    bets = SpreadBets.against(reference, 0.01)
    n_asked = len(bets.steps)
    for bet, pays in zip(bets.bets, np.exp(bets.log_payoffs), strict=True):
        part = slice(0, n_asked) if bet.what != "class" else slice(n_asked, None)
        looked_at = pays[part]
        other = np.delete(pays, np.arange(len(pays))[part])
        assert (other == 1).all()
        inside = looked_at > 1
        high, low = looked_at[inside].max(), looked_at[~inside].max()
        for share in np.linspace(0, bet.bound, 7):
            assert share * high + (1 - share) * low <= 1 + 1e-12
        share = 1.3 * bet.bound / (1 + 0.3 * bet.bound)
        assert share * high + (1 - share) * low > 1


def test_events_are_what_they_say():
    reference = drawn(20, 2, 500)
    bets = SpreadBets.against(reference, 0.01)
    shares = {
        "closer": lambda at: reference.asked[at:].sum(),
        "clearer": lambda at: reference.asked[: at + 1].sum(),
        "class": lambda at: reference.answered[at],
    }
    n_events = 2 * len(asked_steps(20)) + 2
    for bet in bets.bets:
        assert bet.bound == clopper_pearson_bound(int(shares[bet.what](bet.at)), 500, 1 - 0.01 / n_events)


def test_the_bounds_hold_together_with_the_stated_probability():
    """Exactly, for one voter: the bounds of all events fail in at most the share asked for."""
    n_rows, failure = 12, 0.2
    for chance in np.linspace(0.02, 0.98, 25):
        failing = 0.0
        for n_yes in range(n_rows + 1):
            counts = np.array([[0, n_rows - n_yes], [0, n_yes]])
            bets = SpreadBets.against(Stops(counts), failure).bets
            truth = {("class", 0): 1 - chance, ("class", 1): chance}
            if any(truth.get((bet.what, bet.at), 0) > bet.bound for bet in bets):
                failing += binom.pmf(n_yes, n_rows, chance)
        assert failing <= failure


@pytest.mark.parametrize("limit", [0.001, 0.1, 0.4])
def test_disagreement_within_the_limit_lets_no_bet_gain(limit):
    bets = AuditBets.against(promise(limit), [False, True])
    pays = np.exp(bets.log_payoffs)
    assert len(bets.bets) > 3
    for full in (0, 1):
        agree, differ = pays[:, 2 * full], pays[:, 2 * full + 1]
        assert (limit * differ + (1 - limit) * agree <= 1 + 1e-12).all()
        assert (1.5 * limit * differ + (1 - 1.5 * limit) * agree > 1).any()


def test_limits_by_class_are_bet_on_among_the_rows_of_the_class():
    bets = AuditBets.against(promise({"a": 0.1, "b": 0.01}), ["a", "b"])
    for bet, pays in zip(bets.bets, bets.log_payoffs, strict=True):
        assert bet.bound == {0: 0.1, 1: 0.01}[bet.at]
        other = 2 * (1 - bet.at)
        assert (pays[other : other + 2] == 0).all()
        assert pays[2 * bet.at + 1] > 0 > pays[2 * bet.at]
    assert {bet.at for bet in bets.bets} == {0, 1}


def test_with_a_limit_of_zero_one_row_is_enough():
    bets = AuditBets.against(promise(0.0), [0, 1])
    evidence = bets.start().after(bets.cells(np.array([0, 1]), np.array([0, 1]), None), 2)
    assert evidence.value == pytest.approx(1)
    assert evidence.after(bets.cells(np.array([0]), np.array([1]), None), 1).value > 1e200


def test_no_limit_is_not_bet_against():
    assert AuditBets.against(promise(1.0), [0, 1]).bets == []
    assert AuditBets.against(promise(0.1, "values"), [0, 1]).bets == []


def test_cells_tell_audited_rows_apart_by_class_and_agreement():
    bets = AuditBets.against(promise(), ["a", "b", "c"])
    early, full = np.array([0, 1, 2, 2, 0]), np.array([0, 1, 2, 1, 2])
    assert bets.cells(early, full, None).tolist() == [1, 0, 1, 1, 1, 1]


COSTS = [[0, 3, 1], [10, 0, 2], [5, 5, 0]]


@pytest.mark.parametrize("costs", [None, COSTS])
def test_losses_within_the_limit_let_no_bet_gain(costs):
    """Mean losses of exactly the limit, made of pairs of early and full answers to a truth."""
    unit = 1 if costs is None else 10
    limit = 0.02 * unit
    bets = AuditBets.against(promise(limit, "accuracy" if costs is None else "cost"), [0, 1, 2], costs=costs)
    matrix = (1 - np.eye(3) if costs is None else np.array(COSTS)) / unit
    outcomes = list(itertools.product(range(3), repeat=3))  # truth, early, full
    lost = np.array([matrix[t, e] - matrix[t, f] for t, e, f in outcomes])
    pays = np.exp(
        [bets.log_payoffs @ bets.cells(np.array([e]), np.array([f]), np.array([t])) for t, e, f in outcomes]
    )
    for one, other in itertools.permutations(range(len(outcomes)), 2):
        if not lost[one] < 0.02 < lost[other]:
            continue
        share = (0.02 - lost[one]) / (lost[other] - lost[one])
        assert ((1 - share) * pays[one] + share * pays[other] <= 1 + 1e-9).all()
    worst = int(np.argmax(lost))
    assert (pays[worst] > 1).any()


def test_losses_by_class_are_bet_on_among_the_rows_truly_of_it():
    bets = AuditBets.against(promise({0: 0.1, 1: 0.01}, "accuracy"), [0, 1])
    for bet, pays in zip(bets.bets, bets.log_payoffs, strict=True):
        of_other = bets.cells(np.array([0]), np.array([1]), np.array([1 - bet.at]))
        of_class = bets.cells(np.array([1 - bet.at]), np.array([bet.at]), np.array([bet.at]))
        assert pays @ of_other == 0
        assert pays @ of_class > 0


def test_without_labels_a_limit_on_accuracy_is_held_to_the_disagreement_of_the_calibration_rows():
    reference = Stops(np.array([[0, 500], [0, 500]]), n_differing=20)
    bets = AuditBets.against(promise(0.01, "accuracy"), [0, 1], reference=reference, failure=0.01)
    bounds = {bet.bound for bet in bets.bets if bet.what == "disagreement"}
    assert bounds == {clopper_pearson_bound(20, 1000, 0.99)}
    without = AuditBets.against(promise(0.01, "accuracy"), [0, 1])
    assert {bet.what for bet in without.bets} == {"accuracy"}


def test_costs_that_are_no_matrix_are_refused():
    with pytest.raises(InvalidInputError, match="costs"):
        AuditBets.against(promise(1.0, "cost"), [0, 1], costs=[[0, 1]])

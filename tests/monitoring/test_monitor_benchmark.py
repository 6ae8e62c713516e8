"""The simulation of ``make bench-monitor``, small."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from benchmarks import monitored_streams as streams

from foregone import VoteDistribution, evaluate, solve


def test_simulated_rows_stop_where_the_evaluation_of_a_strategy_says():
    votes = streams.votes_of(streams.EASY)
    strategy = solve("minimean", VoteDistribution(votes), 0.01).strategy
    by_votes = streams.stops_by_votes(strategy)
    evaluation = evaluate(strategy)
    assert by_votes.sum(axis=(1, 2)) == pytest.approx(np.ones(len(votes)))
    assert by_votes.sum(axis=1) @ np.arange(len(votes)) == pytest.approx(evaluation.expected_votes)
    is_yes = np.arange(len(votes)) > streams.N_VOTERS // 2
    wrong = np.where(is_yes, by_votes[:, 0].sum(axis=1), by_votes[:, 1].sum(axis=1))
    assert wrong == pytest.approx(evaluation.disagreement, abs=1e-12)


def test_streams_in_which_nothing_changes_give_no_alarm_in_every_setting():
    with ThreadPoolExecutor(1) as workers:
        for setting in streams.level_settings()[::3]:
            assert streams.false_alarms(setting, 2, workers) == (0, 0)


def test_drift_is_found_after_its_beginning_and_not_sooner_than_with_hindsight():
    drift = next(one for one in streams._spread_drifts() if "50" in one.title and one.n_rows == 5_000)
    with_hindsight = streams._hindsight_rows(drift)
    rows = [streams._rows_to_spread_alarm(drift, streams.CHANGE, seed) for seed in range(5)]
    assert with_hindsight < np.median(rows) < 20_000


def test_a_test_with_hindsight_keeps_its_level_and_finds_half():
    from scipy.stats import binom

    n_audited = streams._hindsight_audits(0.01, 0.02)
    critical = next(k for k in range(n_audited) if binom.sf(k - 1, n_audited, 0.01) <= 0.005)
    assert binom.sf(critical - 1, n_audited, 0.02) >= 0.5
    assert binom.sf(critical - 1, n_audited - 1, 0.02) < 0.5

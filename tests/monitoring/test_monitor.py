"""A monitor predicts as its classifier does, is quiet while nothing changes, and says what has changed."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from foregone import Monitor, early_stop, solve
from foregone.certifying import Promise
from foregone.errors import InvalidInputError
from foregone.monitoring import MonitorWarning, Stops
from foregone.monitoring.audit_rows import AuditRows
from tests.monitoring.monitored import MODELS, N_CALIBRATE, N_FIT, data, new_rows, stopped


@pytest.mark.parametrize("name", MODELS)
def test_it_predicts_as_the_classifier_does_and_counts(name):
    classifier, X = stopped(name), new_rows(name)
    monitor = classifier.monitor(audit=0.1)
    labels, asked, came_to = classifier.predict_with_votes(X)
    assert (monitor.predict(X) == labels).all()
    found = monitor.predict_with_votes(X[:100])
    for one, other in zip(found, (labels, asked, came_to), strict=True):
        assert np.array_equal(one, other[:100])
    numbers = [classifier.classes_.tolist().index(label) for label in np.append(labels, labels[:100])]
    counted = Stops.count(
        np.append(asked, asked[:100]), numbers, classifier.ensemble_.n_voters, len(classifier.classes_)
    )
    assert (monitor.state.stops == counted.counts).all()
    chosen = AuditRows(0.1).choose(X)
    n_chosen = len(chosen) + int((chosen < 100).sum())
    assert monitor.state.n_audited == n_chosen > 300
    differ = labels != classifier.full_predict(X)
    both = differ[chosen].sum() + differ[chosen[chosen < 100]].sum()
    assert monitor.to_dict()["audited_disagreements"] == both
    assert monitor.alarm is None


@pytest.mark.parametrize("name", MODELS)
def test_rows_one_by_one_are_the_same_as_a_batch(name):
    classifier, X = stopped(name), new_rows(name)[:600]
    one_by_one, batch = classifier.monitor(audit=0.1), classifier.monitor(audit=0.1)
    labels = [one_by_one.predict(X[k : k + 1])[0] for k in range(len(X))]
    assert (labels == batch.predict(X)).all()
    for field in ("n_rows", "n_audited"):
        assert getattr(one_by_one.state, field) == getattr(batch.state, field)
    assert (one_by_one.state.stops == batch.state.stops).all()
    assert (one_by_one.state.audits == batch.state.audits).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_reference_is_of_calibration_rows_run_as_predict_runs_them(name):
    """On the rows that were certified on, or all: every stop is one that predict makes there."""
    classifier, (X, _) = stopped(name), data(MODELS[name][0])
    labels, asked, _ = classifier.predict_with_votes(X[N_FIT:N_CALIBRATE])
    numbers = [classifier.classes_.tolist().index(label) for label in labels]
    every = Stops.count(asked, numbers, classifier.ensemble_.n_voters, len(classifier.classes_))
    reference = classifier.stops_
    assert (reference.counts <= every.counts).all()
    assert reference.n_rows == classifier.promise_.n_rows
    differ = labels != classifier.full_predict(X[N_FIT:N_CALIBRATE])
    assert reference.n_differing <= differ.sum()


@pytest.mark.parametrize("name", MODELS)
def test_closer_votes_are_told(name):
    classifier, X = stopped(name), new_rows(name)
    asked = classifier.predict_with_votes(X)[1]
    closer = np.sort(np.argsort(asked, kind="stable")[len(X) // 2 :])  # the half of most votes, as they came
    monitor = classifier.monitor()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for part in np.array_split(X[closer], 20):
            monitor.predict(part)
    first = next(alarm for alarm in monitor.alarms if alarm.kind == "spread")
    assert first.what in ("closer", "class")
    assert first.evidence >= first.threshold == 400
    assert 0 < first.time <= len(X)
    assert len(caught) == len(monitor.alarms)  # one for each kind
    assert str(first) in [str(warning.message) for warning in caught]


def test_what_has_moved_is_said_with_figures():
    classifier = stopped()
    monitor, asked = classifier.monitor(), classifier.predict_with_votes(new_rows())[1]
    with pytest.warns(MonitorWarning, match="Votes are clearer than on the calibration rows"):
        monitor.predict(new_rows()[asked <= 4])
    now, then = (float(found) for found in re.findall(r"([\d.]+) %", monitor.alarm.sentence))
    assert now > then
    assert "early_stop(model, recent_rows" in monitor.alarm.advice
    other = classifier.monitor()
    labels = classifier.predict(new_rows())
    with pytest.warns(MonitorWarning, match="Class 'red' is more frequent"):
        other.predict(new_rows()[labels == "red"])
    assert other.alarm.what == "class"


def test_disagreement_above_the_limit_is_told_by_audits():
    monitor = stopped().monitor()
    rng = np.random.default_rng(0)
    full = np.array(["green", "red"])[rng.integers(2, size=20_000)]
    other = np.where(full == "red", "green", "red")
    within, above = (np.where(rng.random(20_000) < share, other, full) for share in (0.015, 0.06))
    assert monitor.audited(within, full).alarm is None
    with pytest.warns(MonitorWarning, match=r"disagreement with the full vote is too high: [\d,]+ of 40,000"):
        monitor.audited(above, full)
    assert (monitor.alarm.kind, monitor.alarm.what) == ("disagreement", "disagreement")
    assert monitor.alarm.threshold == 200


def test_limits_by_class_are_watched_by_class():
    promise = Promise("classifier", "disagreement", {"green": 0.01, "red": 0.2}, 0.95, 0.01, 1000)
    monitor = Monitor(promise, classes=["green", "red"])
    full = np.repeat(["green", "red"], 2000)
    early = full.copy()
    early[3700:] = "green"  # 15 % of the red ones
    assert monitor.audited(early, full).alarm is None
    early[:100] = "red"  # 5 % of the green ones
    with pytest.warns(MonitorWarning, match="audited rows of class 'green' differ"):
        monitor.audited(early, full)


def test_accuracy_is_watched_with_labels_and_disagreement_without():
    X, y = data()
    classifier = early_stop(
        MODELS["votes"][1].fit(X[:N_FIT], y[:N_FIT]),
        X[N_FIT:N_CALIBRATE],
        y[N_FIT:N_CALIBRATE],
        max_accuracy_loss=0.01,
        random_state=0,
    )
    full = np.repeat(["green", "red"], 5000)
    early = np.where(np.arange(10_000) % 20 == 0, np.roll(full, 5000), full)  # 5 % differ
    monitor = classifier.monitor()
    with pytest.warns(MonitorWarning, match="The loss of accuracy from early stopping is too high: 5.00%"):
        monitor.audited(early, full, truth=full)
    fine = classifier.monitor()
    assert fine.audited(full, full, truth=early).alarm is None
    many = np.where(np.arange(10_000) % 4 == 0, np.roll(full, 5000), full)
    with pytest.warns(MonitorWarning, match="disagreement with the full vote is too high"):
        fine.audited(many, full)
    monitor = classifier.monitor(audit=0.2)
    assert monitor.predict(X[N_CALIBRATE:]) is not None
    assert monitor.alarm is None


def test_costs_are_watched_in_their_unit():
    X, y = data()
    classifier = early_stop(
        MODELS["votes"][1].fit(X[:N_FIT], y[:N_FIT]),
        X[N_FIT:N_CALIBRATE],
        y[N_FIT:N_CALIBRATE],
        max_accuracy_loss=0.1,
        costs=[[0, 1], [10, 0]],
        random_state=0,
    )
    truth = np.full(20_000, "red")
    early = np.where(np.arange(20_000) % 200 == 0, "green", "red")  # costs 0.05 a row
    assert classifier.monitor().audited(early, truth, truth).alarm is None
    early = np.where(np.arange(20_000) % 40 == 0, "green", "red")
    with pytest.warns(MonitorWarning):
        classifier.monitor().audited(early, truth, truth)


def test_what_only_curtails_must_never_differ():
    classifier = early_stop(MODELS["votes"][1].fit(*(part[:N_FIT] for part in data())))
    monitor = classifier.monitor(audit=1.0)
    assert monitor.reference is None
    monitor.predict(new_rows())
    assert monitor.alarm is None
    assert monitor.state.n_rows == monitor.state.n_audited == 6000
    promise = Promise.certain(0.0)
    with pytest.warns(MonitorWarning, match="1 of 1 audited rows differ"):
        Monitor(promise).audited([True], [False])


def test_calibration_rows_in_clusters_are_no_reference():
    X, y = data()
    n_rows = N_CALIBRATE - N_FIT
    classifier = early_stop(
        MODELS["votes"][1].fit(X[:N_FIT], y[:N_FIT]),
        X[N_FIT:N_CALIBRATE],
        max_disagreement=0.02,
        clusters=np.arange(n_rows) // 2,
        random_state=0,
    )
    assert not hasattr(classifier, "stops_")
    monitor = classifier.monitor(audit=0.5)
    monitor.predict(new_rows())
    assert monitor.state.n_rows == 6000
    assert monitor.state.n_audited > 2500
    assert monitor.evidence_of("spread").value == 1


def test_rows_to_compare_with_can_be_given():
    classifier = early_stop(MODELS["votes"][1].fit(*(part[:N_FIT] for part in data())))
    X = new_rows()
    monitor = classifier.monitor(X=X[:3000])
    assert monitor.reference.n_rows == 3000
    assert monitor.reference.n_differing == 0
    monitor.predict(X[3000:])
    assert monitor.alarm is None
    with pytest.warns(MonitorWarning, match="closer"):
        monitor.predict(0.2 * X)


# Being told ----------------------------------------------------------------------------------------


def test_votes_tell_what_was_answered():
    classifier, X = stopped(), new_rows()
    labels, asked, yes = classifier.predict_with_votes(X)
    told, with_labels, seen = (classifier.monitor(audit=0) for _ in range(3))
    seen.predict(X)
    told.update(asked, yes)
    with_labels.update(asked, labels=labels)
    for monitor in (told, with_labels):
        assert (monitor.state.stops == seen.state.stops).all()
        assert monitor.to_dict() == seen.to_dict()


def test_a_poll_is_watched_by_its_solution():
    solution = solve("minimixed", 21, 0.01)
    asked = np.random.default_rng(0).integers(5, 22, size=500)
    monitor = Monitor(solution, reference=Stops.count(asked, asked % 2, 21, 2))
    monitor.update(asked, np.where(asked % 2, asked, 0))
    assert monitor.state.stops[1].sum() == (asked % 2).sum()
    assert monitor.audited([True, False], [True, True]).state.n_audited == 2
    with pytest.raises(InvalidInputError, match="classifier to predict with"):
        monitor.predict(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda m: m.update([3]), "either yes or labels"),
        (lambda m: m.update([3], [1], labels=["red"]), "either yes or labels"),
        (lambda m: m.update([32], [1]), "from 0 to 31"),
        (lambda m: m.update([3], [4]), "yes from 0 to asked"),
        (lambda m: m.update([3, 4], [1]), "one for each row"),
        (lambda m: m.update([3.5], [1]), "integers"),
        (lambda m: m.update([3], labels=["pink"]), "labels has 'pink', which is not one of the classes"),
        (lambda m: m.update([3, 4], labels=["red"]), "one entry for each row"),
        (lambda m: m.audited(["red"], ["pink"]), "full has 'pink'"),
        (lambda m: m.audited(["red"], [["red"]]), "full has"),
        (lambda m: m.audited(["red", "green"], ["red"]), "one label for each"),
        (lambda m: m.audited(["red"], ["red"], ["red", "red"]), "one label for each"),
    ],
)
def test_what_makes_no_sense_is_refused_and_not_counted(call, problem):
    monitor = stopped().monitor()
    before = monitor.to_dict()
    with pytest.raises(InvalidInputError, match=problem):
        call(monitor)
    assert monitor.to_dict() == before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"audit": -0.1}, "audit"),
        ({"audit": 1.5}, "audit"),
        ({"audit": "much"}, "audit"),
        ({"false_alarm": 0}, "false_alarm"),
        ({"false_alarm": 1}, "false_alarm"),
        ({"on_alarm": 3}, "on_alarm"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, problem):
    with pytest.raises(InvalidInputError, match=problem):
        stopped().monitor(**options)


def test_a_promise_is_needed():
    with pytest.raises(InvalidInputError, match="Expected a strategy"):
        Monitor(3)
    with pytest.raises(InvalidInputError, match="has no promise to watch"):
        Monitor(solve("minimixed", 5, 0.1).strategy)
    with pytest.raises(InvalidInputError, match="classes must contain all labels"):
        Monitor(Promise("classifier", "disagreement", {"a": 0.1, "b": 0.1}, 0.95, 0.0, 10))
    with pytest.raises(InvalidInputError, match="one for each class of the reference, got 3"):
        Monitor(stopped().promise_, reference=stopped().stops_, classes=["a", "b", "c"])
    with pytest.raises(InvalidInputError, match="no calibration rows to compare with"):
        Monitor(stopped().promise_).update([1], labels=[True])


def test_rows_that_the_classifier_refuses_are_not_counted():
    monitor = stopped().monitor()
    for X in (np.zeros((3, 2)), np.full((2, 8), np.inf), np.full((1, 8), np.inf)):
        with pytest.raises(ValueError, match=r"infinity|features"):
            monitor.predict(X)
    assert monitor.state.n_rows == 0


# Alarms --------------------------------------------------------------------------------------------


def test_a_function_is_called_once_for_each_kind():
    seen = []
    monitor = stopped().monitor(on_alarm=seen.append, audit=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        for _ in range(3):
            monitor.predict(0.3 * new_rows())
        monitor.audited(["red"] * 500, ["green"] * 500)
    assert [alarm.kind for alarm in seen] == ["spread", "disagreement"]
    assert tuple(seen) == monitor.alarms
    assert monitor.alarm is seen[0]


def test_a_stricter_false_alarm_takes_more_evidence():
    assert stopped().monitor(false_alarm=0.001).thresholds == {"spread": 4000, "disagreement": 2000}

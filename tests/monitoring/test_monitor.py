"""A monitor predicts as its classifier does, is quiet while nothing changes, and says what has changed."""

from __future__ import annotations

import copy
import json
import pickle
import re
import threading
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, Monitor, early_stop, solve
from foregone.certifying import Promise
from foregone.errors import FileFormatError, InvalidInputError
from foregone.monitoring import MonitorState, MonitorWarning, Stops
from foregone.monitoring.audit_rows import AuditRows

N_FIT, N_CALIBRATE = 500, 4000


@cache
def data(n_classes=2):
    X, y = make_classification(
        10_000, 8, n_informative=6, n_classes=n_classes, class_sep=1.2, random_state=0, shuffle=True
    )
    return X, np.array(["red", "green", "blue"])[y]


MEMBERS = [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=4, random_state=0)]
MODELS = {
    "votes": (2, RandomForestClassifier(31, random_state=0)),
    "answers": (3, RandomForestClassifier(15, random_state=0)),
    "scores": (2, HistGradientBoostingClassifier(max_iter=30, random_state=0)),
    "scores of classes": (3, HistGradientBoostingClassifier(max_iter=20, random_state=0)),
    "committee": (2, VotingClassifier(list(zip("abc", MEMBERS, strict=True)))),
}


@cache
def stopped(name="votes", **settings):
    n_classes, model = MODELS[name]
    X, y = data(n_classes)
    chosen = {"max_disagreement": 0.02, "random_state": 0, **settings}
    return early_stop(model.fit(X[:N_FIT], y[:N_FIT]), X[N_FIT:N_CALIBRATE], **chosen)


def new_rows(name="votes"):
    return data(MODELS[name][0])[0][N_CALIBRATE:]


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
    monitor = stopped(name).monitor()
    X = new_rows(name)
    middle = X.mean(axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for part in np.array_split(middle + 0.35 * (X - middle), 20):
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
    with pytest.warns(MonitorWarning, match="The accuracy lost by stopping early is too high: 5.00%"):
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
        (lambda m: m.update([3]), "give yes or labels"),
        (lambda m: m.update([3], [1], labels=["red"]), "give yes or labels"),
        (lambda m: m.update([32], [1]), "from 0 to 31"),
        (lambda m: m.update([3], [4]), "yes from 0 to asked"),
        (lambda m: m.update([3, 4], [1]), "one of each"),
        (lambda m: m.update([3.5], [1]), "whole numbers"),
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
    with pytest.raises(InvalidInputError, match="promises nothing"):
        Monitor(solve("minimixed", 5, 0.1).strategy)
    with pytest.raises(InvalidInputError, match="not all among classes"):
        Monitor(Promise("classifier", "disagreement", {"a": 0.1, "b": 0.1}, 0.95, 0.0, 10))
    with pytest.raises(InvalidInputError, match="3 classes"):
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


# State ---------------------------------------------------------------------------------------------


def watched(rows, audit=0.1):
    monitor = stopped().monitor(audit=audit)
    for part in np.array_split(rows, 7):
        monitor.predict(part)
    return monitor


def test_a_state_is_saved_loaded_and_gone_on_with(tmp_path):
    X = new_rows()
    monitor = watched(X[:3000])
    monitor.state.save(tmp_path / "state.json")
    other = stopped().monitor(audit=0.1)
    other.state = MonitorState.load(tmp_path / "state.json")
    assert other.to_dict() == monitor.to_dict()
    assert other.state.history == monitor.state.history
    for one in (monitor, other):
        one.predict(X[3000:])
    assert other.to_dict() == monitor.to_dict()
    json.loads((tmp_path / "state.json").read_text())


def test_states_of_workers_are_added_up():
    X = new_rows()
    parts = [watched(X[:2000]), watched(X[2000:3500]), watched(X[3500:])]
    total, whole = sum(part.state for part in parts), watched(X).state
    assert total.n_rows == whole.n_rows == len(X)
    assert total.n_audited == whole.n_audited
    assert (total.stops == whole.stops).all()
    assert (total.audits == whole.audits).all()
    other_way = parts[2].state + (parts[1].state + parts[0].state)
    for kind in ("spread", "disagreement"):
        assert other_way.capital[kind].running == pytest.approx(total.capital[kind].running, abs=1e-8)


def test_what_no_worker_sees_all_of_them_together_do():
    rng = np.random.default_rng(0)
    full = np.full(50, "green")
    workers = []
    for _ in range(30):
        monitor = stopped().monitor()
        early = full.copy()
        early[rng.choice(50, size=3)] = "red"  # 6 % differ, or fewer
        monitor.audited(early, full)
        workers.append(monitor)
    assert all(monitor.alarm is None for monitor in workers)
    together = stopped().monitor()
    with pytest.warns(MonitorWarning, match="disagreement"):
        together.state = sum(monitor.state for monitor in workers)
    assert together.alarm.kind == "disagreement"


def test_alarms_are_kept_in_files_but_not_in_sums(tmp_path):
    monitor = stopped().monitor()
    with pytest.warns(MonitorWarning):
        monitor.predict(0.3 * new_rows())
    monitor.state.save(tmp_path / "state.json")
    loaded = MonitorState.load(tmp_path / "state.json")
    assert loaded.alarms == monitor.alarms
    assert (loaded + stopped().monitor().state).alarms == ()
    other = stopped().monitor()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has been warned of
        other.state = loaded


def test_states_of_other_monitors_are_refused():
    state = stopped().monitor().state
    for other in (stopped("scores").monitor(), stopped().monitor(false_alarm=0.05)):
        with pytest.raises(InvalidInputError, match="another promise"):
            other.state = state
        with pytest.raises(InvalidInputError, match="different promises"):
            state + other.state
    with pytest.raises(TypeError):
        state + 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_rows", -1),
        ("n_rows", 7),
        ("shape", [2]),
        ("shape", [-1, 3]),
        ("stops", [[5, 0, 1]]),
        ("recent", [[0, 0, "a"]]),
        ("audits", [-1, 0, 0, 0]),
        ("capital", {}),
        ("alarms", [{"kind": "fire"}]),
        ("history", [[1, 2]]),
        ("history", [[1, -2, 1]]),
        ("watched", 3),
    ],
)
def test_damaged_states_are_refused(tmp_path, field, value):
    from foregone.strategy.json_file import write_file

    fields = {"kind": "monitor", **watched(new_rows()[:700]).state.to_fields(), field: value}
    write_file(tmp_path / "state.json", fields)
    with pytest.raises(FileFormatError):
        MonitorState.load(tmp_path / "state.json")


def test_a_state_does_not_grow_with_the_number_of_rows():
    monitor = stopped().monitor(audit=0)
    reference = stopped().stops_
    rng = np.random.default_rng(0)
    chances = reference.counts.ravel() / reference.n_rows
    sizes = []
    for _ in range(400):
        places = rng.choice(len(chances), size=2000, p=chances)
        monitor.update(places % 32, labels=monitor_labels(places // 32))
        sizes.append(len(pickle.dumps(monitor.state)))
    assert len(monitor.state.history) <= 256
    assert max(sizes) < 60_000
    assert monitor.state.n_rows == 800_000


def monitor_labels(numbers):
    return stopped().classes_[numbers]


def test_recent_rows_count_more():
    monitor = stopped().monitor(audit=0)
    n_voters = stopped().ensemble_.n_voters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        for _ in range(10):
            monitor.update(np.full(3000, 5), labels=np.full(3000, "red"))
        monitor.update(np.full(3000, n_voters), labels=np.full(3000, "red"))
    recent = monitor.state.recent.sum(axis=0)
    assert recent[n_voters] == pytest.approx(recent.sum() / 2, rel=0.01)


# Services ------------------------------------------------------------------------------------------


def test_threads_lose_no_rows():
    classifier, X = stopped(), new_rows()[:2000]
    monitor = classifier.monitor(audit=0.05)

    def work(start):
        for k in range(start, len(X), 4):
            monitor.predict(X[k : k + 1])
        monitor.predict(X[start::4])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    twice = classifier.monitor(audit=0.05)
    twice.predict(np.concatenate([X, X]))
    assert (monitor.state.stops == twice.state.stops).all()
    assert (monitor.state.audits == twice.state.audits).all()


def test_a_monitor_can_be_copied_with_its_classifier():
    monitor = watched(new_rows()[:700])
    monitor.predict(new_rows()[:1])
    again = copy.deepcopy(monitor)
    assert again.to_dict() == monitor.to_dict()
    assert (again.predict(new_rows()) == monitor.predict(new_rows())).all()


def test_its_figures_are_plain_values():
    monitor = watched(new_rows())
    found = json.loads(json.dumps(monitor.to_dict()))
    assert found["rows"] == 6000
    assert found["alarm"] is None
    assert found["evidence"]["spread"] < found["threshold"]["spread"]
    assert sum(found["answers"].values()) == 6000
    assert found["mean_votes_asked"] == pytest.approx(found["expected_votes_asked"], rel=0.1)


def parsed(text):
    """What Prometheus would read: every line is a comment or a name, labels and a number."""
    values = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) foregone_\w+ .+", line)
            continue
        name, labels, value = re.fullmatch(r'(\w+)((?:\{\w+="[^"]*"\})?) (\S+)', line).groups()
        values[name + labels] = float(value)
    return values


def test_its_metrics_are_what_prometheus_reads():
    monitor = watched(new_rows())
    found = parsed(monitor.metrics())
    assert found["foregone_rows_total"] == 6000
    assert found['foregone_alarm{kind="spread"}'] == 0
    assert found['foregone_evidence_threshold{kind="disagreement"}'] == 200
    assert found['foregone_answers_total{label="red"}'] == monitor.to_dict()["answers"]["red"]
    with pytest.warns(MonitorWarning):
        monitor.predict(0.2 * new_rows())
    assert parsed(monitor.metrics())['foregone_alarm{kind="spread"}'] == 1
    assert parsed(Monitor(stopped().promise_).metrics())["foregone_rows_total"] == 0


def test_it_says_what_it_is():
    monitor = watched(new_rows())
    assert repr(monitor) == f"<Monitor of 6,000 rows, {monitor.state.n_audited} audited, no alarm>"
    assert repr(monitor.state).startswith("<MonitorState of 6,000 rows")
    assert repr(stopped().stops_).startswith("<Stops of ")


def test_a_loaded_classifier_is_watched_as_the_one_that_was_saved(tmp_path):
    for name in ("votes", "answers", "scores", "scores of classes"):
        classifier = stopped(name)
        classifier.save(tmp_path / "model.foregone")
        loaded = EarlyStoppingClassifier.load(tmp_path / "model.foregone")
        assert (loaded.stops_.counts == classifier.stops_.counts).all()
        assert loaded.stops_.n_differing == classifier.stops_.n_differing
        monitor = loaded.monitor()
        monitor.state = classifier.monitor().state

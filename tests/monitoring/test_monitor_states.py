"""What a monitor has seen is saved, added up over workers, shared by threads, and told in figures."""

from __future__ import annotations

import copy
import json
import pickle
import re
import threading
import warnings

import numpy as np
import pytest

from foregone import EarlyStoppingClassifier, Monitor
from foregone.errors import FileFormatError, InvalidInputError
from foregone.monitoring import MonitorState, MonitorWarning
from tests.monitoring.monitored import new_rows, stopped


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

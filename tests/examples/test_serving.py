"""The example that serves a classifier over HTTP, started for real and asked by a real client."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from foregone import early_stop
from foregone.monitoring import MonitorState

httpx = pytest.importorskip("httpx", reason="the client of these tests")
uvicorn = pytest.importorskip("uvicorn", reason="the example needs the extra serve")
pytest.importorskip("fastapi", reason="the example needs the extra serve")

# As `main` has it: alarms are logged instead, and names are looked at by the service.
pytestmark = [
    pytest.mark.filterwarnings("ignore::foregone.monitoring.MonitorWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "serving.py"
X, Y = make_classification(9000, n_features=8, class_sep=1.5, random_state=0)
NEW = X[5000:]
LONG = 30  # seconds after which something hangs


def train(path: Path, seed: int = 0, rows: Any = X) -> Any:
    forest = RandomForestClassifier(21, random_state=seed).fit(rows[:1000], Y[:1000])
    classifier = early_stop(forest, rows[1000:5000], max_disagreement=0.01, random_state=0)
    classifier.save(path)
    return classifier


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("serving", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["serving"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("model") / "forest.foregone"
    return train(path), path.read_bytes()


@pytest.fixture
def classifier(trained: Any) -> Any:
    return trained[0]


@pytest.fixture
def path(trained: Any, tmp_path: Path) -> Path:
    path = tmp_path / "forest.foregone"
    path.write_bytes(trained[1])
    return path


@contextlib.contextmanager
def serving(app: Any) -> Iterator[Any]:
    """Serve on a free port in a thread of its own, and give a client."""
    taken = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    try:
        base = f"http://127.0.0.1:{taken.getsockname()[1]}"  # the queue of connections is open already
        with httpx.Client(base_url=base, timeout=LONG, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(LONG)
        taken.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def strict_client(example: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of boosted trees, which take no missing values; for tests that get no answers."""
    path = tmp_path_factory.mktemp("strict") / "boosted.foregone"
    boosted = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X[:1000], Y[:1000])
    early_stop(boosted, X[1000:5000], max_disagreement=0.01, random_state=0).save(path)
    with serving(example.make_app(path, max_rows=1000)) as client:
        yield client


@pytest.fixture
def client(example: Any, path: Path) -> Iterator[Any]:
    with serving(example.make_app(path, audit=0.1, max_rows=1000)) as client:
        yield client


def metrics_in(text: str) -> dict[str, float]:
    """Return the samples of a text in Prometheus's format, each of which has a type and a description."""
    samples: dict[str, float] = {}
    kinds: dict[str, str] = {}
    described = set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert kind in ("counter", "gauge")
            kinds[name] = kind
        elif line.startswith("# HELP "):
            described.add(line.split(" ")[2])
        else:
            found = re.fullmatch(r'([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"\})? (\S+)', line)
            assert found, line
            assert found[1] in kinds
            assert found[1] in described
            assert found[1].endswith("_total") == (kinds[found[1]] == "counter")
            assert found[1] + (found[2] or "") not in samples
            samples[found[1] + (found[2] or "")] = float(found[3])
    return samples


def test_it_says_what_it_promises_which_model_it_has_and_how_many_rows_it_answered(client, classifier, path):
    said = client.get("/health").json()
    assert said["ready"] is True
    assert said["promise"] == str(classifier.promise_)
    assert re.fullmatch("sha256:[0-9a-f]{64}", said["model"])
    assert said["rows"] == 0  # the rows of the warm-up do not count
    client.post("/predict", json={"row": NEW[0].tolist()})
    client.post("/predict_batch", json={"rows": NEW[:10].tolist()})
    assert client.get("/health").json()["rows"] == 11


def test_one_row_is_answered_as_by_the_classifier(client, classifier):
    labels, asked, _ = classifier.predict_with_votes(NEW[:20])
    for row, label, votes in zip(NEW, labels, asked, strict=False):
        reply = client.post("/predict", json={"row": row.tolist()})
        assert reply.status_code == 200
        assert reply.json() == {"label": label, "asked": votes}


def test_a_batch_is_answered_as_by_the_classifier(client, classifier):
    labels, asked, _ = classifier.predict_with_votes(NEW[:1000])
    reply = client.post("/predict_batch", json={"rows": NEW[:1000].tolist()})
    assert reply.json() == {"labels": labels.tolist(), "asked": asked.tolist()}


def test_columns_are_found_by_their_names_and_labels_are_json(example, tmp_path):
    frames = pytest.importorskip("pandas")
    names = [f"column {place}" for place in range(X.shape[1])]
    words = np.where(Y, "sick", "well")
    forest = RandomForestClassifier(21, random_state=0).fit(
        frames.DataFrame(X[:1000], columns=names), words[:1000]
    )
    rows = frames.DataFrame(X[1000:5000], columns=names)
    classifier = early_stop(forest, rows, max_disagreement=0.01, random_state=0)
    classifier.save(tmp_path / "named.foregone")
    row = dict(zip(names, NEW[0].tolist(), strict=True))
    (label,) = classifier.predict(frames.DataFrame([row]))
    backwards = dict(reversed(row.items()))
    with serving(example.make_app(tmp_path / "named.foregone")) as client:
        assert client.post("/predict", json={"row": backwards}).json()["label"] == str(label)
        assert client.post("/predict", json={"row": NEW[0].tolist()}).json()["label"] == str(label)
        reply = client.post("/predict", json={"row": {"column 0": 1.0, "height": 2.0}})
        assert reply.status_code == 422
        assert "column 1" in reply.json()["detail"]
        assert 'foregone_answers_total{label="sick"}' in metrics_in(client.get("/metrics").text)


def test_a_missing_value_is_null_where_the_model_takes_one(example, tmp_path):
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    classifier = train(tmp_path / "holes.foregone", rows=holes)
    row = next(row for row in holes[5000:] if np.isnan(row).any())
    sent = [None if np.isnan(value) else value for value in row.tolist()]
    with serving(example.make_app(tmp_path / "holes.foregone")) as client:
        reply = client.post("/predict", json={"row": sent})
    assert reply.status_code == 200
    assert reply.json()["label"] == classifier.predict(row.reshape(1, -1))[0]


def test_prometheus_can_read_what_it_measures(client):
    client.post("/predict_batch", json={"rows": NEW[:1000].tolist()})
    reply = client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = metrics_in(reply.text)
    assert samples["foregone_rows_total"] == 1000
    assert 50 < samples["foregone_audited_total"] < 150
    answered = [value for name, value in samples.items() if name.startswith("foregone_answers_total{")]
    assert sum(answered) == 1000
    assert samples['foregone_alarm{kind="spread"}'] == samples['foregone_alarm{kind="disagreement"}'] == 0


ROW = [1.0] * X.shape[1]
BAD = {
    "too few values": ("/predict", {"row": ROW[1:]}, "7 values, and the model takes 8"),
    "too many values": ("/predict", {"row": [*ROW, 1.0]}, "9 values"),
    "no values": ("/predict", {"row": []}, "0 values"),
    "a text": ("/predict", {"row": ["1", *ROW[1:]]}, "neither numbers nor null"),
    "a list": ("/predict", {"row": [[], *ROW[1:]]}, "neither numbers nor null"),
    "a missing value": ("/predict", {"row": [None, *ROW[1:]]}, "contains NaN"),
    "too large": ("/predict", {"row": [1e300, *ROW[1:]]}, "too large"),
    "far too large": ("/predict", {"row": [10**400, *ROW[1:]]}, "too large"),
    "names": ("/predict", {"row": {"height": 1.0}}, "height"),
    "a long name": ("/predict", {"row": {"n" * 100_000: 1.0}}, "nnn"),
    "half a letter": ("/predict", '{"row": {"\\ud800": 1}}', "ud800"),
    "no row": ("/predict", {"rows": [ROW]}, "row"),
    "a number": ("/predict", {"row": 5}, "row"),
    "nothing": ("/predict", "", "body"),
    "not JSON": ("/predict", "{", "JSON"),
    "not a number": ("/predict", '{"row": NaN}', "row"),
    "infinite": ("/predict", json.dumps({"row": [float("inf"), *ROW[1:]]}), "infinity"),
    "no rows": ("/predict_batch", {"rows": []}, "0 sample"),
    "rows of two lengths": ("/predict_batch", {"rows": [ROW, ROW[1:]]}, "7 values"),
    "too many rows": (
        "/predict_batch",
        {"rows": [ROW] * 1001},
        "1,001 rows are too many: send at most 1,000",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_a_reason(case, strict_client):
    where, body, reason = BAD[case]
    content = body if isinstance(body, str) else json.dumps(body)
    reply = strict_client.post(where, content=content, headers={"content-type": "application/json"})
    assert reply.status_code == 422, reply.text
    assert reason in reply.json()["detail"]
    assert len(reply.content) < 1000
    assert strict_client.get("/health").json()["rows"] == 0


def test_no_request_fails_while_models_are_swapped_and_damaged_ones_refused(
    example, path, classifier, tmp_path
):
    other = train(tmp_path / "other.foregone", seed=1)
    state = tmp_path / "state.json"
    either = [one.predict(NEW[:50]).tolist() for one in (classifier, other)]
    replies: list[tuple[int, Any]] = []
    stop = threading.Event()

    def keep_asking() -> None:
        with httpx.Client(base_url=client.base_url, timeout=LONG, trust_env=False) as own:
            while not stop.is_set():
                reply = own.post("/predict_batch", json={"rows": NEW[:50].tolist()})
                replies.append((reply.status_code, reply.json()))

    def ask_some() -> None:
        for _ in range(3):
            assert client.post("/predict_batch", json={"rows": NEW[:50].tolist()}).status_code == 200

    with serving(example.make_app(path, state=state)) as client:
        before = client.get("/health").json()["model"]
        threads = [threading.Thread(target=keep_asking, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            ask_some()
            path.write_bytes((tmp_path / "other.foregone").read_bytes())
            swapped = client.post("/reload")
            after = swapped.json()["model"]
            ask_some()
            again = client.post("/reload").json()  # the same file: nothing changes
            damaged = bytearray(path.read_bytes())
            damaged[len(damaged) // 2] ^= 0xFF
            path.write_bytes(damaged)
            refused = client.post("/reload")
            path.unlink()
            missing = client.post("/reload")
            ask_some()
            health = client.get("/health").json()
        finally:
            stop.set()
            for thread in threads:
                thread.join(LONG)
    assert swapped.status_code == 200
    assert after != before
    assert again["model"] == health["model"] == after
    assert health["rows"] >= again["rows"] >= 150  # the monitor of the same file went on
    assert [refused.status_code, missing.status_code] == [409, 409]
    assert "the old model goes on" in refused.json()["detail"]
    assert "cannot read" in missing.json()["detail"]
    assert replies
    assert {status for status, _ in replies} == {200}
    assert all(said["labels"] in either for _, said in replies)
    kept = MonitorState.load(state.with_name("state.json.old"))
    assert kept.n_rows >= 150
    monitors = [one.monitor() for one in (classifier, other)]
    assert kept.watched == monitors[0].state.watched
    assert MonitorState.load(state).watched == monitors[1].state.watched


def test_rows_that_drift_give_an_alarm_that_says_what_to_do(client, caplog):
    for start in range(0, 4000, 1000):
        client.post("/predict_batch", json={"rows": NEW[start : start + 1000].tolist()})
    said = client.get("/alarm").json()
    assert said["alarm"] is None
    assert said["rows"] == 4000
    for start in range(0, 4000, 1000):
        reply = client.post("/predict_batch", json={"rows": (0.2 * NEW[start : start + 1000]).tolist()})
        assert reply.status_code == 200
    alarm = client.get("/alarm").json()["alarm"]
    assert alarm["kind"] == "spread"
    assert "Votes are closer" in alarm["sentence"]
    assert "recalibrate" in alarm["advice"]
    assert metrics_in(client.get("/metrics").text)['foregone_alarm{kind="spread"}'] == 1
    logged = [record.message for record in caplog.records if record.name == "serving"]
    assert len(logged) == 1
    assert logged[0].startswith("Votes are closer")


def test_what_the_monitor_saw_survives_a_restart(example, path, tmp_path):
    state = tmp_path / "state.json"
    command = [sys.executable, EXAMPLE, path, "--port", "0", "--state", state, "--audit", "0.1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        alarm = threading.Timer(LONG, process.kill)  # so that nothing below waits for ever
        alarm.start()
        try:
            said = (re.search(r"running on (http://\S+)", line) for line in process.stderr)
            base = next(found[1] for found in said if found)
            with httpx.Client(base_url=base, timeout=LONG, trust_env=False) as client:
                client.post("/predict_batch", json={"rows": NEW[:500].tolist()})
                before = metrics_in(client.get("/metrics").text)
        finally:
            process.terminate()
            process.stderr.read()
            process.wait()
            alarm.cancel()
    assert before["foregone_rows_total"] == 500
    with serving(example.make_app(path, state=state)) as client:
        assert metrics_in(client.get("/metrics").text) == before
        client.post("/predict", json={"row": ROW})
    with serving(example.make_app(path, state=state)) as client:
        assert client.get("/health").json()["rows"] == 501


def test_the_state_is_saved_from_time_to_time(example, path, tmp_path):
    state = tmp_path / "state.json"
    with serving(example.make_app(path, state=state, save_every=0.01)) as client:
        client.post("/predict", json={"row": ROW})
        for _ in range(1000):
            if state.exists() and MonitorState.load(state).n_rows == 1:
                break
            client.get("/health")
        else:
            pytest.fail("not saved")


@pytest.mark.parametrize("content", ["of another model", "damaged"])
def test_a_state_that_is_of_no_use_is_set_aside_and_a_new_monitor_begins(example, path, tmp_path, content):
    state = tmp_path / "state.json"
    if content == "damaged":
        state.write_text("{")
    else:
        train(tmp_path / "other.foregone", seed=1).monitor().state.save(state)
    kept = state.read_bytes()
    with serving(example.make_app(path, state=state)) as client:
        assert client.get("/health").json()["rows"] == 0
    assert state.with_name("state.json.old").read_bytes() == kept
    assert MonitorState.load(state).n_rows == 0


def test_a_state_that_cannot_be_written_does_not_end_the_service(example, path, tmp_path, caplog):
    with serving(
        example.make_app(path, state=tmp_path / "nowhere" / "state.json", save_every=0.01)
    ) as client:
        for _ in range(1000):
            assert client.post("/predict", json={"row": ROW}).status_code == 200
            if "is not saved" in caplog.text:
                break
        else:
            pytest.fail("nothing was logged")


def test_a_file_that_is_no_model_is_an_error_in_one_line(example, tmp_path, capsys):
    (tmp_path / "text").write_text("no model")
    assert example.main([str(tmp_path / "text")]) == 1
    assert example.main([str(tmp_path / "missing")]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: ") for line in lines)

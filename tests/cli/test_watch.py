from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.monitoring import MonitorState
from foregone.scale import input_files, score_file
from tests.cli.conftest import Run

pytest.importorskip("pyarrow")

LABELS: dict[str, list[Any]] = {
    "votes": [0, 1],
    "answers": ["ant", "bee", "cow"],
    "boosted": [False, True],
}
N_FIT, N_CALIBRATE = 400, 2400


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many parts and batches from few rows."""
    monkeypatch.setattr(input_files, "PART_ROWS", 1000)
    monkeypatch.setattr(input_files, "MOST_BATCH_ROWS", 700)


@cache
def data(kind: str) -> tuple[Any, Any]:
    X, y = make_classification(
        6400, 6, n_informative=5, n_redundant=0, n_classes=len(LABELS[kind]), class_sep=1.5, random_state=0
    )
    return X, np.array(LABELS[kind])[y]


@cache
def classifier_of(kind: str, **options: Any) -> EarlyStoppingClassifier:
    X, y = data(kind)
    models = {"boosted": GradientBoostingClassifier(n_estimators=25, random_state=0)}
    model = models.get(kind, RandomForestClassifier(25, random_state=0)).fit(X[:N_FIT], y[:N_FIT])
    rows = slice(N_FIT, N_CALIBRATE)
    if "max_accuracy_loss" in options:
        return early_stop(model, X[rows], y[rows], random_state=0, **options)
    return early_stop(model, X[rows], max_disagreement=0.05, random_state=0, **options)


def new_rows(kind: str) -> Any:
    return data(kind)[0][N_CALIBRATE:]


class Watched:
    """A model and files of rows that it answered, in a folder."""

    def __init__(self, folder: Path, kind: str = "votes", **options: Any) -> None:
        self.folder, self.kind = folder, kind
        self.classifier = classifier_of(kind, **options)
        self.model = folder / "model.foregone"
        self.classifier.save(self.model)

    def scored(self, rows: Any, name: str, audit: float = 0.2, **options: Any) -> Path:
        """Score rows into a file and return it."""
        frame = pd.DataFrame(rows, columns=list("abcdef"))
        frame.assign(id=range(len(frame))).to_parquet(self.folder / "rows.parquet", row_group_size=500)
        output = self.folder / name
        output.parent.mkdir(exist_ok=True)
        score_file(
            self.model, self.folder / "rows.parquet", output,
            features=list("abcdef"), audit=audit, **options,
        )  # fmt: skip
        return output

    def figures(self, rows: Any, audit: float = 0.2) -> dict[str, Any]:
        """What a monitor that predicts the rows itself says."""
        monitor = self.classifier.monitor(audit=audit)
        monitor.predict(rows)
        return monitor.to_dict()


COUNTS = ("rows", "mean_votes_asked", "answers", "audited", "audited_disagreements")


@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("kind", LABELS)
def test_what_is_scored_is_watched_as_if_the_monitor_had_predicted_it(
    kind: str, name: str, run: Run, tmp_path: Path
) -> None:
    watched = Watched(tmp_path, kind)
    output = watched.scored(new_rows(kind), name)
    outcome = run("watch", output, "--model", watched.model, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    got, want = json.loads(outcome.out), watched.figures(new_rows(kind))
    assert {key: got[key] for key in COUNTS} == {key: want[key] for key in COUNTS}
    assert got["rows"] == got["rows_read"] == 4000
    assert got["audited"] > 500
    assert got["alarm"] is None


def test_a_person_is_told_what_was_seen_in_a_few_lines(run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    outcome = run("watch", watched.scored(new_rows("votes"), "out.csv"), "--model", watched.model)
    want = watched.figures(new_rows("votes"))
    lines = outcome.out.splitlines()
    assert (outcome.code, outcome.err) == (0, "")
    assert lines[0] == "4,000 rows read"
    expected = f"{want['mean_votes_asked']:.2f}; on the calibration rows {want['expected_votes_asked']:.2f}"
    assert lines[1] == f"Votes asked per row: {expected}"
    assert lines[2].startswith(
        f"Audited: {want['audited']} rows, {want['audited_disagreements']} differ from"
    )
    assert "the limit is 0.05" in " ".join(lines[2:4])
    assert "Evidence of spread: " in outcome.out
    assert "No alarm: there is not enough evidence" in outcome.out
    assert "of ever raising an alarm is at most 0.01." in " ".join(outcome.out.split())
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("kind", LABELS)
def test_rows_that_have_drifted_give_an_alarm_once_and_exit_status_1(
    kind: str, run: Run, tmp_path: Path
) -> None:
    watched = Watched(tmp_path, kind)
    output = watched.scored(0.3 * new_rows(kind), "out.parquet")
    outcome = run("watch", output, "--model", watched.model)
    assert (outcome.code, outcome.err) == (1, "")  # no warning besides
    words = " ".join(outcome.out.split())
    assert re.search(r"Alarm after [\d,]+ rows\. ", words)
    assert "ecalibrate on recent rows" in words
    found = json.loads(run("watch", output, "--model", watched.model, "--json").out)
    assert found["alarm"]["sentence"] in words


def test_an_alarm_says_after_how_many_rows_of_a_file_it_is_given(run: Run, tmp_path: Path) -> None:
    watched, rows = Watched(tmp_path), new_rows("votes")
    drifting = np.concatenate([rows[:2000], 0.3 * rows[2000:]])
    output = watched.scored(drifting, "out.parquet")
    found = json.loads(run("watch", output, "--model", watched.model, "--json").out)
    assert 2000 < found["alarm"]["time"] < len(rows)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_folder_of_part_files_is_one_stream(suffix: str, run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path, "answers")
    rows, whole = new_rows("answers"), None
    for part, start in enumerate(range(0, 4000, 1000)):
        watched.scored(rows[start : start + 1000], f"folder/part.{part}.{suffix}")
    (tmp_path / "folder" / "_SUCCESS").write_text("")
    got = json.loads(run("watch", tmp_path / "folder", "--model", watched.model, "--json").out)
    whole = watched.figures(rows)
    assert {key: got[key] for key in COUNTS} == {key: whole[key] for key in COUNTS}


def test_a_state_goes_on_and_states_of_halves_add_up_to_the_whole(run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    rows, want = new_rows("votes"), watched.figures(new_rows("votes"))
    halves = [
        watched.scored(rows[start : start + 2000], f"{name}.parquet")
        for name, start in (("a", 0), ("b", 2000))
    ]
    state, model = tmp_path / "state.json", ("--model", watched.model)
    for half in halves:
        assert run("watch", half, *model, "--state", state).code == 0
    went_on = json.loads(run("watch", *model, "--state", state, "--json").out)
    for half in halves:
        assert run("watch", half, *model, "--state", half.with_suffix(".json")).code == 0
    adding = [word for half in halves for word in ("--add", half.with_suffix(".json"))]
    added = json.loads(run("watch", *model, *adding, "--json").out)
    one_added = json.loads(run("watch", halves[0], *model, *adding[2:], "--json").out)
    for found in (went_on, added, one_added):
        assert {key: found[key] for key in COUNTS} == {key: want[key] for key in COUNTS}
    assert added["evidence"] == pytest.approx(one_added["evidence"])
    assert (went_on["rows_read"], added["rows_read"], one_added["rows_read"]) == (0, 0, 2000)
    text = run("watch", halves[0], *model, *adding[2:]).out
    assert text.startswith("2,000 rows read, 4,000 in all\n")


def test_what_is_added_is_not_saved(run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    half = watched.scored(new_rows("votes")[:2000], "half.parquet")
    model, mine, theirs = ("--model", watched.model), tmp_path / "mine.json", tmp_path / "theirs.json"
    run("watch", half, *model, "--state", theirs)
    run("watch", half, *model, "--state", mine, "--add", theirs)
    assert MonitorState.load(mine).n_rows == 2000
    twice = run("watch", *model, "--state", mine, "--add", mine)
    assert twice.code == 2
    assert "mine.json is given twice, which would count its rows twice" in twice.err


def test_an_alarm_in_the_state_is_still_one(run: Run, tmp_path: Path) -> None:
    watched, state = Watched(tmp_path), tmp_path / "state.json"
    model = ("--model", watched.model)
    assert run("watch", watched.scored(0.3 * new_rows("votes"), "d.csv"), *model, "--state", state).code == 1
    again = run("watch", watched.scored(new_rows("votes"), "o.csv"), *model, "--state", state)
    assert again.code == 1
    assert "Alarm after" in again.out


def test_metrics_are_written_for_prometheus(run: Run, tmp_path: Path) -> None:
    watched, metrics = Watched(tmp_path), tmp_path / "watch.prom"
    output = watched.scored(new_rows("votes"), "out.parquet")
    assert run("watch", output, "--model", watched.model, "--metrics", metrics).code == 0
    assert "\nforegone_rows_total 4000\n" in metrics.read_text()
    assert '\nforegone_alarm{kind="spread"} 0\n' in metrics.read_text()


def test_rows_without_audits_are_watched_for_their_spread(run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    outcome = run("watch", watched.scored(new_rows("votes"), "o.csv", audit=0.0), "--model", watched.model)
    assert outcome.code == 0
    assert "Audited: none, so disagreement is not watched" in outcome.out


def test_how_many_said_yes_tells_the_answer(run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path, confidence=None)
    labels, asked, yes = watched.classifier.predict_with_votes(new_rows("votes"))
    frame = pd.DataFrame({"v_asked": asked, "v_yes": yes, "v_full_label": labels})
    frame.to_parquet(tmp_path / "votes.parquet")
    outcome = run("watch", tmp_path / "votes.parquet", "--model", watched.model, "--prefix", "v_", "--json")
    got = json.loads(outcome.out)
    assert got["answers"] == {str(label): int((labels == label).sum()) for label in (0, 1)}
    assert (got["audited"], got["audited_disagreements"]) == (4000, 0)


def test_true_labels_show_a_loss_of_accuracy_and_may_have_gaps(run: Run, tmp_path: Path) -> None:
    watched, state = Watched(tmp_path, max_accuracy_loss=0.05), tmp_path / "state.json"
    frame = pd.read_parquet(watched.scored(new_rows("votes"), "out.parquet", audit=1.0))
    frame["truth"] = data("votes")[1][N_CALIBRATE:].astype(float)
    frame.loc[::2, "truth"] = np.nan
    frame.to_csv(tmp_path / "known.csv", index=False)
    outcome = run(
        "watch", tmp_path / "known.csv", "--model", watched.model, "--target", "truth", "--state", state
    )
    assert outcome.code == 0
    assert "the limit on the loss of accuracy is 0.05" in " ".join(outcome.out.split())
    seen = MonitorState.load(state)
    known = frame[frame["truth"].notna()]
    lost = (known["label"] != known["truth"]).astype(int) - (known["full_label"] != known["truth"])
    won_same_lost = [(lost == loss).sum() for loss in (-1, 0, 1)]
    assert seen.audits[4:].reshape(2, 3).sum(axis=0).tolist() == won_same_lost
    assert seen.audits[:4].sum() == seen.n_audited == 4000


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("votes", lambda labels: labels.astype(str)),
        ("votes", lambda labels: labels.astype(float)),
        ("votes", lambda labels: labels.astype(bool)),
        ("votes", lambda labels: labels.astype("category")),
        ("boosted", lambda labels: labels.astype(str)),
        ("boosted", lambda labels: labels.astype(str).str.upper()),
        ("boosted", lambda labels: labels.astype(int)),
        ("boosted", lambda labels: labels.astype(int).astype(str)),
        ("answers", lambda labels: labels.astype("category")),
    ],
)
def test_labels_may_come_back_in_another_form(kind: str, form: Any, run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path, kind)
    labels, asked, _ = watched.classifier.predict_with_votes(new_rows(kind))
    pd.DataFrame({"label": form(pd.Series(labels)), "votes_asked": asked}).to_parquet(tmp_path / "f.parquet")
    got = json.loads(run("watch", tmp_path / "f.parquet", "--model", watched.model, "--json").out)
    assert got["answers"] == {str(label): int((labels == label).sum()) for label in LABELS[kind]}


FINE = {"label": [0, 1, 1], "votes_asked": [2, 3, 4]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"label": [0, 1, 2]},
            r"rows\.parquet: column 'label' has the label 2, expected one of",
        ),
        ({"label": ["0", "1", "spam"]}, "has the label 'spam'"),
        ({"label": [0, None, 1]}, "column 'label' has a missing label: every row needs one"),
        ({"full_label": [None, 7.0, 1.0]}, r"rows\.parquet: column 'full_label' has the label 7\.0"),
        ({"votes_asked": [2, 3, 999]}, r"rows\.parquet: asked must be from 0 to 25"),
        ({"votes_asked": [2, 3, 0.5]}, "column 'votes_asked' must have integers, got 0.5"),
        ({"votes_asked": [2, 3, None]}, "column 'votes_asked' must have integers, got a missing value"),
        ({"votes_asked": ["a", "b", "c"]}, "column 'votes_asked' must have integers"),
        ({"votes_asked": None}, "no column 'votes_asked' or 'asked'; available: 'label'"),
        ({"label": None}, "no column 'label' or 'yes'; available: 'votes_asked'"),
    ],
)
def test_what_no_classifier_of_this_kind_answered_is_refused_by_name(
    columns: dict[str, Any], message: str, run: Run, tmp_path: Path
) -> None:
    watched, file = Watched(tmp_path), tmp_path / "rows.parquet"
    given = {name: values for name, values in {**FINE, **columns}.items() if values is not None}
    pd.DataFrame(given).to_parquet(file)
    outcome = run("watch", file, "--model", watched.model, "--state", tmp_path / "state.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert re.search(message, outcome.err), outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "state.json").exists()


def test_a_file_of_a_folder_that_lacks_a_column_is_named(run: Run, tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    (tmp_path / "folder").mkdir()
    pd.DataFrame(FINE).to_csv(tmp_path / "folder" / "0.csv", index=False)
    pd.DataFrame(FINE).drop(columns="label").to_csv(tmp_path / "folder" / "1.csv", index=False)
    outcome = run("watch", tmp_path / "folder", "--model", watched.model)
    assert outcome.code == 2
    assert "1.csv has no column 'label'" in outcome.err


def test_bad_arguments_are_refused_in_one_line(run: Run, strategy_file: Path, tmp_path: Path) -> None:
    watched, file = Watched(tmp_path), tmp_path / "rows.csv"
    pd.DataFrame(FINE).to_csv(file, index=False)
    model = ("--model", watched.model)
    curtailed = early_stop(watched.classifier.estimator)
    curtailed.save(tmp_path / "curtailed")
    for arguments, message in (
        ([*model], "nothing to watch: give PREDICTIONS, or states with --state or --add"),
        ([file, "--model", strategy_file], "strategy.json: not a foregone file"),
        ([file, "--model", tmp_path / "curtailed"], "does not record where its calibration rows stopped"),
        ([file, *model, "--false-alarm", "1"], "false_alarm must be above 0 and below 1"),
        ([file, *model, "--target", "label"], "no column 'full_label': true labels are compared on audited"),
        ([file, *model, "--state", strategy_file], 'strategy.json: field "kind" is not "monitor"'),
        ([file, *model, "--add", tmp_path / "nothing"], "cannot read"),
        ([file, *model, "--metrics", tmp_path], "it is a folder"),
        ([tmp_path / "none.csv", *model], "cannot read"),
    ):
        outcome = run("watch", *arguments)
        assert (outcome.code, outcome.out) == (2, ""), arguments
        assert message in outcome.err
        assert outcome.err.count("\n") == 1


def test_a_state_of_another_classifier_or_setting_is_refused_and_stays_as_it_is(
    run: Run, tmp_path: Path
) -> None:
    watched, state = Watched(tmp_path), tmp_path / "state.json"
    output = watched.scored(new_rows("votes")[:500], "out.parquet")
    assert run("watch", output, "--model", watched.model, "--state", state).code == 0
    before = state.read_bytes()
    other = Watched(tmp_path, confidence=None)
    for option, arguments in (("--state", []), ("--add", []), ("--state", ["--false-alarm", "0.05"])):
        if arguments:
            other = Watched(tmp_path)
        outcome = run("watch", output, "--model", other.model, option, state, *arguments)
        assert outcome.code == 2
        assert "state.json is a state of another classifier, or of another --false-alarm" in outcome.err
        assert state.read_bytes() == before


def test_csv_cannot_hold_a_class_that_is_the_empty_text(run: Run, tmp_path: Path) -> None:
    X, y = data("votes")
    model = RandomForestClassifier(9, random_state=0).fit(X[:N_FIT], np.array(["", "x"])[y[:N_FIT]])
    classifier = early_stop(model, X[N_FIT:N_CALIBRATE], max_disagreement=0.1, random_state=0)
    classifier.save(tmp_path / "model")
    pd.DataFrame(X[:200], columns=list("abcdef")).to_parquet(tmp_path / "rows.parquet")
    for name, code in (("out.csv", 2), ("out.parquet", 0)):
        score_file(
            tmp_path / "model", tmp_path / "rows.parquet", tmp_path / name, features=list("abcdef"), audit=1
        )
        outcome = run("watch", tmp_path / name, "--model", tmp_path / "model")
        assert outcome.code == code
    assert "Audited: 200 rows" in outcome.out


def test_a_state_can_be_shown(run: Run, tmp_path: Path) -> None:
    watched, state = Watched(tmp_path), tmp_path / "state.json"
    for rows in (new_rows("votes"), 0.3 * new_rows("votes")):
        run("watch", watched.scored(rows, "out.parquet"), "--model", watched.model, "--state", state)
    outcome = run("show", state)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("State of a monitor, 25 voters, 8,000 rows\n")
    assert max(map(len, outcome.out.splitlines())) <= 80
    facts = json.loads(run("show", state, "--json").out)
    assert (facts["kind"], facts["rows"], facts["n_answers"]) == ("state of a monitor", 8000, 2)
    assert facts["alarms"][0]["sentence"] in " ".join(outcome.out.split())
    assert facts["audited"] > 1000
    drawn = run("show", state, "--png", tmp_path / "picture.png")
    assert drawn.code == 2
    assert "got MonitorState" in drawn.err

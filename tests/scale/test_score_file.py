from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from foregone import early_stop
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import container
from foregone.scale import input_files, score_file
from foregone.scale.finished_parts import FinishedParts
from foregone.scale.model_file import ModelFile
from tests.classifier import models
from tests.systems import posix


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Many parts and batches from few rows."""
    monkeypatch.setattr(input_files, "PART_ROWS", 150)
    monkeypatch.setattr(input_files, "PART_BYTES", 9_000)
    monkeypatch.setattr(input_files, "SCAN_BYTES", 1_000)
    monkeypatch.setattr(input_files, "MOST_BATCH_ROWS", 64)


@pytest.fixture
def rows(frame, tmp_path):
    file = tmp_path / "rows.parquet"
    frame.to_parquet(file, row_group_size=100)
    return file


def with_keys(expected, frame):
    return expected.assign(key=frame["key"])[["key", "label", "votes_asked"]]


def assert_same(got, want):
    pd.testing.assert_frame_equal(got, want, check_dtype=False)


@pytest.mark.parametrize("jobs", [1, 3])
def test_parquet_is_scored_row_for_row_as_predict_does(jobs, rows, frame, expected, model_path, tmp_path):
    output = tmp_path / "out.parquet"
    calls = []
    made = score_file(
        model_path, rows, output, keep=["key"], jobs=jobs, progress=lambda done, of: calls.append((done, of))
    )
    assert_same(pd.read_parquet(output), with_keys(expected, frame))
    assert (made.rows, made.parts, made.parts_found) == (1200, 6, 0)
    assert made.by_label == expected["label"].value_counts().to_dict()
    assert made.mean_votes_asked == pytest.approx(expected["votes_asked"].mean())
    assert calls == [(done, 6) for done in range(7)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.parquet", "rows.parquet"]


@pytest.mark.parametrize("output", ["out.parquet", "out.csv"])
def test_audited_rows_have_the_label_of_all_voters_and_the_others_none(
    output, rows, frame, expected, classifier, model_path, tmp_path
):
    score_file(model_path, rows, tmp_path / output, keep=["key"], prefix="our_", audit=0.2)
    got = pd.read_csv(tmp_path / output) if output.endswith("csv") else pd.read_parquet(tmp_path / output)
    assert got.columns.tolist() == ["key", "our_label", "our_votes_asked", "our_full_label"]
    assert_same(
        got.drop(columns="our_full_label").rename(columns=lambda name: name.removeprefix("our_")),
        with_keys(expected, frame),
    )
    audited = got["our_full_label"].notna()
    assert 150 < audited.sum() < 350
    full = classifier.full_predict(frame.drop(columns="key"))
    assert got["our_full_label"][audited].tolist() == full[audited].tolist()


def test_an_audit_of_no_row_changes_nothing_and_one_of_every_row_asks_everyone(
    rows, frame, classifier, model_path, tmp_path
):
    for name, audit in (("plain", None), ("none", 0.0), ("all", 1.0)):
        options = {} if audit is None else {"audit": audit}
        score_file(model_path, rows, tmp_path / f"{name}.csv", **options)
    assert (tmp_path / "none.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    full = pd.read_csv(tmp_path / "all.csv")["full_label"].tolist()
    assert full == classifier.full_predict(frame.drop(columns="key")).tolist()
    with pytest.raises(InvalidInputError, match="audit must be a number from 0 to 1, got 2"):
        score_file(model_path, rows, tmp_path / "out.csv", audit=2)


def test_csv_is_scored_as_well_and_into_csv(frame, expected, model_path, tmp_path):
    file = tmp_path / "rows.csv"
    frame.assign(f=frame["f"].astype(int)).to_csv(file, index=False)
    for output in (tmp_path / "out.csv", tmp_path / "out.parquet"):
        made = score_file(model_path, file, output, keep=["key"], prefix="our_")
        assert made.parts > 5
        got = pd.read_csv(output) if output.suffix == ".csv" else pd.read_parquet(output)
        assert got.columns.tolist() == ["key", "our_label", "our_votes_asked"]
        assert_same(got.rename(columns=lambda name: name.removeprefix("our_")), with_keys(expected, frame))


def test_a_folder_is_scored_file_by_file(frame, expected, classifier, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for number, start in enumerate((0, 0, 500, 900)):  # the first is without rows
        end = (0, 500, 900, 1200)[number]
        frame[start:end].to_parquet(folder / f"{number}.parquet")
    score_file(classifier, folder, tmp_path / "out.parquet")
    assert_same(pd.read_parquet(tmp_path / "out.parquet"), expected)


def test_no_rows_give_an_empty_output(frame, model_path, tmp_path):
    for file in (tmp_path / "none.parquet", tmp_path / "none.csv"):
        frame[:0].to_csv(file, index=False) if file.suffix == ".csv" else frame[:0].to_parquet(file)
        made = score_file(model_path, file, tmp_path / "out.parquet")
        assert (made.rows, made.mean_votes_asked) == (0, 0)
        assert pd.read_parquet(tmp_path / "out.parquet").columns.tolist() == ["label", "votes_asked"]
        score_file(model_path, file, tmp_path / "out.parquet", audit=0.1)
        assert pd.read_parquet(tmp_path / "out.parquet")["full_label"].tolist() == []


def test_columns_of_other_names_can_be_given_in_order(frame, expected, model_path, tmp_path):
    renamed = frame[frame.columns[::-1]].rename(columns=str.upper)
    renamed.to_parquet(tmp_path / "rows.parquet")
    score_file(
        model_path,
        tmp_path / "rows.parquet",
        tmp_path / "o.parquet",
        features=["A", "B", "C.D", "E", "F", "G"],
    )
    assert_same(pd.read_parquet(tmp_path / "o.parquet"), expected)


def test_nulls_are_missing_values(tmp_path):
    X, y = models.rows()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(15, random_state=0).fit(X[:500], y[:500])
    classifier = early_stop(forest, X[500:1000], max_disagreement=0.05, random_state=0)
    frame = pd.DataFrame(X[1000:1500]).rename(columns=str).assign(**{"2": lambda f: f["2"].round(0)})
    labels = classifier.predict(frame.to_numpy())
    frame["2"] = frame["2"].astype("Int64")
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for name in ("rows.parquet", "rows.csv"):
        score_file(classifier, tmp_path / name, tmp_path / "out.parquet")
        assert pd.read_parquet(tmp_path / "out.parquet")["label"].tolist() == labels.tolist()


KILLED = """
import sys
from foregone.scale import input_files, score_file
from foregone.scale.finished_parts import FinishedParts
import os, signal
input_files.PART_ROWS, input_files.MOST_BATCH_ROWS = 150, 64
write = FinishedParts.write
def write_or_die(self, number, part):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(self, number, part)
FinishedParts.write = write_or_die
score_file(*sys.argv[1:], keep=["key"], jobs=1)
"""


@posix
def test_after_a_kill_the_same_call_does_the_rest(rows, frame, expected, model_path, tmp_path):
    output = tmp_path / "out.parquet"
    output.write_text("old")
    ended = subprocess.run([sys.executable, "-c", KILLED, model_path, rows, output], timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert output.read_text() == "old"
    folder = tmp_path / "out.parquet.parts"
    done = {file.name: file.stat().st_mtime_ns for file in folder.glob("part-*")}
    assert sorted(done) == [f"part-{k:06d}" for k in range(3)]
    seen = []
    made = score_file(
        model_path, rows, output, keep=["key"], jobs=1,
        progress=lambda *_: seen.append({f.name: f.stat().st_mtime_ns for f in folder.glob("part-*")}),
    )  # fmt: skip
    assert (made.parts, made.parts_found, made.rows) == (6, 3, 1200)
    assert all(seen[-1][name] == when for name, when in done.items())  # not done again
    assert_same(pd.read_parquet(output), with_keys(expected, frame))
    assert not folder.exists()


def fail_at_the_third_part(patch):
    write = FinishedParts.write

    def fail(self, number, part):
        if number == 2:
            raise OSError("no space left")
        return write(self, number, part)

    patch.setattr(FinishedParts, "write", fail)


@pytest.fixture
def begun(rows, model_path, tmp_path, monkeypatch):
    """A run that failed after two parts."""
    output = tmp_path / "out.parquet"
    with monkeypatch.context() as patch:
        fail_at_the_third_part(patch)
        with pytest.raises(OSError, match="no space left"):
            score_file(model_path, rows, output, jobs=1)
    assert not output.exists()
    return output


def test_a_changed_model_is_refused(begun, rows, frame):
    X = frame.drop(columns="key")
    other = RandomForestClassifier(25, random_state=1).fit(X[:100], ["ham", "spam"] * 50)
    changed = early_stop(other, X[100:600], max_disagreement=0.05, confidence=None, random_state=0)
    with pytest.raises(InvalidInputError, match=r"the model changed since .*out\.parquet\.parts was created"):
        score_file(changed, rows, begun)


def test_a_changed_input_is_refused(begun, rows, model_path):
    os.utime(rows, ns=(0, 0))
    with pytest.raises(InvalidInputError, match="the input changed since"):
        score_file(model_path, rows, begun)


def test_other_columns_are_refused(begun, rows, model_path):
    with pytest.raises(InvalidInputError, match="the list of columns to keep changed since"):
        score_file(model_path, rows, begun, keep=["key"])
    with pytest.raises(InvalidInputError, match="the prefix of the new columns changed since"):
        score_file(model_path, rows, begun, prefix="x")


def test_parts_with_and_without_audits_are_not_mixed(begun, rows, expected, model_path):
    with pytest.raises(InvalidInputError, match="the share of audited rows changed since"):
        score_file(model_path, rows, begun, audit=0.1)
    score_file(model_path, rows, begun)
    assert_same(pd.read_parquet(begun), expected)


def test_a_run_with_audits_goes_on_with_its_own_parts(rows, model_path, tmp_path, monkeypatch):
    output = tmp_path / "out.csv"
    score_file(model_path, rows, tmp_path / "whole.csv", audit=0.2)
    with monkeypatch.context() as patch:
        fail_at_the_third_part(patch)
        with pytest.raises(OSError, match="no space left"):
            score_file(model_path, rows, output, jobs=1, audit=0.2)
    with pytest.raises(InvalidInputError, match="the share of audited rows changed since"):
        score_file(model_path, rows, output, audit=0.3)
    assert 2 <= score_file(model_path, rows, output, audit=0.2).parts_found < 6
    assert output.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_where_nothing_is_finished_yet_anything_may_change(rows, frame, model_path, tmp_path):
    frame.assign(a=np.inf).to_parquet(rows)
    with pytest.raises(InvalidInputError, match=r"rows\.parquet: Input X contains infinity"):
        score_file(model_path, rows, tmp_path / "out.parquet")
    frame.to_parquet(rows)
    assert score_file(model_path, rows, tmp_path / "out.parquet").rows == 1200


def test_a_folder_of_something_else_is_left_alone(rows, model_path, tmp_path):
    folder = tmp_path / "out.parquet.parts"
    folder.mkdir()
    (folder / "manifest.json").write_text("mine")
    with pytest.raises(InvalidInputError, match="move it away, or use another output"):
        score_file(model_path, rows, tmp_path / "out.parquet")
    assert (folder / "manifest.json").read_text() == "mine"


@pytest.mark.parametrize("damage", ["cut short", "a bit", "another part", "another run"])
def test_a_damaged_part_is_done_again(damage, begun, rows, expected, model_path):
    first, second = (begun.with_name("out.parquet.parts") / f"part-{k:06d}" for k in (0, 1))
    whole = second.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) - 100] ^= 1
    if damage == "another run":
        fields, arrays = container.read(second, "scored part")
        container.write(second, "scored part", {"work": "x", "number": fields.whole("number", 0)}, arrays)
    else:
        second.write_bytes(
            {"cut short": whole[:100], "a bit": flipped, "another part": first.read_bytes()}[damage]
        )
    n_whole = len(list(second.parent.glob("part-*"))) - 1
    made = score_file(model_path, rows, begun)
    assert (made.rows, made.parts_found) == (1200, n_whole)
    assert_same(pd.read_parquet(begun), expected)


def test_a_part_that_is_damaged_before_it_is_joined_is_named(begun, rows, model_path):
    part = begun.with_name("out.parquet.parts") / "part-000001"

    def damage(done, of):
        if done == of:
            part.write_bytes(part.read_bytes()[:100])

    with pytest.raises(FileFormatError, match=r"part-000001: (damaged or )?(cut short|truncated)"):
        score_file(model_path, rows, begun, progress=damage)
    assert not begun.exists()
    assert score_file(model_path, rows, begun).rows == 1200


def test_only_what_is_ours_is_removed(rows, expected, model_path, begun, tmp_path):
    folder = tmp_path / "out.parquet.parts"
    theirs = [folder / name for name in (".notes.part", "part-1", "notes", ".part-000001.0123.part")]
    ours = [folder / name for name in (".part-000003.0123456789abcdef.part", "joined")]
    beside = tmp_path / ".out.parquet.notes.part"
    for file in (*theirs, *ours, beside):
        file.write_text("x")
    (folder / "part-000005").symlink_to(beside)
    score_file(model_path, rows, begun)
    assert_same(pd.read_parquet(begun), expected)
    assert sorted(folder.iterdir()) == sorted(theirs)
    assert beside.read_text() == "x"


@posix
def test_a_folder_that_is_a_link_or_has_no_manifest_is_left_alone(rows, model_path, tmp_path):
    folder, elsewhere = tmp_path / "out.parquet.parts", tmp_path / "elsewhere"
    elsewhere.mkdir()
    foreign = elsewhere / ".part-000001.0123456789abcdef.part"
    foreign.write_text("x")
    folder.symlink_to(elsewhere)
    with pytest.raises(InvalidInputError, match=r"out\.parquet\.parts is not a folder: move it away"):
        score_file(model_path, rows, tmp_path / "out.parquet")
    folder.unlink()
    elsewhere.rename(folder)
    with pytest.raises(InvalidInputError, match="is not a folder of finished parts: move it away"):
        score_file(model_path, rows, tmp_path / "out.parquet")
    assert (folder / foreign.name).read_text() == "x"


SECOND = """
import sys
from foregone.errors import ForegoneError
from foregone.scale import score_file
try:
    score_file(*sys.argv[1:])
except ForegoneError as error:
    sys.exit(str(error))
"""


def test_a_second_process_is_told_to_wait_and_changes_nothing(rows, expected, model_path, tmp_path):
    output = tmp_path / "out.parquet"
    told = []

    def meanwhile(done, of):
        if done == 2:
            arguments = [sys.executable, "-c", SECOND, model_path, rows, output]
            told.append(subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False))

    made = score_file(model_path, rows, output, jobs=1, progress=meanwhile)
    assert told[0].returncode == 1
    assert f"another process is writing {output}: wait until it ends" in told[0].stderr
    assert made.rows == 1200
    assert_same(pd.read_parquet(output), expected)


def test_a_full_disk_is_named_and_what_is_scored_is_kept(rows, expected, model_path, tmp_path):
    resource = pytest.importorskip("resource")
    output = tmp_path / "out.csv"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, limits[1]))  # parts are smaller, the output is not
        with pytest.raises(
            InvalidInputError, match=r"cannot write .*out\.csv: .*are kept in .*out\.csv\.parts"
        ):
            score_file(model_path, rows, output)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
        with pytest.raises(InvalidInputError, match=r"cannot write .*other\.csv\.parts"):
            score_file(model_path, rows, tmp_path / "other.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not output.exists()
    assert score_file(model_path, rows, output).parts_found == 6
    assert_same(pd.read_csv(output), expected)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.csv", "rows.parquet"]


def test_formulas_are_escaped_in_csv_on_request(frame, model_path, tmp_path):
    texts = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx", "plain", "", "a=b", None]
    keys = [texts[k % len(texts)] for k in range(len(frame))]
    frame.assign(key=keys).to_parquet(tmp_path / "rows.parquet")
    for escape in (False, True):
        score_file(
            model_path, tmp_path / "rows.parquet", tmp_path / "out.csv", keep=["key"], escape_formulas=escape
        )
        got = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)["key"].tolist()
        want = ["'" + key if escape and key and key[0] in "=+-@\t" else key or "" for key in keys]
        assert got == want
    with pytest.raises(InvalidInputError, match=r"escape_formulas is only for CSV outputs"):
        score_file(model_path, tmp_path / "rows.parquet", tmp_path / "out.parquet", escape_formulas=True)


def test_names_that_no_file_can_have_are_refused(rows, model_path, tmp_path):
    for arguments in (
        (model_path, rows, tmp_path / "o\0.csv"),
        (model_path, "r\0.csv", tmp_path / "o.csv"),
        ("m\0", rows, tmp_path / "o.csv"),
    ):
        with pytest.raises((InvalidInputError, FileFormatError), match=r"cannot (read|write)"):
            score_file(*arguments)


def test_labels_of_several_types_are_refused_before_any_work(rows, model_path, tmp_path):
    model = ModelFile.of(model_path)._replace(classes=np.array([0, "one"], object))
    with pytest.raises(InvalidInputError, match="have several types, but a column needs one"):
        score_file(model, rows, tmp_path / "out.csv")


def test_values_that_the_model_cannot_take_are_named_with_their_file(frame, model_path, tmp_path):
    text = frame.drop(columns=["key"]).assign(f=1).to_csv(index=False).splitlines()
    text[900] = "no number" + text[900]
    (tmp_path / "rows.csv").write_text("\n".join(text))
    with pytest.raises(InvalidInputError, match=r"rows\.csv: In CSV column #0.*no number"):
        score_file(model_path, tmp_path / "rows.csv", tmp_path / "out.parquet")


def test_unusable_arguments_are_refused_before_any_work(rows, model_path, tmp_path):
    before = sorted(tmp_path.iterdir())
    for output, options, message in [
        ("out.txt", {}, "end in .parquet or .csv"),
        ("no/out.csv", {}, "does not exist; create it first"),
        ("out.csv", {"keep": ["nothing"]}, "has no column 'nothing'"),
        ("out.csv", {"features": ["a"]}, "features must name"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            score_file(model_path, rows, tmp_path / output, **options)
    assert sorted(tmp_path.iterdir()) == before
    for options, message in [
        ({"engine": "abacus"}, "engine must be local, dask or spark"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"cluster": "tcp://somewhere"}, "cluster is only for"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            score_file(model_path, rows, tmp_path / "out.csv", **options)


def test_a_column_of_texts_is_named(frame, model_path, tmp_path):
    frame.assign(e="x").to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InvalidInputError, match=r"column 'e' of .*rows\.parquet has type"):
        score_file(model_path, tmp_path / "rows.parquet", tmp_path / "out.parquet")
    assert Path(tmp_path / "out.parquet.parts").exists() is False


def test_the_manifest_is_the_last_to_go_so_that_a_kill_on_the_way_leaves_a_folder_of_ours(
    rows, expected, model_path, tmp_path, monkeypatch
):
    output, removed = tmp_path / "out.parquet", []
    remove = FinishedParts._remove

    def remove_or_die(self, name):
        removed.append(name)
        if len(removed) == 4:
            raise KeyboardInterrupt
        remove(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(FinishedParts, "_remove", remove_or_die)
        with pytest.raises(KeyboardInterrupt):
            score_file(model_path, rows, output)
    assert score_file(model_path, rows, output).rows == 1200
    assert_same(pd.read_parquet(output), expected)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.parquet", "rows.parquet"]

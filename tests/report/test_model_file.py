"""Models from files: what is trusted, what is not, and that nothing is loaded before that is decided."""

from __future__ import annotations

import json
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.report import read_model, read_rows
from foregone.report.sound_trees import check_trees


class Bomb:
    """Goes off when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was loaded",))


def test_our_own_files_are_read(forest: Any, rare: Any, tmp_path: Path) -> None:
    classifier = early_stop(forest, rare[2], 0.01, random_state=0)
    classifier.save(tmp_path / "any.name")
    read = read_model(tmp_path / "any.name")
    assert isinstance(read, EarlyStoppingClassifier)
    np.testing.assert_array_equal(read.predict(rare[2]), classifier.predict(rare[2]))


def test_a_forest_in_a_skops_file_is_read_without_asking(forest: Any, rare: Any, tmp_path: Path) -> None:
    skops.io.dump(forest, tmp_path / "forest.skops")
    read = read_model(tmp_path / "forest.skops")
    np.testing.assert_array_equal(read.predict(rare[2]), forest.predict(rare[2]))


def test_types_that_are_not_trusted_are_named_with_what_to_do(tmp_path: Path, forest: Any) -> None:
    file = tmp_path / "pipeline.skops"
    skops.io.dump(make_pipeline(FunctionTransformer(check_trees), forest), file)
    with pytest.raises(
        InvalidInputError, match=r"not trusted: (\S*check_trees)\. .*add  --trust \1$"
    ) as caught:
        read_model(file)
    name = str(caught.value).split("--trust ")[1]
    assert read_model(file, trust=[name]).steps[-1][1].n_estimators == 21


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model", "model.skops", "MODEL.PICKLE"])
def test_pickles_are_refused_unless_trusted(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InvalidInputError, match=r"was not loaded.*--trust-pickle"):
        read_model(file)


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model"])
def test_a_trusted_pickle_is_read(name: str, forest: Any, tmp_path: Path) -> None:
    for write in (joblib.dump, lambda model, file: file.write_bytes(pickle.dumps(model))):
        write(forest, tmp_path / name)
        assert read_model(tmp_path / name, trust_pickle=True).n_estimators == 21


@pytest.mark.parametrize("start", [b"foregone packed\n", b"PK\x03\x04", b"PK\x03\x04" + bytes(99)])
def test_damaged_files_are_refused(start: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    file.write_bytes(start)
    with pytest.raises(FileFormatError, match=r"model\.skops"):
        read_model(file)
    (tmp_path / "model.pkl").write_bytes(b"no pickle")
    with pytest.raises(FileFormatError, match="cannot load"):
        read_model(tmp_path / "model.pkl", trust_pickle=True)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("none.skops", "none.pkl"):
        with pytest.raises(FileFormatError, match=rf"cannot read .*{name}: No such file"):
            read_model(tmp_path / name)


def test_a_missing_package_is_named_with_its_extra(
    forest: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skops.io.dump(forest, tmp_path / "forest.skops")
    (tmp_path / "rows.csv").write_text("a\n1\n")
    for name, read, file in (("skops.io", read_model, "forest.skops"), ("pandas", read_rows, "rows.csv")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=r"foregone\[report\]"):
            read(tmp_path / file)


# Trees that were tampered with ---------------------------------------------------------------------


def tampered(tree: Any, **changes: Any) -> None:
    """Give a fitted tree other nodes, by the way that files take."""
    state = tree.tree_.__getstate__()
    nodes = state["nodes"].copy()
    for name, value in changes.items():
        if name in nodes.dtype.names:
            nodes[name][0] = value
    state["nodes"] = nodes
    state["node_count"] = changes.get("node_count", state["node_count"])
    tree.tree_.__setstate__(state)


@pytest.mark.parametrize(
    "changes",
    [
        {"left_child": 10**6},
        {"right_child": 10**6},
        {"right_child": -7},
        {"left_child": 0},  # round in circles
        {"feature": 6},
        {"feature": -2},
        {"node_count": 10**6},
        {"node_count": 0},
    ],
)
def test_a_tree_that_leads_astray_is_refused(changes: dict[str, int], rare: Any, tmp_path: Path) -> None:
    models = [
        RandomForestClassifier(3, random_state=0),
        BaggingClassifier(n_estimators=3, random_state=0),
        VotingClassifier([("forest", RandomForestClassifier(3, random_state=0)), ("bayes", GaussianNB())]),
        make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)),
    ]
    for place, model in enumerate(models):
        model.fit(*rare[:2])
        check_trees(model, "sound")
        inner = model[-1] if hasattr(model, "steps") else model
        inner = inner.estimators_[0] if isinstance(inner, VotingClassifier) else inner
        tampered(inner.estimators_[-1], **changes)
        with pytest.raises(FileFormatError, match="damaged"):
            check_trees(model, "name")
        if "node_count" not in changes and place == 0:  # what is written is as long as it says it is
            skops.io.dump(model, tmp_path / "model.skops")
            with pytest.raises(FileFormatError, match=r"model\.skops is damaged"):
                read_model(tmp_path / "model.skops")


def test_a_tree_for_wider_rows_than_its_forest_takes_is_refused(rare: Any) -> None:
    X, y = rare[:2]
    narrow = RandomForestClassifier(3, random_state=0).fit(X[:, :4], y)
    wide = RandomForestClassifier(3, random_state=0).fit(X, y)
    narrow.estimators_[1] = wide.estimators_[1]
    with pytest.raises(FileFormatError, match="other numbers of features"):
        check_trees(narrow, "name")
    wide.n_features_in_ = 4
    with pytest.raises(FileFormatError, match="other numbers of features"):
        check_trees(wide, "name")


@pytest.mark.parametrize(
    ("place", "value"),
    [("node_count", -1), ("node_count", 10**9), ("node_count", 0.5), ("n_outputs", 2), ("n_outputs", 10**12)],
)
def test_numbers_that_scikit_learn_would_believe_are_refused_before_a_tree_is_made(
    place: str, value: Any, rare: Any, tmp_path: Path
) -> None:
    file, changed = tmp_path / "model.skops", tmp_path / "changed.skops"
    skops.io.dump(RandomForestClassifier(3, random_state=0).fit(*rare[:2]), file)
    read_model(file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                state = schema["content"]["content"]["estimators_"]["content"][1]["content"]["content"][
                    "tree_"
                ]
                number = (
                    state["content"]["content"]["node_count"]
                    if place == "node_count"
                    else state["__reduce__"]["args"]["content"][2]
                )
                number["content"] = json.dumps(value)
                content = json.dumps(schema).encode()
            new.writestr(name, content)
    with pytest.raises(FileFormatError, match="ValueError: a tree has"):
        read_model(changed)

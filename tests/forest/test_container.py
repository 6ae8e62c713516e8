"""Files: the same forest comes back, and no file, however wrong, gets past the checks."""

import hashlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, container

X, Y = make_classification(200, 5, n_informative=3, random_state=0)
SMALL = PackedForest.from_sklearn(RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y))


def saved(forest, tmp_path):
    path = tmp_path / "forest.foregone"
    forest.save(path)
    return path


def rewrite(path, change_header=lambda header: None, **arrays):
    """Write a file whose checksum fits, with other arrays or another header."""
    fields, parts = SMALL.to_parts()
    container.write(path, "forest", fields, {**parts, **arrays})
    content = path.read_bytes()
    start = container.PREFIX_SIZE
    end = start + int.from_bytes(content[start - 8 : start], "little")
    header = json.loads(content[start:end])
    change_header(header)
    text = json.dumps(header).encode()
    body = b"".join(container._pieces(text, {**parts, **arrays}))
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (True, False), (1.5, -2.0)])
def test_a_loaded_forest_votes_as_the_saved_one(labels, tmp_path):
    y = np.array([str(label) for label in labels])[Y] if labels == (1.5, -2.0) else np.array(labels)[Y]
    forest = PackedForest.from_sklearn(RandomForestClassifier(7, random_state=0).fit(X, y))
    loaded = PackedForest.load(saved(forest, tmp_path))
    np.testing.assert_array_equal(loaded.vote_matrix(X), forest.vote_matrix(X))
    np.testing.assert_array_equal(loaded.votes(X[:1]), forest.votes(X[:1]))
    np.testing.assert_array_equal(loaded.classes, forest.classes)
    assert loaded.classes.dtype == forest.classes.dtype
    assert loaded.n_features == 5
    assert loaded.takes_missing
    assert saved(loaded, tmp_path).read_bytes() == saved(forest, tmp_path).read_bytes()


def test_labels_kept_as_objects_come_back_as_objects(tmp_path):
    y = np.array(["b", "a"], object)[Y]
    forest = PackedForest.from_sklearn(DecisionTreeClassifier().fit(X, y))
    loaded = PackedForest.load(saved(forest, tmp_path))
    assert loaded.classes.dtype == object
    assert loaded.classes.tolist() == ["a", "b"]


def test_labels_that_json_cannot_hold_are_refused(tmp_path):
    y = np.array([b"a", b"b"])[Y]
    forest = PackedForest.from_sklearn(DecisionTreeClassifier().fit(X, y))
    with pytest.raises(InvalidInputError, match="class labels that are numbers, texts or booleans"):
        forest.save(tmp_path / "forest")
    assert list(tmp_path.iterdir()) == []


def test_wide_nodes_come_back(tmp_path):
    many, y = make_classification(60, 300, random_state=0)
    forest = PackedForest.from_sklearn(ExtraTreesClassifier(3, random_state=0).fit(many, y))
    loaded = PackedForest.load(saved(forest, tmp_path))
    assert loaded.nodes.ndim == 2
    np.testing.assert_array_equal(loaded.vote_matrix(many), forest.vote_matrix(many))


def test_every_flipped_byte_is_noticed(tmp_path):
    path = saved(SMALL, tmp_path)
    content = path.read_bytes()
    for place in range(len(content)):
        broken = bytearray(content)
        broken[place] ^= 1 << (place % 8)
        path.write_bytes(broken)
        with pytest.raises(FileFormatError):
            PackedForest.load(path)


def test_every_truncation_is_noticed(tmp_path):
    path = saved(SMALL, tmp_path)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(FileFormatError):
            PackedForest.load(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(FileFormatError):
        PackedForest.load(path)


def test_nodes_with_any_bit_flipped_under_a_fitting_checksum_are_refused_or_harmless(tmp_path):
    refused = 0
    for place in range(len(SMALL.nodes)):
        for bit in range(64):
            nodes = SMALL.nodes.copy()
            nodes[place] ^= np.uint64(1 << bit)
            try:
                forest = PackedForest.load(rewrite(tmp_path / "forest", nodes=nodes))
            except FileFormatError:
                refused += 1
                continue
            votes = forest.vote_matrix(X[:40])
            assert votes.shape == (40, 3)
    assert refused > 0


NODE_OF_NO_RETURN = np.uint64(0)  # both sides lead on, by an offset of zero: left would come back for ever


@pytest.mark.parametrize(
    "arrays",
    [
        {"nodes": np.where(np.arange(len(SMALL.nodes)) == 0, NODE_OF_NO_RETURN, SMALL.nodes)},
        {"nodes": SMALL.nodes | np.uint64(0x1FF)},
        {"nodes": SMALL.nodes | np.uint64(0x7FFFF << 13)},
        {"nodes": SMALL.nodes[:-1]},
        {"nodes": np.zeros(0, np.uint64)},
        {"nodes": SMALL.nodes.view(np.int64)},
        {"nodes": np.full((len(SMALL.nodes), 2), 2**64 - 1, np.uint64)},
        {"nodes": np.zeros((len(SMALL.nodes), 3), np.uint64)},
        {"tree_start": SMALL.tree_start[::-1].copy()},
        {"tree_start": SMALL.tree_start[:-1]},
        {"tree_start": SMALL.tree_start + 1},
        {"tree_start": SMALL.tree_start * 0},
        {"tree_start": SMALL.tree_start * 2**60},
        {"tree_start": SMALL.tree_start.astype(np.uint64)},
        {"tree_start": np.array([0, -5, len(SMALL.nodes) - 1, len(SMALL.nodes)])},
    ],
)
def test_arrays_that_do_not_form_trees_are_refused(arrays, tmp_path):
    with pytest.raises(FileFormatError):
        PackedForest.load(rewrite(tmp_path / "forest", **arrays))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(format="other"), "format"),
        (lambda h: h.update(version=container.VERSION + 1), "upgrade foregone"),
        (lambda h: h.update(version=True), "version"),
        (lambda h: h.update(kind="garden"), "expected a 'forest', found a 'garden'"),
        (lambda h: h.pop("fields"), "is missing"),
        (lambda h: h["fields"].update(n_features=0), "n_features"),
        (lambda h: h["fields"].update(n_features=1), "do not form valid trees"),
        (lambda h: h["fields"].update(n_features=2**40), "n_features"),
        (lambda h: h["fields"].update(n_trees=4), "tree_start"),
        (lambda h: h["fields"].update(n_trees="3"), "n_trees"),
        (lambda h: h["fields"].update(takes_missing=2), "takes_missing"),
        (lambda h: h["fields"].update(classes=[["i8", 0]]), "classes"),
        (lambda h: h["fields"].update(classes=[["i8", 0], ["i8", 0]]), "classes"),
        (lambda h: h["fields"].update(classes=[["i8", 0], ["i8", 2**70]]), "classes"),
        (lambda h: h["fields"].update(classes=[["i8", 0], ["i8", "1"]]), "classes"),
        (lambda h: h["fields"].update(classes=[["U99999999", "a"], ["U99999999", "b"]]), "classes"),
        (lambda h: h["fields"].update(classes=[["V8", 0], ["V8", 1]]), "classes"),
        (lambda h: h["fields"].update(classes=[["object", [1]], ["object", [2]]]), "classes"),
        (lambda h: h["arrays"].pop(), "categories"),
        (lambda h: h["arrays"].reverse(), "shape|do not fill|must hold"),
        (lambda h: h["arrays"][0].update(type="O"), "type"),
        (lambda h: h["arrays"][0].update(shape=[2**50]), "larger than the file"),
        (lambda h: h["arrays"][0].update(shape=[2**40, 2**40]), "larger than the file"),
        (lambda h: h["arrays"][0].update(shape=[-1]), "shape"),
        (lambda h: h["arrays"][0].update(shape=[]), "shape"),
        (lambda h: h["arrays"][0].update(shape=[[1]]), "shape"),
        (lambda h: h["arrays"][0].update(name="knots"), "nodes"),
        (lambda h: h["arrays"][0].update(name="tree_start"), "name that occurs once"),
    ],
)
def test_headers_that_lie_are_refused(change, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        PackedForest.load(rewrite(tmp_path / "forest", change))


@pytest.mark.parametrize("header", [b"", b"[]", b"{", b"\xff\xfe", pytest.param(b"[" * 100_000, id="deep")])
def test_headers_that_are_no_objects_are_refused(header, tmp_path):
    body = container.MAGIC + len(header).to_bytes(8, "little") + header
    path = tmp_path / "forest"
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(FileFormatError):
        PackedForest.load(path)
    longer = container.MAGIC + (2**63).to_bytes(8, "little")
    path.write_bytes(longer + hashlib.sha256(longer).digest())
    with pytest.raises(FileFormatError, match="longer than the file"):
        PackedForest.load(path)


def test_a_missing_file_a_folder_and_another_file_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="cannot read"):
        PackedForest.load(tmp_path / "nothing")
    with pytest.raises(FileFormatError, match="cannot read"):
        PackedForest.load(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(FileFormatError, match="not a foregone file"):
        PackedForest.load(tmp_path / "text")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = saved(SMALL, tmp_path)
    before = path.read_bytes()

    def full_disk(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(InvalidInputError, match="No space left on device"):
        SMALL.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InvalidInputError, match="cannot write"):
        SMALL.save(tmp_path / "no folder" / "forest")


def test_loading_and_voting_need_no_scikit_learn(tmp_path):
    path = saved(SMALL, tmp_path)
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import numpy as np; from foregone.forest import PackedForest\n"
        f"print(PackedForest.load({str(path)!r}).votes(np.zeros((2, 5))).tolist())"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(SMALL.votes(np.zeros((2, 5))).tolist())


def test_a_pickled_forest_votes_the_same():
    copy = pickle.loads(pickle.dumps(SMALL))  # noqa: S301  # joblib does this between processes
    np.testing.assert_array_equal(copy.votes(X), SMALL.votes(X))
    assert not copy.nodes.flags.writeable

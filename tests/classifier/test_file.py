"""One file holds all that predicting needs; nothing that was tampered with gets through."""

import json
import pickle
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from foregone import EarlyStoppingClassifier, early_stop, solve
from foregone.certifying import Promise
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, container
from tests.classifier import models

GOLDEN = Path(__file__).parents[1] / "golden" / "classifier-v1.foregone"
SETTINGS = {
    "plain": {"random_state": 3},
    "each row its own order": {"order": "per_row", "criterion": "minimixed", "n_jobs": 1},
    "all of it": {
        "max_disagreement": {0: 0.1, 1: 0.01},
        "confidence": 0.9,
        "looks": [0, 3, 9, 25],
        "answer": "likeliest",
        "random_state": 1,
    },
    "the paper's": {"confidence": None, "random_state": 3},
    "minimax": {"criterion": "minimax", "random_state": np.random.RandomState(0), "n_jobs": -1},
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "forest.foregone"
    early_stop(models.forest(), models.fresh(), 0.02, random_state=0).save(path)
    return path


def test_a_file_of_version_1_is_read_and_answers_the_majority():
    """Files outlive releases: this one is never written anew. In its time it and its outcome were made by.

    y = (X[:, 0] + 3 * X[:, 1] > 25).astype(int)
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    classifier = EarlyStoppingClassifier(FrozenEstimator(forest), max_disagreement=0.05, random_state=0)
    classifier.fit(X, y).save(GOLDEN)
    Counter(zip(*classifier.predict_with_votes(X)[1:]))
    """
    X = np.array([[row, (7 * row) % 5] for row in range(40)], float)
    loaded = EarlyStoppingClassifier.load(GOLDEN)
    labels, asked, yes = loaded.predict_with_votes(X)
    outcome = Counter(zip(asked.tolist(), yes.tolist(), strict=True))
    assert outcome == {(2, 0): 19, (4, 3): 1, (2, 2): 16, (5, 3): 2, (1, 1): 2}
    np.testing.assert_array_equal(labels, 2 * yes > asked)
    assert loaded.strategy_.answers_majority
    assert (loaded.max_disagreement, loaded.confidence, loaded.looks, loaded.answer) == (
        0.05, None, None, "majority",
    )  # fmt: skip


def test_a_file_of_version_4_predicts_what_was_certified():
    """The file was written like this, and the counts by it.

    X = np.array([[row, (7 * row) % 5] for row in range(400)], float)
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, X[:, 0] % 3 > X[:, 1])
    classifier = early_stop(forest, X, 0.05, voting="hard", random_state=0)
    classifier.save(GOLDEN.with_name("classifier-v4.foregone"))
    Counter(zip(*classifier.predict_with_votes(X)[1:])), classifier.order_, classifier.promise_
    """
    X = np.array([[row, (7 * row) % 5] for row in range(400)], float)
    loaded = EarlyStoppingClassifier.load(GOLDEN.with_name("classifier-v4.foregone"))
    _, asked, yes = loaded.predict_with_votes(X)
    assert Counter(zip(asked.tolist(), yes.tolist(), strict=True)) == {(2, 2): 71, (1, 0): 282, (0, 0): 47}
    assert loaded.order_.tolist() == [1, 0, 3, 2, 4]
    assert loaded.promise_ == Promise("classifier", "disagreement", 0.05, 0.95, 0.0485649211101438, 320)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_old_files_promise_is_what_was_kept(version):
    """Votes were counted on average over orders; scores were certified in their order."""
    loaded = EarlyStoppingClassifier.load(GOLDEN.with_name(f"classifier-v{version}.foregone"))
    assert loaded.promise_.about == ("classifier" if loaded.voting_ == "soft" else "orders")
    assert loaded.promise_.limit == loaded.max_disagreement


def test_answers_in_a_file_of_version_1_are_refused(saved, monkeypatch):
    monkeypatch.setattr(container, "VERSION", 1)
    rewrite(saved, lambda content, arrays: content["solution"].pop("yes_from"))
    assert EarlyStoppingClassifier.load(saved).strategy_.answers_majority
    rewrite(saved, lambda content, arrays: content["solution"].update(yes_from="majority"))
    with pytest.raises(
        FileFormatError, match='solution: field "yes_from" is not allowed in a file of version 1'
    ):
        EarlyStoppingClassifier.load(saved)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_a_loaded_classifier_predicts_the_same_and_knows_the_same(tmp_path, settings):
    X = models.fresh()
    classifier = early_stop(models.forest(), X, **{"max_disagreement": 0.02, **settings})
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    for method in ("predict", "full_predict", "predict_with_votes"):
        for rows in (X, X[:1]):
            np.testing.assert_array_equal(getattr(loaded, method)(rows), getattr(classifier, method)(rows))
    assert loaded.strategy_ == classifier.strategy_
    assert loaded.votes_ == classifier.votes_
    for name in (
        "criterion", "max_disagreement", "expected_votes", "disagreement", "lower_bound", "method",
        "confidence", "looks", "answer",
    ):  # fmt: skip
        assert getattr(loaded.solution_, name) == getattr(classifier.solution_, name)
    assert loaded.solution_.multipliers == classifier.solution_.multipliers
    for name in (
        "seed_",
        "expected_votes_",
        "disagreement_by_class_",
        "hard_soft_disagreement_",
        "calibration_disagreement_",
        "n_features_in_",
    ):
        assert getattr(loaded, name) == getattr(classifier, name)
    parameters = classifier.get_params(deep=False)
    if not isinstance(parameters["random_state"], int):
        parameters["random_state"] = None
    assert loaded.get_params(deep=False) == {**parameters, "estimator": None}
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "file").read_bytes()


def test_labels_names_and_sizes_are_kept(tmp_path):
    X, y = models.to_fit()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "é", "f f"])
    for size in (0.2, 100):
        classifier = EarlyStoppingClassifier(
            models.forest(9), max_disagreement=0.1, calibration_size=size, random_state=0
        )
        classifier.fit(frame, np.array(["spam", "ham"])[y]).save(tmp_path / "file")
        loaded = EarlyStoppingClassifier.load(tmp_path / "file")
        assert loaded.classes_.tolist() == ["ham", "spam"]
        assert loaded.feature_names_in_.tolist() == list(frame.columns)
        assert loaded.feature_names_in_.dtype == classifier.feature_names_in_.dtype
        assert loaded.calibration_size == size
        assert type(loaded.calibration_size) is type(size)
        np.testing.assert_array_equal(loaded.predict(frame), classifier.predict(frame))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            loaded.predict(X[:1])


def test_limits_come_back_by_label_and_looks_in_full(tmp_path):
    X, y = models.to_fit()
    for names in (np.array(["ham", "spam"]), np.array([False, True]), np.array([-1, 1], np.int8)):
        limits = {names[1]: 0.01, names[0]: 0.2}
        classifier = EarlyStoppingClassifier(
            models.forest(9), max_disagreement=limits, looks=4, random_state=0
        ).fit(X, names[y])
        classifier.save(tmp_path / "file")
        loaded = EarlyStoppingClassifier.load(tmp_path / "file")
        assert loaded.max_disagreement == limits
        assert loaded.disagreement_by_class_ == classifier.disagreement_by_class_
        assert loaded.looks == [0, 4, 8, 9]


def test_a_loaded_classifier_is_an_estimator_that_cannot_be_fitted(saved):
    loaded = EarlyStoppingClassifier.load(saved)
    assert "EarlyStoppingClassifier" in loaded._repr_html_()
    assert "estimator=None" in repr(loaded)
    assert loaded.score(*models.rows()) > 0.8
    with pytest.raises(InvalidInputError, match="A classifier loaded from a file has none"):
        clone(loaded).fit(*models.to_fit())


def test_a_file_is_far_smaller_than_the_pickled_classifier(saved):
    assert saved.stat().st_size < len(pickle.dumps(models.forest())) / 10


def test_loading_needs_no_pickle(saved, monkeypatch):
    expected = EarlyStoppingClassifier.load(saved).predict(models.fresh())  # numba pickles what it compiled

    def refuse(*arguments, **options):
        raise AssertionError("pickle")

    for name in ("load", "loads", "Unpickler", "dump", "dumps", "Pickler"):
        monkeypatch.setattr(pickle, name, refuse)
    loaded = EarlyStoppingClassifier.load(saved)
    loaded.save(saved)
    np.testing.assert_array_equal(loaded.predict(models.fresh()), expected)


def test_voters_that_are_no_trees_cannot_be_saved_and_the_reason_is_given(tmp_path):
    classifier = early_stop(models.several_models(), models.fresh(), 0.05)
    with pytest.raises(
        InvalidInputError, match=r"only forests of decision trees can be saved.*skops\.io\.dump"
    ):
        classifier.save(tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_forest_a_strategy_or_nothing_at_all_is_not_a_classifier(tmp_path, saved):
    loaded = EarlyStoppingClassifier.load(saved)
    loaded.ensemble_.save(tmp_path / "forest")
    loaded.strategy_.save(tmp_path / "strategy")
    for name, message in (
        ("forest", "expected a 'classifier', found a 'forest'"),
        ("strategy", "not a foregone file"),
        ("missing", "cannot read"),
    ):
        with pytest.raises(FileFormatError, match=message):
            EarlyStoppingClassifier.load(tmp_path / name)
    with pytest.raises(FileFormatError, match="expected a 'forest', found a 'classifier'"):
        PackedForest.load(saved)


@given(st.data())
def test_no_damage_goes_unnoticed(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damage") / "file"
    early_stop(models.forest(3), models.fresh()[:100], 0.1, random_state=0).save(path)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[place] ^= data.draw(st.integers(1, 255))
    else:
        del content[place:]
    path.write_bytes(content)
    with pytest.raises(FileFormatError):
        EarlyStoppingClassifier.load(path)


def rewrite(path, change):
    """Change what a file says and give it a checksum that fits."""
    fields, arrays = container.read(path, "classifier")
    content = json.loads(json.dumps(fields._content))
    change(content, arrays)
    container.write(path, "classifier", content, arrays)


def put(*keys_and_value):
    *keys, last, value = keys_and_value

    def change(content, arrays):
        for key in keys:
            content = content[key]
        content[last] = value

    return change


@pytest.mark.parametrize(("written", "read"), [(1_066, 3), (2, 2), (-1, -1), (None, None)])
def test_a_file_cannot_ask_for_more_threads_than_the_machine_has_cores(saved, monkeypatch, written, read):
    monkeypatch.setattr("foregone.classifier.classifier_file.usable_cores", lambda: 3)
    rewrite(saved, put("n_jobs", written))
    assert EarlyStoppingClassifier.load(saved).n_jobs == read


HOSTILE = {
    "order": put("order", "none"),
    "order missing": lambda content, arrays: content.pop("order"),
    "seed": put("seed", -1),
    "large seed": put("seed", 2**64),
    "names": put("feature_names", [["a"]] * 5),
    "names that are numbers": put("feature_names", [[1]] * 6),
    "names in no list": put("feature_names", "abcdef"),
    "disagreement": put("hard_soft_disagreement", 1.5),
    "calibration disagreement": put("calibration_disagreement", "none"),
    "calibration size": put("calibration_size", -1),
    "jobs": put("n_jobs", "all"),
    "no jobs": put("n_jobs", 0),
    "random state": put("random_state", 0.5),
    "forest": put("forest", []),
    "trees": put("forest", "n_trees", 24),
    "features": put("forest", "n_features", 1),
    "classes": put("forest", "classes", [["object", "a"], ["object", "a"]]),
    "solution": lambda content, arrays: content.pop("solution"),
    "criterion": put("solution", "solution", "criterion", "maximin"),
    "limit": put("solution", "solution", "max_disagreement", 2),
    "bound": put("solution", "solution", "lower_bound", None),
    "method": put("solution", "solution", "method", 3),
    "limits of other sides": put("solution", "solution", "max_disagreement", {"ham": 0.1, "spam": 0.1}),
    "confidence": put("solution", "solution", "confidence", 1),
    "looks": put("solution", "solution", "looks", [26]),
    "answer": put("solution", "solution", "answer", "unlikeliest"),
    "confidence without observations": lambda content, arrays: content["solution"]["solution"].pop(
        "n_observations"
    ),
    "observations": put("solution", "solution", "n_observations", 0),
    "price": put("solution", "solution", "multipliers", "mean_disagreement", -1),
    "prices": put("solution", "solution", "multipliers", "disagreement_at", [[99, 1.0]]),
    "weights": put("solution", "solution", "multipliers", "cost_at", [[1, "much"]]),
    "strategy of another size": lambda content, arrays: content["solution"].update(
        n_voters=1, lower=[-1, 0], upper=[1, 1], exceptions=[]
    ),
    "another strategy": put("solution", solve("minimean", 3, 0.1).to_fields()),
    "strategy": put("solution", "lower", [0]),
    "no answers": lambda content, arrays: content["solution"].pop("yes_from"),
    "answers": put("solution", "yes_from", [9] * 26),
    "answers in words": put("solution", "yes_from", "likeliest"),
    "no votes": lambda content, arrays: content["solution"]["solution"].pop("votes"),
    "votes of another size": put("solution", "solution", "votes", [0.5, 0.5]),
    "votes of another type": put("solution", "solution", "votes", ["1"] * 26),
    "negative votes": put("solution", "solution", "votes", [-1.0, 2.0] + [0.0] * 24),
    "no nodes": lambda content, arrays: arrays.pop("nodes"),
    "nodes that lead astray": lambda content, arrays: arrays["nodes"].fill(2**63 + 2**20),
}  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_made_to_harm_is_refused(saved, change):
    rewrite(saved, lambda content, arrays: None)
    EarlyStoppingClassifier.load(saved)
    rewrite(saved, change)
    with pytest.raises(FileFormatError, match=re.escape(str(saved))):
        EarlyStoppingClassifier.load(saved)

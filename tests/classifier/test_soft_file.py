"""Files of classifiers that add up scores, and files of classifiers from before there were any."""

import copy
import json
import pickle
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st

from foregone import EarlyStoppingClassifier, ScoreStrategy, early_stop
from foregone.classifier import CannotCertifyWarning
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import container
from tests.classifier import models, score_models
from tests.classifier.test_file import put

GOLDEN = Path(__file__).parents[1] / "golden" / "classifier-v2.foregone"
SETTINGS = {
    "plain": {"random_state": 3},
    "all of it": {
        "max_disagreement": {"ham": 0.05, "spam": 0.03}, "voting": "soft", "confidence": 0.9, "looks": [3, 9],
        "order": "optimized", "on_failure": "raise", "n_jobs": 1, "random_state": 1,
    },
}  # fmt: skip


def make(kind="soft forest", **settings):
    return early_stop(
        score_models.fitted(kind), models.fresh(), **{"max_disagreement": 0.02, "random_state": 0, **settings}
    )


@pytest.fixture
def saved(tmp_path):
    make().save(tmp_path / "file")
    return tmp_path / "file"


def test_a_file_from_before_scores_is_read_for_ever():
    """Files outlive releases: this one is never written anew. In its time it and its outcome were made by.

    y = np.array(["no", "yes"])[((X[:, 0] + 3 * X[:, 1] > 25) ^ (np.arange(40) % 7 == 0)).astype(int)]
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    classifier = early_stop(
        forest, X, {"no": 0.1, "yes": 0.2}, confidence=0.7, looks=[0, 1, 3, 4], answer="likeliest",
        random_state=0,
    )
    classifier.save(GOLDEN)
    Counter(zip(*classifier.predict_with_votes(X)))
    """
    X = np.array([[row, (7 * row) % 5] for row in range(40)], float)
    loaded = EarlyStoppingClassifier.load(GOLDEN)
    outcome = Counter(zip(*(part.tolist() for part in loaded.predict_with_votes(X)), strict=True))
    assert outcome == {
        ("no", 1, 0): 23, ("yes", 1, 1): 8, ("yes", 3, 3): 7, ("yes", 5, 3): 1, ("yes", 4, 3): 1,
    }  # fmt: skip
    assert (loaded.voting_, loaded.voting, loaded.on_failure) == ("hard", "hard", "curtail")
    assert (loaded.max_disagreement, loaded.confidence) == ({"no": 0.1, "yes": 0.2}, 0.7)
    assert (loaded.looks, loaded.answer, loaded.seed_) == ([0, 1, 3, 4, 5], "likeliest", 900450186894289455)


def test_a_file_that_names_its_columns_of_categories_is_read_for_ever():
    """Files outlive releases: this one is never written anew. It was made by, for 600 such rows.

    y = (rows["size"].cat.codes + rows["colour"].cat.codes + (rows["number"] - 2**27 > 5)) % 2
    model = lgb.LGBMClassifier(
        n_estimators=8, num_leaves=8, min_child_samples=1, min_data_per_group=1, cat_smooth=0,
        max_cat_to_onehot=1, random_state=0,
    ).fit(rows, y)
    early_stop(model, rows, max_disagreement=0.05, random_state=0).save(file)
    """
    place = np.arange(66)
    sizes, colours, numbers = place % 3, place // 3 % 2, place % 11
    rows = pd.DataFrame(
        {
            "size": pd.Categorical(np.array([30, 7, 20])[sizes]),  # in another order than in training
            "colour": pd.Categorical(np.array(["red", "blue"])[colours]),
            "number": 2**27 + numbers,
        }
    )
    loaded = EarlyStoppingClassifier.load(GOLDEN.with_name("classifier-v3.foregone"))
    labels, asked, _ = loaded.predict_with_votes(rows)
    np.testing.assert_array_equal(labels, (sizes + colours + (numbers > 5)) % 2)
    assert set(asked.tolist()) == {2}
    lists = loaded.ensemble_.rows.category_values
    assert (lists.features, lists.of_frames, loaded.ensemble_.rows.array_bits) == ((0, 1), True, 32)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("kind", sorted(score_models.PACKED - {"XGBoost"}))
def test_a_loaded_classifier_predicts_the_same_and_knows_the_same(tmp_path, kind, settings):
    X = models.fresh()
    classifier = make(kind, **settings)
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    for rows in (X, X[:1]):
        for one, other in zip(
            loaded.predict_with_votes(rows), classifier.predict_with_votes(rows), strict=True
        ):
            np.testing.assert_array_equal(one, other)
        for method in ("predict", "full_predict", "predict_proba"):
            np.testing.assert_array_equal(getattr(loaded, method)(rows), getattr(classifier, method)(rows))
    assert loaded.strategy_ == classifier.strategy_
    assert loaded.strategy_.certificate == classifier.strategy_.certificate
    for name in (
        "voting_", "seed_", "promise_", "expected_votes_", "disagreement_by_class_", "rounding_disagreement_",
        "calibration_disagreement_", "n_features_in_",
    ):  # fmt: skip
        assert getattr(loaded, name) == getattr(classifier, name)
    parameters = classifier.get_params(deep=False)
    if parameters["looks"] is not None:
        parameters["looks"] = [*parameters["looks"], classifier.strategy_.n_voters]
    assert loaded.get_params(deep=False) == {**parameters, "estimator": None}
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "file").read_bytes()


def test_groups_and_clusters_of_a_promise_are_kept(tmp_path):
    X = models.fresh()
    limits, groups = {"ham": 0.1, "spam": 0.2}, np.where(X[:, 1] > 0, "a", "b")
    classifier = make(max_disagreement=limits, groups=groups, clusters=np.arange(len(X)) // 2)
    assert classifier.strategy_.certificate.parts
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    assert loaded.promise_ == classifier.promise_
    assert loaded.strategy_.certificate == classifier.strategy_.certificate


def test_what_needs_no_rows_is_kept(tmp_path):
    classifier = early_stop(score_models.fitted("boosted trees"), random_state=0)
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    assert loaded.strategy_ == classifier.strategy_
    assert loaded.promise_ == classifier.promise_
    assert loaded.expected_votes_ == classifier.expected_votes_
    assert not hasattr(loaded, "calibration_disagreement_")


def test_files_without_a_promise_have_that_of_their_certificate(saved):
    expected = EarlyStoppingClassifier.load(saved).promise_
    fields, arrays = container.read(saved, "classifier")
    content = json.loads(json.dumps(fields._content))
    del content["promise"], content["expected_votes"]
    container.write(saved, "classifier", content, arrays)
    loaded = EarlyStoppingClassifier.load(saved)
    assert loaded.promise_ == expected
    assert loaded.expected_votes_ == loaded.strategy_.certificate.mean_asked
    content["strategy"] = {
        "kind": "scores", **ScoreStrategy.ask_all(21, reason="too few rows").to_fields()
    }  # fmt: skip
    container.write(saved, "classifier", content, arrays)
    loaded = EarlyStoppingClassifier.load(saved)
    assert (loaded.promise_.confidence, loaded.expected_votes_) == (1.0, 21)


def test_why_it_only_curtails_is_kept(tmp_path):
    with pytest.warns(CannotCertifyWarning):
        classifier = early_stop(
            score_models.fitted("soft forest"), models.fresh()[:50], {"ham": 0.1, "spam": 0.2}
        )
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    assert loaded.strategy_.reason == classifier.strategy_.reason
    assert loaded.max_disagreement == {"ham": 0.1, "spam": 0.2}
    assert loaded.confidence == 0.95


def test_names_of_features_are_kept(tmp_path):
    X, y = models.rows()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    classifier = EarlyStoppingClassifier(
        score_models.UNFITTED["histograms"](), max_disagreement=0.05, calibration_size=0.3, random_state=0
    ).fit(frame, y)
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(loaded.predict(frame), classifier.predict(frame))


def test_voters_that_are_no_trees_cannot_be_saved_but_pickled(tmp_path):
    classifier = make("soft committee")
    with pytest.raises(
        InvalidInputError, match=r"only forests of decision trees can be saved.*voters with sc"
    ):
        classifier.save(tmp_path / "file")
    classifier.strategy_.save(tmp_path / "strategy")
    assert ScoreStrategy.load(tmp_path / "strategy") == classifier.strategy_


@pytest.mark.parametrize("kind", ["soft forest", "histograms", "soft committee"])
def test_copies_pickles_and_skops_do_the_same(tmp_path, kind):
    X, classifier = models.fresh(), make(kind)
    skops.io.dump(classifier, tmp_path / "file")
    trusted = skops.io.get_untrusted_types(file=tmp_path / "file")
    assert all(name.startswith(("foregone.", "sklearn.", "numpy.")) for name in trusted)
    others = [
        copy.deepcopy(classifier),
        pickle.loads(pickle.dumps(classifier)),  # noqa: S301  # our own
        skops.io.load(tmp_path / "file", trusted=trusted),
    ]
    for other in others:
        for rows in (X, X[:1]):
            np.testing.assert_array_equal(other.predict(rows), classifier.predict(rows))
        assert other.strategy_ == classifier.strategy_


@given(st.data())
def test_no_damage_goes_unnoticed(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damage") / "file"
    path.write_bytes(small_file(tmp_path_factory))
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(FileFormatError):
        EarlyStoppingClassifier.load(path)


SMALL = []


def small_file(tmp_path_factory):
    if not SMALL:
        path = tmp_path_factory.mktemp("small") / "file"
        make("boosted stumps").save(path)
        SMALL.append(path.read_bytes())
    return SMALL[0]


HOSTILE = {
    "way": put("way", "loud"),
    "the other way": put("way", "hard"),
    "voting": put("voting", 3),
    "failure": put("on_failure", 3),
    "order": put("order", "per_row"),
    "promise": put("promise", {}),
    "what is promised": put("promise", "about", "everything"),
    "expected votes": put("expected_votes", 99),
    "seed": put("seed", -1),
    "link": put("forest", "link", "kind", "square"),
    "link that is none": put("forest", "link", 3),
    "link where it was before": put("link", 3),
    "scale": put("forest", "link", "scale", 0),
    "scale that is none": put("forest", "link", "scale", "large"),
    "order of the trees": put("forest", "in_order", 2),
    "limit": put("max_disagreement", 2),
    "limits": put("max_disagreement", {"ham": 0.1}),
    "confidence": put("confidence", 1),
    "looks": put("looks", [99]),
    "rounding": put("rounding_disagreement", 2),
    "calibration": put("calibration_disagreement", "none"),
    "strategy": lambda content, arrays: content.pop("strategy"),
    "kind of strategy": put("strategy", "kind", "strategy"),
    "thresholds": put("strategy", "lower", [0]),
    "start": put("strategy", "start", 1.0),
    "strategy of another size": put(
        "strategy", {"kind": "scores", **ScoreStrategy.ask_all(3).to_fields()}
    ),
    "trees": put("forest", "n_trees", 24),
    "no nodes": lambda content, arrays: arrays.pop("nodes"),
}  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_made_to_harm_is_refused(saved, change):
    fields, arrays = container.read(saved, "classifier")
    content = json.loads(json.dumps(fields._content))
    change(content, arrays)
    container.write(saved, "classifier", content, arrays)
    with pytest.raises(FileFormatError, match=re.escape(str(saved))):
        EarlyStoppingClassifier.load(saved)

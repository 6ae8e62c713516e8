"""Forests that were grown elsewhere, and packed already, are stopped early as they are."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, ScoredForest

GOLDEN = Path(__file__).parent.parent / "golden"
SPARK = GOLDEN / "spark-forest"


def rows_of_spark():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    X[:, 2], X[:, 3] = rng.integers(0, 5, 600), rng.integers(0, 8, 600)
    X[rng.random((600, 4)) < 0.05] = np.nan
    return X


def test_a_packed_forest_is_stopped_as_the_model_it_was_made_of():
    X, y = make_classification(900, random_state=0)
    model = RandomForestClassifier(21, random_state=0).fit(X[:300], y[:300])
    packed = PackedForest.from_sklearn(model)
    settings = {"max_disagreement": 0.05, "confidence": None, "random_state": 0}
    one, other = (early_stop(forest, X[300:600], **settings) for forest in (packed, model))
    assert one.ensemble_ is packed
    for mine, theirs in zip(one.predict_with_votes(X[600:]), other.predict_with_votes(X[600:]), strict=True):
        assert mine.tolist() == theirs.tolist()


def test_a_forest_of_spark_is_stopped_saved_and_loaded(tmp_path):
    X = rows_of_spark()
    forest = PackedForest.from_spark(SPARK, classes=["stays", "leaves"])
    classifier = early_stop(forest, X[:300], 0.1, confidence=None, random_state=0)
    labels, asked, _ = classifier.predict_with_votes(X[300:])
    assert set(labels) == {"stays", "leaves"}
    assert asked.mean() < forest.n_trees
    full = forest.classes[(2 * forest.votes(X[300:]) > forest.n_trees).astype(int)]
    assert classifier.full_predict(X[300:]).tolist() == full.tolist()
    assert np.mean(labels != full) < 0.2
    assert classifier.predict(X[300:301])[0] == labels[0]
    classifier.save(tmp_path / "classifier")
    loaded = EarlyStoppingClassifier.load(tmp_path / "classifier")
    assert loaded.predict(X[300:]).tolist() == labels.tolist()
    assert clone(classifier).fit(X[:300]).predict(X[300:]).tolist() == labels.tolist()


def test_a_scored_forest_of_spark_tells_sparks_own_probabilities():
    content = json.loads((SPARK / "predictions.json").read_text())
    rows = np.array(content["rows"], np.float64)
    forest = ScoredForest.from_spark(SPARK)
    classifier = early_stop(forest, np.tile(rows, (20, 1)), 0.3, random_state=0)
    sums = np.array(content["sums"])
    own = sums[:, 1] / sums.sum(axis=1)
    np.testing.assert_allclose(classifier.predict_proba(rows)[:, 1], own, rtol=0, atol=1e-14)
    assert classifier.full_predict(rows).tolist() == content["forest"]


def test_rows_with_texts_reach_a_forest_of_ranger():
    content = json.loads((GOLDEN / "ranger-forest" / "ordered-factor-predictions.json").read_text())
    rows = [[float(a), float(b), size] for a, b, size in content["rows"]]
    forest = PackedForest.from_ranger(GOLDEN / "ranger-forest" / "ordered-factor.json")
    classifier = early_stop(forest, rows, 0.1, confidence=None, random_state=0)
    assert classifier.full_predict(rows).tolist() == content["forest"]
    assert len(classifier.predict(rows[:1])) == 1


@pytest.mark.parametrize(
    ("kind", "voting", "needed"),
    [(PackedForest, "soft", "ScoredForest"), (ScoredForest, "hard", "PackedForest")],
)
def test_a_forest_that_cannot_vote_as_asked_is_refused(kind, voting, needed):
    with pytest.raises(InvalidInputError, match=f"voting='{voting}' needs a {needed}, got a {kind.__name__}"):
        early_stop(kind.from_spark(SPARK), rows_of_spark(), voting=voting)


def test_rows_of_the_wrong_width_are_refused():
    with pytest.raises(ValueError, match="expecting 4 features"):
        early_stop(PackedForest.from_spark(SPARK), rows_of_spark()[:, :3], 0.1, confidence=None)

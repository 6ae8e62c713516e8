"""Every model, of any number of classes: everyone together is its own predict, early stops keep the limit."""

import pickle
from functools import cache

import lightgbm
import numpy as np
import pandas
import pytest
import xgboost
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import InvalidInputError
from foregone.forest import Forest
from tests.classifier.models import CATBOOST, catboost_models

LIMIT = 0.05
# Labels in an order that is not that of their numbers.
LABELS = {
    "numbers": [0, 1, 2, 3],
    "texts": ["elm", "ash", "oak", "fir"],
    "negative numbers": [-7, 4, -1, 0],
}


@cache
def rows(n_classes):
    return make_classification(
        3400, 7, n_informative=5, n_redundant=0, n_classes=n_classes, n_clusters_per_class=2, class_sep=1.2,
        flip_y=0.1, random_state=1,
    )  # fmt: skip


def part(which, n_classes, labels="numbers"):
    X, y = rows(n_classes)
    place = {"fit": slice(0, 500), "calibrate": slice(500, 2000)}.get(which, slice(2000, None))
    return X[place], np.array(LABELS[labels])[y[place]]


def members():
    return [
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
        ("leaf", DecisionTreeClassifier(max_depth=2, random_state=0)),
        ("near", KNeighborsClassifier(9)),
        ("forest", RandomForestClassifier(3, random_state=0)),
    ]


MODELS = {
    "forest": RandomForestClassifier(15, random_state=0),
    "tuned forest": RandomForestClassifier(15, min_samples_leaf=4, random_state=0),
    "balanced forest": RandomForestClassifier(15, max_depth=5, class_weight="balanced", random_state=0),
    "extra trees": ExtraTreesClassifier(15, random_state=0),
    "shallow extra trees": ExtraTreesClassifier(
        15, max_depth=4, class_weight="balanced_subsample", bootstrap=True, random_state=0
    ),
    "bag of trees": BaggingClassifier(DecisionTreeClassifier(), 11, max_features=0.6, random_state=0),
    "bag of stumps": BaggingClassifier(DecisionTreeClassifier(max_depth=2), 11, random_state=0),
    "bag of tiny samples": BaggingClassifier(DecisionTreeClassifier(), 11, max_samples=4, random_state=0),
    "bag of others": BaggingClassifier(GaussianNB(), 7, max_features=0.6, random_state=0),
    "bag of tiny samples of others": BaggingClassifier(
        KNeighborsClassifier(2), 9, max_samples=5, random_state=0
    ),
    "bag without probabilities": BaggingClassifier(RidgeClassifier(), 7, max_samples=30, random_state=0),
    "hard committee": VotingClassifier(members()),
    "weighted committee": VotingClassifier(members(), weights=[1, 3, 2, 2, 1]),
    "soft committee": VotingClassifier(members(), voting="soft"),
    "weighted soft committee": VotingClassifier(members(), voting="soft", weights=[1, 3, 2, 2, 1]),
    "committee less one": VotingClassifier(
        [*members(), ("gone", "drop")], voting="soft", weights=[1, 3, 2, 2, 1, 9]
    ),
    "gradients": GradientBoostingClassifier(n_estimators=12, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=12, random_state=0),
    "histograms that stop early": HistGradientBoostingClassifier(
        max_iter=50, early_stopping=True, n_iter_no_change=2, learning_rate=0.5, random_state=0
    ),
    "adaboost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=10, random_state=0),
    "adaboost of others": AdaBoostClassifier(GaussianNB(), n_estimators=6, random_state=0),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=12, verbose=-1, n_jobs=1),
    "lightgbm, each class alone": lightgbm.LGBMClassifier(
        n_estimators=12, objective="multiclassova", verbose=-1, n_jobs=1
    ),
    "xgboost": xgboost.XGBClassifier(n_estimators=12, n_jobs=1),
    "xgboost forest": xgboost.XGBClassifier(
        n_estimators=4, num_parallel_tree=3, subsample=0.7, n_jobs=1, random_state=0
    ),
    **catboost_models(
        **{
            "catboost": {"iterations": 12},
            "catboost, each class alone": {"iterations": 12, "loss_function": "MultiClassOneVsAll"},
        }
    ),
}  # fmt: skip
MANY_ONLY = ("lightgbm, each class alone", "catboost, each class alone")
# They add up float32, or make probabilities of float32.
ROUNDED = {"xgboost": 1e-6, "xgboost forest": 1e-6}


def most(limit, n_rows):
    """Return how large a share of fresh rows may differ, three standard deviations above the limit."""
    return limit + 3 * np.sqrt(limit / n_rows)


@cache
def fitted(name, n_classes, labels="numbers"):
    return clone(MODELS[name]).fit(*part("fit", n_classes, labels))


@cache
def stopped(name, n_classes):
    return early_stop(fitted(name, n_classes), part("calibrate", n_classes)[0], LIMIT, random_state=0)


CASES = [(name, k) for name in MODELS for k in (2, 3, 4) if not (k == 2 and name in MANY_ONLY)]


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_everyone_together_is_the_models_own_predict(name, n_classes):
    model, classifier, X = fitted(name, n_classes), stopped(name, n_classes), part("test", n_classes)[0]
    own = np.ravel(model.predict(X))
    assert len(np.unique(own)) == n_classes
    np.testing.assert_array_equal(classifier.full_predict(X), own)
    if hasattr(model, "predict_proba"):
        tolerance = ROUNDED.get(name, 1e-12)
        np.testing.assert_allclose(
            classifier.predict_proba(X), model.predict_proba(X), rtol=0, atol=tolerance
        )
    else:
        assert name in ("hard committee", "weighted committee")


def test_members_of_tiny_samples_have_not_seen_all_classes():
    bag = fitted("bag of tiny samples of others", 4)
    assert min(len(member.classes_) for member in bag.estimators_) < 4


def test_trees_in_a_bag_may_not_have_seen_all_classes():
    X, y = part("fit", 4)
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=3), 6, random_state=0).fit(X, y)
    for left_out in range(4):  # as a bag leaves it that draws rows without weights
        bag.estimators_[left_out].fit(X[y != left_out], y[y != left_out])
    classifier, fresh = early_stop(bag, part("calibrate", 4)[0], LIMIT, random_state=0), part("test", 4)[0]
    assert isinstance(classifier.ensemble_, Forest)
    np.testing.assert_array_equal(classifier.full_predict(fresh), bag.predict(fresh))
    np.testing.assert_allclose(classifier.predict_proba(fresh), bag.predict_proba(fresh), atol=1e-12)


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_the_limit_is_kept_on_fresh_rows_by_asking_fewer(name, n_classes):
    classifier, X = stopped(name, n_classes), part("test", n_classes)[0]
    own = np.ravel(fitted(name, n_classes).predict(X))
    labels, asked, came_to = classifier.predict_with_votes(X)
    assert np.mean(labels != own) <= most(LIMIT, 1400)
    assert asked.mean() < classifier.ensemble_.n_voters
    np.testing.assert_array_equal(classifier.predict(X), labels)
    if classifier.voting_ == "soft" and n_classes > 2:
        assert came_to.shape == (len(X), n_classes)
        np.testing.assert_array_equal(classifier.classes_[came_to.argmax(axis=1)], labels)


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_one_row_is_answered_as_in_a_batch(name, n_classes):
    classifier, X = stopped(name, n_classes), part("test", n_classes)[0][:8]
    labels = classifier.predict(X)
    assert [classifier.predict(X[k : k + 1])[0] for k in range(len(X))] == labels.tolist()
    if isinstance(classifier.ensemble_, Forest):
        np.testing.assert_array_equal(classifier.predict(np.asfortranarray(X)), labels)


@pytest.mark.parametrize(("name", "n_classes"), [case for case in CASES if case[1] != 4])
def test_curtailment_without_rows_agrees_on_every_row(name, n_classes):
    model, X = fitted(name, n_classes), part("test", n_classes)[0]
    classifier = early_stop(model)
    np.testing.assert_array_equal(classifier.predict(X), np.ravel(model.predict(X)))


@pytest.mark.parametrize("labels", ["texts", "negative numbers"])
@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("xgboost")])
def test_labels_may_be_texts_and_numbers_in_any_order(name, labels):
    """XGBoost takes numbers from 0 on only."""
    model, X = fitted(name, 3, labels), part("test", 3)[0]
    classifier = early_stop(model, part("calibrate", 3)[0], LIMIT, random_state=0)
    own = np.ravel(model.predict(X))
    assert classifier.classes_.tolist() == sorted(LABELS[labels][:3])
    np.testing.assert_array_equal(classifier.full_predict(X), own)
    assert np.mean(classifier.predict(X) != own) <= most(LIMIT, 1400)


@pytest.mark.parametrize("name", ["forest", "tuned forest", "gradients", "histograms", "bag of others"])
def test_labels_may_be_true_and_false(name):
    X, y = part("fit", 2)
    model, fresh = clone(MODELS[name]).fit(X, y == 1), part("test", 2)[0]
    classifier = early_stop(model, part("calibrate", 2)[0], LIMIT, random_state=0)
    assert classifier.full_predict(fresh).dtype == np.bool_
    np.testing.assert_array_equal(classifier.full_predict(fresh), model.predict(fresh))


@pytest.mark.parametrize(
    "name", ["forest", "tuned forest", "histograms", *CATBOOST, "lightgbm", "bag of others"]
)
def test_frames_of_many_classes_are_taken_by_name(name):
    names = [f"c{number}" for number in range(7)]
    frames = {
        which: pandas.DataFrame(part(which, 3)[0], columns=names) for which in ("fit", "calibrate", "test")
    }
    model = clone(MODELS[name]).fit(frames["fit"], part("fit", 3)[1])
    classifier = early_stop(model, frames["calibrate"], LIMIT, random_state=0)
    assert classifier.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(
        classifier.full_predict(frames["test"]), np.ravel(model.predict(frames["test"]))
    )
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frames["test"][names[::-1]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_list_votes(n_classes):
    models = [clone(model).fit(*part("fit", n_classes)) for _, model in members()]
    X = part("test", n_classes)[0]
    hard = early_stop(models, part("calibrate", n_classes)[0], LIMIT, random_state=0)
    said = np.stack([model.predict(X) for model in models], axis=1)
    counts = np.stack([(said == label).sum(axis=1) for label in range(n_classes)], axis=1)
    np.testing.assert_array_equal(hard.full_predict(X), counts.argmax(axis=1))
    soft = early_stop(models, part("calibrate", n_classes)[0], LIMIT, voting="soft", random_state=0)
    means = np.mean([model.predict_proba(X) for model in models], axis=0)
    assert np.mean(soft.full_predict(X) != means.argmax(axis=1)) <= 1 / len(X)  # but for ties
    assert np.mean(soft.predict(X) != means.argmax(axis=1)) <= most(LIMIT, 1400)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_categories_and_missing_values_of_histograms_are_taken(n_classes):
    rng, names = np.random.default_rng(0), [f"c{number}" for number in range(8)]

    def frame(which):
        X = part(which, n_classes)[0].copy()
        texts = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-1, 1])]
        X[rng.random(X.shape) < 0.1] = np.nan
        table = pandas.DataFrame(X, columns=names[:7])
        return table.assign(c7=pandas.Categorical(texts, categories=["low", "middle", "high"]))

    model = HistGradientBoostingClassifier(max_iter=12, categorical_features="from_dtype", random_state=0)
    model.fit(frame("fit"), part("fit", n_classes)[1])
    classifier, fresh = early_stop(model, frame("calibrate"), LIMIT, random_state=0), frame("test")
    np.testing.assert_array_equal(classifier.full_predict(fresh), model.predict(fresh))
    np.testing.assert_allclose(classifier.predict_proba(fresh), model.predict_proba(fresh), atol=1e-12)
    assert np.mean(classifier.predict(fresh) != model.predict(fresh)) <= most(LIMIT, 1400)


@pytest.mark.parametrize("name", ["gradients", "histograms", "lightgbm", "xgboost"])
def test_where_each_class_has_trees_of_its_own_every_tree_is_a_voter(name):
    classifier, X = stopped(name, 4), part("test", 4)[0]
    assert classifier.ensemble_.n_voters == 4 * classifier.ensemble_.n_steps == 48
    _, asked, sums = classifier.predict_with_votes(X)
    dropped = np.isneginf(sums)
    assert dropped.any()
    assert not dropped.all(axis=1).any()
    assert (asked < 48).any()
    assert (asked <= 48).all()
    looked = early_stop(fitted(name, 4), part("calibrate", 4)[0], LIMIT, looks=4, random_state=0)
    assert set(looked.strategy_.looks) <= {4, 8, 12}  # rounds, which ask one tree for each class


# Weights -------------------------------------------------------------------------------------


def weighted(name, class_weight):
    return clone(MODELS[name]).set_params(class_weight=class_weight)


FORESTS = ["forest", "tuned forest", "shallow extra trees"]
WEIGHTED = [(name, kind) for name in [*FORESTS, "histograms", "lightgbm"] for kind in ("balanced", "dict")]
WEIGHTED += [(name, "balanced_subsample") for name in FORESTS]  # which only forests draw


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("name", "kind"), WEIGHTED)
def test_weights_of_classes_are_in_the_models_own_answers(name, kind, n_classes):
    class_weight = {0: 1.5, 1: 1.0, 2: 0.7} if kind == "dict" else kind
    if n_classes == 2 and kind == "dict":
        del class_weight[2]
    model, X = weighted(name, class_weight).fit(*part("fit", n_classes)), part("test", n_classes)[0]
    classifier = early_stop(model, part("calibrate", n_classes)[0], LIMIT, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(X), model.predict(X))
    assert np.mean(classifier.predict(X) != model.predict(X)) <= most(LIMIT, 1400)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "name",
    ["forest", "tuned forest", "gradients", "histograms", "adaboost", "lightgbm", "xgboost", *CATBOOST],
)
def test_weights_of_rows_are_in_the_models_own_answers(name, n_classes):
    X, y = part("fit", n_classes)
    weights = np.random.default_rng(0).exponential(size=len(X)) * np.where(y == 0, 3, 1)
    model, fresh = clone(MODELS[name]).fit(X, y, sample_weight=weights), part("test", n_classes)[0]
    own = np.ravel(model.predict(fresh))
    assert (own != np.ravel(fitted(name, n_classes).predict(fresh))).any()
    classifier = early_stop(model, part("calibrate", n_classes)[0], LIMIT, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(fresh), own)
    one, other = (
        EarlyStoppingClassifier(
            clone(MODELS[name]), max_disagreement=0.3, calibration_size=0.3, random_state=0
        )
        .fit(X, y, sample_weight=given)
        .full_predict(fresh)
        for given in (weights, None)
    )
    assert (one != other).any()


# Groups, clusters, copies and files ------------------------------------------------------------


@pytest.mark.parametrize("name", ["forest", "tuned forest", "histograms", "soft committee"])
def test_groups_of_many_classes_keep_the_limit_each(name):
    X = part("calibrate", 3)[0]
    groups = np.where(X[:, 0] > 0, "high", "low")
    classifier = early_stop(fitted(name, 3), X, 0.1, groups=groups, random_state=0)
    assert set(classifier.promise_.bound) == {"high", "low"}
    fresh = part("test", 3)[0]
    wrong = classifier.predict(fresh) != np.ravel(fitted(name, 3).predict(fresh))
    for chosen in (fresh[:, 0] > 0, fresh[:, 0] <= 0):
        assert wrong[chosen].mean() <= most(0.1, chosen.sum())


@pytest.mark.parametrize("name", ["forest", "tuned forest", "histograms"])
def test_clusters_of_many_classes_count_as_one(name):
    X = part("calibrate", 3)[0]
    classifier = early_stop(fitted(name, 3), X, 0.1, clusters=np.arange(len(X)) // 3, random_state=0)
    assert classifier.promise_.in_clusters
    fresh = part("test", 3)[0]
    assert np.mean(classifier.predict(fresh) != np.ravel(fitted(name, 3).predict(fresh))) <= most(0.1, 1400)


@pytest.mark.parametrize("name", MODELS)
def test_copies_and_files_answer_as_before(name, tmp_path):
    classifier, X = stopped(name, 3), part("test", 3)[0][:200]
    others = [pickle.loads(pickle.dumps(classifier))]  # noqa: S301  # our own
    if isinstance(classifier.ensemble_, Forest):
        classifier.save(tmp_path / "file")
        others.append(EarlyStoppingClassifier.load(tmp_path / "file"))
    else:
        with pytest.raises(InvalidInputError, match="only forests of decision trees can be saved"):
            classifier.save(tmp_path / "file")
    for other in others:
        for mine, theirs in zip(classifier.predict_with_votes(X), other.predict_with_votes(X), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        if hasattr(classifier, "predict_proba"):
            np.testing.assert_array_equal(other.predict_proba(X), classifier.predict_proba(X))

"""Whatever holds an ensemble is stopped as the ensemble itself: pipelines, searches, boosters, forests."""

import pickle

import lightgbm
import numpy as np
import pandas
import pytest
import skops.io
import xgboost
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import InvalidInputError
from foregone.forest import PluralityForest, ScoredForest

X, Y = make_classification(4000, n_informative=6, random_state=0)
X3, Y3 = make_classification(2000, n_informative=6, n_classes=3, random_state=0)
TRAIN, CALIBRATE, TEST = slice(0, 1000), slice(1000, 3000), slice(3000, 4000)
SETTINGS = {"max_disagreement": 0.05, "random_state": 0}


def members():
    return [("a", GaussianNB()), ("b", LogisticRegression()), ("c", RidgeClassifier())]


ENSEMBLES = {
    "votes": RandomForestClassifier(21, random_state=0),
    "scores": RandomForestClassifier(21, min_samples_leaf=5, random_state=0),
    "boosted": HistGradientBoostingClassifier(max_iter=20),
    "voters": VotingClassifier(members()),
    "bag of voters": BaggingClassifier(LogisticRegression(), 7, max_features=0.8, random_state=0),
}
WRAPPERS = {
    "pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "longer pipeline": lambda model: make_pipeline("passthrough", make_pipeline(StandardScaler(), model)),
    "pipeline of one": lambda model: make_pipeline(model),
    "search": lambda model: GridSearchCV(model, {}, cv=2),
    "random search": lambda model: RandomizedSearchCV(
        make_pipeline(StandardScaler(), model), {}, n_iter=1, cv=2
    ),
    "frozen": lambda model: FrozenEstimator(model),
    "all": lambda model: FrozenEstimator(GridSearchCV(make_pipeline(StandardScaler(), model), {}, cv=2)),
}  # fmt: skip


def same(one, other, rows, others_rows):
    for mine, theirs in zip(one.predict_with_votes(rows), other.predict_with_votes(others_rows), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.predict(rows[:1]), one.predict(rows)[:1])
    np.testing.assert_array_equal(one.full_predict(rows), other.full_predict(others_rows))


@pytest.mark.parametrize("ensemble", ENSEMBLES)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_what_holds_an_ensemble_is_stopped_as_the_ensemble_itself(wrapper, ensemble):
    scaler = StandardScaler().fit(X[TRAIN])
    scales = wrapper not in ("pipeline of one", "search", "frozen")
    plain = (lambda rows: scaler.transform(rows)) if scales else (lambda rows: rows)
    model = clone(ENSEMBLES[ensemble]).fit(plain(X[TRAIN]), Y[TRAIN])
    wrapped = WRAPPERS[wrapper](clone(ENSEMBLES[ensemble]))
    if wrapper == "frozen":
        wrapped = FrozenEstimator(model)
    elif wrapper == "all":
        wrapped.estimator.fit(X[TRAIN], Y[TRAIN])
    else:
        wrapped.fit(X[TRAIN], Y[TRAIN])
    one = early_stop(wrapped, X[CALIBRATE], **SETTINGS)
    other = early_stop(model, plain(X[CALIBRATE]), **SETTINGS)
    assert one.expected_votes_ < one.ensemble_.n_voters
    same(one, other, X[TEST], plain(X[TEST]))
    np.testing.assert_array_equal(one.full_predict(X[TEST]), wrapped.predict(X[TEST]))
    assert hasattr(one, "predict_proba") == hasattr(other, "predict_proba") == (ensemble != "voters")
    if ensemble != "voters":
        np.testing.assert_array_equal(one.predict_proba(X[TEST]), other.predict_proba(plain(X[TEST])))


@pytest.mark.parametrize("wrapper", ["pipeline", "search", "random search"])
def test_what_is_not_fitted_yet_is_fitted_on_the_rows_that_are_not_held_out(wrapper):
    wrapped = WRAPPERS[wrapper](RandomForestClassifier(21))
    classifier = EarlyStoppingClassifier(wrapped, calibration_size=0.5, **SETTINGS).fit(X[:3000], Y[:3000])
    again = clone(classifier).fit(X[:3000], Y[:3000])
    assert classifier.score(X[TEST], Y[TEST]) > 0.85
    assert (classifier.predict(X[TEST]) != classifier.full_predict(X[TEST])).mean() <= 0.06
    np.testing.assert_array_equal(classifier.predict(X[TEST]), again.predict(X[TEST]))


def test_three_classes_behind_a_pipeline():
    model = make_pipeline(StandardScaler(), RandomForestClassifier(15, random_state=0)).fit(
        X3[:600], Y3[:600]
    )
    classifier = early_stop(model, X3[600:1500], 0.05, random_state=0)
    assert isinstance(classifier.ensemble_.ensemble, PluralityForest)
    packed = PluralityForest.from_sklearn(model[-1])
    votes = packed.votes(model[:-1].transform(X3[1500:]))
    np.testing.assert_array_equal(classifier.full_votes(X3[1500:]), votes)


class Counted(TransformerMixin, BaseEstimator):
    """Notes how many rows it is given each time."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        CALLS.append(X.shape[0])
        return 2.0 * X


CALLS = []


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_the_steps_before_an_ensemble_run_once(ensemble, n_classes):
    rows, labels = (X[:2000], Y[:2000]) if n_classes == 2 else (X3, Y3)
    model = make_pipeline(Counted(), clone(ENSEMBLES[ensemble])).fit(rows[:600], labels[:600])
    CALLS.clear()
    classifier = early_stop(model, rows[600:1500], **SETTINGS)
    assert CALLS == [900, 900]  # once here, and once in the model's own predict
    for ask in ("predict", "predict_with_votes", "full_predict"):
        CALLS.clear()
        getattr(classifier, ask)(rows[1500:])
        assert CALLS == [500]
    CALLS.clear()
    classifier.predict(rows[:1])
    assert CALLS == [1]
    np.testing.assert_array_equal(classifier.full_predict(rows[1500:]), model.predict(rows[1500:]))


@pytest.mark.parametrize("ensemble", [*ENSEMBLES, "soft voters"])
@pytest.mark.parametrize("wrapper", ["pipeline", "longer pipeline", "search", "random search"])
def test_many_classes_behind_whatever_holds_the_ensemble(wrapper, ensemble):
    soft = VotingClassifier(members()[:2], voting="soft")
    model = WRAPPERS[wrapper](clone(ENSEMBLES.get(ensemble, soft))).fit(X3[:600], Y3[:600])
    classifier = early_stop(model, X3[600:1500], 0.1, random_state=0)
    np.testing.assert_array_equal(classifier.full_predict(X3[1500:]), model.predict(X3[1500:]))
    assert np.mean(classifier.predict(X3[1500:]) != model.predict(X3[1500:])) <= 0.13
    if hasattr(model, "predict_proba"):
        own = model.predict_proba(X3[1500:])
        np.testing.assert_allclose(classifier.predict_proba(X3[1500:]), own, atol=1e-12)


def test_a_pipeline_takes_frames_texts_and_sparse_rows():
    frame = pandas.DataFrame({"colour": np.array(["red", "green", "blue"])[Y3], "size": X3[:, 0]})
    columns = make_column_transformer(
        (OneHotEncoder(), ["colour"]), ("passthrough", ["size"]), sparse_threshold=1.0
    )
    model = make_pipeline(columns, RandomForestClassifier(15, random_state=0)).fit(frame[:600], Y3[:600] > 0)
    classifier = early_stop(model, frame[600:], 0.05, random_state=0)
    assert classifier.feature_names_in_.tolist() == ["colour", "size"]
    np.testing.assert_array_equal(classifier.full_predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[["size"]])
    texts = [f"{'good' if label else 'bad'} {number % 7}" for number, label in enumerate(Y)]
    model = make_pipeline(CountVectorizer(), RandomForestClassifier(15, random_state=0)).fit(texts, Y)
    classifier = early_stop(model, texts, 0.05, random_state=0)
    assert classifier.predict(texts[:50]).tolist() == Y[:50].tolist()
    assert classifier.predict(texts[:1]).tolist() == Y[:1].tolist()


def test_a_pipeline_is_pickled_but_not_saved_without_pickle(tmp_path):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(15, random_state=0)).fit(
        X[TRAIN], Y[TRAIN]
    )
    classifier = early_stop(model, X[CALIBRATE], **SETTINGS)
    with pytest.raises(
        InvalidInputError, match=r"a classifier of a pipeline cannot be saved.*StandardScaler"
    ):
        classifier.save(tmp_path / "file")
    skops.io.dump(classifier, tmp_path / "skops")
    trusted = skops.io.get_untrusted_types(file=tmp_path / "skops")
    for other in (
        pickle.loads(pickle.dumps(classifier)),  # noqa: S301  # our own
        skops.io.load(tmp_path / "skops", trusted=trusted),
    ):
        np.testing.assert_array_equal(other.predict(X[TEST]), classifier.predict(X[TEST]))


def test_a_search_that_keeps_no_model_is_refused():
    search = GridSearchCV(RandomForestClassifier(5), {}, cv=2, refit=False).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(InvalidInputError, match="refit=False, so it has no best_estimator_"):
        early_stop(search, X[CALIBRATE])
    with pytest.raises(InvalidInputError, match="refit=False"):
        EarlyStoppingClassifier(search).fit(X, Y)


@pytest.mark.parametrize("last", [LogisticRegression(), "passthrough"])
def test_a_pipeline_that_ends_in_no_ensemble_is_refused(last):
    model = Pipeline([("scale", StandardScaler()), ("last", last)]).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"LogisticRegression has no members|should be a classifier"):
        early_stop(model, X)


BOOSTED = {
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, sigmoid=2.0, n_jobs=1),
    "lightgbm forest": lambda: lightgbm.LGBMClassifier(
        boosting_type="rf", bagging_freq=1, bagging_fraction=0.5, n_estimators=20, verbose=-1, n_jobs=1
    ),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=20, n_jobs=1),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=20),
    "gradients": lambda: GradientBoostingClassifier(n_estimators=20),
    "exponential": lambda: GradientBoostingClassifier(n_estimators=20, loss="exponential"),
    "adaboost": lambda: AdaBoostClassifier(n_estimators=20),
}


@pytest.mark.parametrize("kind", [*BOOSTED, "scores"])
def test_a_forest_with_scores_knows_all_that_its_model_knows(tmp_path, kind):
    model = (ENSEMBLES if kind == "scores" else BOOSTED)[kind]
    model = (clone(model) if kind == "scores" else model()).fit(X[TRAIN], Y[TRAIN])
    forest = ScoredForest.from_model(model)
    forest.save(tmp_path / "forest")
    own = model.predict_proba(X[TEST])
    by_model = early_stop(model, X[CALIBRATE], **SETTINGS)
    for packed in (forest, ScoredForest.load(tmp_path / "forest")):
        classifier = early_stop(packed, X[CALIBRATE], **SETTINGS)
        assert classifier.strategy_.order.tolist() == by_model.strategy_.order.tolist()
        np.testing.assert_allclose(classifier.predict_proba(X[TEST]), own, atol=1e-6)
        classifier.save(tmp_path / "classifier")
        loaded = EarlyStoppingClassifier.load(tmp_path / "classifier")
        np.testing.assert_array_equal(loaded.predict_proba(X[TEST]), classifier.predict_proba(X[TEST]))
        assert loaded.ensemble_.in_order == forest.in_order == (kind != "scores")
    assert (np.diff(by_model.strategy_.order) == 1).all() == (kind != "scores")
    np.testing.assert_allclose(by_model.predict_proba(X[TEST]), own, atol=1e-6)


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("wrap", [lambda booster: booster, FrozenEstimator])
def test_a_booster_is_stopped_as_the_classifier_around_it(kind, wrap):
    model = BOOSTED[kind]().fit(X[TRAIN], Y[TRAIN])
    booster = wrap(model.booster_ if kind == "lightgbm" else model.get_booster())
    one, other = (early_stop(it, X[CALIBRATE], **SETTINGS) for it in (booster, model))
    same(one, other, X[TEST], X[TEST])
    np.testing.assert_array_equal(one.predict_proba(X[TEST]), other.predict_proba(X[TEST]))
    np.testing.assert_array_equal(
        EarlyStoppingClassifier(booster, **SETTINGS).fit(X[CALIBRATE]).predict(X[TEST]), one.predict(X[TEST])
    )
    with pytest.raises(InvalidInputError, match="members of Booster do not vote"):
        early_stop(booster, X[CALIBRATE], voting="hard")


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_a_booster_for_several_classes_is_stopped_as_the_classifier_around_it(kind):
    model = BOOSTED[kind]().fit(X3[:600], Y3[:600])
    booster = model.booster_ if kind == "lightgbm" else model.get_booster()
    one, other = (early_stop(it, X3[600:1500], **SETTINGS) for it in (booster, model))
    same(one, other, X3[1500:], X3[1500:])
    np.testing.assert_array_equal(one.full_predict(X3[1500:]), model.predict(X3[1500:]))
    np.testing.assert_array_equal(one.predict_proba(X3[1500:]), other.predict_proba(X3[1500:]))


def test_a_packed_forest_of_several_classes_is_stopped_as_the_model_it_was_made_of(tmp_path):
    model = RandomForestClassifier(15, random_state=0).fit(X3[:600], Y3[:600])
    forest = PluralityForest.from_sklearn(model)
    for given in (forest, FrozenEstimator(forest)):
        one, other = (early_stop(it, X3[600:1500], 0.05, random_state=0) for it in (given, model))
        assert one.ensemble_ is forest
        same(one, other, X3[1500:], X3[1500:])
        np.testing.assert_array_equal(one.predict_proba(X3), other.predict_proba(X3))
    one.save(tmp_path / "file")
    np.testing.assert_array_equal(
        EarlyStoppingClassifier.load(tmp_path / "file").predict(X3), one.predict(X3)
    )
    with pytest.raises(InvalidInputError, match="voting='soft' needs a ScoredForest, got a PluralityForest"):
        early_stop(forest, X3, voting="soft")


def test_a_packed_forest_for_any_number_of_classes_may_have_two():
    model = RandomForestClassifier(15, random_state=0).fit(X[TRAIN], Y[TRAIN])
    classifier = early_stop(PluralityForest.from_sklearn(model), X[CALIBRATE], **SETTINGS)
    assert classifier.expected_votes_ < 15
    np.testing.assert_array_equal(classifier.full_predict(X[TEST]), model.predict(X[TEST]))


def test_lightgbm_knows_columns_with_spaces_in_their_names_by_others():
    frame = pandas.DataFrame(X, columns=[f"column {number}" for number in range(X.shape[1])])
    model = BOOSTED["lightgbm"]().fit(frame[TRAIN], Y[TRAIN])
    classifier = early_stop(model, frame[CALIBRATE], **SETTINGS)
    assert classifier.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(classifier.full_predict(frame[TEST]), model.predict(frame[TEST]))
    with pytest.raises(ValueError, match="feature names"):
        early_stop(model, frame[frame.columns[::-1]][CALIBRATE], **SETTINGS)

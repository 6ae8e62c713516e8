"""More than two classes: votes are counted, the most of them win, and stopping early keeps to its limit."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, PluralityStrategy, early_stop
from foregone.classifier import CalibrationWarning, HardVoteWarning
from foregone.classifier.given_model import GivenModel
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PluralityForest, ScoredForest, container
from foregone.plurality import PluralitySolution, evaluate_plurality, rules
from foregone.plurality.ties import disagreement_with_ties, settle_ties
from tests.forest.simulation import ORDERS, order_named

LABELS = np.array(["ash", "beech", "cedar", "date palm"])
COLUMNS = [f"feature {number}" for number in range(6)]


@cache
def rows(n_rows=4000):
    X, y = make_classification(
        n_rows, 6, n_informative=5, n_redundant=0, n_classes=4, n_clusters_per_class=1, class_sep=1.5,
        flip_y=0.05, random_state=0,
    )  # fmt: skip
    return X, LABELS[y]


def to_fit():
    X, y = rows()
    return X[:600], y[:600]


def calibration():
    return rows()[0][600:2000]


def fresh():
    return rows()[0][2000:]


@cache
def forest(n_trees=21):
    return RandomForestClassifier(n_trees, random_state=0).fit(*to_fit())


@cache
def stopped(order="auto"):
    return early_stop(forest(), calibration(), 0.02, order=order, random_state=0)


def disagreement(classifier, labels, X):
    """The share of labels that are not among the leaders of the full vote."""
    counts = classifier.full_votes(X)
    own = counts[np.arange(len(X)), np.searchsorted(classifier.classes_, labels)]
    return float(np.mean(own < counts.max(axis=1)))


def test_it_asks_few_trees_and_keeps_to_the_limit_on_fresh_rows():
    classifier, X = stopped(), fresh()
    labels, asked, votes = classifier.predict_with_votes(X)
    assert set(labels) == set(LABELS)
    assert disagreement(classifier, labels, X) <= 0.02
    assert 1 < asked.mean() < 12
    assert abs(asked.mean() - classifier.expected_votes_) < 1
    assert (2 * votes > asked).mean() > 0.9
    np.testing.assert_array_equal(classifier.predict(X), labels)
    assert [classifier.predict(X[k : k + 1])[0] for k in range(50)] == labels[:50].tolist()


def test_the_fitted_attributes_tell_what_was_found():
    classifier = stopped(order="shared")
    assert classifier.voting_ == "hard"
    assert isinstance(classifier.ensemble_, PluralityForest)
    assert isinstance(classifier.solution_, PluralitySolution)
    assert classifier.solution_.disagreement <= 0.02
    assert classifier.solution_.confidence == 0.95
    assert classifier.strategy_ == settle_ties(classifier.solution_.strategy)
    assert classifier.votes_.n_observations == len(calibration())
    assert classifier.classes_.tolist() == LABELS.tolist()
    assert classifier.hard_soft_disagreement_ == 0
    assert classifier.calibration_disagreement_ <= 0.03  # on average over orders, 0.02
    assert not hasattr(classifier, "disagreement_by_class_")


def test_asking_everyone_agrees_with_the_forest_itself():
    classifier, X = stopped(), fresh()
    np.testing.assert_array_equal(classifier.full_predict(X), forest().predict(X))
    np.testing.assert_allclose(classifier.predict_proba(X), forest().predict_proba(X), atol=1e-12)
    assert classifier.full_votes(X).shape == (len(X), 4)
    assert (classifier.full_votes(X).sum(axis=1) == 21).all()


@pytest.mark.parametrize("order", ["shared", "per_row"])
def test_what_is_answered_is_what_the_strategy_says_about_the_trees_own_votes(order):
    classifier = early_stop(forest(), calibration(), 0.02, confidence=None, order=order, random_state=1)
    strategy, X = classifier.strategy_, fresh()[:200]
    labels, asked, votes = classifier.predict_with_votes(X)
    said = np.array([tree.predict(X) for tree in forest().estimators_]).astype(int).T
    sure = 0
    for k, x in enumerate(X):
        sequence = classifier.ensemble_.order(classifier.seed_, x if order == "per_row" else None)
        own = LABELS[said[k, sequence]].tolist()
        counts = [own[: asked[k]].count(label) for label in set(own[: asked[k]])]
        assert votes[k] == own[: asked[k]].count(labels[k]) == max(counts)
        assert strategy.stop_probability(counts) > 0
        if not len(strategy.states):
            assert strategy.run(own) == (labels[k], asked[k])
        sure += strategy.stop_probability(counts) == 1
    assert sure > 100


def test_fitting_holds_out_rows_to_calibrate_on():
    classifier = EarlyStoppingClassifier(
        RandomForestClassifier(21), max_disagreement=0.05, calibration_size=0.4, random_state=0
    ).fit(*rows())
    assert classifier.votes_.n_observations == 1600
    assert classifier.score(*rows()) > 0.9


def test_frames_names_and_missing_values_are_taken():
    X, y = rows()
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    frame = pd.DataFrame(X, columns=COLUMNS)
    classifier = EarlyStoppingClassifier(
        RandomForestClassifier(11), max_disagreement=0.05, calibration_size=1000, random_state=0
    ).fit(frame, pd.Series(y))
    assert classifier.feature_names_in_.tolist() == COLUMNS
    labels = classifier.predict(frame)
    assert disagreement(classifier, labels, frame) <= 0.05
    with pytest.warns(UserWarning, match="feature names"):
        assert classifier.predict(X[:1])[0] == labels[0]
    with pytest.raises(ValueError, match="infinity"):
        classifier.predict(frame.replace({COLUMNS[0]: {X[0, 0]: np.inf}}))


@pytest.mark.parametrize("criterion", ["minimixed", "minimax"])
def test_other_criteria_bound_every_single_row(criterion):
    small = RandomForestClassifier(9, random_state=0).fit(*to_fit())
    classifier = early_stop(small, calibration(), 0.1, criterion=criterion, random_state=0)
    assert classifier.solution_.criterion == criterion
    assert classifier.solution_.disagreement <= 0.1 + 1e-9
    assert disagreement(classifier, classifier.predict(fresh()), fresh()) <= 0.1


def committee():
    members = [(f"{depth}", DecisionTreeClassifier(max_depth=depth, random_state=0)) for depth in (2, 4, 6)]
    members += [("line", LogisticRegression()), ("bayes", GaussianNB())]
    return VotingClassifier(members).fit(*to_fit())


def bag():
    return BaggingClassifier(RidgeClassifier(), 7, max_features=4, max_samples=60, random_state=0).fit(
        *to_fit()
    )


def several():
    X, y = to_fit()
    return [GaussianNB().fit(X[start::5], y[start::5]) for start in range(5)]


@pytest.mark.parametrize("order", ["shared", "per_row"])
@pytest.mark.parametrize("make", [committee, bag, several])
@pytest.mark.filterwarnings("ignore", category=HardVoteWarning)
def test_any_voters_may_vote_for_many_classes(make, order):
    model, X = make(), fresh()[:300]
    classifier = early_stop(model, calibration(), 0.05, order=order, random_state=0)
    labels, asked, votes = classifier.predict_with_votes(X)
    assert disagreement(classifier, labels, X) <= 0.05
    assert asked.mean() < classifier.ensemble_.n_voters
    if not isinstance(model, list):
        np.testing.assert_array_equal(classifier.full_predict(X), model.predict(X))
    for k in range(5):
        assert classifier.predict(X[k : k + 1])[0] == labels[k]
    assert (votes <= asked).all()


def test_voters_of_any_kind_are_asked_as_packed_trees_are():
    X = fresh()[:300]
    trees = [DecisionTreeClassifier(max_depth=3, random_state=k).fit(*to_fit()) for k in range(5)]
    packed = BaggingClassifier(DecisionTreeClassifier(), 5).fit(*to_fit())
    packed.estimators_ = [
        DecisionTreeClassifier(max_depth=3, random_state=k).fit(X_, np.searchsorted(LABELS, y_))
        for k, (X_, y_) in enumerate([to_fit()] * 5)
    ]
    packed.estimators_features_ = [np.arange(6)] * 5
    one, other = (GivenModel.of(model).voters("plurality") for model in (trees, packed))
    assert isinstance(other, PluralityForest)
    lattice = rules.lead(5, 2).lattice
    chance = np.random.default_rng(0).choice([0, 0.4, 1], lattice.n_states)
    chance[0], chance[lattice.level[-2] :] = 0, 1
    strategies = (rules.lead(5, 2), PluralityStrategy.from_probabilities(lattice, chance), None)
    for strategy in strategies:
        for order in (order_named(name, 5) for name in ORDERS):
            outcomes = [np.array(asked.run(X, strategy, seed=4, order=order)) for asked in (one, other)]
            np.testing.assert_array_equal(*outcomes)
    np.testing.assert_array_equal(one.votes(X), other.votes(X))


def test_a_forest_that_averages_is_counted_if_told_to_and_a_warning_tells_how_much_that_changes():
    soft = RandomForestClassifier(9, min_samples_leaf=40, random_state=0).fit(*to_fit())
    with pytest.warns(HardVoteWarning, match="averages probabilities"):
        classifier = early_stop(soft, calibration(), 0.01, voting="hard", random_state=0)
    hard = classifier.full_predict(calibration())
    assert classifier.hard_soft_disagreement_ == np.mean(hard != soft.predict(calibration())) > 0


def test_few_rows_without_a_confidence_are_warned_of():
    with pytest.warns(CalibrationWarning, match="too few"):
        early_stop(forest(), calibration()[:50], 1e-3, confidence=None, random_state=0)


def test_a_saved_classifier_predicts_as_before(tmp_path):
    classifier, X = stopped(), fresh()
    classifier.save(tmp_path / "model")
    loaded = EarlyStoppingClassifier.load(tmp_path / "model")
    for one, other in zip(classifier.predict_with_votes(X), loaded.predict_with_votes(X), strict=True):
        np.testing.assert_array_equal(one, other)
    assert loaded.predict(X[:1])[0] == classifier.predict(X[:1])[0]
    assert loaded.expected_votes_ == classifier.expected_votes_
    assert loaded.strategy_ == classifier.strategy_
    names = ("max_disagreement", "criterion", "confidence", "order", "random_state", "voting")
    assert all(getattr(loaded, name) == getattr(classifier, name) for name in names)
    np.testing.assert_array_equal(loaded.predict_proba(X[:9]), classifier.predict_proba(X[:9]))
    with pytest.raises(InvalidInputError, match="only forests of decision trees can be saved"):
        early_stop(several(), calibration(), 0.05, random_state=0).save(tmp_path / "list")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda fields: fields.update(order="sorted"), "order"),
        (
            lambda fields: fields.update(strategy={"kind": "plurality", **rules.lead(9, 2).to_fields()}),
            "9 voters",
        ),
        (lambda fields: fields["problem"].update(criterion="best"), "criterion"),
        (lambda fields: fields["problem"].update(max_disagreement=2.0), "max_disagreement"),
        (lambda fields: fields.update(way="any"), "way"),
        (lambda fields: fields.update(expected_votes=0.5), "expected_votes"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(change, complaint, tmp_path):
    stopped().save(tmp_path / "model")
    fields, arrays = container.read(tmp_path / "model", "classifier")
    content = {name: fields.entry(name) for name in fields._content}
    change(content)
    container.write(tmp_path / "model", "classifier", content, arrays)
    with pytest.raises(FileFormatError, match=complaint):
        EarlyStoppingClassifier.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"max_disagreement": dict.fromkeys(LABELS, 0.1)}, "limits by class need exactly 2 classes"),
        ({"looks": 5, "voting": "hard"}, "looks is not supported for counted votes"),
        ({"answer": "likeliest"}, "needs exactly 2 classes"),
        ({"answer": "likeliest", "voting": "soft"}, "is for counted votes"),
        ({"confidence": None, "voting": "soft"}, "confidence must be a number such as 0.95 for scores"),
        ({"order": "optimized", "confidence": None}, 'order="optimized" is certified'),
        ({"criterion": "best"}, "criterion must be one of"),
        ({"max_disagreement": 2}, "max_disagreement"),
        ({"confidence": 1.5}, "confidence"),
    ],
)
def test_settings_without_a_meaning_among_many_classes_are_refused_before_anything_is_fitted(
    settings, complaint
):
    class NeverFitted(ExtraTreesClassifier):
        def fit(self, *_):
            raise AssertionError("fitted")

    with pytest.raises(InvalidInputError, match=complaint):
        EarlyStoppingClassifier(NeverFitted(21), **settings).fit(*to_fit())
    with pytest.raises(InvalidInputError, match=complaint):
        early_stop(forest(), calibration(), **{"max_disagreement": 0.1, **settings})


def test_too_many_votes_to_be_counted_are_refused_only_by_settings_that_take_counts():
    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400) % 20
    forest = RandomForestClassifier(300, random_state=0)
    for settings in ({"criterion": "minimax"}, {"confidence": None}, {"order": "dealt"}):
        with pytest.raises(
            InvalidInputError, match=r"a vote of 300 voters among 20 different answers .* states"
        ):
            EarlyStoppingClassifier(forest, **settings).fit(X, y)
    forest.set_params(n_estimators=60)
    classifier = EarlyStoppingClassifier(forest, max_disagreement=0.3, calibration_size=0.3, random_state=0)
    assert isinstance(classifier.fit(X, y).ensemble_, ScoredForest)
    assert classifier.voting_ == "hard"


def test_a_plan_is_for_the_calibration_votes_or_for_other_rows(tmp_path):
    classifier, limits = stopped(), [0.1, 0.02]
    kept = classifier.plan(limits)
    assert [row.max_disagreement for row in kept.rows] == limits
    assert kept.rows[0].expected_votes <= kept.rows[1].expected_votes < classifier.ensemble_.n_voters
    classifier.save(tmp_path / "file")
    loaded = EarlyStoppingClassifier.load(tmp_path / "file")
    with pytest.raises(InvalidInputError, match=r"no votes of calibration rows .* give rows to plan with"):
        loaded.plan(limits)
    planned = [one.plan(limits, X=fresh()).rows for one in (classifier, loaded)]
    assert planned[0] == planned[1]


def test_fitting_again_on_two_classes_forgets_the_many():
    classifier = EarlyStoppingClassifier(RandomForestClassifier(9), max_disagreement=0.1, random_state=0)
    X, y = to_fit()
    classifier.fit(X, y)
    classifier.fit(X, y == "ash")
    assert classifier.disagreement_by_class_.keys() == {False, True}
    assert classifier.full_votes(X).ndim == 1


def test_a_class_that_only_held_out_rows_have_is_an_error():
    X, y = to_fit()
    y = np.where(np.arange(len(y)) == 5, "elm", y)
    complaints = []
    for seed in range(20):
        classifier = EarlyStoppingClassifier(
            RandomForestClassifier(3), calibration_size=0.5, random_state=seed
        )
        try:
            classifier.fit(X, y)
        except InvalidInputError as error:
            complaints.append(str(error))
    assert 0 < len(complaints) < 20
    assert all("keep rows of every class to fit on" in text and "'elm'" in text for text in complaints)


# Ties ----------------------------------------------------------------------------------------


@cache
def hard_rows():
    """Ten classes that eleven trees can hardly tell apart: a quarter of the full votes are ties."""
    return make_classification(
        12_000,
        n_informative=8,
        n_classes=10,
        n_clusters_per_class=1,
        class_sep=0.3,
        random_state=0,
    )


@cache
def tied_models():
    X, y = hard_rows()
    model = RandomForestClassifier(11, random_state=0).fit(X[:2000], y[:2000])
    voters = [tree for tree in model.estimators_ if len(tree.classes_) == 10]
    return {"forest": model, "voters": voters}


@pytest.mark.parametrize("order", ["shared", "per_row"])
@pytest.mark.parametrize("name", ["forest", "voters"])
@pytest.mark.parametrize("limit", [0.1, 0.01])
def test_stopping_early_differs_from_the_full_vote_within_the_limit_although_ties_are_many(
    name, limit, order
):
    X, _ = hard_rows()
    fresh = X[7000:] if order == "shared" else X[7000:9000]
    classifier = early_stop(tied_models()[name], X[2000:7000], limit, order=order, random_state=0)
    labels, asked, _ = classifier.predict_with_votes(fresh)
    full, counts = classifier.full_predict(fresh), classifier.full_votes(fresh)
    everyone = asked == classifier.ensemble_.n_voters
    tied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert (everyone & tied).any()
    assert labels[everyone].tolist() == full[everyone].tolist()
    assert np.mean(labels != full) <= limit + 3 * np.sqrt(limit / len(fresh))
    for row in np.flatnonzero(everyone & tied)[:20]:
        assert classifier.predict(fresh[row : row + 1])[0] == full[row]


def test_settling_ties_asks_no_fewer_and_is_wrong_no_more_often():
    strategy = rules.lead(11, 2, n_classes=3)
    before, after = evaluate_plurality(strategy), evaluate_plurality(settle_ties(strategy))
    assert (after.expected_votes >= before.expected_votes - 1e-12).all()
    assert (after.expected_votes > before.expected_votes + 1e-3).any()
    assert (after.disagreement <= before.disagreement + 1e-12).all()


def test_disagreement_with_ties_is_that_of_many_orders():
    strategy = settle_ties(rules.lead(6, 2, n_classes=3))
    expected = disagreement_with_ties(strategy)
    rng = np.random.default_rng(0)
    for place, counts in enumerate(strategy.lattice.compositions()):
        names = rng.permutation(3)
        full = np.bincount(np.repeat(names, counts), minlength=3).argmax()
        wrong = 0
        for _ in range(2000):
            said = rng.permutation(np.repeat(names, counts)).tolist()
            answer, asked = strategy.run(said)
            wrong += asked < 6 and answer != full
        assert wrong / 2000 == pytest.approx(expected[place], abs=0.05)

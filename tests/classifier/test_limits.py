"""Limits by class label, the confidence they are kept with, looks and answers, as the classifier has them."""

import inspect
import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from foregone import EarlyStoppingClassifier, VoteDistribution, early_stop, evaluate, solve
from foregone.classifier import CalibrationWarning, HardVoteWarning, RareClassWarning
from foregone.errors import InvalidInputError
from tests.classifier import models
from tests.forest.simulation import simulate

# A rare class loses on purpose; test_rare_class.py has the warning.
pytestmark = pytest.mark.filterwarnings("ignore", category=RareClassWarning)

KINDS = np.array(["fraud", "regular"])
LIMITS = {"regular": 0.002, "fraud": 0.02}


@pytest.fixture(scope="module")
def rare():
    """A forest for a rare class with names for labels, and 4,000 fresh rows."""
    X, y = make_classification(
        5000, 6, n_informative=4, n_redundant=0, weights=[0.1], flip_y=0.02, random_state=0
    )
    return RandomForestClassifier(25, random_state=0).fit(X[:1000], KINDS[y[:1000]]), X[1000:]


def risk_given(classifier, X, label):
    """The mean disagreement over the rows that the full vote gives to ``label``, row by row."""
    n_yes = classifier.ensemble_.votes(X)[classifier.full_predict(X) == label]
    return evaluate(classifier.strategy_).disagreement[n_yes].mean()


def test_the_defaults_are_these():
    defaults = {
        "max_disagreement": 1e-3, "max_accuracy_loss": None, "costs": None, "threshold": None,
        "voting": "auto", "criterion": "minimean",
        "confidence": 0.95, "looks": None, "answer": "majority",
        "calibration_size": 0.1, "order": "auto", "on_failure": "curtail", "n_jobs": None, "device": "cpu",
        "random_state": None,
    }  # fmt: skip
    parameters = EarlyStoppingClassifier(None).get_params(deep=False)
    assert parameters == {"estimator": None, **defaults}
    of_function = inspect.signature(early_stop).parameters
    expected = {name: value for name, value in defaults.items() if name != "calibration_size"}
    expected |= {"y_calibration": None, "groups": None, "clusters": None}
    assert {name: of_function[name].default for name in list(of_function)[2:]} == expected


# Limits by class ------------------------------------------------------------------------------


def test_a_rare_class_has_a_limit_of_its_own(rare):
    forest, X = rare
    paper = early_stop(forest, X, 0.01, confidence=None, random_state=0)
    assert paper.classes_.tolist() == ["fraud", "regular"]
    assert risk_given(paper, X, "fraud") > 0.05  # one limit for all is spent on the few
    limited = early_stop(forest, X, LIMITS, confidence=None, random_state=0)
    for label in KINDS:
        risk = risk_given(limited, X, label)
        assert risk == pytest.approx(limited.disagreement_by_class_[label], rel=1e-9)
        assert risk == pytest.approx(LIMITS[label], rel=1e-6)
    assert limited.solution_.max_disagreement == {"yes": 0.002, "no": 0.02}


def test_with_a_confidence_more_is_kept_back_the_fewer_rows_there_are(rare):
    forest, X = rare
    classifiers = [early_stop(forest, X[:n_rows], LIMITS, random_state=0) for n_rows in (40, 400, 4000)]
    costs = [evaluate(one.strategy_).mean(classifiers[-1].votes_).expected_votes for one in classifiers]
    assert costs[0] > costs[1] > costs[2]
    for classifier in classifiers:
        assert classifier.disagreement_by_class_ == {
            "fraud": classifier.solution_.disagreement["no"],
            "regular": classifier.solution_.disagreement["yes"],
        }
        for label in KINDS:
            assert classifier.disagreement_by_class_[label] <= LIMITS[label] * (1 + 1e-9)
            assert risk_given(classifier, X, label) < LIMITS[label]


def test_what_becomes_of_each_class_is_told_for_one_limit_too(rare):
    forest, X = rare
    paper = early_stop(forest, X, 0.01, confidence=None, random_state=0)
    for label, risk in paper.disagreement_by_class_.items():
        assert risk == pytest.approx(risk_given(paper, X, label), rel=1e-9)
    sure = early_stop(forest, X, 0.01, order="shared", random_state=0)
    for label, risk in sure.disagreement_by_class_.items():
        assert risk > risk_given(sure, X, label)  # a bound lies above what was seen
    for criterion in ("minimixed", "minimax"):
        worst = early_stop(forest, X, 0.01, criterion=criterion, random_state=0)
        by_class = evaluate(worst.strategy_).worst_by_class()
        assert worst.disagreement_by_class_ == {
            "fraud": by_class["no"].disagreement,
            "regular": by_class["yes"].disagreement,
        }


@pytest.mark.parametrize(
    "keys",
    [
        (np.array([0, 1]), (0, 1)),
        (np.array([0, 1]), (np.int8(0), np.int64(1))),
        (np.array([False, True]), (False, True)),
        (np.array([False, True]), (np.False_, np.True_)),
        (np.array([-3.0, 7.0], np.float32), (-3, np.float64(7))),
        (np.array(["ham", "spam"]), ("ham", np.str_("spam"))),
        (np.array(["ham", "spam"], object), ("ham", "spam")),
        (np.array(["no", "yes"]), ("no", "yes")),
    ],
    ids=str,
)
def test_labels_of_any_type_name_their_limit(keys):
    X, y = models.to_fit()
    classes, (no, yes) = keys
    classifier = EarlyStoppingClassifier(
        RandomForestClassifier(9), max_disagreement={yes: 0.01, no: 0.2}, random_state=0
    ).fit(X, classes[y])
    expected = solve("minimean", classifier.votes_, {"yes": 0.01, "no": 0.2}, confidence=0.95)
    assert classifier.strategy_ == expected.strategy
    np.testing.assert_array_equal(list(classifier.disagreement_by_class_), classes)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"fraud": 0.1}, "one for each of the labels 'fraud' and 'regular' .* got {'fraud': 0.1}"),
        ({"yes": 0.1, "no": 0.1}, "one for each of the labels 'fraud' and 'regular'"),
        ({"fraud": 0.1, "regular": 0.1, "unknown": 0.1}, "one for each of the labels 'fraud' and 'regular'"),
        ({}, "one for each of the labels 'fraud' and 'regular'"),
        (
            {"fraud": 1.5, "regular": 0.1},
            r"max_disagreement\['fraud'\] must be a number from 0 to 1, got 1.5",
        ),
        ({"fraud": 0.1, "regular": None}, r"max_disagreement\['regular'\] must be a number from 0 to 1"),
        ({"fraud": True, "regular": 0.1}, r"max_disagreement\['fraud'\] must be a number from 0 to 1"),
        ([0.1, 0.1], "max_disagreement must be a number from 0 to 1"),
    ],
    ids=str,
)
def test_limits_for_other_labels_are_refused_before_anything_is_fitted(rare, limits, message):
    forest, X = rare
    with pytest.raises(InvalidInputError, match=message):
        early_stop(forest, X, max_disagreement=limits)
    never = RandomForestClassifier("never fitted")
    with pytest.raises(InvalidInputError, match=message):
        EarlyStoppingClassifier(never, max_disagreement=limits).fit(X, KINDS[np.arange(len(X)) % 2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": 1.0}, "confidence must be strictly between 0 and 1"),
        ({"confidence": "high"}, "confidence must be a number from 0 to 1"),
        ({"looks": 0}, "looks must be an integer k of at least 1"),
        ({"looks": [5, 12]}, "from 0 to 11, got"),
        ({"looks": []}, "looks must be"),
        ({"answer": "unlikeliest"}, "answer must be one of majority, likeliest"),
        ({"answer": "likeliest", "criterion": "minimax"}, "minimax.*which assumes none"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_fitted(settings, message):
    never = RandomForestClassifier(11, max_depth="never fitted")
    with pytest.raises(InvalidInputError, match=message):
        EarlyStoppingClassifier(never, **settings).fit(*models.to_fit())
    if "looks" not in settings:
        with pytest.raises(InvalidInputError, match=message):
            early_stop(models.forest(11), models.fresh(), **settings)


def test_a_model_without_sense_is_refused_in_its_own_words():
    for model in (
        RandomForestClassifier(n_estimators=0),
        RandomForestClassifier(n_estimators="many"),
        VotingClassifier(None),
        VotingClassifier([]),
    ):
        with pytest.raises(ValueError, match=r"'n_estimators' parameter|'estimators'"):
            EarlyStoppingClassifier(model).fit(*models.to_fit())


# Confidence -----------------------------------------------------------------------------------


def test_the_limit_is_kept_on_all_rows_in_nearly_all_calibrations():
    """The fresh rows are the truth here, and calibration rows are drawn from them."""
    X, forest, rng = models.fresh(), FrozenEstimator(models.forest()), np.random.default_rng(0)
    n_yes = EarlyStoppingClassifier(forest, random_state=0).fit(X).ensemble_.votes(X)
    broken = Counter()
    for _ in range(40):
        drawn = X[rng.integers(len(X), size=100)]
        for confidence in (0.95, None):
            classifier = early_stop(forest, drawn, 0.02, confidence=confidence)
            broken[confidence] += evaluate(classifier.strategy_).disagreement[n_yes].mean() > 0.02
    assert broken[0.95] <= 6  # at 5 % more than this would come up once in 100 times
    assert broken[None] >= 10


def test_few_rows_are_no_reason_to_warn_with_a_confidence(rare):
    forest, X = rare
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for limits in (1e-3, {"fraud": 1e-3, "regular": 1e-4}):
            for n_rows in (1, 10, 100):
                classifier = early_stop(forest, X[:n_rows], limits)
                assert classifier.solution_.confidence == 0.95
                assert classifier.votes_.n_observations == n_rows


def test_without_one_the_class_with_too_few_rows_is_named(rare):
    forest, X = rare
    X = X[:300]
    n_fraud = np.count_nonzero(forest.predict(X) == "fraud")
    assert 0 < n_fraud < 100
    with pytest.warns(CalibrationWarning) as caught:
        early_stop(forest, X, {"fraud": 0.01, "regular": 0.01}, confidence=None)
    assert len(caught) == 1
    assert (
        f"{n_fraud} calibration rows with a full vote of 'fraud' are too few for "
        "max_disagreement['fraud']=0.01 "
        "to hold on new rows. Give at least 100, raise the limit, set a confidence such as 0.95"
    ) in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regular = X[forest.predict(X) == "regular"]
        unseen = early_stop(forest, regular, {"fraud": 0.01, "regular": 0.01}, confidence=None)
    assert evaluate(unseen.strategy_).worst_by_class()["no"].disagreement <= 0.01 * (1 + 1e-9)


def test_soft_votes_are_held_against_the_limit_of_their_class(rare):
    X = rare[1]
    y = rare[0].predict(X)
    shallow = RandomForestClassifier(25, max_depth=3, class_weight="balanced", random_state=0).fit(X, y)
    for strict, free in (KINDS, KINDS[::-1]):
        with pytest.warns(HardVoteWarning) as caught:
            classifier = early_stop(shallow, X, {strict: 1e-3, free: 1}, voting="hard")
        full, own = classifier.full_predict(X), shallow.predict(X)
        assert classifier.hard_soft_disagreement_ == np.mean(full != own)
        assert len(caught) == 1
        differing = np.count_nonzero((full != own) & (full == strict))
        of_class = np.count_nonzero(full == strict)
        assert f"{differing:,} of {of_class:,} calibration rows with a full vote of {str(strict)!r}" in str(
            caught[0].message
        )
        assert f"max_disagreement[{str(strict)!r}]=0.001" in str(caught[0].message)


# Looks and answers ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["shared", "per_row"])
@pytest.mark.parametrize("make", [models.forest, models.several_models], ids=["forest", "list"])
@pytest.mark.parametrize("looks", [4, [3, 8], np.array([3, 8]), (1, 5, 9)], ids=str)
def test_it_stops_at_looks_only(make, order, looks):
    X = models.fresh()
    classifier = early_stop(make(), X, 0.02, looks=looks, order=order, random_state=0)
    n_voters = classifier.strategy_.n_voters
    allowed = {*range(0, n_voters, 4)} if isinstance(looks, int) else {*np.asarray(looks).tolist()}
    X = X[:400]
    labels, asked, _ = classifier.predict_with_votes(X)
    assert {*asked.tolist()} <= allowed | {n_voters}
    assert len({*asked.tolist()}) > 1
    np.testing.assert_array_equal(np.concatenate([classifier.predict(x[None]) for x in X[:20]]), labels[:20])


def test_looks_are_for_the_voters_there_are():
    members = [("a", GaussianNB()), ("b", LogisticRegression()), ("c", "drop"), ("d", GaussianNB())]
    classifier = EarlyStoppingClassifier(VotingClassifier(members), looks=iter([1, 3]), random_state=0)
    classifier.fit(*models.to_fit())
    assert classifier.solution_.looks == (1, 3)


@pytest.mark.parametrize("order", ["shared", "per_row"])
def test_likeliest_answers_are_those_of_a_simulation_vote_for_vote(rare, order):
    forest, X = rare
    majority = early_stop(forest, X, 0.02, looks=2, random_state=0)
    classifier = early_stop(forest, X, 0.02, looks=2, answer="likeliest", order=order, random_state=0)
    assert not classifier.strategy_.answers_majority  # 1 : 1 is answered with what most rows are
    assert classifier.expected_votes_ < majority.expected_votes_
    X = X[:500]
    votes = np.array([tree.predict(X) == 1 for tree in forest.estimators_]).T
    expected = simulate(classifier.strategy_, votes, classifier.seed_, order, X)
    labels, asked, yes = classifier.predict_with_votes(X)
    np.testing.assert_array_equal(labels, KINDS[expected[0].astype(int)])
    np.testing.assert_array_equal(asked, expected[1])
    np.testing.assert_array_equal(yes, expected[2])
    np.testing.assert_array_equal(labels == "regular", yes >= classifier.strategy_.yes_from[asked])


def test_clones_have_the_same_settings(rare):
    forest, X = rare
    settings = {"max_disagreement": LIMITS, "confidence": 0.9, "looks": [2, 6], "answer": "likeliest"}
    classifier = EarlyStoppingClassifier(FrozenEstimator(forest), **settings, random_state=0)
    copy = clone(classifier)
    assert {name: copy.get_params()[name] for name in settings} == settings
    assert copy.fit(X).strategy_ == classifier.fit(X).strategy_
    expected = solve(
        "minimean", VoteDistribution.from_yes_counts(classifier.ensemble_.votes(X), 25),
        {"yes": 0.002, "no": 0.02}, confidence=0.9, looks=[2, 6], answer="likeliest",
    )  # fmt: skip
    assert copy.strategy_ == expected.strategy
    copy.set_params(confidence=None, looks=None, answer="majority", max_disagreement=0.1).fit(X)
    assert copy.strategy_ == solve("minimean", copy.votes_, 0.1).strategy

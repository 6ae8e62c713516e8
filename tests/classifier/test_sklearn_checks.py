"""scikit-learn's own checks of an estimator: all of them pass, but for one about weights."""

import warnings

import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from foregone import EarlyStoppingClassifier
from foregone.classifier import HardVoteWarning

# The checks fit on a few dozen rows, and some of them on labels that are noise.
pytestmark = pytest.mark.filterwarnings("ignore", category=HardVoteWarning)

CLASSIFIERS = [
    EarlyStoppingClassifier(RandomForestClassifier(11)),
    EarlyStoppingClassifier(  # checks want predict to be what predict_proba says, for every row
        BaggingClassifier(LogisticRegression(), n_estimators=5),
        max_disagreement=0.0,
        voting="hard",
        order="per_row",
    ),
    EarlyStoppingClassifier(
        VotingClassifier(
            [("a", GaussianNB()), ("b", LogisticRegression()), ("c", DecisionTreeClassifier(max_depth=2))]
        )
    ),
    EarlyStoppingClassifier(RandomForestClassifier(11, min_samples_leaf=3), voting="soft"),
    EarlyStoppingClassifier(GradientBoostingClassifier(n_estimators=10), order="optimized"),
    EarlyStoppingClassifier(AdaBoostClassifier(GaussianNB(), n_estimators=5)),
    EarlyStoppingClassifier(RandomForestClassifier(130, max_depth=2, random_state=0), voting="hard"),
    EarlyStoppingClassifier(
        VotingClassifier(
            [("a", GaussianNB()), ("b", LogisticRegression()), ("c", DecisionTreeClassifier(max_depth=2))],
            voting="soft",
            weights=[1, 2, 3],
        )
    ),
]


# Which rows are held out, and how trees are drawn, depends on rows and not on their weights.
NOT_EQUIVALENT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight of 2 is not the same as a row given twice"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=lambda _: NOT_EQUIVALENT)
def test_it_is_a_classifier_by_the_rules(estimator, check):
    with warnings.catch_warnings():
        # The checks themselves provoke warnings of other libraries, such as solvers that do not converge.
        warnings.simplefilter("ignore")
        check(estimator)

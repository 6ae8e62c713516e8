"""What holds ensembles but does not decide by one sum is refused, and the advice of the refusal works."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foregone import EarlyStoppingClassifier, early_stop
from foregone.errors import InvalidInputError

X, Y = make_classification(900, 8, n_informative=5, random_state=0)
X3, Y3 = make_classification(900, 8, n_informative=5, n_classes=3, random_state=0)
OUTPUTS = np.stack([Y, X[:, 0] > 0], axis=1).astype(int)
OUTPUTS_3 = np.stack([Y3, X3[:, 0] > 0], axis=1).astype(int)


def forest():
    return RandomForestClassifier(9, random_state=0)


def stopped():
    return EarlyStoppingClassifier(forest(), max_disagreement=0.2, calibration_size=0.4, random_state=0)


REFUSED = {
    "one against the rest": (OneVsRestClassifier(forest()), X3, Y3, "pass the ensemble itself"),
    "one against one": (OneVsOneClassifier(forest()), X3, Y3, "pass the ensemble itself"),
    "codes": (OutputCodeClassifier(forest(), random_state=0), X3, Y3, "pass the ensemble itself"),
    "outputs": (
        MultiOutputClassifier(forest()),
        X,
        OUTPUTS,
        r"MultiOutputClassifier\(EarlyStoppingClassifier\(estimator\)\)",
    ),
    "chain": (
        ClassifierChain(forest()),
        X,
        OUTPUTS,
        r"ClassifierChain\(EarlyStoppingClassifier\(estimator\)\)",
    ),
    "stack": (
        StackingClassifier([("a", forest()), ("b", GaussianNB())], cv=2),
        X,
        Y,
        "decides by a model of its members' predictions",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_decide_by_one_sum_is_refused_with_advice(name):
    model, rows, labels, advice = REFUSED[name]
    with pytest.raises(InvalidInputError, match=rf"{type(model).__name__} .*{advice}"):
        EarlyStoppingClassifier(model).fit(rows, labels if labels.ndim == 1 else labels[:, 0])
    fitted = model.fit(rows, labels)
    for given in (fitted, FrozenEstimator(fitted), make_pipeline(StandardScaler(), fitted)):
        with pytest.raises(InvalidInputError, match=rf"{type(model).__name__} .*{advice}"):
            early_stop(given, rows)


@pytest.mark.parametrize("wrap", [MultiOutputClassifier, ClassifierChain])
@pytest.mark.parametrize(("rows", "outputs"), [(X, OUTPUTS), (X3, OUTPUTS_3)], ids=["two", "three"])
def test_several_outputs_are_stopped_early_inside(wrap, rows, outputs):
    model = wrap(stopped()).fit(rows[:700], outputs[:700])
    answers = model.predict(rows[700:])
    assert answers.shape == (200, 2)
    for output, inside in enumerate(model.estimators_):
        assert isinstance(inside, EarlyStoppingClassifier)
        assert inside.expected_votes_ < 9
        assert np.mean(answers[:, output] == outputs[700:, output]) > 0.6


def test_a_stack_stops_early_inside():
    members = [("bayes", GaussianNB()), ("line", LogisticRegression())]
    last = StackingClassifier(members, final_estimator=stopped(), cv=2).fit(X[:700], Y[:700])
    assert last.score(X[700:], Y[700:]) > 0.6
    assert last.final_estimator_.expected_votes_ < 9
    first = StackingClassifier([("forest", stopped()), *members], cv=2, stack_method="predict")
    assert first.fit(X[:700], Y[:700]).score(X[700:], Y[700:]) > 0.7
    assert first.estimators_[0].expected_votes_ < 9


def test_the_ensemble_itself_takes_the_place_of_one_against_the_rest():
    model = stopped().fit(X3[:700], Y3[:700])
    assert (
        model.score(X3[700:], Y3[700:])
        > OneVsRestClassifier(forest()).fit(X3[:700], Y3[:700]).score(X3[700:], Y3[700:]) - 0.1
    )
    assert model.expected_votes_ < 9


def test_a_forest_of_several_outputs_is_refused_with_advice():
    model = forest().fit(X, OUTPUTS)
    with pytest.raises(InvalidInputError, match=r"has 2 outputs.*MultiOutputClassifier\(EarlyStopping"):
        early_stop(model, X)
    with pytest.raises(ValueError, match="1d array"):
        EarlyStoppingClassifier(forest()).fit(X, OUTPUTS)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        EarlyStoppingClassifier(forest()).fit(X, np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="2 or more classes"):
        early_stop(forest().fit(X, np.zeros(len(X))), X)

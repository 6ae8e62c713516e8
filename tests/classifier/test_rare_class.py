"""A class that pays for a limit on the mean over all rows is named, in the same words for every kind."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from foregone import early_stop
from foregone.classifier import RareClassWarning
from foregone.errors import InvalidInputError


def rare(n_classes=2):
    return make_classification(
        24_000,
        n_informative=6,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.98] if n_classes == 2 else [0.49, 0.49],
        flip_y=0,
        class_sep=0.8,
        random_state=3,
    )


@pytest.mark.parametrize(
    ("model", "n_classes", "advice"),
    [
        (RandomForestClassifier(31, random_state=0), 2, r"max_disagreement=\{0: 0\.003, 1: 0\.003\}"),
        (HistGradientBoostingClassifier(max_iter=40), 2, r"max_disagreement=\{0: 0\.003, 1: 0\.003\}"),
        (RandomForestClassifier(21, random_state=0), 3, "use a smaller max_disagreement"),
    ],
    ids=["votes", "scores", "many classes"],
)
def test_a_class_that_pays_for_the_mean_over_all_rows_is_named(model, n_classes, advice):
    X, y = rare(n_classes)
    model.fit(X[:6000], y[:6000])
    said = rf"a class is hit hard: .* % of the inputs with a full vote of {n_classes - 1} change answer, "
    with pytest.warns(RareClassWarning, match=f"{said}.* times the limit .*{advice}"):
        classifier = early_stop(model, X[6000:], 0.003, confidence=0.5, order="shared", random_state=0)
    full, labels = classifier.full_predict(X[6000:]), classifier.predict(X[6000:])
    assert np.mean(labels != full) <= 0.004  # all rows share one order
    assert np.mean(labels[full == n_classes - 1] != n_classes - 1) > 0.03


def test_with_a_limit_for_each_class_none_pays():
    X, y = rare()
    model = HistGradientBoostingClassifier(max_iter=40).fit(X[:6000], y[:6000])
    early_stop(model, X[6000:], {0: 0.05, 1: 0.05}, random_state=0)  # a warning would be an error


def test_labels_given_as_a_limit_are_a_short_error():
    X, y = rare()
    model = RandomForestClassifier(5, random_state=0).fit(X[:500], y[:500])
    for labels in (y, y.tolist()):
        with pytest.raises(InvalidInputError, match=r"got 24,000 values\. If they are labels") as found:
            early_stop(model, X, max_disagreement=labels)
        assert len(str(found.value)) < 300
    with pytest.raises(InvalidInputError, match="of the 24,000 calibration rows, got 2 labels"):
        early_stop(model, X, [0.1, 0.1])

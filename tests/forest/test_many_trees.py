"""Two thousand trees, and a hundred classes: sums of every library, bit for bit."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from foregone import early_stop
from foregone.forest import ScoredForest

pytestmark = pytest.mark.usefixtures("form")  # every batch in every form

N_ROWS = 400


def rows_of(n_classes, seed=0):
    """Rows with values that come up often, so that many lie on a threshold, and labels that follow them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N_ROWS, 4)), 1)
    by_sum = np.argsort(np.argsort(X.sum(axis=1) + 0.3 * rng.normal(size=N_ROWS)))
    return X, by_sum * n_classes // N_ROWS


def beside_thresholds(X):
    """The same rows, and each value one bit to either side."""
    return np.concatenate([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])


def probabilities(model, X):
    return sum(tree.predict_proba(X) for tree in model.estimators_)


def decision(model, X):
    return model.decision_function(X)


def raw(model, X):
    return model.predict(X, raw_score=True)


def margins(model, X):
    return model.predict(X, output_margin=True)


def lightgbm(**settings):
    return pytest.importorskip("lightgbm").LGBMClassifier(
        n_jobs=1, verbose=-1, min_child_samples=3, **settings
    )


def xgboost(**settings):
    return pytest.importorskip("xgboost").XGBClassifier(n_jobs=1, **settings)


MODELS = {
    "forest": (lambda n: RandomForestClassifier(n, max_depth=3, random_state=0), probabilities),
    "extra trees": (lambda n: ExtraTreesClassifier(n, max_depth=3, random_state=0), probabilities),
    "gradient boosting": (lambda n: GradientBoostingClassifier(n_estimators=n, max_depth=2), decision),
    "histograms": (
        lambda n: HistGradientBoostingClassifier(max_iter=n, max_leaf_nodes=4, min_samples_leaf=3),
        decision,
    ),
    "LightGBM": (lambda n: lightgbm(n_estimators=n, num_leaves=4), raw),
    "XGBoost": (lambda n: xgboost(n_estimators=n, max_depth=2), margins),
}


@pytest.mark.parametrize(("n_classes", "n_trees"), [(3, 2000), (100, 1)], ids=["2000 trees", "100 classes"])
@pytest.mark.parametrize("name", MODELS)
def test_sums_are_those_of_the_library(name, n_classes, n_trees):
    make, own_sums = MODELS[name]
    a_round = 1 if name in ("forest", "extra trees") else n_classes
    X, y = rows_of(n_classes)
    model = make(max(n_trees // a_round, 1)).fit(X, y)
    forest = ScoredForest.from_model(model)
    assert n_classes == forest.n_classes
    assert forest.n_trees >= min(n_trees, 1998)
    rows = beside_thresholds(X[:100])
    sums = forest.full_scores(rows)
    if name == "XGBoost":  # which adds the same leaves in float32
        added = np.tile(forest.start.astype(np.float32), (len(rows), 1))
        for voter in np.moveaxis(forest.scores(rows), 1, 0):
            added += voter.astype(np.float32)
        sums = added
    np.testing.assert_array_equal(sums, own_sums(model, rows))
    stopped = early_stop(model)
    np.testing.assert_array_equal(stopped.full_predict(rows), model.predict(rows))
    np.testing.assert_array_equal(stopped.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(
        [stopped.predict(row[None])[0] for row in rows[:5]], model.predict(rows[:5])
    )

"""Fitted models that add up scores; made once, never changed. Rows are those of `tests.classifier.models`."""

from functools import cache

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tests.classifier import models

NAMES = np.array(["ham", "spam"])
COMMITTEE = [
    ("line", LogisticRegression()),
    ("bayes", GaussianNB()),
    ("stump", DecisionTreeClassifier(max_depth=1, random_state=0)),
    ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
]


def _lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1)


def _xgboost():
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=30, n_jobs=1)


# What each is, whether its members are packed trees, and whether they are asked in the order given.
UNFITTED = {
    "soft forest": lambda: RandomForestClassifier(21, min_samples_leaf=5, random_state=0),
    "soft extra trees": lambda: ExtraTreesClassifier(20, max_depth=5, random_state=0),
    "bag of trees": lambda: BaggingClassifier(
        DecisionTreeClassifier(max_depth=4), n_estimators=15, max_features=4, random_state=0
    ),
    "boosted trees": lambda: GradientBoostingClassifier(n_estimators=30, random_state=0),
    "exponential loss": lambda: GradientBoostingClassifier(
        n_estimators=30, loss="exponential", random_state=0
    ),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "boosted stumps": lambda: AdaBoostClassifier(n_estimators=25, random_state=0),
    "boosted bayes": lambda: AdaBoostClassifier(GaussianNB(), n_estimators=10, random_state=0),
    "bag of bayes": lambda: BaggingClassifier(
        GaussianNB(), n_estimators=12, max_samples=30, max_features=4, random_state=0
    ),
    "soft committee": lambda: VotingClassifier(COMMITTEE, voting="soft"),
    "weighted soft committee": lambda: VotingClassifier(COMMITTEE, voting="soft", weights=[1, 2, 0.5, 1.5]),
    "weighted hard committee": lambda: VotingClassifier(COMMITTEE, weights=[1.0, 2.0, 0.7, 1.2]),
}
BOOSTED = {
    "boosted trees", "exponential loss", "histograms", "LightGBM", "XGBoost", "boosted stumps",
    "boosted bayes",
}  # fmt: skip
PACKED = {
    "soft forest", "soft extra trees", "bag of trees", "boosted trees", "exponential loss", "histograms",
    "LightGBM", "XGBoost", "boosted stumps",
}  # fmt: skip


@cache
def fitted(kind):
    X, y = models.to_fit()
    return UNFITTED[kind]().fit(X, y if kind == "XGBoost" else NAMES[y])


def scores_of_members(model, X):
    """Every member's score by its own methods, and the score before the first: slow and obvious."""
    if isinstance(model, VotingClassifier):
        weights = model.weights or [1] * len(model.estimators_)
        if model.voting == "soft":
            columns = [member.predict_proba(X)[:, 1] - 0.5 for member in model.estimators_]
        else:
            columns = [2.0 * member.predict(X) - 1 for member in model.estimators_]
        return np.array(columns).T * weights, 0.0
    if isinstance(model, AdaBoostClassifier):
        votes = [np.where(member.predict(X) == model.classes_[1], 1, -1) for member in model.estimators_]
        return np.array(votes).T * model.estimator_weights_[: len(votes)], 0.0
    if hasattr(model, "staged_decision_function"):
        paths = np.array([np.ravel(step) for step in model.staged_decision_function(X)]).T
        start = _start(model)
        return np.diff(np.column_stack([np.full(len(X), start), paths]), axis=1), start
    columns = getattr(model, "estimators_features_", [np.arange(X.shape[1])] * len(model.estimators_))
    members = zip(model.estimators_, columns, strict=True)
    return np.array([member.predict_proba(X[:, chosen])[:, 1] - 0.5 for member, chosen in members]).T, 0.0


def _start(model):
    if isinstance(model, HistGradientBoostingClassifier):
        return float(np.ravel(model._baseline_prediction)[0])
    prior = model.init_.class_prior_[1]
    return np.log(prior / (1 - prior)) * (0.5 if model.loss == "exponential" else 1)

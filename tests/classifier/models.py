"""Data and fitted models that the tests share; made once, never changed."""

from functools import cache, cached_property
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

N_FEATURES = 6
# CatBoost has no wheels for the newest Python, nor for Python without the GIL.
CATBOOST = ["catboost"] if find_spec("catboost") else []


@cache
def rows(n_rows=3000, flip_y=0.1):
    """Rows and 0/1 labels; the first 500 are for fitting, the rest is fresh."""
    return make_classification(
        n_rows, N_FEATURES, n_informative=4, n_redundant=0, flip_y=flip_y, random_state=0
    )


def catboost_models(**options):
    """Return a CatBoost model for each name, from its options; none where CatBoost is not installed."""
    if not CATBOOST:
        return {}
    from catboost import CatBoostClassifier

    quiet = {"allow_writing_files": False, "verbose": False, "thread_count": 1}
    return {name: CatBoostClassifier(**own, **quiet) for name, own in options.items()}


class RareRows:
    """Rows of a rare class, divided into parts: "fit", "calibrate", "stop" (early), "test"; "all" is all."""

    def __init__(self, n_rows, *ends, common, flip_y):
        self._ends, self._drawn = ends, {"weights": [common], "flip_y": flip_y}
        self._n_rows = n_rows

    @cached_property
    def rows(self):
        return make_classification(self._n_rows, 8, n_informative=5, random_state=0, **self._drawn)

    def __call__(self, which, text=False):
        X, y = self.rows
        parts = zip(("fit", "calibrate", "stop", "test"), pairwise((0, *self._ends, None)), strict=True)
        place = slice(*dict(parts, all=(None,))[which])
        return X[place], np.array(["no", "yes"])[y[place]] if text else y[place]


def three_members():
    return [("bayes", GaussianNB()), ("line", LogisticRegression()), ("tree", DecisionTreeClassifier())]


def to_fit():
    X, y = rows()
    return X[:500], y[:500]


def fresh():
    return rows()[0][500:]


@cache
def forest(n_trees=25):
    return RandomForestClassifier(n_trees, random_state=0).fit(*to_fit())


@cache
def bag_of_lines():
    bag = BaggingClassifier(RidgeClassifier(), n_estimators=9, max_features=4, max_samples=20, random_state=0)
    return bag.fit(*to_fit())


@cache
def committee():
    members = [
        (f"tree {depth}", DecisionTreeClassifier(max_depth=depth, random_state=0)) for depth in (1, 2, 5)
    ]
    return VotingClassifier([*members, ("line", LogisticRegression()), ("bayes", GaussianNB())]).fit(
        *to_fit()
    )


@cache
def several_models():
    X, y = to_fit()
    return [
        model.fit(X[start::3], y[start::3])
        for start in range(3)
        for model in (GaussianNB(), LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0))
    ]


def votes_of_members(model, X):
    """Every member's vote, by asking each for all rows."""
    if isinstance(model, list):
        return np.array([member.predict(X) == member.classes_[1] for member in model]).T
    columns = getattr(model, "estimators_features_", [np.arange(X.shape[1])] * len(model.estimators_))
    members = zip(model.estimators_, columns, strict=True)
    return np.array([member.predict(X[:, chosen]) == 1 for member, chosen in members]).T

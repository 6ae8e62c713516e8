"""Data and classifiers that the tests of monitors share; made once, never changed."""

from functools import cache

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import early_stop

N_FIT, N_CALIBRATE = 500, 4000


@cache
def data(n_classes=2):
    X, y = make_classification(
        10_000, 8, n_informative=6, n_classes=n_classes, class_sep=1.2, random_state=0, shuffle=True
    )
    return X, np.array(["red", "green", "blue"])[y]


MEMBERS = [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=4, random_state=0)]
MODELS = {
    "votes": (2, RandomForestClassifier(31, random_state=0)),
    "answers": (3, RandomForestClassifier(15, random_state=0)),
    "scores": (2, HistGradientBoostingClassifier(max_iter=30, random_state=0)),
    "scores of classes": (3, HistGradientBoostingClassifier(max_iter=20, random_state=0)),
    "committee": (2, VotingClassifier(list(zip("abc", MEMBERS, strict=True)))),
}


@cache
def stopped(name="votes", **settings):
    n_classes, model = MODELS[name]
    X, y = data(n_classes)
    chosen = {"max_disagreement": 0.02, "random_state": 0, **settings}
    return early_stop(model.fit(X[:N_FIT], y[:N_FIT]), X[N_FIT:N_CALIBRATE], **chosen)


def new_rows(name="votes"):
    return data(MODELS[name][0])[0][N_CALIBRATE:]

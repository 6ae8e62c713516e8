"""One small model of every kind that a report covers, with rows that can certify it, and its report."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier
from foregone.report import Report, make_report

__all__ = ["KINDS", "LEAD", "MANY_SCORES", "SCORES", "called", "fitted", "reported"]

N_FIT = 400


def _members() -> list[tuple[str, Any]]:
    return [
        ("bayes", GaussianNB()),
        ("line", LogisticRegression()),
        *((f"tree {depth}", DecisionTreeClassifier(max_depth=depth, random_state=0)) for depth in (2, 3, 5)),
    ]


def _lightgbm() -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)


def _xgboost() -> Any:
    import xgboost

    return xgboost.XGBClassifier(n_estimators=20, n_jobs=1)


# name: number of classes, what voting="auto" comes to, how the model is made
KINDS: dict[str, tuple[int, str, Any]] = {
    "forest of two": (2, "hard", lambda: RandomForestClassifier(21, random_state=0)),
    "committee of two": (2, "hard", lambda: VotingClassifier(_members())),
    "list of two": (2, "hard", lambda: _members()),
    "forest of three": (3, "hard", lambda: RandomForestClassifier(15, random_state=0)),
    "committee of four": (4, "hard", lambda: VotingClassifier(_members())),
    "forest of seven": (7, "hard", lambda: RandomForestClassifier(60, random_state=0)),
    "bag of three": (3, "soft", lambda: BaggingClassifier(GaussianNB(), 9, max_samples=0.2, random_state=0)),
    "soft forest of three": (3, "soft", lambda: RandomForestClassifier(15, max_depth=5, random_state=0)),
    "soft committee of four": (4, "soft", lambda: VotingClassifier(_members(), voting="soft")),
    "hist boosting of three": (
        3,
        "soft",
        lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0),
    ),
    "soft forest": (2, "soft", lambda: RandomForestClassifier(21, max_depth=4, random_state=0)),
    "weighted committee": (2, "soft", lambda: VotingClassifier(_members(), weights=[1, 2, 3, 1, 2])),
    "soft committee": (2, "soft", lambda: VotingClassifier(_members(), voting="soft")),
    "gradient boosting": (2, "soft", lambda: GradientBoostingClassifier(n_estimators=20, random_state=0)),
    "hist boosting": (2, "soft", lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0)),
    "ada boost": (2, "soft", lambda: AdaBoostClassifier(n_estimators=15, random_state=0)),
    "lightgbm": (2, "soft", _lightgbm),
    "xgboost": (2, "soft", _xgboost),
}
LEAD = ["forest of seven"]  # too many votes to count: their lead is followed
SCORES = [name for name, (_, voting, _) in KINDS.items() if voting == "soft"]
MANY_SCORES = [name for name in SCORES if KINDS[name][0] > 2]


def fitted(name: str) -> tuple[Any, pd.DataFrame, pd.Series]:
    """Return a fitted model, calibration rows as a frame, and their true labels."""
    n_classes, _, make = KINDS[name]
    X, y = make_classification(
        3000, 6, n_informative=5, n_redundant=0, n_classes=n_classes, class_sep=1.5, random_state=n_classes
    )
    rows = pd.DataFrame(X, columns=list("abcdef"))
    labels = pd.Series(
        y if name == "xgboost" else np.array(["ant", "bee", "cow", "dog", "eel", "fox", "gnu"])[y]
    )
    model = make()
    parts = [member for _, member in model] if isinstance(model, list) else [model]
    for part in parts:
        part.fit(rows[:N_FIT], labels[:N_FIT])
    return parts if isinstance(model, list) else model, rows[N_FIT:], labels[N_FIT:]


@cache
def reported(
    name: str, labelled: bool = False, threshold: float | None = None
) -> tuple[Report, Any, pd.DataFrame, pd.Series]:
    """Return the report on a model, the model, its calibration rows and their labels."""
    model, rows, labels = fitted(name)
    if not labelled:
        return make_report(model, rows, threshold=threshold), model, rows, labels
    report = make_report(model, rows.assign(label=labels), target="label", threshold=threshold)
    return report, model, rows, labels


def called(report: Report, model: Any, rows: Any, labels: Any = None) -> EarlyStoppingClassifier:
    """Return what the call on the page gives, pasted."""
    code = re.search(r"<code>(.*?)</code>", report.html, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"model": model, "X": rows, "y": labels}
    exec(unescape(code[1]), names)
    classifier = names["classifier"]
    assert isinstance(classifier, EarlyStoppingClassifier)
    return classifier

"""The disagreement of fitted classifiers on new rows: one classifier per seed, each in its own order.

`early_stop` draws calibration rows and an order for each seed, and what it returns is run on many test rows.
Beside the default stands ``order="shared"``: one random order, and a promise about the mean over orders.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.datasets import load
from benchmarks.forests import N_TREES, Cache, train_forest
from foregone import early_stop
from foregone.forest import PackedForest, PluralityForest

__all__ = ["LIMITS", "REAL", "SETTINGS", "InUse", "Way", "in_use", "in_use_on_real_data", "way"]

LIMITS = (1e-2, 1e-3)
ORDERS = ("auto", "shared")  # the default, and what it stands beside
REAL = ("diabetes", "income", "ground_cover", "hospitalization")
N_TRAINING, N_CALIBRATION = 3_000, 20_000
MOST_TRAINING_ROWS = 100_000

Rows = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """Where rows come from, and who votes on them.

    Attributes
    ----------
    draw : callable
        ``draw(n_rows)`` returns rows and labels.
    train : callable
        ``train(X, y)`` returns what `early_stop` takes.
    by_class : bool
        Whether each class has the limit for itself.
    n_tested : int
        Rows to test on, times the limit. Of 100, one standard error is a tenth of the limit.
    """

    draw: Callable[[int], tuple[Any, Any]]
    train: Callable[[Rows, Labels], Any]
    by_class: bool = False
    n_tested: int = 400


def _blobs(n_rows: int, n_features: int = 20, n_informative: int = 8, **options: Any) -> tuple[Any, Any]:
    return make_classification(
        n_rows, n_features, n_informative=n_informative, random_state=0, **{"n_redundant": 4} | options
    )


def _few_values(n_rows: int) -> tuple[Any, Any]:
    """Return rows of six features with five values each: most rows have many equals."""
    X, y = _blobs(n_rows, 6, 4, n_redundant=0)
    return np.clip(np.rint(X / 1.2), -2, 2), y


def _forest(X: Rows, y: Labels, n_trees: int = N_TREES, **options: Any) -> PackedForest:
    return PackedForest.from_sklearn(RandomForestClassifier(n_trees, random_state=0, **options).fit(X, y))


def _forest_of_many(X: Rows, y: Labels) -> PluralityForest:
    return PluralityForest.from_sklearn(RandomForestClassifier(N_TREES, random_state=0).fit(X, y))


def _committee(X: Rows, y: Labels) -> VotingClassifier:
    """Return eleven models as different as they come, one vote each."""
    models = [
        LogisticRegression(),
        GaussianNB(),
        BernoulliNB(),
        DecisionTreeClassifier(max_depth=4, random_state=0),
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(max_features=3, random_state=0),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        NearestCentroid(),
        MLPClassifier((20,), max_iter=500, random_state=0),
        HistGradientBoostingClassifier(max_iter=40, random_state=0),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return VotingClassifier([(str(k), model) for k, model in enumerate(models)]).fit(X, y)


class RememberedVotes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A voter whose votes on all rows are known, so that it is quick to ask; a row is its number."""

    def __init__(self, votes: Labels) -> None:
        self.votes = votes
        self.classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Labels:
        """Return what was voted on these rows."""
        return np.asarray(self.votes[X[:, 0].astype(np.int64)])


SETTINGS = {
    "two moons": Setting(functools.partial(make_moons, noise=0.3, random_state=0), _forest),
    "20 features": Setting(_blobs, _forest),
    "discrete rows": Setting(_few_values, _forest),
    "committee of 11 models": Setting(
        functools.partial(_blobs, n_features=12, n_informative=6, n_redundant=2, class_sep=1.0, flip_y=0.03),
        _committee,
        n_tested=200,
    ),
    "shallow trees": Setting(_blobs, functools.partial(_forest, max_depth=3)),
    # A tenth of the rows are of the rare class; they alone must be enough.
    "class budgets": Setting(
        functools.partial(_blobs, weights=[0.9], flip_y=0.0), _forest, by_class=True, n_tested=1_600
    ),
    "three classes": Setting(functools.partial(_blobs, n_classes=3), _forest_of_many),
}


@dataclass(frozen=True)
class Way:
    """What the classifiers of all seeds did.

    Attributes
    ----------
    excess : ndarray of shape (n_seeds,)
        Disagreement on the test rows divided by the limit; with a limit for each class, the larger of both.
    beyond : ndarray of bool, shape (n_seeds,)
        Whether it, or that of a class, is above the limit by more than two standard errors of the test rows.
    votes : ndarray of shape (n_seeds,)
        Voters asked, on average over the test rows.
    about : tuple of str
        What the promise is about: all that occurred.
    """

    excess: Array
    beyond: npt.NDArray[np.bool_]
    votes: Array
    about: tuple[str, ...]


@dataclass(frozen=True)
class InUse:
    """A setting and a limit, with the default order and with a shared one that is not certified."""

    name: str
    limit: float
    n_calibration: int
    now: Way
    before: Way

    @property
    def votes_ratio(self) -> float:
        """Votes asked by default, divided by those asked in a shared order."""
        return float(self.now.votes.mean() / self.before.votes.mean())


def in_use(name: str, limit: float, n_seeds: int) -> InUse:
    """Fit a classifier for each seed, on calibration rows of its own, and run it on the test rows."""
    setting = SETTINGS[name]
    n_test = round(setting.n_tested / min(LIMITS))
    X, y = setting.draw(N_TRAINING + n_test + n_seeds * N_CALIBRATION)
    # Rows come in random order: the first ones train, the next ones test, the others calibrate.
    X = np.ascontiguousarray(X, np.float32)
    model = setting.train(X[:N_TRAINING], y[:N_TRAINING])
    if isinstance(model, VotingClassifier):
        model = [RememberedVotes(member.predict(X)) for member in model.estimators_]
        X = np.arange(len(X), dtype=np.float64)[:, None]
    test = X[N_TRAINING : N_TRAINING + round(setting.n_tested / limit)]
    calibration = X[N_TRAINING + n_test :].reshape(n_seeds, N_CALIBRATION, X.shape[1])
    ways = [way(model, calibration, test, limit, setting.by_class, order) for order in ORDERS]
    return InUse(name, limit, N_CALIBRATION, *ways)


def in_use_on_real_data(name: str, folder: Path, n_seeds: int, cache: Cache) -> list[InUse]:
    """Do the same for a forest on real data at every limit, with all calibration rows for every seed."""
    data = load(name, folder, MOST_TRAINING_ROWS, 10**9)
    forest = PackedForest.from_sklearn(cache.model(cache.forest_path(data), lambda: train_forest(data)))
    calibration = [data.X_calibration] * n_seeds
    found = []
    for limit in LIMITS:
        ways = [way(forest, calibration, data.X_test, limit, by_class=False, order=order) for order in ORDERS]
        found.append(InUse(name, limit, len(data.X_calibration), *ways))
    return found


def way(model: Any, calibration: Sequence[Rows], test: Rows, limit: float, by_class: bool, order: str) -> Way:
    """Return what classifiers in this order do on test rows, one for each set of calibration rows."""
    full: Labels | None = None
    figures, about = [], []
    for seed, seen in enumerate(calibration):
        limits = dict.fromkeys((0, 1), limit) if by_class else limit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that rows are few, or a class loses, is what is measured
            classifier = early_stop(model, seen, limits, order=order, random_state=seed)
        full = classifier.full_predict(test) if full is None else full
        labels, asked = classifier.predict_with_votes(test)[:2]
        differs = labels != full
        parts = [differs[full == label] for label in (0, 1)] if by_class else [differs]
        excess = [float(part.mean()) / limit for part in parts]
        noise = [np.sqrt((1 - limit) / (limit * len(part))) for part in parts]
        beyond = any(ratio > 1 + 2 * error for ratio, error in zip(excess, noise, strict=True))
        figures.append((max(excess), beyond, asked.mean()))
        about.append(classifier.promise_.about)
    excesses, beyonds, votes = np.array(figures).T
    return Way(excesses, beyonds > 0, votes, tuple(dict.fromkeys(about)))

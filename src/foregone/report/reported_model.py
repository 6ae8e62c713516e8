"""The subject of a report: the voters of a model, the calibration rows, and the settings.

Only this file of the report knows models and classifiers and how to run them.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state

from foregone.certifying import LossKind, Promise, RowLabels, RowLosses
from foregone.checks import IntArray
from foregone.classifier import EarlyStoppingClassifier, early_stop
from foregone.classifier.deciding import DEFAULT_LIMIT, Asked, CalibrationRows, Decider, Labels, Settings
from foregone.classifier.ensembles import is_boosted, will_be_packed
from foregone.classifier.given_model import GivenModel, peel, unwrap
from foregone.classifier.row_checks import validated
from foregone.errors import ForegoneError, InvalidInputError
from foregone.forest import Forest, PluralityForest, ScoredForest
from foregone.report.choose_columns import choose_columns, match_labels, only_numbers
from foregone.scores import CannotCertifyWarning
from foregone.strategy.thresholds import check_quota

__all__ = ["ReportedModel", "reported_model"]

SETTINGS = ("criterion", "confidence", "looks", "answer")


@dataclass(frozen=True, eq=False)
class ReportedModel:
    """The voters of a model and the calibration rows.

    Attributes
    ----------
    name : str
        Kind of the model, such as "RandomForestClassifier".
    classifier : EarlyStoppingClassifier
        Holds the voters, and how their votes or scores become an answer.
    rows : array or frame
        As the ensemble takes them.
    truth : ndarray of int, shape (n_rows,), or None
        The number of the true class of each row, -1 where it is missing; None without a column of labels.
    own_predict : callable or None
        The model's own ``predict`` on one thread; None if the model is not available.
    settings : dict
        ``criterion``, ``confidence``, ``looks`` and ``answer``.
    is_prepared : bool
        Whether steps of a pipeline were applied to the rows.
    n_left_out : int
        How many rows were left out because they have no label.
    saved_limit : float, dict or None
        The limit of the classifier in the file, if it is one.
    saved_loss : {"disagreement", "accuracy", "cost"}
        What that limit is on.
    saved_promise : Promise or None
        The promise of that classifier.
    saved_hard_soft : float or None
        Its ``hard_soft_disagreement_``, for when the model itself is not available.
    """

    name: str
    classifier: EarlyStoppingClassifier
    rows: Any
    truth: IntArray | None
    own_predict: Callable[[Any], Labels] | None
    settings: dict[str, Any]
    is_prepared: bool = False
    n_left_out: int = 0
    saved_limit: float | Mapping[Any, float] | None = None
    saved_loss: LossKind = "disagreement"
    saved_promise: Promise | None = None
    saved_hard_soft: float | None = None

    @property
    def ensemble(self) -> Any:
        """The voters."""
        return self.classifier.ensemble_

    @property
    def voting(self) -> str:
        """Whether votes are counted ("hard") or scores added up ("soft")."""
        return self.classifier.voting_

    @property
    def adds_up(self) -> bool:
        """Whether a sum is followed: of scores, or of votes of which only the lead counts."""
        return self.classifier._decider.scheme in ("soft", "lead")

    @property
    def order(self) -> str:
        """The order in which voters are asked, as `foregone.early_stop` takes it."""
        return self.classifier.order

    @property
    def random_state(self) -> int:
        """The ``random_state`` with which `foregone.early_stop` gives the same classifier."""
        given = self.classifier.random_state
        return int(given) if isinstance(given, int | np.integer) else 0

    @property
    def seed(self) -> int:
        """The ``seed_`` of a classifier with that ``random_state``."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return int(self.ensemble.n_voters)

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return int(self.rows.shape[0])

    @property
    def voters(self) -> str:
        """The word for the voters: "trees" or "voters"."""
        return "trees" if isinstance(self.ensemble, Forest) else "voters"

    @property
    def n_steps(self) -> int:
        """The largest number of steps; a step asks one voter, or one voter per class."""
        return int(self.ensemble.n_steps)

    @property
    def drops_classes(self) -> bool:
        """Whether each class has its own trees, which are no longer asked once it is dropped."""
        return self.adds_up and bool(self.ensemble.drops_classes)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels; with two classes, those for no and yes."""
        return tuple(self.ensemble.classes.tolist())

    @property
    def threshold(self) -> float | None:
        """The given decision threshold: a probability, or share of votes, that makes the answer yes."""
        return self.classifier._decider.terms["threshold"]

    @property
    def quota(self) -> int | None:
        """The fewest yes votes that make the full vote yes; None if votes of two classes are not counted."""
        decider = self.classifier._decider
        return check_quota(decider.terms["quota"], self.n_voters) if decider.scheme == "hard" else None

    @property
    def known_truth(self) -> IntArray | None:
        """The numbers of the true classes, if every row has a label."""
        return self.truth if self.truth is not None and (self.truth >= 0).all() else None

    @property
    def why_no_accuracy(self) -> str | None:
        """Why limits cannot be on the accuracy loss although there are labels; None if they can."""
        if self.truth is None:
            return None
        if self.known_truth is None:
            n_labelled = np.count_nonzero(self.truth >= 0)
            return f"only {n_labelled:,} of {self.n_rows:,} rows have a label"
        if self.classifier._decider.scheme == "plurality":
            return (
                "the report does not use labels for counted votes among more than two classes; "
                "early_stop(model, X, y, max_accuracy_loss=...) does"
            )
        if self.settings["criterion"] != "minimean":
            return (
                f"accuracy is a mean over rows, and {self.settings['criterion']} limits each row separately"
            )
        if self.order == "per_row":
            return 'the order "per_row" cannot keep such a limit'
        return None

    def votes(self) -> npt.NDArray[np.int32]:
        """Return the number of yes votes of each row, or the votes for each of many classes."""
        with _taking_rows():
            return np.asarray(self.ensemble.votes(self.rows))

    def predict_by_itself(self) -> Labels | None:
        """Return the labels by the model's own ``predict``; None if the model is not available."""
        if self.own_predict is None:
            return None
        with _taking_rows():
            return self.own_predict(self.rows)

    def calibrate(self, limit: Any, loss: LossKind, own: Labels | None) -> tuple[Decider, str | None]:
        """Calibrate as `foregone.early_stop` does; also return why it only curtails, if it does.

        Parameters
        ----------
        limit : float or dict
            The limit, or one for each label.
        loss : {"disagreement", "accuracy"}
            What it is on.
        own : ndarray or None
            The model's own predictions.
        """
        maker, classes = self.classifier._decider, self.ensemble.classes
        settings = Settings(
            limit,
            self.voting,
            **self.settings,
            order=self.order,
            on_failure="curtail",
            threshold=self.threshold,
        )
        losses = RowLosses()
        if loss == "accuracy":
            settings = settings._replace(max_disagreement=DEFAULT_LIMIT, max_accuracy_loss=limit)
            losses = RowLosses("accuracy", self.known_truth)
        terms = type(maker).check(settings, maker.scheme, classes, self.n_steps)
        terms["quota"] = maker.terms["quota"]  # the model itself may have set it
        with warnings.catch_warnings(record=True) as caught, _taking_rows():
            warnings.simplefilter("ignore")  # the page shows what a class loses
            warnings.simplefilter("always", CannotCertifyWarning)
            decider = type(maker).calibrate(
                Asked(self.ensemble, maker.scheme, settings, terms),
                CalibrationRows(self.rows, own, RowLabels(), losses),
                seed=self.seed,
                n_threads=1,
            )
        return decider, str(caught[0].message) if caught else None

    def predict(self, rows: Any, decider: Decider, *, early: bool) -> Labels:
        """Return the label of each row on one thread, stopped early or by asking all voters."""
        labels: Labels = self.ensemble.classes.take(decider.run(rows, 1, early=early)[0])
        return labels

    def predict_one(self, row: Any, decider: Decider, *, early: bool) -> Any:
        """Return the label of a single row, by the faster path for one row if there is one."""
        has_short_way = isinstance(self.ensemble, Forest) and type(row) is np.ndarray
        if not has_short_way or (not early and isinstance(self.ensemble, PluralityForest)):
            return self.predict(row, decider, early=early)[0]
        if early:
            return self.ensemble.classes[int(decider.run_one(row[0])[0])]
        return self.ensemble.classes[int(self.ensemble.run_one(row[0], None, **decider.how)[0])]


def reported_model(
    model: Any,
    table: Any,
    target: str | None = None,
    voting: str | None = None,
    threshold: float | None = None,
) -> ReportedModel:
    """Return the voters of a fitted model, and the rows of a table as the voters take them.

    Parameters
    ----------
    model : fitted model
        An `EarlyStoppingClassifier`, or an ensemble that `foregone.early_stop` takes, also as the last step
        of a pipeline or the result of a search.
    table : frame or ndarray
        Columns are matched by name if the model knows the names of its features.
    target : str, optional
        Column of the true labels. If at most half of them are missing, rows without a label are left out,
        with a warning.
    voting : {"auto", "hard", "soft"}, optional
        As in `foregone.early_stop`; an `EarlyStoppingClassifier` has its own.
    threshold : float, optional
        As in `foregone.early_stop`; an `EarlyStoppingClassifier` has its own.

    Raises
    ------
    InvalidInputError
        If the model is of another kind or not fitted, or if columns are missing or not numeric.
    """
    X, labels = choose_columns(table, model, target)
    model, preparations = peel(model)
    with _taking_rows():
        for preparation in preparations:
            X = preparation.transform(X)
    saved = isinstance(model, EarlyStoppingClassifier)
    if not saved and will_be_packed(model) and not is_boosted(model):
        X = only_numbers(X)  # its error names the columns that hold something else
    classifier = (
        _check_own(model, voting, threshold)
        if saved
        else _classifier_of(model, X, voting or "auto", threshold)
    )
    if saved:
        given = classifier.estimator
        model = unwrap(given) if isinstance(given, FrozenEstimator) else None
        if isinstance(classifier.ensemble_, Forest) and not isinstance(classifier.ensemble_, ScoredForest):
            X = only_numbers(X)
    with _taking_rows():
        rows = validated(classifier, X, classifier.ensemble_)
    truth = None if labels is None else match_labels(labels, classifier.ensemble_.classes)
    n_given = rows.shape[0]
    rows, truth = _labelled(rows, truth)
    at_hand = hasattr(model, "predict") and hasattr(model, "get_params")
    name = type(model).__name__ if at_hand else "list of classifiers"
    if saved:
        name = type(classifier).__name__ + (f" of {name}" if at_hand else "")
    elif isinstance(model, Forest):
        name = type(model).__name__
    return ReportedModel(
        name=name,
        classifier=classifier,
        rows=rows,
        truth=truth,
        own_predict=_on_one_thread(model, classifier._decider.terms["threshold"]) if at_hand else None,
        settings={name: value for name, value in classifier._decider.terms.items() if name in SETTINGS},
        is_prepared=bool(preparations),
        n_left_out=n_given - rows.shape[0],
        saved_limit=_limit_of(classifier) if saved else None,
        saved_loss=classifier._decider.terms["loss"],
        saved_promise=classifier.promise_ if saved else None,
        saved_hard_soft=getattr(classifier, "hard_soft_disagreement_", None) if saved else None,
    )


def _labelled(rows: Any, truth: IntArray | None) -> tuple[Any, IntArray | None]:
    """Return the rows that have a label, with a warning; all rows if most have none."""
    if truth is None:
        return rows, None
    known, n_rows = np.flatnonzero(truth >= 0), len(truth)
    if len(known) == n_rows or 2 * len(known) < n_rows:
        return rows, truth
    warnings.warn(
        f"{n_rows - len(known):,} of {n_rows:,} rows have no label and are left out. The report assumes that "
        "the others are like them",
        stacklevel=2,
    )
    return _safe_indexing(rows, known), truth[known]


def _limit_of(classifier: EarlyStoppingClassifier) -> Any:
    limit = classifier.max_accuracy_loss
    return classifier.max_disagreement if limit is None else limit


def _classifier_of(model: Any, X: Any, voting: Any, threshold: float | None) -> EarlyStoppingClassifier:
    """Return `early_stop` of a model; two rows are enough to find its voters and how they vote."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that so few rows cannot certify anything
        try:
            with _taking_rows():
                return early_stop(model, X[:2], 0.0, voting=voting, threshold=threshold, random_state=0)
        except NotFittedError as error:
            raise InvalidInputError(f"the model is not fitted: {error}") from None


def _check_own(
    classifier: EarlyStoppingClassifier, voting: str | None, threshold: float | None
) -> EarlyStoppingClassifier:
    if not hasattr(classifier, "ensemble_"):
        raise InvalidInputError("the classifier is not fitted: fit it before you save it")
    own = classifier._decider.terms["threshold"]
    for name, given, has in (("voting", voting, classifier.voting_), ("threshold", threshold, own)):
        if given not in (None, "auto", has):
            raise InvalidInputError(
                f"the classifier was fitted with {name}={has!r}, got {given!r}: leave out {name}, or give "
                "the model itself"
            )
    return classifier


@contextlib.contextmanager
def _taking_rows() -> Iterator[None]:
    """Turn any error of a model that cannot take these rows into an InvalidInputError."""
    try:
        yield
    except (ForegoneError, NotFittedError):
        raise
    except Exception as error:  # models may raise anything
        reason = " ".join(str(error).split())[:300]
        raise InvalidInputError(
            f"the model cannot take the calibration rows: {type(error).__name__}: {reason}"
        ) from error


def _on_one_thread(model: Any, threshold: float | None) -> Callable[[Any], Labels] | None:
    """Return the model's own ``predict``, at the threshold if there is one; None if it has no probability."""
    if threshold is not None and not hasattr(model, "predict_proba"):
        return None
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=1)
    given = GivenModel.of(model)
    return lambda rows: np.asarray(given.own_predictions(rows, threshold))

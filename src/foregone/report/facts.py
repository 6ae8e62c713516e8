"""What a report is about: the voters of a model, their rows, and what the model was set to.

All that is known here of models and classifiers, and how they are asked, is in this file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from foregone.classifier import EarlyStoppingClassifier
from foregone.classifier.ensembles import check_kind, ensemble_of, is_boosted, unwrap
from foregone.classifier.voters import Voters
from foregone.errors import ForegoneError, InvalidInputError
from foregone.forest import PackedForest
from foregone.forest.schedule import Order
from foregone.report.columns import choose_columns, only_numbers
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["Subject", "subject_of"]

Labels = npt.NDArray[Any]

ONLY_VOTES = (
    "the report is about votes that are counted, and {} adds up scores. What stopping it early costs is told "
    "by early_stop(model, X).plan(X=X); where there are votes, early_stop(..., voting='hard') counts them"
)


@dataclass(frozen=True, eq=False)
class Subject:
    """The voters of a model and the rows that they are asked about.

    Attributes
    ----------
    name : str
        Kind of the model, such as "RandomForestClassifier".
    ensemble : PackedForest or Voters
        Who is asked.
    rows : array or frame
        As the ensemble takes them.
    truth : ndarray or None
        The true label of each row, None where it is missing; None without a column of labels.
    own_predict : callable or None
        The model's own way from rows to labels, on one thread; None where the model is not at hand.
    settings : dict
        ``criterion``, ``confidence``, ``looks`` and ``answer``, if a classifier was given: its own.
    saved_limit : float, dict or None
        The limit that the classifier had, if one was given.
    saved_hard_soft : float or None
        Its ``hard_soft_disagreement_``, of use where the model itself is not at hand.
    order, seed
        How voters are ordered when they are asked.
    """

    name: str
    ensemble: PackedForest | Voters
    rows: Any
    truth: Labels | None
    own_predict: Callable[[Any], Labels] | None
    settings: dict[str, Any] = field(default_factory=dict)
    saved_limit: float | Mapping[Any, float] | None = None
    saved_hard_soft: float | None = None
    order: Order = "shared"
    seed: int = 0

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.ensemble.n_voters

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return int(self.rows.shape[0])

    @property
    def voters(self) -> str:
        """What the voters are called."""
        return "trees" if isinstance(self.ensemble, PackedForest) else "voters"

    @property
    def labels(self) -> tuple[Any, Any]:
        """The labels for no and yes."""
        no, yes = self.ensemble.classes.tolist()
        return no, yes

    def count_votes(self) -> tuple[VoteDistribution, Labels]:
        """Ask everyone about every row; return how the votes are spread, and the label of each row."""
        with _taking_rows():
            yes = self.ensemble.votes(self.rows)
        full = self.ensemble.classes.take(2 * yes > self.n_voters)
        return VoteDistribution.from_yes_counts(yes, self.n_voters), full

    def predict_by_itself(self) -> Labels | None:
        """Return the labels that the model itself gives the rows; None where it is not at hand."""
        if self.own_predict is None:
            return None
        with _taking_rows():
            return self.own_predict(self.rows)

    def predict(self, rows: Any, strategy: StoppingStrategy | None) -> Labels:
        """Return the label of each row, stopped by ``strategy`` or by asking everyone; on one thread."""
        answers, _, _ = self.ensemble.run(rows, strategy, seed=self.seed, order=self.order, n_threads=1)
        return self.ensemble.classes.take(answers)

    def predict_one(self, row: Any, strategy: StoppingStrategy | None) -> Any:
        """Return the label of rows of length one, the short way if there is one."""
        if not isinstance(self.ensemble, PackedForest):
            return self.predict(row, strategy)[0]
        answer = self.ensemble.run_one(row[0], strategy, seed=self.seed, order=self.order)[0]
        return self.ensemble.classes[int(answer)]

    def mean_asked(self, strategy: StoppingStrategy) -> float:
        """Return how many were asked on average about the rows, in the order drawn."""
        _, asked, _ = self.ensemble.run(self.rows, strategy, seed=self.seed, order=self.order)
        return float(asked.mean())


def subject_of(model: Any, table: Any, target: str | None = None) -> Subject:
    """Return the voters of a fitted model, and the rows of a table as they are to be given to them.

    Parameters
    ----------
    model : fitted model
        A classifier of ours, or an ensemble that one can be made of; as the last step of a pipeline, or
        found by a search, too.
    table : frame or ndarray
        Columns are matched by name where the model knows the names of its features.
    target : str, optional
        Column that holds the true labels.

    Raises
    ------
    InvalidInputError
        If the model is of another kind or not fitted, or columns are missing or no numbers.
    """
    X, truth = choose_columns(table, model, target)
    model, preparations = _peel(model)
    with _taking_rows():
        for preparation in preparations:
            X = preparation.transform(X)
    if isinstance(model, EarlyStoppingClassifier):
        subject = _of_classifier(model, X, truth)
    else:
        check_kind(model)
        if is_boosted(model):
            raise InvalidInputError(ONLY_VOTES.format(type(model).__name__))
        try:
            ensemble = ensemble_of(model)
        except NotFittedError as error:
            raise InvalidInputError(f"the model is not fitted, so it has no votes: {error}") from None
        own = None if isinstance(model, list | tuple) else _on_one_thread(model)
        name = "list of classifiers" if own is None else type(model).__name__
        subject = Subject(name, ensemble, _as_taken(X, ensemble), truth, own)
    return subject


@contextlib.contextmanager
def _taking_rows() -> Iterator[None]:
    """Say in one kind of error what models say in many: that they cannot take these rows."""
    try:
        yield
    except ForegoneError:
        raise
    except Exception as error:  # models may raise anything
        reason = " ".join(str(error).split())[:300]
        raise InvalidInputError(
            f"the model cannot take the calibration rows: {type(error).__name__}: {reason}"
        ) from error


def _of_classifier(classifier: EarlyStoppingClassifier, X: Any, truth: Labels | None) -> Subject:
    if not hasattr(classifier, "ensemble_"):
        raise InvalidInputError("the classifier is not fitted: fit it, then save it")
    if not isinstance(classifier.ensemble_, PackedForest | Voters):
        raise InvalidInputError(ONLY_VOTES.format("this EarlyStoppingClassifier"))
    model = unwrap(classifier.estimator) if isinstance(classifier.estimator, FrozenEstimator) else None
    at_hand = model is not None and not isinstance(model, list | tuple)
    solution = classifier.solution_
    return Subject(
        name=type(classifier).__name__ + (f" of {type(model).__name__}" if at_hand else ""),
        ensemble=classifier.ensemble_,
        rows=_as_taken(X, classifier.ensemble_),
        truth=truth,
        own_predict=_on_one_thread(model) if at_hand else None,
        settings={name: getattr(solution, name) for name in ("criterion", "confidence", "looks", "answer")},
        saved_limit=classifier.max_disagreement,
        saved_hard_soft=classifier.hard_soft_disagreement_,
        order="per_row" if classifier.order == "per_row" else "shared",
        seed=classifier.seed_,
    )


def _peel(model: Any) -> tuple[Any, list[Any]]:
    """Return what votes, and what prepares its rows, first things first."""
    preparations = []
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, FrozenEstimator):
            model = unwrap(model)
        elif isinstance(model, Pipeline) and len(model.steps) > 0:
            if len(model.steps) > 1:
                preparations.append(model[:-1])
            model = model.steps[-1][1]
        else:
            return model, preparations


def _on_one_thread(model: Any) -> Callable[[Any], Labels]:
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=1)
    return lambda rows: np.asarray(model.predict(rows))


def _as_taken(X: Any, ensemble: PackedForest | Voters) -> Any:
    """Return prepared rows as the ensemble takes them: trees want numbers, others know for themselves."""
    return only_numbers(X) if isinstance(ensemble, PackedForest) else X

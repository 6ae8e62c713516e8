"""EarlyPredictions: the prediction methods of a fitted classifier, with and without early stopping."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone._system.gpu import NoGpuError
from foregone.certifying import Promise
from foregone.checks import FloatArray
from foregone.classifier.deciding import Decider, Labels
from foregone.classifier.row_checks import frame_values, is_plain, refuse, validated, warn_of_no_names
from foregone.classifier.sklearn_later import available_if, check_is_fitted, n_threads_of
from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError
from foregone.forest import Forest
from foregone.forest.device_arrays import Device, beside, check_device, is_on_device, taken_beside

__all__ = ["EarlyPredictions"]

VoteCounts = npt.NDArray[np.int32]


def _has_probabilities(classifier: Any) -> bool:
    """Whether the estimator has probabilities, or the ensemble made from it does.

    Estimators of loaded classifiers always had probabilities.
    """
    if classifier.estimator is None or hasattr(classifier.estimator, "predict_proba"):
        return True
    return hasattr(classifier, "_decider") and bool(classifier._decider.tells_probability)


class EarlyPredictions:
    """The methods of a fitted classifier that take rows; `_take` sets all their attributes."""

    estimator: Any
    n_jobs: int | None
    device: Device = "cpu"  # for classifiers pickled before this parameter existed
    n_features_in_: int
    feature_names_in_: Labels
    _one_label: tuple[Labels, ...]
    _one_row: tuple[int, int] | None = None
    _frame_names: list[str] | None = None
    _attributes_of_decider: tuple[str, ...] = ()  # of the previous fit, which may have had the other decider

    def _take(self, decider: Decider) -> None:
        """Set the remaining fitted attributes, after those of the features."""
        for name in self._attributes_of_decider:
            delattr(self, name)
        attributes = decider.attributes()
        self._attributes_of_decider = tuple(attributes)
        for name, value in attributes.items():
            setattr(self, name, value)
        self._decider = decider
        self.promise_: Promise = decider.promise.labelled(decider.ensemble.classes.tolist())
        self.voting_ = decider.voting
        self.ensemble_: Any = decider.ensemble
        self.classes_: Labels = decider.ensemble.classes
        self._has_names = "feature_names_in_" in vars(self)
        forest = decider.ensemble if isinstance(decider.ensemble, Forest) else None
        # For frames with these columns only the values are needed; None if frames need more.
        self._frame_names = None
        if self._has_names and forest is not None and forest.rows.category_values is None:
            self._frame_names = self.feature_names_in_.tolist()
        # Rows of this shape take the fast path through predict, to one of these labels.
        self._one_row = (1, self.n_features_in_) if forest is not None else None
        self._one_label = tuple(self.classes_[number : number + 1] for number in range(len(self.classes_)))

    def predict(self, X: Any) -> Labels:
        """Predict the label of each row, stopping early.

        A single row, as a float32 or float64 array of shape (1, n_features), takes a few microseconds more
        than its walks through the trees.
        """
        # Full checks would take most of the time of one row, so they run only if these quick ones fail.
        if type(X) is np.ndarray and X.shape == self._one_row:
            label: Labels = self._one_label[self._answer_one(X)[0]]
            return label.copy()
        rows = self._check_rows(X)
        if type(rows) is np.ndarray and rows.shape == self._one_row:
            label = self._one_label[self._answer_checked(rows)[0]]
            return label.copy()
        return self._labels(self._ask_checked(rows, "run", early=True)[0])

    def _answer_one(self, X: npt.NDArray[Any]) -> Any:
        """Return the outcome of one row of the shape `_one_row`: class number, voters asked, and so on."""
        if self._has_names:
            warn_of_no_names(self)
        return self._answer_checked(X)

    def _answer_checked(self, X: npt.NDArray[Any]) -> Any:
        """Return the same for a row whose columns have been checked."""
        try:
            return self._decider.run_one(X[0])
        except InvalidInputError as error:
            refuse(self, X, self.ensemble_, error)

    def predict_with_votes(self, X: Any) -> tuple[Labels, VoteCounts, npt.NDArray[Any]]:
        """Return the labels, the numbers of voters asked, and their votes or scores.

        For counted votes of two classes, the third value is the number of votes for ``classes_[1]``; for
        counted votes of more classes, the number of votes for the label. Otherwise it is the sum of scores:
        with more than two classes one for each class, ``-inf`` for classes that were dropped.
        """
        answers, asked, came_to = self._ask(X, "run", early=True)
        return self._labels(answers), asked, came_to

    def full_predict(self, X: Any) -> Labels:
        """Predict the label of each row by the full vote, without early stopping.

        In a tie, it is the first class in ``classes_``.
        """
        return self._labels(self._ask(X, "run", early=False)[0])

    def full_votes(self, X: Any) -> VoteCounts:
        """Return the number of votes for ``classes_[1]`` among all voters, without early stopping.

        With more than two classes, return the votes for each class, shape (n_rows, n_classes).
        """
        counts: VoteCounts = self._ask(X, "full_votes")
        return beside(X, counts)  # type: ignore[no-any-return]  # on the device of the rows

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class from all voters, without early stopping.

        If scores are added up, these are the estimator's own probabilities, up to rounding. If votes are
        counted, they are the shares of votes, which are the same for fully grown trees. A stopped sum gives
        no probability, so this asks all voters. Not available if the estimator has no ``predict_proba``.
        """
        probabilities: FloatArray = self._ask(X, "probability")
        return beside(X, probabilities)  # type: ignore[no-any-return]  # on the device of the rows

    def _ask(self, X: Any, question: Literal["run", "full_votes", "probability"], **options: bool) -> Any:
        """Check rows and return the decider's result for them."""
        return self._ask_checked(self._check_rows(X), question, **options)

    def _ask_checked(
        self, rows: Any, question: Literal["run", "full_votes", "probability"], **options: bool
    ) -> Any:
        """Return the decider's result for rows that `_check_rows` returned."""
        n_threads = n_threads_of(self.n_jobs) if rows.shape[0] > 1 else 1
        where = {} if self.device == "cpu" else {"device": self._checked_device()}
        try:
            return getattr(self._decider, question)(rows, n_threads, **options, **where)
        except InvalidInputError as error:
            if is_on_device(rows) or isinstance(error, NoGpuError):
                raise
            refuse(self, rows, self.ensemble_, error)

    def _checked_device(self) -> Device:
        """Return the device. Raises InvalidInputError if it is not one, or these voters cannot run on it."""
        inside = self.ensemble_.ensemble if isinstance(self.ensemble_, Transformed) else self.ensemble_
        if check_device(self.device) == "cuda" and not isinstance(inside, Forest):
            raise InvalidInputError(
                f'device="cuda" needs packed trees, got voters that are Python objects ({inside!r}): use '
                'device="cpu"'
            )
        return self.device

    def _labels(self, answers: npt.NDArray[Any]) -> Labels:
        if is_on_device(answers):
            return taken_beside(self.classes_, answers)  # type: ignore[no-any-return]  # of any library
        labels: Labels = self.classes_.take(answers)
        return labels

    def _check_rows(self, X: Any) -> Any:
        """Return X in a form that the ensemble can run on; a plain array is used as it is."""
        check_is_fitted(self)
        if is_on_device(X):
            return self._check_device_rows(X)
        if self._one_row and is_plain(X, self.n_features_in_):
            if self._has_names:
                warn_of_no_names(self)
            return X
        if self._frame_names is not None:
            values = frame_values(X, self._frame_names, self.ensemble_.rows)
            if values is not None:
                return values
        return validated(self, X, self.ensemble_)

    def _check_device_rows(self, X: Any) -> Any:
        """Return rows on a GPU unchanged; the forest checks the rest."""
        if self.device == "cpu":
            raise InvalidInputError(
                'expected rows on the host, got rows on a GPU: use set_params(device="cuda"), or copy them '
                "to the host"
            )
        if isinstance(self.ensemble_, Transformed):
            raise InvalidInputError(
                "the first steps of a pipeline need rows on the host, got rows on a GPU: copy them to the "
                'host. With device="cuda" the trees still run on the GPU'
            )
        self._checked_device()
        return X

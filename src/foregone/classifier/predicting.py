"""EarlyPredictions: what a fitted classifier is asked for, stopped early or not."""

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
    """Whether the estimator itself has probabilities, or what was made of it knows how to tell them.

    What was loaded from a file comes from one that has.
    """
    if classifier.estimator is None or hasattr(classifier.estimator, "predict_proba"):
        return True
    return hasattr(classifier, "_decider") and bool(classifier._decider.tells_probability)


class EarlyPredictions:
    """The methods of a fitted classifier that take rows; all that they need to know is set by `_take`."""

    estimator: Any
    n_jobs: int | None
    device: Device = "cpu"  # of a classifier that was pickled before there was another
    n_features_in_: int
    feature_names_in_: Labels
    _one_label: tuple[Labels, ...]
    _one_row: tuple[int, int] | None = None
    _frame_names: list[str] | None = None
    _attributes_of_decider: tuple[str, ...] = ()  # of the fit before, which may have been of the other kind

    def _take(self, decider: Decider) -> None:
        """Set the rest of the fitted attributes, given those of the features."""
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
        # Frames with these columns need no more than their values; None if they do.
        self._frame_names = None
        if self._has_names and forest is not None and forest.rows.category_values is None:
            self._frame_names = self.feature_names_in_.tolist()
        # Rows of this shape take the short way through predict, to one of these labels.
        self._one_row = (1, self.n_features_in_) if forest is not None else None
        self._one_label = tuple(self.classes_[number : number + 1] for number in range(len(self.classes_)))

    def predict(self, X: Any) -> Labels:
        """Return the label that is answered at the stop, for each row.

        A single row, as an array of float32 or float64 of shape (1, n_features), takes a few microseconds
        more than its walks through the trees.
        """
        # Most of the time of one row would go into checks, so what fails these is looked at again.
        if type(X) is np.ndarray and X.shape == self._one_row:
            label: Labels = self._one_label[self._answer_one(X)[0]]
            return label.copy()
        rows = self._check_rows(X)
        if type(rows) is np.ndarray and rows.shape == self._one_row:
            label = self._one_label[self._answer_checked(rows)[0]]
            return label.copy()
        return self._labels(self._ask_checked(rows, "run", early=True)[0])

    def _answer_one(self, X: npt.NDArray[Any]) -> Any:
        """Return the class number of a row of the shape `_one_row`, how many were asked, and so on."""
        if self._has_names:
            warn_of_no_names(self)
        return self._answer_checked(X)

    def _answer_checked(self, X: npt.NDArray[Any]) -> Any:
        """Do the same for a row whose columns are known to be right."""
        try:
            return self._decider.run_one(X[0])
        except InvalidInputError as error:
            refuse(self, X, self.ensemble_, error)

    def predict_with_votes(self, X: Any) -> tuple[Labels, VoteCounts, npt.NDArray[Any]]:
        """Return the labels, how many voters were asked, and what they came to.

        That is how many of them said ``classes_[1]`` where votes between two classes are counted, how many
        said the label answered where votes of more classes are, and otherwise the sum of their scores: with
        more than two classes one for each, ``-inf`` for classes that were dropped.
        """
        answers, asked, came_to = self._ask(X, "run", early=True)
        return self._labels(answers), asked, came_to

    def full_predict(self, X: Any) -> Labels:
        """Return the label that all voters together are for, for each row: nothing is stopped early.

        Of several that lead, this is the first in ``classes_``.
        """
        return self._labels(self._ask(X, "run", early=False)[0])

    def full_votes(self, X: Any) -> VoteCounts:
        """Return how many of all voters say ``classes_[1]``, for each row: nothing is stopped early.

        With more than two classes, how many are for each: the shape is (n_rows, n_classes).
        """
        counts: VoteCounts = self._ask(X, "full_votes")
        return beside(X, counts)  # type: ignore[no-any-return]  # where the rows are

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class that all voters together tell: nothing is stopped early.

        Where scores are added up these are the estimator's own, within the last bits; where votes are
        counted, the shares of the votes, which are the same for fully grown trees. A stopped sum would tell
        no probability, so this takes as long as asking everyone. Not available if the estimator has none.
        """
        probabilities: FloatArray = self._ask(X, "probability")
        return beside(X, probabilities)  # type: ignore[no-any-return]  # where the rows are

    def _ask(self, X: Any, question: Literal["run", "full_votes", "probability"], **options: bool) -> Any:
        """Return what the decider says of rows, which are checked first."""
        return self._ask_checked(self._check_rows(X), question, **options)

    def _ask_checked(
        self, rows: Any, question: Literal["run", "full_votes", "probability"], **options: bool
    ) -> Any:
        """Return what the decider says of rows that `_check_rows` returned."""
        n_threads = n_threads_of(self.n_jobs) if rows.shape[0] > 1 else 1
        where = {} if self.device == "cpu" else {"device": self._checked_device()}
        try:
            return getattr(self._decider, question)(rows, n_threads, **options, **where)
        except InvalidInputError as error:
            if is_on_device(rows) or isinstance(error, NoGpuError):
                raise
            refuse(self, rows, self.ensemble_, error)

    def _checked_device(self) -> Device:
        """Return where to ask; raise if it is no device, or none that these voters can be asked on."""
        inside = self.ensemble_.ensemble if isinstance(self.ensemble_, Transformed) else self.ensemble_
        if check_device(self.device) == "cuda" and not isinstance(inside, Forest):
            raise InvalidInputError(
                "only packed trees can be asked on a GPU, and these voters are Python objects "
                f'({inside!r}): use device="cpu"'
            )
        return self.device

    def _labels(self, answers: npt.NDArray[Any]) -> Labels:
        if is_on_device(answers):
            return taken_beside(self.classes_, answers)  # type: ignore[no-any-return]  # of any library
        labels: Labels = self.classes_.take(answers)
        return labels

    def _check_rows(self, X: Any) -> Any:
        """Return X in a form that the ensemble can be run on; a plain array is taken as it is."""
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
        """Return rows on a GPU as they are; the forest looks at the rest."""
        if self.device == "cpu":
            raise InvalidInputError(
                'the rows are in the memory of a GPU: use set_params(device="cuda"), or copy them to the host'
            )
        if isinstance(self.ensemble_, Transformed):
            raise InvalidInputError(
                "the first steps of a pipeline take rows on the host: copy them there; the trees are asked "
                'on the GPU all the same with device="cuda"'
            )
        self._checked_device()
        return X

"""EarlyPredictions: what a fitted classifier is asked for, stopped early or not."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from foregone.checks import FloatArray
from foregone.classifier.deciding import Decider, Labels
from foregone.classifier.row_checks import is_plain, refuse, validated, warn_of_no_names
from foregone.errors import InvalidInputError
from foregone.forest import Forest

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
    n_features_in_: int
    _one_label: tuple[Labels, ...]
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
        self.promise_ = decider.promise.labelled(decider.ensemble.classes.tolist())
        self.voting_ = decider.voting
        self.ensemble_ = decider.ensemble
        self.classes_ = decider.ensemble.classes
        self._has_names = hasattr(self, "feature_names_in_")
        # Rows of this shape take the short way through predict, to one of these labels.
        self._one_row = (1, self.n_features_in_) if isinstance(decider.ensemble, Forest) else None
        self._one_label = tuple(self.classes_[number : number + 1] for number in range(len(self.classes_)))

    def predict(self, X: Any) -> Labels:
        """Return the label that is answered at the stop, for each row.

        A single row, as an array of float32 or float64 of shape (1, n_features), takes a few microseconds
        more than its walks through the trees.
        """
        # Most of the time of one row would go into checks, so what fails these is looked at again.
        if type(X) is np.ndarray and X.shape == getattr(self, "_one_row", None):
            label: Labels = self._one_label[self._answer_one(X)[0]].copy()
            return label
        return self._labels(self._ask(X, "run", early=True)[0])

    def _answer_one(self, X: npt.NDArray[Any]) -> Any:
        """Return the class number of a row of the shape `_one_row`, how many were asked, and so on."""
        if self._has_names:
            warn_of_no_names(self)
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
        return counts

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn's
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class that all voters together tell: nothing is stopped early.

        Where scores are added up these are the estimator's own, within the last bits; where votes are
        counted, the shares of the votes, which are the same for fully grown trees. A stopped sum would tell
        no probability, so this takes as long as asking everyone. Not available if the estimator has none.
        """
        probabilities: FloatArray = self._ask(X, "probability")
        return probabilities

    def _ask(self, X: Any, question: Literal["run", "full_votes", "probability"], **options: bool) -> Any:
        """Return what the decider says of rows, which are checked first."""
        return self._ask_checked(self._check_rows(X), question, **options)

    def _ask_checked(
        self, rows: Any, question: Literal["run", "full_votes", "probability"], **options: bool
    ) -> Any:
        """Return what the decider says of rows that `_check_rows` returned."""
        n_threads = int(effective_n_jobs(self.n_jobs)) if rows.shape[0] > 1 else 1
        try:
            return getattr(self._decider, question)(rows, n_threads, **options)
        except InvalidInputError as error:
            refuse(self, rows, self.ensemble_, error)

    def _labels(self, answers: npt.NDArray[Any]) -> Labels:
        labels: Labels = self.classes_.take(answers)
        return labels

    def _check_rows(self, X: Any) -> Any:
        """Return X in a form that the ensemble can be run on; a plain array is taken as it is."""
        if not hasattr(self, "ensemble_"):
            check_is_fitted(self)  # raises; asking it every time would take longer than many a batch
        if self._one_row and is_plain(X, self.n_features_in_):
            if self._has_names:
                warn_of_no_names(self)
            return X
        return validated(self, X, self.ensemble_)

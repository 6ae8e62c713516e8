"""Decision thresholds of ensembles of two classes: on the share of votes, or on the sum of scores.

The response of a model, a probability or the value of its ``decision_function``, rises with the sum of the
scores. So a threshold on the response is a threshold on the sum. The start of the sum is shifted by it, so
that above 0 means yes again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from foregone.checks import FloatArray
from foregone.classifier.voters import ScoreVoters
from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.forest.importers.by_model import importer_of

__all__ = [
    "MAJORITY",
    "WRAPPERS",
    "AnswerThreshold",
    "Tell",
    "decision_slope",
    "inside_wrapper",
    "shift_start",
]

WRAPPERS: tuple[type[Any], ...] = (FixedThresholdClassifier, TunedThresholdClassifierCV)

# Converts full sums to the response for each of the two classes, in columns.
Tell: TypeAlias = Callable[[FloatArray], FloatArray]

# Distance from the threshold, as a share of the largest sum, below which a sum counts as equal to it: many
# rows may have such sums, and rounding must not change their answer.
MARGIN = 1e-12


class AnswerThreshold(NamedTuple):
    """A decision threshold for one of two classes.

    Attributes
    ----------
    value : float
        The class is the answer if its response is at least this value, otherwise the other class.
    method : {"predict_proba", "decision_function"}
        The response that is compared with it.
    is_of_first : bool
        Whether it is for the first class, no, instead of the second, yes.

    Examples
    --------
    >>> told = np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> AnswerThreshold(0.25).says_yes(told), MAJORITY.says_yes(told)
    (array([ True,  True]), array([False, False]))
    >>> [AnswerThreshold(0.25, is_of_first=first).quota(10, ["no", "yes"]) for first in (False, True)]
    [3, 8]
    """

    value: float
    method: Literal["predict_proba", "decision_function"] = "predict_proba"
    is_of_first: bool = False

    @classmethod
    def of_wrapper(cls, model: Any) -> AnswerThreshold:
        """Return the threshold of one of ``WRAPPERS``, which is fitted or wraps a fitted model."""
        inside, method = inside_wrapper(model), model.response_method
        if method == "auto":
            method = "predict_proba" if hasattr(inside, "predict_proba") else "decision_function"
        if isinstance(model, TunedThresholdClassifierCV):
            value, label = model.best_threshold_, model._curve_scorer._get_pos_label()
        else:
            value, label = model.threshold, model.pos_label
        if value == "auto":
            value = 0.5 if method == "predict_proba" else 0.0
        if not hasattr(inside, method):
            raise InvalidInputError(
                f"this {type(model).__name__} compares {method} with its threshold, but its estimator has no "
                f"{method}: pass the estimator inside, and threshold= for the share of its votes"
            )
        classes = np.asarray(inside.classes_).tolist()
        if label is not None and label not in classes:
            raise InvalidInputError(
                f"pos_label of this {type(model).__name__} must be one of the classes {classes}, got "
                f"{label!r}: set it to one of them"
            )
        return cls(float(value), method, is_of_first=label is not None and label == classes[0])

    def says_yes(self, told: FloatArray) -> npt.NDArray[np.bool_]:
        """Return whether the answer is the second class, given the responses for both, in columns."""
        reached = np.asarray(told[:, 0 if self.is_of_first else 1] >= self.value)
        return ~reached if self.is_of_first else reached

    def quota(self, n_voters: int, classes: Sequence[Any]) -> int:
        """Return the fewest of ``n_voters`` votes for an answer of the second class; 0 if always.

        Raises InvalidInputError if it never is.
        """
        votes = np.arange(n_voters + 1)
        yes = self.says_yes(np.stack([votes[::-1], votes], axis=1) / n_voters)
        if not yes.any():
            raise InvalidInputError(self._whatever_the_row(classes[0]))
        return int(yes.argmax())

    def check_ends(self, ends: npt.NDArray[np.bool_], classes: Sequence[Any]) -> None:
        """Raise unless the lowest sum says no and the highest yes."""
        lowest, highest = ends.tolist()
        if lowest and not highest:
            raise InvalidInputError(
                "the calibrated probability falls as the score of the ensemble rises, so the calibrated "
                "model contradicts its ensemble: calibrate on rows that the ensemble gets right more often "
                "than wrong"
            )
        if lowest == highest:
            raise InvalidInputError(self._whatever_the_row(classes[int(highest)]))

    def _whatever_the_row(self, answer: Any) -> str:
        who, advice = f"with the threshold {self.value:g} this model", "Use one that only some rows reach"
        if self == MAJORITY:
            who, advice = "this calibrated model", "Calibrate on more rows, of both classes"
        return f"{who} answers {answer!r} for every row, so there is nothing to stop early. {advice}"


MAJORITY = AnswerThreshold(0.5, is_of_first=True)  # in a tie, the first class is the answer


def inside_wrapper(model: Any) -> Any:
    """Return the estimator inside one of ``WRAPPERS``; fitted if the wrapper is fitted."""
    return getattr(model, "estimator_", model.estimator)


def decision_slope(model: Any, scale: float) -> float:
    """Return the factor between the sum of scores and the ``decision_function`` of an ensemble.

    Parameters
    ----------
    model : fitted ensemble
        Without a wrapper.
    scale : float
        The scale of the link, which turns the sum into log odds.
    """
    kind = importer_of(model)
    if kind in ("gradient_boosting", "hist_boosting", "lightgbm"):
        return 1.0
    if kind == "adaboost":
        return scale
    raise InvalidInputError(
        f"this {type(model).__name__} decides by its decision_function, which is not the sum of the "
        "probabilities or votes of its members: use members without decision_function, such as trees, or, "
        "for a threshold, response_method='predict_proba'"
    )


def shift_start(
    ensemble: ScoredForest | ScoreVoters, threshold: AnswerThreshold, tell: Tell, *, has_votes: bool
) -> None:
    """Shift the start of an ensemble's sums so that a sum above 0 means that the model says yes.

    The ensemble must be new: its ``start`` and ``link`` change.

    Parameters
    ----------
    ensemble : ScoredForest or ScoreVoters
        The ensemble inside the model, of two classes.
    threshold : AnswerThreshold
        The decision threshold of the model.
    tell : callable
        Converts sums to the model's response, which rises with the sum.
    has_votes : bool
        Whether every voter adds or subtracts one half. The threshold is then between two numbers of votes,
        and sums are exact.

    Raises
    ------
    InvalidInputError
        If all rows get the same answer.
    """
    lowest, highest = (float(end.sum() + ensemble.start) for end in ensemble.score_bounds)
    margin = MARGIN * max(abs(lowest), abs(highest))

    def says_yes(*sums: float) -> npt.NDArray[np.bool_]:
        return threshold.says_yes(tell(np.array(sums)))

    around = lowest - margin, highest + margin
    threshold.check_ends(says_yes(*around), ensemble.classes.tolist())
    above = _first_yes(says_yes, *around) + (margin if threshold.is_of_first else -margin)
    # The answers at both ends are known, however close to an end the threshold is.
    ends_say = says_yes(lowest, highest)
    if not ends_say[0]:
        above = max(above, lowest + margin)
    if ends_say[1]:
        above = min(above, highest - margin)
    if has_votes:
        above = math.floor(above + ensemble.n_voters / 2) + (1 - ensemble.n_voters) / 2
    ensemble.start = float(ensemble.start - above)
    if ensemble.link is not None:
        ensemble.link = ensemble.link._replace(shift=ensemble.link.shift - above)


def _first_yes(says_yes: Callable[[float], Any], no: float, yes: float) -> float:
    """Return the smallest float64 that says yes, given one that says no and a larger one that says yes."""
    while True:
        middle = no + (yes - no) / 2
        if not no < middle < yes:
            return yes
        if says_yes(middle)[0]:
            yes = middle
        else:
            no = middle

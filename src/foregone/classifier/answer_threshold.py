"""From how many votes, or from which sum of scores, an ensemble of two classes says yes.

What a model tells of a row, a probability or the value of its ``decision_function``, rises with the sum of
the scores. So a threshold on what is told is one on the sum: the start of the sum is shifted by it, and above
0 means yes again.
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

# From full sums to what is told of each of the two classes, in columns.
Tell: TypeAlias = Callable[[FloatArray], FloatArray]

# How far from the threshold, as a share of the largest sum, a sum counts as being right at it: many rows may
# be, and rounding must not turn their answer.
MARGIN = 1e-12


class AnswerThreshold(NamedTuple):
    """From where on a class is answered.

    Attributes
    ----------
    value : float
        The class is answered where what is told of it is at least this, the other one elsewhere.
    method : {"predict_proba", "decision_function"}
        What it is compared with.
    is_of_first : bool
        Whether it is about the first class, no; otherwise about the second, yes.

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
        """Return the threshold of one of ``WRAPPERS``, which has been fitted or holds what has been."""
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
                f"this {type(model).__name__} compares what its estimator tells with a threshold, and there "
                f"is no {method}: give the estimator inside, and threshold= for the share of its votes"
            )
        classes = np.asarray(inside.classes_).tolist()
        if label is not None and label not in classes:
            raise InvalidInputError(
                f"pos_label={label!r} of this {type(model).__name__} is not one of the classes {classes}: "
                "give one of them"
            )
        return cls(float(value), method, is_of_first=label is not None and label == classes[0])

    def says_yes(self, told: FloatArray) -> npt.NDArray[np.bool_]:
        """Return whether the answer is the second class, given what is told of both, in columns."""
        reached = np.asarray(told[:, 0 if self.is_of_first else 1] >= self.value)
        return ~reached if self.is_of_first else reached

    def quota(self, n_voters: int, classes: Sequence[Any]) -> int:
        """Return with how many votes, of so many, the answer is the second class; 0 if it always is.

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
                "the calibration falls as the score of the ensemble rises, so it answers against its "
                "ensemble: calibrate on rows that the ensemble gets right more often than wrong"
            )
        if lowest == highest:
            raise InvalidInputError(self._whatever_the_row(classes[int(highest)]))

    def _whatever_the_row(self, answer: Any) -> str:
        who, advice = f"with the threshold {self.value:g} this model", "Use one that only some rows reach"
        if self == MAJORITY:
            who, advice = "this calibrated model", "Calibrate on more rows, of both classes"
        return f"{who} answers {answer!r} whatever the row: there is nothing to stop early. {advice}"


MAJORITY = AnswerThreshold(0.5, is_of_first=True)  # the first of two that are equal is the answer


def inside_wrapper(model: Any) -> Any:
    """Return what one of ``WRAPPERS`` compares with a threshold; not fitted as long as nothing is."""
    return getattr(model, "estimator_", model.estimator)


def decision_slope(model: Any, scale: float) -> float:
    """Return what the ``decision_function`` of an ensemble is times the sum of scores.

    Parameters
    ----------
    model : fitted ensemble
        Without anything around it.
    scale : float
        That of the link, which makes log odds of the sum.
    """
    kind = importer_of(model)
    if kind in ("gradient_boosting", "hist_boosting", "lightgbm"):
        return 1.0
    if kind == "adaboost":
        return scale
    raise InvalidInputError(
        f"the decision_function of this {type(model).__name__} decides, which is another sum than that of "
        "the probabilities or votes of its members: use members without decision_function, such as trees, "
        "or, of a threshold, response_method='predict_proba'"
    )


def shift_start(
    ensemble: ScoredForest | ScoreVoters, threshold: AnswerThreshold, tell: Tell, *, has_votes: bool
) -> None:
    """Make the sums of an ensemble that are above 0 those for which a model says yes.

    The ensemble must be new: its ``start`` and ``link`` change.

    Parameters
    ----------
    ensemble : ScoredForest or ScoreVoters
        What the model holds inside, of two classes.
    threshold : AnswerThreshold
        From where on the model says yes.
    tell : callable
        What the model tells, which rises with the sum.
    has_votes : bool
        Whether every voter adds one half or takes it away. The threshold is then between two numbers of
        votes, and sums are exact.

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
    # However close to an end the threshold is, what the end itself says is known.
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

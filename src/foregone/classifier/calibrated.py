"""CalibratedClassifierCV around an ensemble of two classes: the sum of scores from which it says yes.

A calibrated probability rises with the score of the ensemble, so what is answered depends on whether that
score is above a threshold. The start of the sum is shifted by it, and above 0 means yes again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

from foregone.checks import FloatArray
from foregone.classifier.voters import ScoreVoters
from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.forest.importers.by_model import importer_of
from foregone.forest.link import Calibration

__all__ = ["calibrate", "check_calibrated", "check_number_of_classes", "inside_calibrated"]

# How far above the threshold a sum must be, as a share of the largest sum. Where many rows have a sum right
# at the threshold they have a calibrated probability of one half, which is a no: rounding must not turn it.
MARGIN = 1e-12


def inside_calibrated(model: CalibratedClassifierCV) -> Any:
    """Return the one estimator that was calibrated; as long as nothing is fitted, the one to be fitted."""
    pairs = getattr(model, "calibrated_classifiers_", None)
    if pairs:
        return pairs[0].estimator
    return LinearSVC() if model.estimator is None else model.estimator  # scikit-learn's own default


def check_calibrated(model: CalibratedClassifierCV) -> None:
    """Raise unless there is one ensemble that is calibrated, or will be, and not one for each split."""
    pairs = getattr(model, "calibrated_classifiers_", None)
    if pairs is None:
        splits = [None] if model.cv == "prefit" else model.cv
        one_split = isinstance(splits, list | tuple) and len(splits) == 1
        frozen = isinstance(model.estimator, FrozenEstimator)
        averages = not one_split and (model.ensemble is True or (model.ensemble == "auto" and not frozen))
    else:
        averages = len(pairs) > 1
    if averages:
        n_models = "one ensemble for each split" if pairs is None else f"{len(pairs)} ensembles"
        raise InvalidInputError(
            f"this CalibratedClassifierCV averages the calibrated probabilities of {n_models}, and no sum of "
            "scores decides: use CalibratedClassifierCV(..., ensemble=False), which calibrates one"
        )


def check_number_of_classes(classes: npt.NDArray[Any]) -> None:
    """Raise unless there are two classes: with more, each is calibrated alone, and sums do not decide."""
    if len(classes) != 2:
        raise InvalidInputError(
            f"CalibratedClassifierCV can be stopped early for two classes, there are {len(classes)}: with "
            "more, what one class gets depends on the calibrated probabilities of all others. Stop the "
            "estimator inside it early, and use the calibrated model for probabilities"
        )


def calibrate(
    ensemble: ScoredForest | ScoreVoters, model: CalibratedClassifierCV, *, has_votes: bool
) -> None:
    """Make an ensemble answer as the calibrated model around it does, and tell its probabilities.

    The ensemble must be new: its ``start``, ``link`` and labels change.

    Parameters
    ----------
    ensemble : ScoredForest or ScoreVoters
        What the model holds inside, of two classes.
    model : fitted CalibratedClassifierCV
        Of one calibrated classifier.
    has_votes : bool
        Whether every voter gives a probability of 0 or 1. Thresholds are then between two numbers of votes.

    Raises
    ------
    InvalidInputError
        If the ensemble's sum does not decide, or all rows get the same answer.
    """
    pair = model.calibrated_classifiers_[0]
    check_number_of_classes(model.classes_)
    if not np.array_equal(ensemble.classes, model.classes_) and not (
        # Text labels are numbered before a model is fitted whose temperature will be.
        pair.method == "temperature" and np.array_equal(ensemble.classes, [0, 1])
    ):
        raise InvalidInputError(
            f"the model inside CalibratedClassifierCV knows the classes {ensemble.classes.tolist()}, it was "
            f"calibrated for {model.classes_.tolist()}: calibrate it on rows of the classes it was fitted on"
        )
    link = ensemble.link
    if link is None:
        raise InvalidInputError(
            f"the probabilities of this {type(pair.estimator).__name__} are no function of a sum of scores, "
            "so calibrated ones are not either: stop the model inside CalibratedClassifierCV early"
        )
    slope = _slope(pair.estimator, link.scale)
    known = Calibration(pair.method, _numbers(pair), 0.0, slope)

    def says_yes(sums: FloatArray) -> npt.NDArray[np.bool_]:
        responses = link.probability(sums) if slope is None else slope * sums
        return _says_yes(pair, responses)

    if has_votes:
        n_voters = ensemble.n_voters
        yes = _says_yes(pair, np.arange(n_voters + 1) / n_voters)
        _check_answers(bool(yes[0]), bool(yes[-1]), model.classes_, pair)
        shift = n_voters / 2 - float(yes.argmax()) + 0.5  # sums are of halves, and so exact
    else:
        lowest, highest = (float(end.sum() + ensemble.start) for end in ensemble.score_bounds)
        ends = says_yes(np.array([lowest, highest]))
        _check_answers(bool(ends[0]), bool(ends[1]), model.classes_, pair)
        largest = max(abs(lowest), abs(highest))
        shift = -(_first_yes(says_yes, lowest, highest) + MARGIN * largest)
    ensemble.start = float(ensemble.start + shift)
    ensemble.link = link._replace(calibration=known._replace(shift=shift))
    if isinstance(ensemble, ScoreVoters):
        ensemble.members.classes = model.classes_
    else:
        ensemble.classes = model.classes_


def _slope(estimator: Any, scale: float) -> float | None:
    """Return what ``decision_function`` is times the sum; None if probabilities are calibrated instead."""
    if not hasattr(estimator, "decision_function"):
        return None
    while hasattr(estimator, "steps") or isinstance(estimator, FrozenEstimator):
        estimator = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator.estimator
    estimator = getattr(estimator, "best_estimator_", estimator)
    kind = importer_of(estimator)
    if kind in ("gradient_boosting", "hist_boosting", "lightgbm"):
        return 1.0
    if kind == "adaboost":
        return scale
    raise InvalidInputError(
        f"CalibratedClassifierCV calibrates the decision_function of this {type(estimator).__name__}, which "
        "is another sum than that of the probabilities which decide: use members without decision_function, "
        "such as trees"
    )


def _numbers(pair: Any) -> tuple[float, ...]:
    calibrator = pair.calibrators[0]
    if pair.method == "sigmoid":
        return float(calibrator.a_), float(calibrator.b_)
    if pair.method == "temperature":
        return (float(calibrator.beta_),)
    return tuple(np.concatenate([calibrator.X_thresholds_, calibrator.y_thresholds_]).tolist())


def _says_yes(pair: Any, responses: FloatArray) -> npt.NDArray[np.bool_]:
    """Return what the calibrated model answers, given what its ensemble responds: its own calibrator says."""
    calibrator = pair.calibrators[0]
    if pair.method == "temperature":
        by_probability = not hasattr(pair.estimator, "decision_function")
        given = np.stack([1 - responses, responses], axis=1) if by_probability else responses[:, None]
        no, yes = np.asarray(calibrator.predict(given)).T
    else:
        yes = np.asarray(calibrator.predict(responses))
        no = 1.0 - yes
    return np.asarray(yes > no)  # of two that are equal, the first is the answer


def _check_answers(lowest: bool, highest: bool, classes: npt.NDArray[Any], pair: Any) -> None:
    """Raise unless the lowest score says no and the highest yes."""
    if lowest and not highest:
        raise InvalidInputError(
            f"the {pair.method} calibration falls as the score of the ensemble rises, so it answers against "
            "its ensemble: calibrate on rows that the ensemble gets right more often than wrong"
        )
    if lowest == highest:
        raise InvalidInputError(
            f"this calibrated model answers {classes[int(highest)]!r} whatever the row: there is nothing to "
            "stop early. Calibrate on more rows, of both classes"
        )


def _first_yes(says_yes: Callable[[FloatArray], Any], no: float, yes: float) -> float:
    """Return the smallest float64 that says yes, given one that says no and a larger one that says yes."""
    while True:
        middle = no + (yes - no) / 2
        if not no < middle < yes:
            return yes
        if says_yes(np.array([middle]))[0]:
            yes = middle
        else:
            no = middle

"""CalibratedClassifierCV around an ensemble of two classes: its calibrated probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

from foregone.checks import FloatArray
from foregone.classifier.answer_threshold import Tell, decision_slope
from foregone.classifier.voters import ScoreVoters
from foregone.errors import InvalidInputError
from foregone.forest import ScoredForest
from foregone.forest.link import Calibration

__all__ = ["calibrate", "check_calibrated", "check_number_of_classes", "inside_calibrated"]


def inside_calibrated(model: CalibratedClassifierCV) -> Any:
    """Return the single estimator that was calibrated or, before fitting, that will be."""
    pairs = getattr(model, "calibrated_classifiers_", None)
    if pairs:
        return pairs[0].estimator
    return LinearSVC() if model.estimator is None else model.estimator  # scikit-learn's own default


def check_calibrated(model: CalibratedClassifierCV) -> None:
    """Raise InvalidInputError unless a single ensemble is or will be calibrated, not one for each split."""
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
            f"this CalibratedClassifierCV averages the calibrated probabilities of {n_models}, so it does "
            "not decide by a sum of scores: use CalibratedClassifierCV(..., ensemble=False), which "
            "calibrates one"
        )


def check_number_of_classes(classes: npt.NDArray[Any]) -> None:
    """Raise InvalidInputError unless there are two classes: with more, sums do not decide."""
    if len(classes) != 2:
        raise InvalidInputError(
            f"CalibratedClassifierCV can be stopped early for exactly 2 classes, got {len(classes)}: with "
            "more, each class depends on the calibrated probabilities of all others. Stop the estimator "
            "inside it early, and use the calibrated model for probabilities"
        )


def calibrate(ensemble: ScoredForest | ScoreVoters, model: CalibratedClassifierCV, inside: Any) -> Tell:
    """Give an ensemble the probabilities of the calibrated model around it.

    The ensemble must be new: its ``link`` and labels change.

    Parameters
    ----------
    ensemble : ScoredForest or ScoreVoters
        Made from ``inside``, of two classes.
    model : fitted CalibratedClassifierCV
        With a single calibrated classifier.
    inside : fitted ensemble
        The calibrated model, without a wrapper.

    Returns
    -------
    callable
        Converts sums to the probabilities of the calibrated model, by its own calibrator.

    Raises
    ------
    InvalidInputError
        If its probabilities are not a function of the ensemble's sum.
    """
    pair = model.calibrated_classifiers_[0]
    check_number_of_classes(model.classes_)
    if not np.array_equal(ensemble.classes, model.classes_) and not (
        # With temperature scaling, string labels are numbered before the model is fitted.
        pair.method == "temperature" and np.array_equal(ensemble.classes, [0, 1])
    ):
        raise InvalidInputError(
            f"the model inside CalibratedClassifierCV has the classes {ensemble.classes.tolist()}, but was "
            f"calibrated for {model.classes_.tolist()}: calibrate it on rows of the classes it was fitted on"
        )
    link = ensemble.link
    if link is None:
        raise InvalidInputError(
            f"the probabilities of this {type(inside).__name__} are not a function of a sum of scores, so "
            "calibrated ones are not either: stop the model inside CalibratedClassifierCV early instead"
        )
    slope = decision_slope(inside, link.scale) if hasattr(pair.estimator, "decision_function") else None
    ensemble.link = link._replace(calibration=Calibration(pair.method, _numbers(pair), slope))
    if isinstance(ensemble, ScoreVoters):
        ensemble.members.classes = model.classes_
    else:
        ensemble.classes = model.classes_
    return lambda sums: _tell(pair, link.probability(sums) if slope is None else slope * sums)


def _numbers(pair: Any) -> tuple[float, ...]:
    calibrator = pair.calibrators[0]
    if pair.method == "sigmoid":
        return float(calibrator.a_), float(calibrator.b_)
    if pair.method == "temperature":
        return (float(calibrator.beta_),)
    return tuple(np.concatenate([calibrator.X_thresholds_, calibrator.y_thresholds_]).tolist())


def _tell(pair: Any, responses: FloatArray) -> FloatArray:
    """Return the calibrated probability of each class, given the ensemble's responses."""
    calibrator = pair.calibrators[0]
    if pair.method == "temperature":
        by_probability = not hasattr(pair.estimator, "decision_function")
        given = np.stack([1 - responses, responses], axis=1) if by_probability else responses[:, None]
        return np.asarray(calibrator.predict(given))
    yes = np.asarray(calibrator.predict(responses))
    return np.stack([1 - yes, yes], axis=1)

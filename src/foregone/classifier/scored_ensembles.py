"""From a fitted model to what adds up scores: a scored forest where it holds trees, else a list of voters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, VotingClassifier

from foregone.classifier.ensembles import check_two_classes, is_boosted, voters_of_list, will_be_packed
from foregone.classifier.link import Link
from foregone.classifier.score_voters import ScoreVoters
from foregone.classifier.voters import Voters
from foregone.forest import ScoredForest
from foregone.forest.score_importers import importer_of

__all__ = ["link_of", "scored_ensemble_of"]

LOGISTIC = (None, "binary:logistic", "reg:logistic")  # XGBoost's objectives whose score is a log odds


def scored_ensemble_of(model: Any) -> ScoredForest | ScoreVoters:
    """Return those who have a score in a fitted model of a supported kind.

    Raises
    ------
    InvalidInputError
        If it does not decide between two classes.
    sklearn.exceptions.NotFittedError
        If it, or one of its voters, has not been fitted.
    """
    if isinstance(model, list | tuple):
        voters = voters_of_list(model)
        return ScoreVoters(voters, np.ones(voters.n_voters), averages=True)
    classes = check_two_classes(model)
    if isinstance(model, VotingClassifier):
        voters = Voters(model.estimators_, classes, 1)
        weights = model._weights_not_none  # without the weights of members that were dropped
        if weights is None:
            weights = np.ones(voters.n_voters)
        return ScoreVoters(voters, weights, averages=model.voting == "soft")
    if will_be_packed(model):
        return ScoredForest.from_model(model)
    if isinstance(model, AdaBoostClassifier):
        # Its members are given arrays, even of frames, and all columns of them.
        everything = [slice(None)] * len(model.estimators_)
        voters = Voters(model.estimators_, classes, classes[1], everything)
        return ScoreVoters(voters, model.estimator_weights_[: voters.n_voters], averages=False)
    voters = Voters(model.estimators_, classes, 1, model.estimators_features_)
    knows = all(hasattr(member, "predict_proba") for member in voters.members)
    return ScoreVoters(voters, np.ones(voters.n_voters), averages=knows)


def link_of(model: Any, ensemble: ScoredForest | ScoreVoters) -> Link | None:
    """Return what makes a full sum a probability, by what the model itself does; None if it tells none."""
    if isinstance(model, AdaBoostClassifier):
        return Link("logistic", 2 / float(np.sum(model.estimator_weights_)))
    if isinstance(ensemble, ScoreVoters):
        return Link("mean", (1 if ensemble.averages else 0.5) / float(ensemble.weights.sum()))
    if not is_boosted(model):
        return Link("mean", 1 / ensemble.n_voters)
    if importer_of(model) == "lightgbm":
        return Link("logistic", _lightgbm_sigmoid(model))
    if importer_of(model) == "xgboost" and getattr(model, "objective", None) not in LOGISTIC:
        return None
    return Link("logistic", 2.0 if getattr(model, "loss", None) == "exponential" else 1.0)


def _lightgbm_sigmoid(model: Any) -> float:
    # The header of a model's text says, for example, objective=binary sigmoid:1
    header = model.booster_.model_to_string(num_iteration=1)
    words = next(line for line in header.splitlines() if line.startswith("objective=")).split()
    return float(next((word.partition(":")[2] for word in words if word.startswith("sigmoid:")), 1.0))

"""From a fitted model to what adds up scores: a scored forest where it holds trees, else a list of voters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, VotingClassifier

from foregone.classifier.ensembles import check_two_classes, is_booster, voters_of_list, will_be_packed
from foregone.classifier.score_voters import ScoreVoters
from foregone.classifier.voters import Voters
from foregone.forest import ScoredForest
from foregone.forest.link import Link

__all__ = ["scored_ensemble_of"]


def scored_ensemble_of(model: Any) -> ScoredForest | ScoreVoters:
    """Return those who have a score in a fitted model of a supported kind.

    Raises
    ------
    InvalidInputError
        If it does not decide between two classes.
    sklearn.exceptions.NotFittedError
        If it, or one of its voters, has not been fitted.
    """
    if isinstance(model, ScoredForest):
        return model
    if is_booster(model):
        return ScoredForest.from_model(model)
    if isinstance(model, list | tuple):
        voters = voters_of_list(model)
        return ScoreVoters(voters, np.ones(voters.n_voters), averages=True)
    classes = check_two_classes(model)
    if isinstance(model, VotingClassifier):
        voters = Voters(model.estimators_, classes, 1)
        weights = model._weights_not_none  # without the weights of members that were dropped
        if weights is None:
            weights = np.ones(voters.n_voters)
        ensemble = ScoreVoters(voters, weights, averages=model.voting == "soft")
        if ensemble.averages:
            ensemble.link = Link("mean", 1 / float(ensemble.weights.sum()))
        return ensemble
    if will_be_packed(model):
        return ScoredForest.from_model(model)
    if isinstance(model, AdaBoostClassifier):
        # Its members are given arrays, even of frames, and all columns of them.
        everything = [slice(None)] * len(model.estimators_)
        voters = Voters(model.estimators_, classes, classes[1], everything)
        weights = model.estimator_weights_[: voters.n_voters]
        link = Link("logistic", 2 / float(np.sum(weights)))
        return ScoreVoters(voters, weights, averages=False, link=link, in_order=True)
    voters = Voters(model.estimators_, classes, 1, model.estimators_features_)
    knows = all(hasattr(member, "predict_proba") for member in voters.members)
    link = Link("mean", (1 if knows else 0.5) / voters.n_voters)
    return ScoreVoters(voters, np.ones(voters.n_voters), averages=knows, link=link)

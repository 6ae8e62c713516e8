"""GivenModel: a model as a user gives it, what is found inside, and how it is to decide."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from foregone.classifier.answer_threshold import (
    MAJORITY,
    WRAPPERS,
    AnswerThreshold,
    Tell,
    decision_slope,
    inside_wrapper,
    shift_start,
)
from foregone.classifier.calibrated import (
    calibrate,
    check_calibrated,
    check_number_of_classes,
    inside_calibrated,
)
from foregone.classifier.classifier_file import DECIDERS
from foregone.classifier.deciding import Asked, Labels, Scheme, Settings, check_threshold
from foregone.classifier.ensembles import (
    ModelKind,
    averages_pure_trees,
    is_booster,
    kind_of_model,
    scheme_at_threshold,
)
from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError
from foregone.forest import Forest
from foregone.forest.importers.by_model import importer_of
from foregone.plurality.lattice import count_states

__all__ = ["GivenModel", "names_of_features", "peel", "unwrap"]

# States of votes among many classes that are counted in a few seconds: with more, the lead alone is followed.
MOST_COUNTED = 250_000


@dataclass(frozen=True)
class GivenModel:
    """A model as a user gives it, fitted or not, and what is found inside.

    Attributes
    ----------
    whole : object
        The model, without a FrozenEstimator around it.
    inside : object
        The ensemble that is stopped early.
    transformers : list
        What transforms its rows, first things first.
    is_fitted_already : bool
        Whether the user says that nothing is to be fitted any more.
    calibrated : CalibratedClassifierCV or None
        What calibrates the probabilities of the ensemble; None if nothing does.
    thresholded : FixedThresholdClassifier, TunedThresholdClassifierCV or None
        What compares these, or those of the ensemble, with a threshold; None if nothing does.
    """

    whole: Any
    inside: Any
    transformers: list[Any]
    is_fitted_already: bool
    calibrated: CalibratedClassifierCV | None = None
    thresholded: Any = None

    @classmethod
    def of(cls, estimator: Any) -> GivenModel:
        """Look into a model; whether it can be used is for `check` to say."""
        is_fitted = isinstance(estimator, FrozenEstimator) or kind_of_model(estimator).is_fitted
        inside, transformers = peel(estimator)
        calibrated = thresholded = None
        while isinstance(inside, WRAPPERS) or (isinstance(inside, CalibratedClassifierCV) and not calibrated):
            if isinstance(inside, CalibratedClassifierCV):
                calibrated, held = inside, inside_calibrated(inside)
            else:
                if thresholded is None and calibrated is None:  # further inside, only probabilities are used
                    thresholded = inside
                held = inside_wrapper(inside)
            inside, own_transformers = peel(held)
            transformers = transformers + own_transformers
        return cls(unwrap(estimator), inside, transformers, is_fitted, calibrated, thresholded)

    @property
    def kind(self) -> ModelKind:
        """What is known of the ensemble inside."""
        return kind_of_model(self.inside)

    def check(self) -> None:
        """Raise unless it holds an ensemble whose members can be asked one by one."""
        if self.calibrated is not None:
            check_calibrated(self.calibrated)
        self.kind.check(self.inside)
        if self.is_fitted_already and hasattr(self.inside, "fit"):
            check_is_fitted(self.inside)
            if isinstance(self.thresholded, TunedThresholdClassifierCV):
                check_is_fitted(self.thresholded)

    @property
    def will_be_packed(self) -> bool:
        """Whether rows go to packed trees as they are given."""
        return self.kind.is_of_trees(self.inside) and not self.transformers

    @property
    def is_of_two_classes(self) -> bool:
        """Whether what is around the ensemble is for two classes only."""
        return self.calibrated is not None or self.thresholded is not None

    @property
    def knows_features(self) -> Any:
        """Who has seen the features: not a FixedThresholdClassifier put around a fitted model."""
        whole = self.whole
        while isinstance(whole, WRAPPERS) and not hasattr(whole, "estimator_"):
            whole = unwrap(whole.estimator)
        return whole

    @property
    def has_votes(self) -> bool:
        """Whether its votes can be counted."""
        return self._no_votes() is None

    def _no_votes(self) -> tuple[str, str] | None:
        """Return why votes cannot be counted, as a reason and as a sentence; None if they can be."""
        if self.calibrated is None:
            return self.kind.no_votes(self.inside)
        return (
            "CalibratedClassifierCV calibrates a score",
            "CalibratedClassifierCV calibrates the score of its ensemble, votes are not what it decides by",
        )

    def check_settings(self, settings: Settings, classes: Labels) -> None:
        """Raise for settings that will make no sense once it is fitted, as far as can be told before."""
        if self.calibrated is not None:
            check_number_of_classes(classes)
        self._check_thresholds(settings, len(classes))
        n_voters = self.kind.n_voters(self.inside)
        scheme = self.scheme(settings, len(classes))
        if scheme is not None:
            DECIDERS[scheme].check(settings, scheme, classes, n_voters)
            return
        errors = []
        possible: tuple[Scheme, ...] = (self._counting(settings, len(classes)), "soft")
        for scheme in possible:
            try:
                DECIDERS[scheme].check(settings, scheme, classes, n_voters)
            except InvalidInputError as error:
                errors.append(error)
        if len(errors) == len(possible):
            raise errors[0]

    def asked(self, settings: Settings) -> Asked:
        """Return those who vote in the fitted model, and how.

        Raises
        ------
        InvalidInputError
            If they cannot vote as they are asked to, or settings make no sense.
        sklearn.exceptions.NotFittedError
            If one of a list has not been fitted.
        """
        n_classes = self._n_classes()
        self._check_thresholds(settings, n_classes)
        scheme = self.scheme(settings, n_classes)
        assert scheme is not None  # with members, it can be told
        ensemble, tell = self.voters(scheme), None
        if self.calibrated is not None:
            tell = calibrate(ensemble, self.calibrated, self.inside)
        terms = DECIDERS[scheme].check(settings, scheme, ensemble.classes, ensemble.n_steps)
        threshold = self._threshold(settings)
        if threshold is not None and scheme == "hard":
            if threshold.method == "decision_function":
                decision_slope(self.inside, 1.0)  # which raises: what it is a sum of are no votes
            terms["quota"] = threshold.quota(ensemble.n_voters, ensemble.classes.tolist())
        elif threshold is not None or tell is not None:
            if ensemble is self.inside:
                ensemble = copy(ensemble)
            threshold, has_votes = threshold or MAJORITY, averages_pure_trees(self.inside)
            shift_start(ensemble, threshold, tell or self._teller(ensemble, threshold), has_votes=has_votes)
        if self.transformers:
            ensemble = Transformed(self.transformers, ensemble)
        return Asked(ensemble, scheme, settings, terms)

    def _check_thresholds(self, settings: Settings, n_classes: int) -> None:
        """Raise if there are two thresholds, or one of the model's own among more than two classes."""
        if self.thresholded is None:
            return
        name = type(self.thresholded).__name__
        if settings.threshold is not None:
            raise InvalidInputError(
                f"this {name} has a threshold already, which is taken from it: give one, so leave out "
                f"threshold={settings.threshold!r}, or give the estimator inside instead"
            )
        if n_classes != 2:
            raise InvalidInputError(f"{name} is for two classes, there are {n_classes}: leave it out")

    def _threshold(self, settings: Settings) -> AnswerThreshold | None:
        """Return from where on the fitted model says yes; None if the larger of two probabilities wins."""
        if self.thresholded is not None:
            return AnswerThreshold.of_wrapper(self.thresholded)
        if settings.threshold is None:
            return None
        return AnswerThreshold(check_threshold(settings.threshold))

    def _teller(self, ensemble: Any, threshold: AnswerThreshold) -> Tell:
        """Return what tells what the ensemble itself tells of both classes, given full sums."""
        link = ensemble.link
        if link is None and hasattr(ensemble, "link_as"):
            link = ensemble.link_as("mean")  # of votes with weights, a share
        if link is None:
            raise InvalidInputError(
                "the objective of this model tells no probability that could be compared with a threshold"
            )
        if threshold.method == "predict_proba":
            return lambda sums: np.stack([1 - link.probability(sums), link.probability(sums)], axis=1)
        slope = decision_slope(self.inside, link.scale)
        return lambda sums: np.outer(sums, [-slope, slope])

    def scheme(self, settings: Settings, n_classes: int) -> Scheme | None:
        """Return what is done with what voters say; None as long as that depends on members yet to come."""
        own: Scheme | None
        voting, no_votes = settings.voting, self._no_votes()
        if isinstance(self.inside, Forest):
            own = self.kind.own_scheme(self.inside)
            known, needed = ("soft", "PackedForest") if own == "soft" else ("hard", "ScoredForest")
            if voting not in ("auto", known):
                raise InvalidInputError(
                    f"voting={voting!r} needs a {needed}, not a {type(self.inside).__name__}"
                )
            return own
        if voting == "hard" and no_votes is not None:
            raise InvalidInputError(f'{no_votes[1]}: leave it to voting="auto", which adds them up')
        own_scheme = self.kind.own_scheme
        if settings.threshold is not None or self.thresholded is not None:
            own_scheme = scheme_at_threshold
        own = own_scheme(self.inside) if voting == "auto" else voting
        if self.calibrated is not None:
            return "soft"
        return self._counting(settings, n_classes) if own == "hard" else own

    def _counting(self, settings: Settings, n_classes: int) -> Scheme:
        """Return how votes are counted."""
        if n_classes == 2:
            return "hard"
        n_states = count_states(self.kind.n_voters(self.inside), n_classes)
        return "plurality" if n_states <= MOST_COUNTED or settings.takes_counts else "lead"

    def voters(self, scheme: Scheme) -> Any:
        """Return those who vote, or have a score, in the fitted ensemble: a forest if they are trees."""
        return self.kind.voters(self.inside, scheme)

    def _n_classes(self) -> int:
        """Return how many labels the fitted ensemble knows; 2 if it cannot tell."""
        first = self.inside[0] if isinstance(self.inside, list | tuple) else self.inside
        labels = getattr(first, "classes_", None)
        return len(labels) if isinstance(labels, np.ndarray) and labels.ndim == 1 else 2

    def own_predictions(self, X: Any, threshold: float | None = None) -> Labels | None:
        """Return what the model itself predicts; None where it has no labels, or no ``predict``.

        With a threshold, what it predicts is by its probability; None where it tells none.
        """
        method = "predict" if threshold is None else "predict_proba"
        if is_booster(self.inside) or not hasattr(self.whole, method):
            return None
        if threshold is not None:
            is_yes = np.asarray(self.whole.predict_proba(X))[:, 1] >= threshold
            return np.asarray(self.whole.classes_).take(is_yes)
        labels: Labels = np.asarray(self.whole.predict(X))
        return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels  # CatBoost's


def unwrap(estimator: Any) -> Any:
    """Return what a FrozenEstimator was put around."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def peel(model: Any) -> tuple[Any, list[Any]]:
    """Return the ensemble inside a model, fitted or not, and what transforms its rows, first things first.

    Looked into are FrozenEstimator, pipelines, and searches for parameters that refit the best.
    """
    transformers = []
    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, BaseSearchCV) and model.refit is not False:
            model = getattr(model, "best_estimator_", model.estimator)
        elif isinstance(model, Pipeline) and len(model.steps) > 0:
            if len(model.steps) > 1:
                transformers.append(model[:-1])
            model = model.steps[-1][1]
        else:
            return model, transformers


def names_of_features(model: Any, X: Any) -> Labels | None:
    """Return the names that a fitted model knows its features by, or None.

    LightGBM makes names up where it was given none, and underscores of spaces; those are found in X again.
    """
    names: Any = getattr(model, "feature_names_in_", None)
    if importer_of(model) == "catboost":
        names = model.feature_names_
        if list(names) == [str(place) for place in range(len(names))]:
            return None
    if names is None or list(names) == [f"Column_{place}" for place in range(len(names))]:
        return None
    given = [str(name) for name in getattr(X, "columns", ())]
    if importer_of(model) == "lightgbm" and [name.replace(" ", "_") for name in given] == list(names):
        return np.array(given, dtype=object)
    return np.asarray(names)

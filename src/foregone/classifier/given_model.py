"""GivenModel: a model as given by the user, the ensemble inside it, and how it decides."""

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

# Number of states of votes among many classes that can be counted in seconds; with more, only the lead is
# followed.
MOST_COUNTED = 250_000


@dataclass(frozen=True)
class GivenModel:
    """A model as given by the user, fitted or not, and the ensemble inside it.

    Attributes
    ----------
    whole : object
        The model, without a FrozenEstimator around it.
    inside : object
        The ensemble that is stopped early.
    transformers : list
        The transformers of its rows, in order.
    is_fitted_already : bool
        Whether the user gave a fitted model that must not be fitted again.
    calibrated : CalibratedClassifierCV or None
        The wrapper that calibrates the probabilities of the ensemble, if any.
    thresholded : FixedThresholdClassifier, TunedThresholdClassifierCV or None
        The wrapper that compares these probabilities, or those of the ensemble, with a threshold, if any.
    """

    whole: Any
    inside: Any
    transformers: list[Any]
    is_fitted_already: bool
    calibrated: CalibratedClassifierCV | None = None
    thresholded: Any = None

    @classmethod
    def of(cls, estimator: Any) -> GivenModel:
        """Find the ensemble inside a model; `check` tests whether it is supported."""
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
        """The kind of the ensemble inside."""
        return kind_of_model(self.inside)

    def check(self) -> None:
        """Raise InvalidInputError unless it contains an ensemble whose members can be asked one by one."""
        if self.calibrated is not None:
            check_calibrated(self.calibrated)
        self.kind.check(self.inside)
        if self.is_fitted_already and hasattr(self.inside, "fit"):
            check_is_fitted(self.inside)
            if isinstance(self.thresholded, TunedThresholdClassifierCV):
                check_is_fitted(self.thresholded)

    @property
    def will_be_packed(self) -> bool:
        """Whether rows go to packed trees without transformation."""
        return self.kind.is_of_trees(self.inside) and not self.transformers

    @property
    def is_of_two_classes(self) -> bool:
        """Whether a wrapper around the ensemble supports two classes only."""
        return self.calibrated is not None or self.thresholded is not None

    @property
    def knows_features(self) -> Any:
        """The model that knows the features: not a FixedThresholdClassifier around a fitted model."""
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
            "CalibratedClassifierCV calibrates the score of its ensemble and does not decide by votes",
        )

    def check_settings(self, settings: Settings, classes: Labels) -> None:
        """Raise InvalidInputError before fitting for settings that are sure to be invalid afterwards."""
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
        """Return the voters of the fitted model, and how they vote.

        Raises
        ------
        InvalidInputError
            If they cannot vote as requested, or settings are invalid.
        sklearn.exceptions.NotFittedError
            If one of a list has not been fitted.
        """
        n_classes = self._n_classes()
        self._check_thresholds(settings, n_classes)
        scheme = self.scheme(settings, n_classes)
        assert scheme is not None  # with fitted members, it is known
        ensemble, tell = self.voters(scheme), None
        if self.calibrated is not None:
            tell = calibrate(ensemble, self.calibrated, self.inside)
        terms = DECIDERS[scheme].check(settings, scheme, ensemble.classes, ensemble.n_steps)
        threshold = self._threshold(settings)
        if threshold is not None and scheme == "hard":
            if threshold.method == "decision_function":
                decision_slope(self.inside, 1.0)  # raises, because it is not a sum of votes
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
        """Raise InvalidInputError for two thresholds, or the model's own with more than two classes."""
        if self.thresholded is None:
            return
        name = type(self.thresholded).__name__
        if settings.threshold is not None:
            raise InvalidInputError(
                f"expected one threshold, got threshold={settings.threshold!r} and that of this {name}: "
                "leave out threshold, or pass the estimator inside instead"
            )
        if n_classes != 2:
            raise InvalidInputError(
                f"{name} needs exactly 2 classes, got {n_classes}: pass the estimator inside instead"
            )

    def _threshold(self, settings: Settings) -> AnswerThreshold | None:
        """Return the decision threshold of the fitted model; None if the larger probability wins."""
        if self.thresholded is not None:
            return AnswerThreshold.of_wrapper(self.thresholded)
        if settings.threshold is None:
            return None
        return AnswerThreshold(check_threshold(settings.threshold))

    def _teller(self, ensemble: Any, threshold: AnswerThreshold) -> Tell:
        """Return a function that converts full sums to the ensemble's responses for both classes."""
        link = ensemble.link
        if link is None and hasattr(ensemble, "link_as"):
            link = ensemble.link_as("mean")  # for weighted votes, a share
        if link is None:
            raise InvalidInputError(
                "the objective of this model gives no probability to compare with a threshold: leave out the "
                "threshold"
            )
        if threshold.method == "predict_proba":
            return lambda sums: np.stack([1 - link.probability(sums), link.probability(sums)], axis=1)
        slope = decision_slope(self.inside, link.scale)
        return lambda sums: np.outer(sums, [-slope, slope])

    def scheme(self, settings: Settings, n_classes: int) -> Scheme | None:
        """Return the voting scheme; None if it depends on members that are not fitted yet."""
        own: Scheme | None
        voting, no_votes = settings.voting, self._no_votes()
        if isinstance(self.inside, Forest):
            own = self.kind.own_scheme(self.inside)
            known, needed = ("soft", "PackedForest") if own == "soft" else ("hard", "ScoredForest")
            if voting not in ("auto", known):
                raise InvalidInputError(
                    f"voting={voting!r} needs a {needed}, got a {type(self.inside).__name__}: use "
                    'voting="auto"'
                )
            return own
        if voting == "hard" and no_votes is not None:
            raise InvalidInputError(f'{no_votes[1]}: use voting="auto", which adds up scores')
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
        """Return the voters of the fitted ensemble: a forest if they are trees."""
        return self.kind.voters(self.inside, scheme)

    def _n_classes(self) -> int:
        """Return the number of classes of the fitted ensemble; 2 if it does not state it."""
        first = self.inside[0] if isinstance(self.inside, list | tuple) else self.inside
        labels = getattr(first, "classes_", None)
        return len(labels) if isinstance(labels, np.ndarray) and labels.ndim == 1 else 2

    def own_predictions(self, X: Any, threshold: float | None = None) -> Labels | None:
        """Return the predictions of the model itself; None if it has no labels or no ``predict``.

        With a threshold they are by its probability; None if it has no probabilities.
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
    """Return the estimator inside a FrozenEstimator."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def peel(model: Any) -> tuple[Any, list[Any]]:
    """Return the ensemble inside a model, fitted or not, and the transformers of its rows, in order.

    It looks inside FrozenEstimator, pipelines, and parameter searches that refit the best model.
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
    """Return the feature names of a fitted model, or None.

    LightGBM invents names if it got none, and replaces spaces by underscores; these are matched with X.
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

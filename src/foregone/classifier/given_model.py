"""GivenModel: a model as a user gives it, what is found inside, and how it is to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from foregone.classifier.calibrated import (
    calibrate,
    check_calibrated,
    check_number_of_classes,
    inside_calibrated,
)
from foregone.classifier.counted_votes import CountedVotes
from foregone.classifier.deciding import Asked, Decider, Labels, Scheme, Settings
from foregone.classifier.ensembles import ModelKind, averages_pure_trees, is_booster, kind_of_model
from foregone.classifier.summed_scores import SummedScores
from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError
from foregone.forest import Forest
from foregone.forest.importers.by_model import importer_of
from foregone.plurality.lattice import count_states

__all__ = ["DECIDERS", "GivenModel", "names_of_features", "peel", "unwrap"]

DECIDERS: dict[Scheme, type[Decider]] = {
    "hard": CountedVotes,
    "soft": SummedScores,
    "plurality": CountedVotes,
    "lead": SummedScores,
}
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
    """

    whole: Any
    inside: Any
    transformers: list[Any]
    is_fitted_already: bool
    calibrated: CalibratedClassifierCV | None = None

    @classmethod
    def of(cls, estimator: Any) -> GivenModel:
        """Look into a model; whether it can be used is for `check` to say."""
        is_fitted = isinstance(estimator, FrozenEstimator) or kind_of_model(estimator).is_fitted
        inside, transformers = peel(estimator)
        calibrated = None
        if isinstance(inside, CalibratedClassifierCV):
            calibrated = inside
            inside, own_transformers = peel(inside_calibrated(calibrated))
            transformers = transformers + own_transformers
        return cls(unwrap(estimator), inside, transformers, is_fitted, calibrated)

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

    @property
    def will_be_packed(self) -> bool:
        """Whether rows go to packed trees as they are given."""
        return self.kind.is_of_trees(self.inside) and not self.transformers

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
        scheme = self.scheme(settings, self._n_classes())
        assert scheme is not None  # with members, it can be told
        ensemble = self.voters(scheme)
        if self.calibrated is not None:
            calibrate(ensemble, self.calibrated, has_votes=averages_pure_trees(self.inside))
        terms = DECIDERS[scheme].check(settings, scheme, ensemble.classes, ensemble.n_steps)
        if self.transformers:
            ensemble = Transformed(self.transformers, ensemble)
        return Asked(ensemble, scheme, settings, terms)

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
        own = self.kind.own_scheme(self.inside) if voting == "auto" else voting
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
        """Return what the model itself predicts; None where it has no labels, or no ``predict``."""
        if is_booster(self.inside) or not hasattr(self.whole, "predict"):
            return None
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

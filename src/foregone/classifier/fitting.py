"""Fit a classifier: the parts that need scikit-learn, imported on the first fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.validation import _num_samples, validate_data

from foregone.certifying import RowLabels, RowLosses
from foregone.classifier.classifier_file import DECIDERS
from foregone.classifier.deciding import CalibrationRows, Settings
from foregone.classifier.given_model import GivenModel, names_of_features
from foregone.classifier.hold_out import check_labels, check_size, clone_with_seeds, hold_out, losses_of
from foregone.classifier.row_checks import validated
from foregone.classifier.sklearn_later import n_threads_of
from foregone.errors import InvalidInputError

__all__ = ["fit", "set_tags"]


def fit(classifier: Any, X: Any, y: Any, sample_weight: Any, groups: Any, clusters: Any) -> None:
    """Implement `EarlyStoppingClassifier.fit`."""
    settings, model = Settings.of(classifier), GivenModel.of(classifier.estimator)
    settings.check_choices()
    model.check()
    random_state = classifier.random_state
    rng = check_random_state(random_state)
    labels = RowLabels()
    if groups is not None or clusters is not None:
        labels = RowLabels.of(groups, clusters, 0 if X is None else _num_samples(X))
    if model.is_fitted_already:
        if X is not None and y is not None and _num_samples(y) != _num_samples(X):
            raise InvalidInputError(
                f"y must have one label for each of the {_num_samples(X):,} calibration rows, got "
                f"{_num_samples(y):,} labels"
            )
        _take_features(classifier, model.knows_features, X)
    elif X is None:
        raise InvalidInputError(
            "there are no rows to fit the voters on: give X and y, or fitted voters, as in "
            "early_stop(fitted_forest)"
        )
    else:
        y = check_labels(y)
        model.check_settings(settings, np.unique(y))
        check_size(classifier.calibration_size)
        if issparse(X) and model.will_be_packed:
            check_array(X, accept_sparse=False, estimator=classifier)  # raises, in scikit-learn's words
        validate_data(classifier, X, y, skip_check_array=True)
        size = classifier.calibration_size
        fitting, X, held_out = hold_out(X, y, size, rng, sample_weight, labels.clusters)
        labels, y = labels.take(held_out), y[held_out]
        unfitted = clone_with_seeds(model.whole, None if random_state is None else rng)
        model = GivenModel.of(unfitted.fit(**fitting))
    asked = model.asked(settings)
    decider, seed = DECIDERS[asked.scheme], int(rng.randint(np.iinfo(np.int64).max, dtype=np.int64))
    if X is None:
        classifier._take(decider.curtail(asked, seed=seed))
        return
    classes = asked.ensemble.classes
    losses = RowLosses() if settings.loss == "disagreement" else losses_of(y, X, classes, asked.terms)
    calibration = CalibrationRows(
        validated(classifier, X, asked.ensemble),
        model.own_predictions(X, asked.terms["threshold"]),
        labels,
        losses,
    )
    n_threads = n_threads_of(classifier.n_jobs)
    classifier._take(decider.calibrate(asked, calibration, seed=seed, n_threads=n_threads))


def _take_features(classifier: Any, model: Any, X: Any) -> None:
    """Set the number and names of the features from fitted voters, or from X if they do not know them."""
    candidates = model if isinstance(model, list | tuple) else [model]
    source = next((one for one in candidates if hasattr(one, "n_features_in_")), None)
    if source is None and X is None:
        raise InvalidInputError("these voters do not state their number of features: give calibration rows")
    if source is None:
        validate_data(classifier, X, skip_check_array=True)
        return
    classifier.n_features_in_ = int(source.n_features_in_)
    names = names_of_features(source, X)
    if names is not None:
        classifier.feature_names_in_ = names
    elif hasattr(classifier, "feature_names_in_"):
        del classifier.feature_names_in_


def set_tags(tags: Any, classifier: Any) -> Any:
    """Return scikit-learn's tags of a classifier, adapted to the capabilities of its estimator."""
    model = GivenModel.of(classifier.estimator)
    inside = model.inside
    tags.target_tags.required = not model.is_fitted_already
    tags.classifier_tags.multi_class = not model.is_of_two_classes and classifier.threshold is None
    if hasattr(inside, "__sklearn_tags__"):
        its = get_tags(model.whole if model.transformers else inside).input_tags
        tags.input_tags.allow_nan = its.allow_nan
        tags.input_tags.sparse = its.sparse and not model.will_be_packed
        # AdaBoost does not take these tags from its members.
        if not model.transformers and getattr(inside, "estimator", None) is not None:
            tags.input_tags.sparse &= get_tags(inside.estimator).input_tags.sparse
    return tags

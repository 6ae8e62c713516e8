"""early_stop: turn a fitted ensemble into a classifier that stops early, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from foregone.classifier.deciding import DEFAULT_LIMIT, OnFailure, OrderName, Voting
from foregone.classifier.estimator import EarlyStoppingClassifier
from foregone.errors import InvalidInputError
from foregone.forest.device_arrays import Device
from foregone.solving import Answer, Criterion

__all__ = ["early_stop"]


def early_stop(
    fitted_forest: Any,
    X_calibration: Any = None,
    y_calibration: Any = None,
    max_disagreement: float | Mapping[Any, float] = DEFAULT_LIMIT,
    *,
    max_accuracy_loss: float | Mapping[Any, float] | None = None,
    costs: Any = None,
    threshold: float | None = None,
    voting: Voting = "auto",
    criterion: Criterion = "minimean",
    confidence: float | None = 0.95,
    looks: int | Sequence[int] | None = None,
    answer: Answer = "majority",
    order: OrderName = "auto",
    on_failure: OnFailure = "curtail",
    n_jobs: int | None = None,
    device: Device = "cpu",
    random_state: int | np.random.RandomState | None = None,
    groups: Any = None,
    clusters: Any = None,
) -> EarlyStoppingClassifier:
    """Turn a fitted ensemble into a classifier that stops early.

    Parameters
    ----------
    fitted_forest : fitted classifier, pipeline, search, Booster, list of classifiers or packed forest
        The model to stop early; see `EarlyStoppingClassifier` for the supported kinds.
    X_calibration : {array-like, frame} of shape (n_rows, n_features)
        Rows like those to come, but not the rows that the model was fitted on. ``20 / max_disagreement`` rows
        are a good number; more rows let it ask fewer voters. With at least ``6 / max_disagreement`` rows the
        guarantee is about this classifier, instead of an average over random orders of its voters. Without
        rows, voters are asked until the rest cannot change the answer.
    y_calibration : array-like of shape (n_rows,), optional
        The true labels of these rows, for ``max_accuracy_loss``; a limit on the disagreement needs no labels.
        A number or a dict in this position is used as ``max_disagreement``.
    max_disagreement, max_accuracy_loss, costs, threshold, voting, criterion, confidence, looks, answer, order
        As in `EarlyStoppingClassifier`.
    on_failure, n_jobs, device, random_state
        As in `EarlyStoppingClassifier`.
    groups, clusters : array-like of shape (n_rows,), optional
        Labels of the calibration rows, as in `EarlyStoppingClassifier.fit`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from foregone import early_stop
    >>> X, y = make_classification(4000, class_sep=2.0, random_state=0)
    >>> forest = RandomForestClassifier(101, random_state=0).fit(X[:1000], y[:1000])
    >>> classifier = early_stop(forest, X[1000:3000], 0.01, random_state=0)
    >>> 1 < classifier.expected_votes_ < 20, classifier.promise_.about
    (True, 'classifier')
    >>> print(early_stop(forest).promise_)  # doctest: +NORMALIZE_WHITESPACE
    This classifier always agrees with its full vote: it stops only when the voters not yet asked cannot
    change the answer.
    """
    if isinstance(y_calibration, Real | Mapping):
        if max_disagreement != DEFAULT_LIMIT:
            raise InvalidInputError(
                f"y_calibration must be the labels of the calibration rows, got {y_calibration!r}: give an "
                "array of labels, or pass the limit as max_disagreement="
            )
        y_calibration, max_disagreement = None, y_calibration
    from sklearn.frozen import FrozenEstimator

    from foregone.classifier.given_model import GivenModel

    as_it_is = GivenModel.of(fitted_forest).is_fitted_already
    return EarlyStoppingClassifier(
        fitted_forest if as_it_is else FrozenEstimator(fitted_forest),
        max_disagreement=max_disagreement,
        max_accuracy_loss=max_accuracy_loss,
        costs=costs,
        threshold=threshold,
        voting=voting,
        criterion=criterion,
        confidence=confidence,
        looks=looks,
        answer=answer,
        order=order,
        on_failure=on_failure,
        n_jobs=n_jobs,
        device=device,
        random_state=random_state,
    ).fit(X_calibration, y_calibration, groups=groups, clusters=clusters)

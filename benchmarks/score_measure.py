"""One model on one dataset, stopped early: trees asked, disagreement and time."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.datasets import Dataset
from benchmarks.score_models import LIMITS, on_one_thread
from benchmarks.score_rivals import asked_by_rules
from benchmarks.timing import sampled_times
from foregone import EarlyStoppingClassifier, early_stop
from foregone.classifier.calibration_scores import scores_of

__all__ = ["measure", "predict_times", "time_ratio"]

TIMED_ROWS = 10_000
ONE_ROW_CALLS = 200
RIVAL_ROWS = 20_000
Result = dict[str, Any]


def measure(name: str, model: Any, data: Dataset, rounds: int, with_rivals: bool) -> list[Result]:
    """Return the figures of one model on one dataset, for each limit."""
    own = model.predict(data.X_test)
    stopped = {
        limit: early_stop(model, data.X_calibration, limit, voting="soft", n_jobs=1, random_state=0)
        for limit in LIMITS
    }
    times = predict_times(name, model, stopped, data, rounds)
    results = []
    for limit, classifier in stopped.items():
        labels, asked, _ = classifier.predict_with_votes(data.X_test)
        certificate = classifier.strategy_.certificate
        differing = float(np.mean(labels != own))
        result = {
            "dataset": data.name,
            "is_real": data.is_real,
            "model": name,
            "limit": limit,
            "n_trained": len(data.X_train),
            "n_calibrated": len(data.X_calibration),
            "n_tested": len(data.X_test),
            "asked": float(asked.mean() / classifier.ensemble_.n_voters),
            "disagreement": differing,
            "bound": None if certificate is None else certificate.bound,
            "rounding": float(np.mean(classifier.full_predict(data.X_test) != own)),
            "error": float(np.mean(labels != data.y_test)),
            "own_error": float(np.mean(own != data.y_test)),
            "batch": time_ratio(min, times["batch"], str(limit)),
            "batch_median": time_ratio(statistics.median, times["batch"], str(limit)),
            "batch_all": time_ratio(min, times["batch"], "all"),
            "one_row": time_ratio(min, times["one_row"], str(limit)),
            **_hard(model, data, limit, own),
        }
        if with_rivals:
            result["rules"] = _rules(classifier, data, differing)
        results.append(result)
    return results


def time_ratio(pick: Callable[[list[float]], float], times: dict[str, list[float]], ours: str) -> float:
    """Return the model's own time by ours, each the one that is picked of its rounds."""
    return pick(times["own"]) / pick(times[ours])


def _hard(model: Any, data: Dataset, limit: float, own: Any) -> Result:
    """Return what counting votes comes to, where there are votes."""
    if not hasattr(model, "estimators_"):
        return {}
    counted = early_stop(model, data.X_calibration, limit, voting="hard", n_jobs=1, random_state=0)
    labels, asked, _ = counted.predict_with_votes(data.X_test)
    return {
        "hard_asked": float(asked.mean() / counted.ensemble_.n_voters),
        "hard_disagreement": float(np.mean(labels != own)),
        "hard_soft": float(np.mean(counted.full_predict(data.X_test) != own)),
        "auto": early_stop(model, data.X_calibration[:500], 0.5, random_state=0).voting_,
    }


def _rules(classifier: EarlyStoppingClassifier, data: Dataset, differing: float) -> Result:
    ensemble = classifier.ensemble_
    return asked_by_rules(
        classifier.strategy_,
        scores_of(ensemble, data.X_calibration[:RIVAL_ROWS]),
        scores_of(ensemble, data.X_test[:RIVAL_ROWS]),
        differing,
    )


def predict_times(
    name: str, model: Any, stopped: dict[float, EarlyStoppingClassifier], data: Dataset, rounds: int
) -> dict[str, dict[str, list[float]]]:
    """Return seconds a call for each round, the model's own and ours in turns."""
    rows, few = data.X_test[:TIMED_ROWS], data.X_test[:ONE_ROW_CALLS]
    one = [few[k : k + 1] for k in range(len(few))]

    def on_batch(predict: Callable[[Any], Any]) -> Callable[[int], Any]:
        return lambda _: predict(rows)

    def on_rows(predict: Callable[[Any], Any]) -> Callable[[int], Any]:
        return lambda k: predict(one[k])

    calls = {str(limit): classifier.predict for limit, classifier in stopped.items()}
    calls["own"] = model.predict
    everyone = {"all": next(iter(stopped.values())).full_predict}
    with on_one_thread(name):
        return {
            "batch": sampled_times(
                {key: on_batch(call) for key, call in {**calls, **everyone}.items()}, rounds
            ),
            "one_row": sampled_times({key: on_rows(call) for key, call in calls.items()}, rounds, len(one)),
        }

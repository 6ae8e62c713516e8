"""How often a certified limit is exceeded, over random calibrations of real and of simulated data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from benchmarks.datasets import Dataset
from foregone import ScoreStrategy, solve_scores
from foregone.classifier.calibration_scores import scores_of
from foregone.forest import ScoredForest

__all__ = ["REAL", "excess", "real_splits", "simulated"]

# Which models of which datasets, and at which limit.
REAL = (
    ("diabetes", "forest, min_samples_leaf=5", 0.005),
    ("income", "HistGradientBoosting, 300", 0.005),
    ("ground_cover", "LightGBM, 300", 0.01),
)
CALIBRATED = 6_000
MOST_ROWS = 30_000  # to draw from; those that are not drawn are the fresh ones
SIMULATED_TRUTH = 100_000
Scores = npt.NDArray[np.float64]


def real_splits(model: Any, data: Dataset, limit: float, n_splits: int) -> dict[str, Any]:
    """Calibrate on random rows, many times, and count how often other rows exceed the limit."""
    forest = ScoredForest.from_model(model)
    pool = np.concatenate([data.X_calibration, data.X_test])[:MOST_ROWS]
    own = model.predict(pool) == model.classes_[1]
    scores = scores_of(forest, pool)
    wrong, asked, n_fresh = [], [], len(pool) - CALIBRATED
    for split in range(n_splits):
        shuffled = np.random.default_rng(split).permutation(len(pool))
        drawn, fresh = shuffled[:CALIBRATED], shuffled[CALIBRATED:]
        strategy = solve_scores(
            scores[drawn], limit, order="given", start=forest.start, answers=own[drawn], random_state=split
        )
        answers, n_asked = strategy.run(scores[fresh])
        wrong.append(int(np.count_nonzero(answers != own[fresh])))
        asked.append(float(n_asked.mean() / forest.n_voters))
    return {"limit": limit, "n_calibrated": CALIBRATED, "asked": asked, **excess(wrong, n_fresh, limit)}


def simulated(limit: float, n_rows: int, n_voters: int, n_draws: int) -> dict[str, Any]:
    """Calibrate on scores drawn from a known distribution, many times."""
    truth = _draw(np.random.default_rng(10**6), SIMULATED_TRUTH, n_voters)
    wrong, asked = [], []
    for draw in range(n_draws):
        rows = _draw(np.random.default_rng(draw), n_rows, n_voters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # too few rows to certify anything
            strategy = solve_scores(rows, limit, order="given", random_state=draw)
        everyone = ScoreStrategy.ask_all(n_voters)
        answers, n_asked = strategy.run(truth)
        wrong.append(int(np.count_nonzero(answers != everyone.run(truth)[0])))
        asked.append(float(n_asked.mean() / n_voters))
    return {
        "limit": limit, "n_calibrated": n_rows, "n_voters": n_voters, "asked": asked,
        **excess(wrong, SIMULATED_TRUTH, limit),
    }  # fmt: skip


def _draw(rng: np.random.Generator, n_rows: int, n_voters: int) -> Scores:
    """Draw scores of voters that share an opinion about each row, with noise of their own."""
    return rng.normal(rng.normal(size=(n_rows, 1)), 1.0, size=(n_rows, n_voters))


def excess(wrong: list[int], n_fresh: int, limit: float) -> dict[str, Any]:
    """Return how many are above the limit, and by more than the noise of so many fresh rows explains.

    The latter: so many wrong answers, or more, come up in at most 5 of 100 samples if the true disagreement
    is the limit.
    """
    surely = binom.isf(0.05, n_fresh, limit)
    return {
        "n_fresh": n_fresh,
        "n": len(wrong),
        "above": int(np.count_nonzero(np.array(wrong) > limit * n_fresh)),
        "surely_above": int(np.count_nonzero(np.array(wrong) > surely)),
        "disagreement": float(np.mean(wrong) / n_fresh),
        "worst": max(wrong) / n_fresh,
    }

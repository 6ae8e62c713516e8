"""The exact disagreement of each class on real data, and how far a shared order deviates from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import sklearn

from benchmarks.datasets import load
from benchmarks.forests import Cache, train_forest
from foregone import StoppingStrategy, VoteDistribution, evaluate, solve
from foregone.forest import PackedForest

__all__ = [
    "MODES",
    "NAMES",
    "Luck",
    "Risk",
    "Spread",
    "common_deviation",
    "disagreement_in_order",
    "luck",
    "risks",
    "spread",
    "votes_of",
]

NAMES = ("sepsis", "diabetes", "income")
LIMIT = 1e-3
EACH = {"yes": LIMIT, "no": LIMIT}
MODES: dict[str, tuple[str, float | dict[str, float], dict[str, Any]]] = {
    "(a) minimean, the paper's": ("minimean", LIMIT, {}),
    "(b) confidence 0.95": ("minimean", LIMIT, {"confidence": 0.95}),
    "(c) class budgets": ("minimean", EACH, {}),
    "(d) class budgets, confidence 0.95": ("minimean", EACH, {"confidence": 0.95}),
    "(e) minimixed": ("minimixed", LIMIT, {}),
    "(f) as (d), looks every 10": ("minimean", EACH, {"confidence": 0.95, "looks": 10}),
    "(g) as (b), likeliest answers": ("minimean", LIMIT, {"confidence": 0.95, "answer": "likeliest"}),
}
WITH_LUCK = tuple(MODES)[:5]  # the ways whose shared orders are looked at
MOST_TRAINING_ROWS = 100_000
Votes = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SplitVotes:
    """Every tree's vote on the calibration and test rows of one split; equal test rows are in one group."""

    name: str
    calibration: Votes
    test: Votes
    group: npt.NDArray[np.int64]

    @property
    def seen(self) -> VoteDistribution:
        """The votes on the calibration rows."""
        return VoteDistribution.from_votes(self.calibration)

    @property
    def rare(self) -> str:
        """The class that the full vote says less often on the calibration rows."""
        yes = 2 * np.count_nonzero(self.calibration, axis=1) > self.calibration.shape[1]
        return "yes" if yes.mean() < 0.5 else "no"

    @property
    def is_rare(self) -> Votes:
        """Whether the full vote on a test row is the rare class."""
        yes = 2 * np.count_nonzero(self.test, axis=1) > self.test.shape[1]
        return yes if self.rare == "yes" else ~yes


@dataclass(frozen=True)
class Risk:
    """Mean trees asked and disagreement with the full vote on test rows, in the mean over random orders."""

    name: str
    mode: str
    n_calibrated: int
    n_tested: int
    n_rare: int
    trees: float
    overall: float
    rare: float
    other: float


@dataclass(frozen=True)
class Spread:
    """How the disagreement on the test rows differs from order to order.

    Attributes
    ----------
    expected : float
        Its mean over all orders.
    shared : ndarray of shape (n_orders,)
        The share of rows answered otherwise than by their full vote, for orders that all rows share.
    common : tuple of float
        Standard deviation of `shared` that more rows would not lessen, because errors are correlated: from
        here to there, with 95 % confidence.
    own : float
        Standard deviation if every row has an order of its own, but for equal rows, which get the same one.
    """

    expected: float
    shared: npt.NDArray[np.float64]
    common: tuple[float, float]
    own: float


@dataclass(frozen=True)
class Luck:
    """The spread over all test rows, and over those of the rare class."""

    name: str
    mode: str
    overall: Spread
    rare: Spread


def votes_of(name: str, folder: Path, split: int, cache: Cache) -> SplitVotes:
    """Train a forest on one split and let it vote; forests that are kept are used, and the votes are kept."""
    data = load(name, folder, MOST_TRAINING_ROWS, 10**9, split)
    path = cache.path(data, "votes", sklearn.__version__).with_suffix(".npz")
    if not path.exists():
        kept = cache.forest_path(data)
        forest = PackedForest.from_sklearn(joblib.load(kept) if kept.exists() else train_forest(data))
        np.savez(
            path,
            calibration=np.packbits(forest.vote_matrix(data.X_calibration), axis=1),
            test=np.packbits(forest.vote_matrix(data.X_test), axis=1),
            n_trees=forest.n_trees,
        )
    _, group = np.unique(data.X_test, axis=0, return_inverse=True)
    with np.load(path) as arrays:
        n_trees = int(arrays["n_trees"])
        calibration, test = (
            np.unpackbits(arrays[key], axis=1, count=n_trees).astype(bool) for key in ("calibration", "test")
        )
    return SplitVotes(name, calibration, test, group)


def strategy_for(votes: SplitVotes, mode: str) -> StoppingStrategy:
    """Solve for the votes on the calibration rows."""
    criterion, limit, options = MODES[mode]
    return solve(criterion, votes.seen, limit, **options).strategy


def risks(votes: SplitVotes) -> list[Risk]:
    """Return what each way to solve does on the test rows, in the mean over orders: no order is drawn."""
    yes_counts, is_rare = np.count_nonzero(votes.test, axis=1), votes.is_rare
    found = []
    for mode in MODES:
        evaluation = evaluate(strategy_for(votes, mode))
        disagreement = evaluation.disagreement[yes_counts]
        found.append(
            Risk(
                name=votes.name,
                mode=mode,
                n_calibrated=len(votes.calibration),
                n_tested=len(votes.test),
                n_rare=int(np.count_nonzero(is_rare)),
                trees=float(evaluation.expected_votes[yes_counts].mean()),
                overall=float(disagreement.mean()),
                rare=float(disagreement[is_rare].mean()),
                other=float(disagreement[~is_rare].mean()),
            )
        )
    return found


def luck(votes: SplitVotes, mode: str, n_orders: int) -> Luck:
    """Return how the disagreement on the test rows differs from order to order, if they share one."""
    strategy, random = strategy_for(votes, mode), np.random.default_rng(0)
    # Equal rows are answered alike, where the strategy leaves it to chance, too: a row's values decide.
    _, first, size = np.unique(votes.group, return_index=True, return_counts=True)
    of_groups = votes.test[first]
    differs = np.empty((n_orders, len(first)), np.bool_)
    for k in range(n_orders):
        risk = disagreement_in_order(strategy, of_groups[:, random.permutation(strategy.n_voters)])
        differs[k] = random.random(len(risk)) < risk
    expected = evaluate(strategy).disagreement[np.count_nonzero(of_groups, axis=1)]
    rare = votes.is_rare[first]
    return Luck(
        votes.name,
        mode,
        spread(differs, size, expected),
        spread(differs[:, rare], size[rare], expected[rare]),
    )


def spread(differs: Votes, size: npt.NDArray[np.int64], expected: npt.NDArray[np.float64]) -> Spread:
    """Return the spread over orders, given which groups of equal rows were answered otherwise in each.

    The variance of a weighted mean is the sum of the groups' own variances, by squared weight, and of the
    covariances between groups; what is common is the mean of the latter.
    """
    weights = size / size.sum()
    return Spread(
        expected=float(weights @ expected),
        shared=differs @ weights,
        common=common_deviation(differs, weights),
        own=float(np.sqrt(np.sum(weights**2 * expected * (1 - expected)))),
    )


def common_deviation(differs: Votes, weights: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return an interval (95 %) for the root of the mean covariance between groups.

    The estimate of a covariance may be negative, which would tell nothing as a deviation of zero. So it is
    estimated without each of the orders in turn (jackknife), and the ends of its interval are cut at zero.
    """
    n_orders, squares = len(differs), np.sum(weights**2)
    if squares >= 1:
        return 0.0, 0.0

    def covariance(n: int, sums: tuple[Any, Any, Any, Any]) -> Any:
        total, total_squares, own, own_squares = sums
        return ((total_squares - total**2 / n) - (own - own_squares / n)) / ((n - 1) * (1 - squares))

    shared, counts = differs @ weights, np.count_nonzero(differs, axis=0)
    # Of an order k: its share, the squared weight of its groups, and what count**2 loses without it.
    own, lost = differs @ weights**2, differs @ (weights**2 * (2 * counts - 1))
    sums = (shared.sum(), np.sum(shared**2), own.sum(), np.sum(weights**2 * counts**2))
    without = covariance(
        n_orders - 1, tuple(s - k for s, k in zip(sums, (shared, shared**2, own, lost), strict=True))
    )
    error = np.sqrt((n_orders - 1) * np.mean((without - without.mean()) ** 2))
    estimate = covariance(n_orders, sums)
    low, high = (float(np.sqrt(max(estimate + sign * 1.96 * error, 0.0))) for sign in (-1, 1))
    return low, high


def disagreement_in_order(strategy: StoppingStrategy, votes: Votes) -> npt.NDArray[np.float64]:
    """Return each row's probability to be answered otherwise than by its full vote, columns asked in order.

    Chance is left only in the states where the strategy itself leaves it to chance.
    """
    full_is_yes = 2 * np.count_nonzero(votes, axis=1) > strategy.n_voters
    wrong = np.zeros(len(votes))
    rows, yes, reached = np.arange(len(votes)), np.zeros(len(votes), np.int64), np.ones(len(votes))
    for asked in range(strategy.n_voters + 1):
        stop = strategy.stop_probabilities(asked)[yes]
        differs = (yes >= strategy.yes_from[asked]) != full_is_yes[rows]
        wrong[rows] += reached * stop * differs
        on = stop < 1
        rows, yes, reached = rows[on], yes[on], reached[on] * (1 - stop[on])
        if asked < strategy.n_voters:
            yes = yes + votes[rows, asked]
    return wrong

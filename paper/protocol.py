"""The paper's experiment, section 4: split, train, count votes; then solve and measure exactly.

Training is the slow part and gives a `Piece`; everything else follows from its vote counts in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone import StoppingStrategy, VoteDistribution, evaluate, rules, solve
from foregone.forest import PackedForest
from paper.datasets import Dataset
from paper.results import (
    APPROACHES,
    RATES,
    SCATTER_RATES,
    Approach,
    Measure,
    Piece,
    Rounding,
    Settings,
)

__all__ = ["ALL_RATES", "find_strategies", "measure", "run_piece", "run_rounding"]

ALL_RATES = tuple(sorted({*RATES, *SCATTER_RATES}))
SHARES = (0.7, 0.1, 0.2)  # of the rows, to train, to calibrate and to test
# The paper does not say how supplementary table 1 was split; this is the split that gives its numbers.
ROUNDING_SHARES = (0.9, 0.1)

Rows = npt.NDArray[np.int64]  # numbers of rows
Strategies = Mapping[tuple[str, float], StoppingStrategy]


def run_piece(dataset: Dataset, name: str, repeat: int, settings: Settings) -> Piece:
    """Train one forest on one random split and count its votes.

    Split and forest depend on the seed, the name of the dataset and the number of the repeat alone, so that
    a repeat gives the same whatever else is run, and in whatever order.
    """
    forest, (train, calibration, test) = _train(dataset, name, repeat, settings, SHARES)
    packed = PackedForest.from_sklearn(forest)
    del forest  # ten times as large

    def count(rows: Rows) -> npt.NDArray[np.int64]:
        votes = packed.votes(dataset.X[rows], n_threads=1)
        return np.bincount(votes, minlength=settings.n_voters + 1)

    return Piece(
        dataset=name,
        repeat=repeat,
        n_voters=settings.n_voters,
        n_train=len(train),
        calibration_counts=count(calibration),
        test_counts=np.stack([count(test[dataset.y[test] == label]) for label in (0, 1)]),
    )


def run_rounding(dataset: Dataset, name: str, repeat: int, settings: Settings) -> Rounding:
    """Train one forest and compare its trees' probabilities with their votes, on rows it has not seen."""
    forest, (_, test) = _train(dataset, name, repeat, settings, ROUNDING_SHARES)
    rows = np.ascontiguousarray(dataset.X[test])
    yes = np.zeros(len(test), np.int64)
    total = np.zeros((len(test), 2))
    certain = 0
    for member in forest.estimators_:  # tree by tree: no table of all probabilities is kept
        probability = member.predict_proba(rows, check_input=False)
        yes += probability[:, 1] > probability[:, 0]  # a tie is "no", as in a tree's own predict
        total += probability
        certain += int(np.count_nonzero((probability == 0) | (probability == 1))) // 2
    mean_says_yes = total[:, 1] > total[:, 0]
    return Rounding(
        dataset=name,
        repeat=repeat,
        n_voters=settings.n_voters,
        tree_certainty=certain / (len(test) * settings.n_voters),
        invariance_to_rounding=float(np.mean((2 * yes > settings.n_voters) == mean_says_yes)),
    )


def _train(
    dataset: Dataset, name: str, repeat: int, settings: Settings, shares: Sequence[float]
) -> tuple[Any, list[Rows]]:
    """Shuffle, split by ``shares`` and train on the first part; return the forest and all parts."""
    from sklearn.ensemble import RandomForestClassifier

    seeds = np.random.SeedSequence([settings.seed, repeat, *name.encode()])
    shuffled = np.random.default_rng(seeds).permutation(len(dataset.X))
    ends = np.rint(np.cumsum(shares)[:-1] * len(shuffled)).astype(int)
    parts = np.split(shuffled, ends)
    forest = RandomForestClassifier(settings.n_voters, n_jobs=1, random_state=int(seeds.generate_state(1)[0]))
    return forest.fit(dataset.X[parts[0]], dataset.y[parts[0]]), parts


def find_strategies(
    n_voters: int, votes: VoteDistribution | None, rates: Sequence[float] = ALL_RATES
) -> Strategies:
    """Find the strategy of every approach at every rate.

    Parameters
    ----------
    n_voters : int
        Number of voters.
    votes : VoteDistribution or None
        The votes of the calibration rows, for the approaches that are calibrated; None for the others.
    rates : sequence of float
        Allowed rates of disagreement.

    Returns
    -------
    mapping of (name of approach, rate) to StoppingStrategy
        Only approaches that are calibrated, or only those that are not.
    """
    chosen = [approach for approach in APPROACHES if approach.calibrated == (votes is not None)]
    return {
        (approach.name, rate): _strategy(approach, n_voters if votes is None else votes, rate)
        for approach in chosen
        for rate in rates
    }


def _strategy(approach: Approach, votes: VoteDistribution | int, rate: float) -> StoppingStrategy:
    if approach.criterion is None:
        assert isinstance(votes, int)  # Schwing's rule is not calibrated
        return rules.schwing(votes, rate)
    return solve(approach.criterion, votes, rate).strategy


def measure(pieces: Sequence[Piece], rates: Sequence[float] = ALL_RATES) -> list[Measure]:
    """Measure every approach at every rate on the pieces of one dataset, exactly, and average.

    For every number of yes votes the expected votes and the disagreement of a strategy are known exactly;
    weighted by how often it occurs among the test rows of each class, they give the figures of a piece.
    """
    n_voters = pieces[0].n_voters
    flat = find_strategies(n_voters, None, rates)
    figures: dict[tuple[str, float], list[npt.NDArray[np.float64]]] = {}
    for piece in pieces:
        calibrated = find_strategies(n_voters, VoteDistribution.from_counts(piece.calibration_counts), rates)
        for key, strategy in {**flat, **calibrated}.items():
            figures.setdefault(key, []).append(_figures(strategy, piece))
    return [
        _average(pieces[0].dataset, approach.name, rate, np.array(figures[approach.name, rate]))
        for approach in APPROACHES
        for rate in rates
    ]


def _average(dataset: str, approach: str, rate: float, found: npt.NDArray[np.float64]) -> Measure:
    """Average figures with a row for each repeat."""
    repeats = len(found)
    mean, spread = found.mean(axis=0).tolist(), found.std(axis=0, ddof=min(1, repeats - 1)).tolist()
    return Measure(dataset, approach, rate, mean[0], mean[1], mean[2], mean[3], repeats, *spread)


def _figures(strategy: StoppingStrategy, piece: Piece) -> npt.NDArray[np.float64]:
    """Return expected runtime, disagreement, error and base error on the test rows, as shares."""
    evaluation = evaluate(strategy)
    no_rows, yes_rows = piece.test_counts / piece.test_counts.sum()
    rows = no_rows + yes_rows
    full_vote_is_yes = 2 * np.arange(piece.n_voters + 1) > piece.n_voters
    says_yes = np.where(full_vote_is_yes, 1 - evaluation.disagreement, evaluation.disagreement)
    return np.array(
        [
            rows @ evaluation.expected_votes / piece.n_voters,
            rows @ evaluation.disagreement,
            no_rows @ says_yes + yes_rows @ (1 - says_yes),
            no_rows @ full_vote_is_yes + yes_rows @ ~full_vote_is_yes,
        ]
    )

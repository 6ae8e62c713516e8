from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from foregone import StoppingStrategy, VoteDistribution, rules, solve
from paper import protocol
from paper.datasets import Dataset
from paper.results import APPROACHES, RATES, SCATTER_RATES, Piece, Settings

SETTINGS = Settings(n_voters=7, repeats=2, seed=3)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    X, y = make_classification(400, 6, n_informative=3, flip_y=0.3, random_state=0)
    rounded = np.round(X, 1).astype(np.float32)  # equal rows of both classes, so that some leaves are mixed
    return Dataset(rounded[:, :2].copy(), y.astype(np.int8), 2)


def parts_and_forest(
    dataset: Dataset, ends: list[int], repeat: int
) -> tuple[list[np.ndarray], RandomForestClassifier]:
    """The documented split and forest, written out."""
    seeds = np.random.SeedSequence([SETTINGS.seed, repeat, *b"skin"])
    parts = np.split(np.random.default_rng(seeds).permutation(len(dataset.X)), ends)
    forest = RandomForestClassifier(SETTINGS.n_voters, random_state=int(seeds.generate_state(1)[0]))
    return parts, forest.fit(dataset.X[parts[0]], dataset.y[parts[0]])


def test_a_piece_counts_the_votes_of_every_trees_own_predict(dataset: Dataset) -> None:
    piece = protocol.run_piece(dataset, "skin", 1, SETTINGS)
    (_, calibration, test), forest = parts_and_forest(dataset, [280, 320], 1)
    calibration_counts, test_counts = np.zeros(8, int), np.zeros((2, 8), int)
    for row in calibration:
        calibration_counts[int(sum(t.predict(dataset.X[[row]])[0] for t in forest.estimators_))] += 1
    for row in test:
        yes = int(sum(t.predict(dataset.X[[row]])[0] for t in forest.estimators_))
        test_counts[dataset.y[row], yes] += 1
    assert piece.calibration_counts.tolist() == calibration_counts.tolist()
    assert piece.test_counts.tolist() == test_counts.tolist()
    assert (piece.n_train, calibration_counts.sum(), test_counts.sum()) == (280, 40, 80)


def test_repeats_seeds_and_names_give_other_splits_and_the_same_gives_the_same(dataset: Dataset) -> None:
    def counts(name: str, repeat: int, seed: int) -> list[list[int]]:
        return protocol.run_piece(dataset, name, repeat, Settings(7, 2, seed)).test_counts.tolist()

    first = counts("skin", 0, 0)
    assert counts("skin", 0, 0) == first
    assert first not in (counts("skin", 1, 0), counts("skin", 0, 1), counts("wine", 0, 0))


def test_rounding_compares_votes_with_the_forests_own_answer(dataset: Dataset) -> None:
    found = protocol.run_rounding(dataset, "skin", 0, SETTINGS)
    (_, test), forest = parts_and_forest(dataset, [360], 0)
    rows = dataset.X[test]
    probabilities = np.array([tree.predict_proba(rows)[:, 1] for tree in forest.estimators_])
    votes = np.array([tree.predict(rows) for tree in forest.estimators_]).sum(axis=0)
    assert found.tree_certainty == np.isin(probabilities, (0, 1)).mean()
    assert 0 < found.tree_certainty < 1
    assert found.invariance_to_rounding == ((votes > 3.5) == forest.predict(rows)).mean()


def exact_walk(table: np.ndarray, n_voters: int, n_yes: int) -> tuple[Fraction, Fraction]:
    """Expected votes and probability to answer yes, by the definition, in fractions."""
    going = {0: Fraction(1)}
    cost = says_yes = Fraction(0)
    for asked in range(n_voters + 1):
        later: dict[int, Fraction] = {}
        for yes, reach in going.items():
            stop = Fraction(float(table[asked, yes]))
            cost += reach * stop * asked
            says_yes += reach * stop * (2 * yes > asked)
            if asked < n_voters:
                chance = Fraction(n_yes - yes, n_voters - asked)
                for following, share in ((yes + 1, chance), (yes, 1 - chance)):
                    if share:
                        later[following] = later.get(following, Fraction(0)) + reach * (1 - stop) * share
        going = later
    return cost, says_yes


def pieces() -> list[Piece]:
    draw = np.random.default_rng(0)
    binomial = [comb(7, n) for n in range(8)]
    return [
        Piece("skin", repeat, 7, 100, draw.poisson(binomial), np.stack([draw.poisson(binomial)] * 2))
        for repeat in range(2)
    ]


def strategy_of(name: str, piece: Piece, rate: float) -> StoppingStrategy:
    """What the paper's table 1 says each approach is."""
    if name == "schwing":
        return rules.schwing(7, rate)
    criterion, *votes = name.split("_")
    calibrated = VoteDistribution.from_counts(piece.calibration_counts)
    return solve(criterion, calibrated if votes == ["calibrated"] else 7, rate).strategy


def test_measures_are_those_of_walking_every_row_through_every_strategy() -> None:
    found = {(m.approach, m.max_disagreement): m for m in protocol.measure(pieces(), (0.0, 0.1))}
    assert len(found) == 2 * len(APPROACHES)
    for (name, rate), measure in found.items():
        runtimes, disagreements, errors, base_errors = [], [], [], []
        for piece in pieces():
            strategy = strategy_of(name, piece, rate)
            rows = piece.test_counts.sum()
            total = dict.fromkeys(("runtime", "disagreement", "error", "base"), Fraction(0))
            for label in (0, 1):
                for n_yes, count in enumerate(piece.test_counts[label].tolist()):
                    cost, says_yes = exact_walk(strategy.table(), 7, n_yes)
                    full = 2 * n_yes > 7
                    total["runtime"] += count * cost / 7
                    total["disagreement"] += count * (1 - says_yes if full else says_yes)
                    total["error"] += count * (1 - says_yes if label else says_yes)
                    total["base"] += count * (full != bool(label))
            for figures, value in zip(
                (runtimes, disagreements, errors, base_errors), total.values(), strict=True
            ):
                figures.append(float(value / int(rows)))
        assert measure.expected_runtime == pytest.approx(np.mean(runtimes))
        assert measure.disagreement == pytest.approx(np.mean(disagreements), abs=1e-15)
        assert measure.error == pytest.approx(np.mean(errors))
        assert measure.base_error == pytest.approx(np.mean(base_errors))
        assert measure.runtime_spread == pytest.approx(np.std(runtimes, ddof=1), abs=1e-12)
        assert measure.error_spread == pytest.approx(np.std(errors, ddof=1), abs=1e-12)
        assert measure.repeats == 2


def test_without_allowed_disagreement_nothing_is_lost() -> None:
    for measure in protocol.measure(pieces(), (0.0,)):
        assert measure.disagreement == 0
        assert measure.error == pytest.approx(measure.base_error)
        assert measure.expected_runtime < 1


def test_one_repeat_has_no_spread() -> None:
    assert {m.runtime_spread for m in protocol.measure(pieces()[:1], (0.01,))} == {0.0}


def test_all_rates_of_the_figures_are_measured() -> None:
    assert set(protocol.ALL_RATES) == {*RATES, *SCATTER_RATES}
    assert len(protocol.ALL_RATES) == 9

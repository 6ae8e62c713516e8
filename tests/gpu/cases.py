"""What a GPU is compared with the CPU on: every kind of leaf, node and key, every order, draws, odd values.

Each case is a function that takes how many rows to run and raises if anything differs. They run on numba's
simulator in every run of the suite (`tests/gpu/test_simulated.py`), and on a GPU where there is one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop, solve
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from foregone.forest.device_arrays import is_on_device, to_host
from foregone.forest.schedule import FixedOrder
from foregone.kinds import strategy_of
from foregone.plurality import PluralityStrategy, solve_plurality
from foregone.scores import ScoreStrategy
from foregone.strategy import StoppingStrategy
from tests.forest.random_scores import STRANGE, random_scores

CASES: dict[str, Callable[[int], None]] = {}
N_TREES = 11


def case(check: Callable[[int], None]) -> Callable[[int], None]:
    CASES[check.__name__] = check
    return check


def data(n_rows: int, n_classes: int = 2, n_features: int = 6, missing: bool = False) -> Any:
    X, y = make_classification(
        300 + n_rows,
        n_features,
        n_informative=5,
        n_redundant=0,
        n_classes=n_classes,
        class_sep=0.8,
        random_state=0,
    )
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X[:300], y[:300], X[300:]


def same(here: Any, there: Any) -> None:
    """Fail unless two outcomes, or two arrays, are the same bit for bit."""
    if isinstance(here, tuple):
        for mine, theirs in zip(here, there, strict=True):
            same(mine, theirs)
        return
    np.testing.assert_array_equal(here, there)
    assert here.dtype == there.dtype


def forest(n_rows: int, **options: Any) -> tuple[PackedForest, Any]:
    X, y, new = data(n_rows, **options)
    return PackedForest.from_sklearn(RandomForestClassifier(N_TREES, random_state=0).fit(X, y)), new


def by_chance(n_voters: int = N_TREES) -> StoppingStrategy:
    """A strategy that leaves many stops to chance."""
    return strategy_of(solve("minimixed", n_voters, 0.2))


def check_orders(packed: Any, strategy: Any, new: Any) -> None:
    fixed = FixedOrder(np.random.default_rng(1).permutation(N_TREES))
    for order in ("shared", "dealt", "per_row", fixed):
        for seed in (3, 2**64 - 1):
            how = {"seed": seed, "order": order}
            same(packed.run(new, strategy, **how), packed.run(new, strategy, **how, device="cuda"))


@case
def votes_in_every_order(n_rows: int) -> None:
    packed, new = forest(n_rows)
    check_orders(packed, strategy_of(solve("minimean", N_TREES, 0.05)), new.astype(np.float32))


@case
def votes_that_stop_by_chance(n_rows: int) -> None:
    packed, new = forest(n_rows)
    strategy = by_chance()
    assert len(strategy.kernel_arrays[3])
    check_orders(packed, strategy, new)


@case
def votes_of_all_trees(n_rows: int) -> None:
    packed, new = forest(n_rows)
    same(packed.run(new, None, seed=0), packed.run(new, None, seed=0, device="cuda"))
    same(packed.votes(new), packed.votes(new, device="cuda"))
    same(packed.vote_matrix(new), packed.vote_matrix(new, device="cuda"))


@case
def votes_with_missing_values(n_rows: int) -> None:
    packed, new = forest(n_rows, missing=True)
    check_orders(packed, by_chance(), new)


@case
def votes_in_wide_nodes(n_rows: int) -> None:
    packed, new = forest(n_rows, n_features=300)
    assert packed.nodes.ndim == 2
    check_orders(packed, by_chance(), new)


@case
def votes_on_rows_on_the_device(n_rows: int) -> None:
    from numba import cuda

    packed, new = forest(n_rows)
    strange = new.copy()
    strange[n_rows // 2, 3] = np.nan
    for strategy in (strategy_of(solve("minimean", N_TREES, 0.05)), by_chance(), None):
        for rows in (new, new.astype(np.float32), strange):
            for order in ("shared", "dealt"):
                how = {"seed": 3, "order": order}
                there = packed.run(cuda.to_device(rows), strategy, **how, device="cuda")
                assert all(hasattr(part, "__cuda_array_interface__") for part in there)
                same(packed.run(rows, strategy, **how), tuple(to_host(part) for part in there))


@case
def votes_in_columns_of_another_layout(n_rows: int) -> None:
    packed, new = forest(n_rows)
    strategy = by_chance()
    same(
        packed.run(new, strategy, seed=0), packed.run(np.asfortranarray(new), strategy, seed=0, device="cuda")
    )


def strange_rows(rng: Any, n_rows: int) -> Any:
    X = np.where(
        rng.random((n_rows, 5)) < 0.5, rng.choice(STRANGE, (n_rows, 5)), rng.normal(size=(n_rows, 5))
    )
    return np.where(np.isinf(X), 2.0, X)


def _votes_of_strange_values(n_rows: int, key_bits: int, sets: bool, zeros: bool) -> None:
    rng = np.random.default_rng(5)
    found = random_scores(rng, key_bits, N_TREES, sets=sets, zeros=zeros)
    packed = PackedForest.from_imported(found._replace(trees_vote=True))
    assert packed.nodes.ndim == (2 if sets or key_bits == 64 else 1)
    X = strange_rows(rng, n_rows)
    check_orders(packed, by_chance(), X)
    for rows in (X, X.astype(np.float32)):  # which are asked with shorter keys, if there are no sets
        same(packed.vote_matrix(rows), packed.vote_matrix(rows, device="cuda"))
        same(packed.run(rows, None, seed=0), packed.run(rows, None, seed=0, device="cuda"))


for _bits in (32, 64):
    for _sets in (False, True):
        for _zeros in (False, True):
            _name = (
                f"votes_with_keys_of_{_bits}_bits"
                f"{'_and_categories' if _sets else ''}{'_and_missing_zeros' if _zeros else ''}"
            )
            CASES[_name] = lambda n_rows, bits=_bits, sets=_sets, zeros=_zeros: _votes_of_strange_values(
                n_rows, bits, sets, zeros
            )


def _scores_of_strange_values(n_rows: int, key_bits: int, sets: bool) -> None:
    rng = np.random.default_rng(6)
    scored = ScoredForest.from_imported(random_scores(rng, key_bits, N_TREES, sets=sets, zeros=sets))
    X = strange_rows(rng, n_rows)
    ends = np.linspace(2.0, 0.1, N_TREES)
    strategy = ScoreStrategy.from_thresholds(
        [-np.inf, *(-ends[:-1]).tolist(), 0.0],
        [np.inf, *ends[:-1].tolist(), 0.0],
        order=rng.permutation(N_TREES),
        start=scored.start,
    )
    for rows in (X, X.astype(np.float32)):
        same(scored.run(rows, strategy), scored.run(rows, strategy, device="cuda"))
        same(scored.full_scores(rows), scored.full_scores(rows, device="cuda"))
        same(scored.scores(rows), scored.scores(rows, device="cuda"))


for _bits in (32, 64):
    for _sets in (False, True):
        CASES[f"scores_with_keys_of_{_bits}_bits{'_and_categories' if _sets else ''}"] = (
            lambda n_rows, bits=_bits, sets=_sets: _scores_of_strange_values(n_rows, bits, sets)
        )


@case
def strategies_that_ask_nobody(n_rows: int) -> None:
    packed, new = forest(n_rows)
    lower, upper = np.full(N_TREES + 1, -1), np.arange(1, N_TREES + 2)
    lower[0] = 0
    lower[-1], upper[-1] = N_TREES // 2, N_TREES // 2 + 1
    strategy = StoppingStrategy.from_thresholds(lower, upper)
    outcome = packed.run(new, strategy, seed=0, device="cuda")
    same(packed.run(new, strategy, seed=0), outcome)
    assert not outcome[1].any()


@case
def answers_in_every_order(n_rows: int) -> None:
    X, y, new = data(n_rows, n_classes=3)
    packed = PluralityForest.from_sklearn(RandomForestClassifier(N_TREES, random_state=0).fit(X, y))
    known = solve_plurality(packed.votes(new), 0.1, n_voters=N_TREES, n_classes=3, confidence=None)
    check_orders(packed, known.strategy, new)
    chances = np.where(known.strategy.stops, 1.0, 0.3)  # chance decides nearly everywhere
    chances[0] = 0.0
    check_orders(packed, PluralityStrategy.from_probabilities(known.strategy.lattice, chances), new)
    same(packed.votes(new), packed.votes(new, device="cuda"))
    same(packed.run(new, None, seed=0), packed.run(new, None, seed=0, device="cuda"))
    same(packed.vote_matrix(new), packed.vote_matrix(new, device="cuda"))


@case
def scores_of_many_classes(n_rows: int) -> None:
    X, y, new = data(n_rows, n_classes=3)
    model = RandomForestClassifier(N_TREES, min_samples_leaf=5, random_state=0).fit(X, y)
    for of_votes in (False, True):
        scored = ScoredForest.from_model(model, of_votes=of_votes)
        upper = [np.inf, np.inf, *np.linspace(3, 1, N_TREES - 2).tolist(), 0]
        strategy = ScoreStrategy.from_thresholds(None, upper, start=[0.0, 0.0, 0.0])
        same(scored.run(new, strategy), scored.run(new, strategy, device="cuda"))
        same(scored.full_scores(new), scored.full_scores(new, device="cuda"))
        same(scored.scores(new), scored.scores(new, device="cuda"))


@case
def rounds_that_drop_classes(n_rows: int) -> None:
    X, y, new = data(n_rows, n_classes=3, missing=True)
    model = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, random_state=0).fit(X, y)
    classifier = early_stop(model, X, max_disagreement=0.3, random_state=0)
    scored, strategy = classifier.ensemble_, classifier.strategy_
    assert scored.drops_classes
    outcome = scored.run(new, strategy, device="cuda")
    same(scored.run(new, strategy), outcome)
    same(scored.full_scores(new), scored.full_scores(new, device="cuda"))
    same(scored.scores(new), scored.scores(new, device="cuda"))


@case
def rows_in_several_pieces(n_rows: int) -> None:
    from foregone.forest import gpu_forest

    packed, new = forest(n_rows)
    strategy, usual = by_chance(), gpu_forest.PIECE_BYTES
    gpu_forest.PIECE_BYTES = 8 * 6 * (n_rows // 3)
    try:
        same(packed.run(new, strategy, seed=0), packed.run(new, strategy, seed=0, device="cuda"))
    finally:
        gpu_forest.PIECE_BYTES = usual


@case
def values_that_cannot_be_taken(n_rows: int) -> None:
    rng = np.random.default_rng(5)
    found = random_scores(rng, 32, N_TREES)._replace(trees_vote=True, takes_missing=False)
    packed, new = PackedForest.from_imported(found), rng.normal(size=(n_rows, 5))
    for strategy in (None, by_chance()):
        for value in (np.nan, np.inf, 1e300):
            wrong = new.copy()
            wrong[n_rows // 2, 4] = value
            errors = []
            for device in ("cpu", "cuda"):
                with pytest.raises(InvalidInputError) as caught:
                    packed.run(wrong, strategy, seed=0, device=device)
                errors.append(str(caught.value))
            assert errors[0] == errors[1]
        same(packed.run(new, strategy, seed=0), packed.run(new, strategy, seed=0, device="cuda"))


@case
def classifiers(n_rows: int) -> None:
    X, y, new = data(n_rows)
    model = RandomForestClassifier(N_TREES, random_state=0).fit(X, np.array(["no", "yes"])[y])
    classifier = early_stop(model, new, max_disagreement=0.1, device="cuda", random_state=0)
    check_classifier(classifier, new)
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(Path(folder) / "classifier.foregone")
        again = EarlyStoppingClassifier.load(Path(folder) / "classifier.foregone")
    assert again.device == "cpu"
    check_classifier(again.set_params(device="cuda"), new)


def check_classifier(classifier: EarlyStoppingClassifier, new: Any) -> None:
    """Compare whatever is predicted on the two devices."""
    outcomes = []
    for device in ("cpu", "cuda"):
        classifier.set_params(device=device)
        told = [classifier.predict(new), *classifier.predict_with_votes(new), classifier.full_predict(new)]
        if hasattr(classifier, "predict_proba"):
            told.append(classifier.predict_proba(new))
        if classifier.voting_ == "hard":
            told.append(classifier.full_votes(new))
        outcomes.append(tuple(told))
    same(*outcomes)


# What is done in another way for many rows -----------------------------------------------------------


def in_tiles(run: Callable[[int], None], rank_gain: float) -> Callable[[int], None]:
    """Return a case that is run as if its rows were many, with ranks if these gain so much."""

    def run_in_tiles(n_rows: int) -> None:
        from numba import cuda

        from foregone.forest import gpu_forest, gpu_jobs

        plain_run = gpu_forest.GpuForest.run

        def run_there(self: Any, X: Any, key: Any, make: Any) -> Any:
            """Run rows on the host as those on the device, which alone are asked in tiles."""
            if is_on_device(X) or self._format.encodes_arrays:
                return plain_run(self, X, key, make)
            there = cuda.to_device(np.ascontiguousarray(self._format.as_rows(X)))
            return [to_host(part) for part in plain_run(self, there, key, make)]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gpu_forest, "FEWEST_IN_TILES", 0)
            patch.setattr(gpu_forest, "FEWEST_WARPS", 2)
            patch.setattr(gpu_forest, "SAMPLED_ROWS", 8)
            patch.setattr(gpu_jobs, "RANK_GAIN", rank_gain)
            patch.setattr(gpu_jobs, "LAUNCH", 0.0)
            patch.setattr(gpu_forest.GpuForest, "run", run_there)
            run(n_rows)

    return run_in_tiles


ALL_CASES = dict(CASES)
for _name, _run in CASES.items():
    if _name.startswith(("votes_", "scores_with")):
        ALL_CASES[f"{_name}_in_tiles"] = in_tiles(_run, rank_gain=0.0)
    if _name.startswith("votes_"):
        ALL_CASES[f"{_name}_in_tiles_of_ranks"] = in_tiles(_run, rank_gain=1e9)

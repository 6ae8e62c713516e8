"""The tasks of `foregone warm-up`: small calls that compile everything users need.

A kernel is compiled for each combination of types that it is called with: formats of trees, types of values,
and the forms of batches. The tasks cover all combinations that imported forests can have, except trees split
by categories, which are compiled when they first run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from foregone.forest import Forest, PackedForest, PluralityForest, ScoredForest
from foregone.forest.importers.found import Found, Tree
from foregone.plurality import PluralityStrategy
from foregone.strategy.limits import CRITERIA

__all__ = ["SCOPES", "CompileTask", "Scope", "small_forest_agrees", "tasks_for"]

Scope = Literal["predict", "scores", "solve", "all"]
SCOPES: tuple[Scope, ...] = ("predict", "scores", "solve", "all")

N_TREES, N_CLASSES = 5, 3
N_ROWS = 40
LEVELS = (5, 9)  # of trees that are masks of leaves, and of trees with too many leaves for that
FEW_FEATURES, MANY_FEATURES = 4, 300  # which need wide nodes
KEY_BITS: tuple[Literal[32, 64], ...] = (32, 64)
# What leaves say about many classes: the class itself, a line of scores that 32 bits hold or not, or a score
# for one of them.
MANY_SCORES: tuple[tuple[str, Literal[32, 64]], ...] = (
    ("ones", 32),
    ("lines", 32),
    ("short lines", 32),
    ("own", 32),
    ("own", 64),
)
MANY_TREES = 10**12  # asked, so that every form pays


class CompileTask(NamedTuple):
    """A call that compiles something, and its name for the progress line."""

    name: str
    work: Callable[[], object]


def tasks_for(scope: Scope) -> list[CompileTask]:
    """Return the tasks that compile everything for predicting, scores or solving."""
    wanted = SCOPES[:-1] if scope == "all" else (scope,)
    by_scope: dict[str, Callable[[], Iterator[CompileTask]]] = {
        "predict": _predicting,
        "scores": _scoring,
        "solve": _solving,
    }
    return [task for name in wanted for task in by_scope[name]()]


# Predicting --------------------------------------------------------------------------------------


def _predicting() -> Iterator[CompileTask]:
    sizes = (*((levels, FEW_FEATURES) for levels in LEVELS), (LEVELS[0], MANY_FEATURES))
    for n_classes, key_bits, (levels, n_features) in product((2, N_CLASSES), KEY_BITS, sizes):
        name = f"votes, {n_classes} classes, {key_bits} bits, {n_features} features, {1 << levels} leaves"
        yield CompileTask(name, _votes(levels, n_features, n_classes, key_bits))
    yield CompileTask("committees", _random_stops)
    yield CompileTask("monitors", _monitor)
    yield CompileTask("lines of CSV files", _csv)


def _votes(levels: int, n_features: int, n_classes: int, key_bits: Literal[32, 64]) -> Callable[[], None]:
    def work() -> None:
        found = _found(levels, n_features, n_classes, key_bits, votes=True)
        kind: Any = PackedForest if n_classes == 2 else PluralityForest
        forest = _saved_and_loaded(kind.from_imported(found))
        strategy = _strategy(n_classes)
        for rows in _rows(n_features):
            for order in ("shared", "dealt", "per_row"):
                _run_in_every_form(forest, rows, partial(forest.run, strategy=strategy, seed=0, order=order))
            forest.run_one(rows[0].copy(), strategy, seed=0)
            forest.vote_matrix(rows)
            for _ in range(2):
                forest.votes(rows)

    return work


def _strategy(n_classes: int) -> Any:
    from foregone.plurality.rules import curtailment as among_many
    from foregone.rules import curtailment

    return curtailment(N_TREES) if n_classes == 2 else among_many(N_TREES, n_classes)


def _run_in_every_form(forest: Any, rows: Any, run: Callable[[Any], object]) -> None:
    """Run one row and a batch, twice: the second time in the form for rows that ask many trees."""
    run(rows[:1])
    for block in (rows, rows):
        forest._batch.load(rows, _scratch(forest))  # a batch, however large the trees are
        run(block)
        forest._schedule.record.n_rows = forest._schedule.record.n_asked = MANY_TREES


def _scratch(forest: Any) -> Any:
    from foregone.forest.execution import Scratch

    return Scratch(forest.rows, N_ROWS)


def _random_stops() -> None:
    from foregone._kernels.forest_random import stop_draw
    from foregone.forest.schedule import bits_of_rows

    for bits in bits_of_rows(np.zeros((N_ROWS, FEW_FEATURES))):
        stop_draw(0, bits, 1)


def _monitor() -> None:
    from foregone._kernels.row_sample import count_stops
    from foregone.monitoring.audit_rows import AuditRows

    for rows in _rows(FEW_FEATURES):
        AuditRows(0.5).choose(rows)
    counts, asked = np.zeros((2, N_TREES + 1), np.int64), np.ones(N_ROWS, np.int32)
    for kind in (np.int32, np.bool_):
        count_stops(asked, np.zeros(N_ROWS, kind), counts)


def _csv() -> None:
    from foregone._kernels.csv_lines import LINE_START, find_line_ends

    find_line_ends(np.frombuffer(b"a,b\n", np.uint8), LINE_START, np.empty(2, np.int64))


def small_forest_agrees() -> bool:
    """Return whether a small forest counts the votes that its trees cast one by one."""
    forest = PackedForest.from_imported(_found(LEVELS[0], FEW_FEATURES, 2, votes=True))
    rows = _rows(FEW_FEATURES)[0]
    alone = [forest.run_one(row, None, seed=0)[2] for row in rows]
    return bool((forest.vote_matrix(rows).sum(axis=1) == alone).all())


# Scores ------------------------------------------------------------------------------------------


def _scoring() -> Iterator[CompileTask]:
    for key_bits, levels in product(KEY_BITS, LEVELS):
        name = f"scores, 2 classes, {key_bits} bits, {1 << levels} leaves"
        yield CompileTask(name, _scores(levels, key_bits, 2, "own"))
    for (leaves, key_bits), levels in product(MANY_SCORES, LEVELS):
        name = f"scores, {N_CLASSES} classes, {leaves}, {key_bits} bits, {1 << levels} leaves"
        yield CompileTask(name, _scores(levels, key_bits, N_CLASSES, leaves))
    for n_classes, drops in ((2, False), (N_CLASSES, False), (N_CLASSES, True)):
        yield CompileTask("thresholds on scores", _learn_thresholds(n_classes, drops=drops))
    yield CompileTask("committees", _leads)


def _scores(levels: int, key_bits: Literal[32, 64], n_classes: int, leaves: str) -> Callable[[], None]:
    def work() -> None:
        found = _found(levels, FEW_FEATURES, n_classes, key_bits, leaves=leaves)
        forest = _saved_and_loaded(ScoredForest.from_imported(found))
        for rows in _rows(FEW_FEATURES):
            _run_in_every_form(forest, rows, partial(forest.run, strategy=None))
            forest.run_one(rows[0].copy(), None)
            forest.scores(rows)

    return work


def _learn_thresholds(n_classes: int, *, drops: bool) -> Callable[[], None]:
    def work() -> None:
        from foregone.scores import ClassScores, solve_scores

        rng = np.random.default_rng(0)
        truth = rng.normal(size=(600, 1, n_classes))
        scores = rng.normal(4 * truth, 1, size=(600, 6, n_classes))
        kinds: list[Any] = [scores[:, :, 0].copy() if n_classes == 2 else scores]
        if n_classes > 2 and not drops:  # of trees, each with some lines of scores
            kinds.append(
                ClassScores(rng.integers(8, size=(600, 6)).astype(np.uint32), rng.normal(size=(8, n_classes)))
            )
        for known in kinds:
            solve_scores(known, 0.4, drops_classes=drops, random_state=0).run(known)

    return work


def _leads() -> None:
    from foregone._kernels.class_sums import fill_leads

    fill_leads(np.zeros((N_ROWS, N_CLASSES)), np.empty(N_ROWS), np.empty(N_ROWS, np.uint16))


# Solving -----------------------------------------------------------------------------------------


def _solving() -> Iterator[CompileTask]:
    from foregone import VoteDistribution, certify, evaluate, plan, solve, solve_plurality

    observed = VoteDistribution.from_counts(np.arange(1, 13))
    for criterion in CRITERIA:
        yield CompileTask(f"solving, {criterion}", partial(solve, criterion, 11, 0.01))
    yield CompileTask("solving for many voters", partial(solve, "minimean", 401, 0.01))
    yield CompileTask("solving with a confidence", partial(solve, "minimean", observed, 0.1, confidence=0.9))
    yield CompileTask("the likeliest answer", partial(solve, "minimean", observed, 0.1, answer="likeliest"))
    yield CompileTask("plans", partial(plan, observed, [0.1]))
    yield CompileTask("evaluating", lambda: evaluate(solve("minimixed", 11, 0.01)).votes_asked(observed))
    yield CompileTask("certificates", lambda: certify(solve("minimixed", 11, 0.01)))
    counts = np.random.default_rng(0).multinomial(5, [0.6, 0.3, 0.1], 60)
    among_many = partial(solve_plurality, counts, 0.2, n_voters=5, n_classes=3)
    yield CompileTask("solving for many answers", lambda: evaluate(among_many().strategy))
    yield CompileTask("solving for many answers with a confidence", partial(among_many, confidence=0.9))
    yield CompileTask("polls about many answers", lambda: _poll_many_answers(among_many().strategy))
    yield CompileTask("rules for many answers", _rules_for_many_answers)


def _poll_many_answers(strategy: PluralityStrategy) -> None:
    strategy.votes_needed_at_least([1, 1])
    strategy.votes_needed_at_most([1, 1])


def _rules_for_many_answers() -> None:
    from foregone.plurality import lattice_of, rules

    rules.esc(N_TREES, n_classes=N_CLASSES)
    rules.adaptive_consistency(N_TREES, kind="dirichlet", n_classes=N_CLASSES)
    lattice_of(N_TREES, N_CLASSES).compositions()


# Small forests -----------------------------------------------------------------------------------


def _found(
    levels: int,
    n_features: int,
    n_classes: int,
    key_bits: Literal[32, 64] = 32,
    *,
    votes: bool = False,
    leaves: str = "own",
) -> Found:
    """Return perfect trees with ``levels`` levels and random thresholds and leaves."""
    rng = np.random.default_rng(0)
    n_inner, n_nodes = (1 << levels) - 1, (1 << levels + 1) - 1
    numbers = np.arange(n_nodes)
    is_leaf = numbers >= n_inner
    own = n_classes > 2 and leaves == "own" and not votes
    by_class = n_classes > 2 and not own and not votes

    def tree() -> Tree:
        said = rng.integers(n_classes, size=n_nodes)
        score = rng.normal(size=n_nodes)
        if by_class:
            lines = np.eye(n_classes) if leaves == "ones" else rng.normal(size=(8, n_classes))
            if leaves == "short lines":
                lines = lines.astype(np.float32).astype(np.float64)
            score = lines[rng.integers(len(lines), size=n_nodes)]
        return Tree(
            left=np.where(is_leaf, -1, 2 * numbers + 1),
            right=np.where(is_leaf, -1, 2 * numbers + 2),
            feature=np.where(is_leaf, -1, rng.integers(n_features, size=n_nodes)),
            threshold=rng.normal(size=n_nodes).round(1),
            missing_left=rng.random(n_nodes) < 0.5,
            category_start=np.full(n_nodes, -1),
            weight=np.ones(n_nodes),
            score=score,
            vote=said if votes else None,
        )

    trees = [tree() for _ in range(N_TREES * (n_classes if own else 1))]
    return Found(
        lambda: iter(trees),
        n_features,
        np.arange(n_classes),
        start=0.0 if n_classes == 2 else np.zeros(n_classes),
        key_bits=key_bits,
        takes_missing=True,
        trees_vote=votes,
        trees_a_round=n_classes if own else 1,
    )


def _saved_and_loaded(forest: Forest[Any, Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest"
        forest.save(path)
        return type(forest).load(path)


def _rows(n_features: int) -> list[Any]:
    """Return rows of both float types, writable and read-only."""
    rows = np.random.default_rng(1).normal(size=(N_ROWS, n_features))
    some: list[Any] = [rows, rows.astype(np.float32), rows.copy(), rows.astype(np.float32)]
    for array in some[2:]:
        array.setflags(write=False)
    return some

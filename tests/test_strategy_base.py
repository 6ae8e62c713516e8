"""What strategies and solutions of every kind have in common."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foregone import plurality, rules, solve, solve_plurality
from foregone.errors import FileFormatError
from foregone.scores import ScoreStrategy
from foregone.strategy import SolvedStrategy, Strategy

STRATEGIES: dict[str, tuple[Strategy, Strategy]] = {
    "votes": (rules.lead(9, k=3), rules.lead(9, k=2)),
    "answers": (plurality.rules.lead(9, 3), plurality.rules.lead(9, 2)),
    "scores": (
        ScoreStrategy.from_thresholds([-9, -2, 0], [9, 2, 0]),
        ScoreStrategy.from_thresholds([-9, -1, 0], [9, 1, 0]),
    ),
}
SOLUTIONS: dict[str, SolvedStrategy] = {
    "votes": solve("minimean", 9, 0.05),
    "answers": solve_plurality(None, 0.05, n_voters=9, n_classes=3),
}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_equal_strategies_are_those_that_do_the_same(kind: str, tmp_path: Path) -> None:
    strategy, other = STRATEGIES[kind]
    strategy.save(tmp_path / "file")
    copies = [copy.deepcopy(strategy), pickle.loads(pickle.dumps(strategy))]  # noqa: S301  # our own
    for same in [*copies, type(strategy).load(tmp_path / "file")]:
        assert same == strategy
        assert hash(same) == hash(strategy)
        assert same.fingerprint == strategy.fingerprint
        assert same.n_voters == strategy.n_voters
        arrays = [value for value in vars(same).values() if isinstance(value, np.ndarray)]
        assert arrays
        assert not any(array.flags.writeable for array in arrays)
    assert strategy != other
    assert strategy.fingerprint != other.fingerprint
    assert all(strategy != unlike for name, (unlike, _) in STRATEGIES.items() if name != kind)


@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_file_of_another_kind_is_refused(kind: str, tmp_path: Path) -> None:
    strategy = STRATEGIES[kind][0]
    strategy.save(tmp_path / "file")
    for name, (other, _) in STRATEGIES.items():
        if name != kind:
            with pytest.raises(FileFormatError, match=f'"kind" is not "{other.KIND}"'):
                type(other).load(tmp_path / "file")


@pytest.mark.parametrize("kind", SOLUTIONS)
def test_a_solution_comes_back_whole_and_its_strategy_alone(kind: str, tmp_path: Path) -> None:
    solution: Any = SOLUTIONS[kind]
    solution.save(tmp_path / "file")
    for same in (type(solution).load(tmp_path / "file"), pickle.loads(pickle.dumps(solution))):  # noqa: S301  # our own
        assert same.strategy == solution.strategy
        assert same.distribution == solution.distribution
        assert (same.criterion, same.max_disagreement) == (solution.criterion, solution.max_disagreement)
        assert same.evaluation.worst() == solution.evaluation.worst()
    assert type(solution.strategy).load(tmp_path / "file") == solution.strategy
    solution.strategy.save(tmp_path / "alone")
    with pytest.raises(FileFormatError, match='"solution" is missing'):
        type(solution).load(tmp_path / "alone")

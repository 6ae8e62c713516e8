"""Strategy files: of votes, scores and many answers, with and without the problem they solve."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from foregone import (
    Ballot,
    PluralityStrategy,
    ScoreStrategy,
    Solution,
    StoppingStrategy,
    VoteDistribution,
    certify,
    evaluate,
    rules,
    solve,
    solve_plurality,
    solve_scores,
)
from foregone.cli.precompute import Task
from foregone.plurality import PluralitySolution
from foregone.plurality import rules as plurality_rules
from fuzzing.formats.forgeries import forge_from, many_states, many_voters
from fuzzing.formats.format import Format, all_of_it, put
from fuzzing.formats.seals import of_all, reseal_strategy
from fuzzing.mutations import Files

__all__ = ["FORMATS"]

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
NAME = "strategy.json"
MOST_VOTERS = 1_000  # that are evaluated here: more take long, and rightly so
TASKS = (Task("minimixed", 7, 0.01), Task("minimean", 8, 0.1, (2, 4, 8)))


def _save(folder: Path, *makers: Any) -> None:
    """Save objects, and copy files, each into a folder of its own."""
    for number, made in enumerate(makers):
        (folder / str(number)).mkdir(parents=True)
        file = folder / str(number) / NAME
        shutil.copy(made, file) if isinstance(made, Path) else made.save(file)


def _write_strategies(folder: Path) -> None:
    _save(
        folder,
        solve("minimean", 21, 0.01).strategy,
        rules.lead(15, 3),
        StoppingStrategy.from_table([[0, 1, 1], [0.25, 1, 1], [1, 1, 1]]),
        solve("minimixed", 9, 0.05, looks=[3, 6, 9], answer="likeliest").strategy,
        GOLDEN / "strategy-v1.json",
        GOLDEN / "strategy-v2.json",
        GOLDEN / "strategy-v2-own-answers.json",
    )


def _write_solutions(folder: Path) -> None:
    counts = VoteDistribution.from_counts([50, 9, 4, 2, 1, 2, 5, 27])
    _save(
        folder,
        solve("minimean", counts, 0.02, confidence=0.9),
        solve("minimixed", 11, 0.01),
        solve("minimax", 9, 0.1),
        solve("minimixed", 8, {"yes": 0.01, "no": 0.1}),
    )


def _write_scores(folder: Path) -> None:
    scores = np.random.default_rng(0).normal(0.1, 1, (400, 7))
    _save(
        folder,
        solve_scores(scores, 0.05),
        ScoreStrategy.ask_all(5),
        ScoreStrategy.from_thresholds([-np.inf, -2, -1, 0], [np.inf, 2.5, 1, 0], order=[2, 0, 1]),
        GOLDEN / "scores-v2.json",
    )


def _write_plurality(folder: Path) -> None:
    _save(
        folder,
        plurality_rules.lead(7, 2, n_classes=3),
        *(solution.strategy for solution in _plurality_solutions()),
        GOLDEN / "plurality-v2.json",
    )


def _write_many_solutions(folder: Path) -> None:
    _save(folder, *_plurality_solutions())


def _plurality_solutions() -> list[PluralitySolution]:
    draws = np.random.default_rng(0)
    votes = draws.multinomial(7, draws.dirichlet([0.3, 0.3, 0.3], 200))
    return [
        solve_plurality(None, 0.05, n_voters=5, n_classes=3, criterion="minimax"),
        solve_plurality(votes, 0.05, n_voters=7),
    ]


def _write_precomputed(folder: Path) -> None:
    for number, task in enumerate(TASKS):
        (folder / str(number)).mkdir(parents=True)
        solve(task.criterion, task.n_voters, task.max_disagreement, looks=task.looks).save(
            folder / str(number) / task.file_name
        )


def _only_file(sample: Path) -> Path:
    return next(sample.iterdir())


def _load_precomputed(sample: Path, home: Path) -> Solution | None:
    """Return the solution if the command would keep it; a file that it takes for damaged is made again."""
    file = _only_file(sample)
    (task,) = (task for task in TASKS if task.file_name == file.name)
    return Solution.load(file) if task.is_done(sample) else None


def _fields(strategy: Any) -> str:
    return json.dumps(strategy.to_fields(), sort_keys=True)


def _vote(strategy: Any, answers: tuple[Any, ...]) -> None:
    """Count votes until the strategy stops."""
    for turn in range(3):
        ballot, draws = Ballot(strategy, turn), np.random.default_rng(turn)
        for _ in range(min(strategy.n_voters, 500)):
            ballot.useful(3)
            if ballot.cast(answers[draws.integers(len(answers))]) is not None:
                break
    repr(strategy)


def _use_strategy(strategy: StoppingStrategy) -> None:
    if strategy.n_voters <= MOST_VOTERS:
        evaluate(strategy)
    _vote(strategy, (True, False))


def _use_solution(solution: Solution) -> None:
    _use_strategy(solution.strategy)
    if solution.n_voters <= MOST_VOTERS:
        certify(solution)


def _use_scores(strategy: ScoreStrategy) -> None:
    strategy.run(np.random.default_rng(0).normal(0, 1, (5, strategy.n_voters)))
    repr(strategy)


def _use_plurality(strategy: PluralityStrategy) -> None:
    _vote(strategy, tuple("abcd"[: strategy.n_classes or 4]))
    strategy.votes_needed_at_least([1])


def _use_many_solution(solution: PluralitySolution) -> None:
    _use_plurality(solution.strategy)
    repr(solution)


def _format(
    name: str, write: Callable[[Path], None], load: Any, use: Any, forger: Callable[[Files], list[Files]]
) -> Format:
    def load_file(sample: Path, home: Path) -> Any:
        return load(sample / NAME)

    seal = of_all(reseal_strategy)
    return Format(name, write, load_file, _fields, use, seal, forge_from(forger), json=(all_of_it, put))


FORMATS = (
    _format("strategy", _write_strategies, StoppingStrategy.load, _use_strategy, many_voters),
    _format("solution", _write_solutions, Solution.load, _use_solution, many_voters),
    _format("score strategy", _write_scores, ScoreStrategy.load, _use_scores, many_voters),
    _format("plurality strategy", _write_plurality, PluralityStrategy.load, _use_plurality, many_states),
    _format(
        "plurality solution", _write_many_solutions, PluralitySolution.load, _use_many_solution, many_states
    ),
    Format(
        "precomputed", _write_precomputed, _load_precomputed, _fields, _use_solution,
        of_all(reseal_strategy), json=(all_of_it, put),
    ),
)  # fmt: skip

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from foregone import Solution, rules, solve_plurality
from tests.cli.conftest import Run


def test_a_solution_of_ours_is_proven(run: Run, strategy_file: Path) -> None:
    outcome = run("certify", strategy_file)
    assert outcome.code == 0
    assert outcome.out.count("PROVEN") >= 2


def test_a_file_that_claims_too_little_risk_exits_with_1(run: Run, strategy_file: Path) -> None:
    replace(Solution.load(strategy_file), max_disagreement=0.005).save(strategy_file)
    outcome = run("certify", strategy_file)
    assert outcome.code == 1
    assert outcome.err == ""


def test_a_strategy_without_a_problem_cannot_be_certified(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    rules.curtailment(5).save(file)
    outcome = run("certify", file)
    assert outcome.code == 2
    assert "does not say what its strategy is optimal for" in outcome.err


def test_a_solution_for_many_answers_is_proven_too(run: Run, tmp_path: Path) -> None:
    solution = solve_plurality([[5, 1, 0], [3, 2, 1]], 0.05, n_voters=6, confidence=None)
    solution.save(tmp_path / "many.json")
    outcome = run("certify", tmp_path / "many.json")
    assert outcome.code == 0
    assert outcome.out.count("PROVEN") == 2
    assert "not claimed optimal" not in outcome.out


def test_with_a_confidence_many_answers_claim_only_the_limit(run: Run, tmp_path: Path) -> None:
    solution = solve_plurality([[6, 0, 0]] * 60 + [[3, 2, 1]], 0.05, n_voters=6)
    assert solution.gap > 1e-3
    solution.save(tmp_path / "many.json")
    outcome = run("certify", tmp_path / "many.json")
    assert outcome.code == 0
    assert "PROVEN  at 0.95 confidence, largest mean disagreement" in outcome.out
    assert outcome.out.strip().endswith("not claimed optimal")
    replace(solution, max_disagreement=solution.disagreement / 2).save(tmp_path / "bold.json")
    assert run("certify", tmp_path / "bold.json").code == 1

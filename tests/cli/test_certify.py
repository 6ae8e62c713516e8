from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from foregone import ScoreStrategy, Solution, rules, solve_plurality
from foregone.plurality import rules as plurality_rules
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
    assert "Give max_disagreement (--max-disagreement on the command line)" in outcome.err


def test_a_given_limit_of_any_strategy_is_proven_or_not(run: Run, tmp_path: Path) -> None:
    for file, strategy in {"two.json": rules.lead(11, k=3), "many.json": plurality_rules.lead(5, 2)}.items():
        strategy.save(tmp_path / file)
        outcome = run("certify", tmp_path / file, "--max-disagreement", "0.45")
        assert outcome.code == 0
        assert outcome.out.strip().endswith("not claimed optimal")
        assert run("certify", tmp_path / file, "--max-disagreement", "0.01").code == 1
    limits = run("certify", tmp_path / "two.json", "--max-disagreement", "yes=0.2,no=0.01", "--json")
    assert limits.code == 1
    assert json.loads(limits.out)["max_disagreement"] == {"yes": 0.2, "no": 0.01}


def test_scores_cannot_be_certified_and_the_reason_is_told(run: Run, tmp_path: Path) -> None:
    ScoreStrategy.ask_all(5).save(tmp_path / "scores.json")
    outcome = run("certify", tmp_path / "scores.json", "--max-disagreement", "0.1")
    assert outcome.code == 2
    assert "certified with a confidence, on rows that the strategy was not learned from" in outcome.err


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
    assert "PROVEN  at 0.95 confidence by betting on 49 items, largest mean disagreement" in outcome.out
    assert outcome.out.strip().endswith("not claimed optimal")
    replace(solution, max_disagreement=solution.disagreement / 2).save(tmp_path / "bold.json")
    assert run("certify", tmp_path / "bold.json").code == 1

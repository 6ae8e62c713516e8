from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from foregone import (
    ScoreStrategy,
    Solution,
    StoppingStrategy,
    VoteDistribution,
    evaluate,
    rules,
    solve_plurality,
)
from foregone.plurality import CompositionDistribution, lattice_of
from tests.cli.conftest import Run


def test_json_has_the_figures_for_every_n_with_every_digit(run: Run, strategy_file: Path) -> None:
    content = json.loads(run("evaluate", strategy_file, "--json").out)
    expected = evaluate(Solution.load(strategy_file).strategy)
    assert content["expected_votes"] == expected.expected_votes.tolist()
    assert content["disagreement"] == expected.disagreement.tolist()
    assert content["mean"] == expected.mean(VoteDistribution.flat(11))._asdict()
    assert content["worst"] == expected.worst()._asdict()
    for answer in ("yes", "no"):
        flat = VoteDistribution.flat(11)
        assert content["mean_by_class"][answer] == expected.by_class(flat)[answer]._asdict()
        assert content["worst_by_class"][answer] == expected.worst_by_class()[answer]._asdict()
    assert sum(content["votes_asked"]) == pytest.approx(1)


def test_the_mean_is_over_the_votes_it_was_solved_for_unless_others_are_given(
    run: Run, strategy_file: Path, tmp_path: Path
) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("1" + ",0" * 11)
    content = json.loads(run("evaluate", strategy_file, "--votes", counts, "--json").out)
    assert content["mean"]["expected_votes"] == content["expected_votes"][0]
    assert content["mean_by_class"]["no"] == content["mean"]
    assert content["mean_by_class"]["yes"] == {"expected_votes": None, "disagreement": None}
    text = run("evaluate", strategy_file, "--votes", counts).out
    assert re.search(r"when the full vote is yes +none +none\n", text)


def test_the_text_says_mean_and_worst(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "curtailment.json"
    rules.curtailment(101).save(file)
    out = run("evaluate", file).out
    assert "70.20" in out
    assert "100.04" in out
    assert "never more than 101" in " ".join(out.split())


@pytest.mark.parametrize("command", ["evaluate", "show"])
@pytest.mark.parametrize("n_voters", [1, 2, 10, 101])
def test_risks_are_shown_by_class_and_by_margin(
    command: str, n_voters: int, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "strategy.json"
    rules.lead(n_voters, k=2).save(file)
    evaluation = evaluate(rules.lead(n_voters, k=2))
    out = run(command, file).out
    flat = VoteDistribution.flat(n_voters)
    for figures in (evaluation.by_class(flat), evaluation.worst_by_class()):
        for answer, (cost, risk) in figures.items():
            assert re.search(rf"when the full vote is {answer} +{cost:.2f} +{risk:.3g}\n", out)
    closest = n_voters - n_voters // 2
    for size in (closest, n_voters):
        risks = [evaluation.disagreement[n_voters - size]]
        if 2 * size > n_voters:  # a tie is no
            risks.append(evaluation.disagreement[size])
        shown = " +".join(f"{risk:.3g}" for risk in risks)
        assert re.search(rf"\n{size} of {n_voters} +{shown} *\n", out)


def test_the_worst_full_vote_is_among_those_shown_even_far_from_the_middle(run: Run, tmp_path: Path) -> None:
    # Stops only when the first two votes are no, and then says yes: never right when nobody says yes.
    strategy = StoppingStrategy.from_rows(
        101,
        lambda asked: (np.arange(asked + 1) == 0) & (asked == 2),
        yes_from=[1, 1, 0, *np.arange(3, 102) // 2 + 1],
    )
    strategy.save(tmp_path / "strategy.json")
    worst = evaluate(strategy).worst().disagreement
    assert worst == 1
    assert re.search(r"\n101 of 101 +1 +0\n", run("evaluate", tmp_path / "strategy.json").out)


def test_many_answers_are_evaluated_over_the_votes_solved_for_or_recorded(run: Run, tmp_path: Path) -> None:
    solution = solve_plurality([[3], [2, 1]], 0.1, n_voters=3, confidence=None)
    solution.save(tmp_path / "solution")
    solution.strategy.save(tmp_path / "strategy")
    recorded = tmp_path / "answers.csv"
    recorded.write_text(
        "item,draw,answer\n" + "\n".join(f"{item},{k},{item}" for item in "ab" for k in range(3))
    )
    evaluation, flat = evaluate(solution), CompositionDistribution.flat(lattice_of(3))
    unanimous = CompositionDistribution.from_counts([[3]])
    for arguments, distribution in (
        ([tmp_path / "solution"], solution.distribution),
        ([tmp_path / "strategy"], flat),
        ([tmp_path / "solution", "--votes", recorded], unanimous),
    ):
        content = json.loads(run("evaluate", *arguments, "--json").out)
        assert content["mean"] == pytest.approx(evaluation.mean(distribution)._asdict())
        assert content["worst"] == evaluation.worst()._asdict()
        assert content["votes_asked"] == pytest.approx(evaluation.votes_asked(distribution).tolist())
    assert [row["lead"] for row in content["worst_by_lead"]] == [0, 1, 3]
    assert "lead in the full vote" in run("evaluate", tmp_path / "solution").out


def test_scores_cannot_be_evaluated_and_the_reason_is_told(run: Run, tmp_path: Path) -> None:
    ScoreStrategy.ask_all(5).save(tmp_path / "scores.json")
    outcome = run("evaluate", tmp_path / "scores.json")
    assert outcome.code == 2
    assert "depend on the scores of the rows. Call strategy.run(scores)" in outcome.err

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foregone import VoteDistribution, evaluate, rules, solve, solve_plurality
from foregone.plurality import evaluate_plurality
from foregone.plurality import rules as plurality_rules
from tests.cli.conftest import Run

NAMES = [
    "minimean",
    "minimixed",
    "minimax",
    "curtailment",
    "Schwing",
    "IBEP",
    "e-process",
    "lead of 3",
    "ESC of 5",
]


def test_criteria_and_rules_stand_side_by_side(run: Run) -> None:
    outcome = run("compare", "--voters", "101", "--max-disagreement", "0.001")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert max(len(line) for line in lines) <= 80
    found = [(name, line.split()) for line in lines for name in NAMES if line.startswith(name)]
    assert [name for name, _ in found] == NAMES + NAMES  # one table of figures, one of risks by class
    rows, by_class = dict(found[:9]), dict(found[9:])
    assert rows["curtailment"][1:] == ["70.20", "100.04", "0", "0", "always"]
    assert rows["Schwing"][1] == "44.00"
    assert rows["minimixed"][1] == "43.04"
    assert rows["minimean"][-2:] == ["on", "average"]
    assert rows["lead of 3"][-1] == rows["ESC of 5"][-1] == "no"
    assert by_class["curtailment"][1:] == ["0"] * 6
    evaluation = evaluate(rules.schwing(101, 1e-3))
    assert by_class["Schwing"][3:5] == [f"{max(evaluation.disagreement):.3g}"] * 2
    assert by_class["Schwing"][5:] == [f"{evaluation.disagreement[n]:.3g}" for n in (56, 66)]


def test_json_has_every_digit(run: Run, tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("9 3 1 0 0 1 2 8")
    content = json.loads(run("compare", "--votes", counts, "--max-disagreement", "0.02", "--json").out)
    assert list(content["strategies"]) == NAMES
    votes = VoteDistribution.from_counts([9, 3, 1, 0, 0, 1, 2, 8])
    assert content["strategies"]["minimean"]["mean"]["expected_votes"] == pytest.approx(
        solve("minimean", votes, 0.02).expected_votes, rel=1e-12
    )
    expected = evaluate(rules.schwing(7, 0.02))
    assert content["strategies"]["Schwing"]["mean"] == expected.mean(votes)._asdict()
    assert content["strategies"]["Schwing"]["worst"] == expected.worst()._asdict()
    for answer in ("yes", "no"):
        found = content["strategies"]["Schwing"]["mean_by_class"][answer]
        assert found == expected.by_class(votes)[answer]._asdict()
        found = content["strategies"]["Schwing"]["worst_by_class"][answer]
        assert found == expected.worst_by_class()[answer]._asdict()


@pytest.mark.parametrize("n_voters", ["1", "2", "3", "10"])
@pytest.mark.parametrize("rate", ["0", "0.05", "1"])
def test_every_size_and_rate_can_be_compared(n_voters: str, rate: str, run: Run) -> None:
    assert run("compare", "--voters", n_voters, "--max-disagreement", rate).code == 0


def test_the_three_envelopes_are_drawn_when_asked_for(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = run("compare", "--voters", "11", "--png", tmp_path / "envelopes.png")
    assert outcome.code == 0
    assert (tmp_path / "envelopes.png").read_bytes().startswith(b"\x89PNG")


def test_many_answers_stand_side_by_side(run: Run, tmp_path: Path) -> None:
    outcome = run("compare", "--voters", "7", "--n-answers", "3", "--max-disagreement", "0.1", "--json")
    content = json.loads(outcome.out)
    for criterion in ("minimean", "minimixed", "minimax"):
        solution = solve_plurality(None, 0.1, n_voters=7, n_classes=3, criterion=criterion, confidence=None)
        row = content["strategies"][criterion]
        kind = "worst" if criterion == "minimax" else "mean"
        assert row[kind]["expected_votes"] == pytest.approx(solution.expected_votes)
    figures = evaluate_plurality(plurality_rules.lead(7, 2, n_classes=3)).worst()
    outcome = run("compare", "--voters", "7", "--n-answers", "3", "--lead", "2")
    line = next(line for line in outcome.out.splitlines() if line.startswith("lead of 2"))
    assert line.split()[4:7:2] == [f"{figures.expected_votes:.2f}", f"{figures.disagreement:.3g}"]
    votes = tmp_path / "votes.csv"
    votes.write_text("item,draw,answer\n" + "\n".join(f"q,{draw},{draw % 3}" for draw in range(7)))
    outcome = run("compare", "--voters", "7", "--n-answers", "any", "--votes", votes)
    assert f"Means over the votes in {votes}" in outcome.out
    assert run("compare", "--n-answers", "3").err.startswith("foregone: the number of voters is missing")
    refused = run("compare", "--voters", "7", "--n-answers", "3", "--png", tmp_path / "a.png")
    assert "omit --n-answers or --png" in refused.err


def test_rules_are_chosen_by_name_and_strategies_by_file(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    solve("minimixed", 11, 0.01).save(mine)
    chosen = f"lead:5,{mine},e-process:0.2,minimixed,e-process,esc"
    options = ("--voters", "11", "--max-disagreement", "0.05", "--window", "4")
    outcome = run("compare", *options, "--rules", chosen, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    strategies = json.loads(outcome.out)["strategies"]
    names = ["minimixed", "lead of 5", str(mine), "e-process 0.2", "e-process", "ESC of 4"]
    assert list(strategies) == names  # ours first
    assert strategies[str(mine)]["worst"] == evaluate(solve("minimixed", 11, 0.01)).worst()._asdict()
    assert [row["optimal"] for row in strategies.values()] == [True] + [False] * 5
    assert strategies["e-process 0.2"]["worst"] == evaluate(rules.e_process(11, 0.2)).worst()._asdict()
    words = run("compare", *options, "--rules", "lead:5,minimax").out
    assert (
        "The first is optimal among strategies that count votes in random order. Within the limit"
        in " ".join(words.split())
    )
    assert "optimal" not in run("compare", *options, "--rules", "lead:5").out


def test_strategies_for_many_answers_are_compared_from_their_files(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    plurality_rules.lead(7, 3).save(mine)
    outcome = run(
        "compare", "--voters", "7", "--n-answers", "any", "--rules", f"dirichlet:0.8,{mine}", "--json"
    )
    strategies = json.loads(outcome.out)["strategies"]
    assert list(strategies) == ["Dirichlet 0.8", str(mine)]
    assert strategies[str(mine)]["worst"] == evaluate(plurality_rules.lead(7, 3)).worst()._asdict()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("nonsense", "no rule 'nonsense': choose from minimean, "),
        ("dirichlet", "no rule 'dirichlet'"),
        ("missing.json", "cannot read missing.json"),
        ("FILE", "expected a StoppingStrategy for 12 voters and two answers, got <StoppingStrategy for 11"),
        ("minimean-fitted", "nothing can be fitted"),
        ("minimean-confident", "observed inputs"),
    ],
)
def test_rules_that_cannot_be_compared_are_refused_in_one_line(
    rule: str, message: str, run: Run, strategy_file: Path
) -> None:
    outcome = run("compare", "--voters", "12", "--rules", rule.replace("FILE", str(strategy_file)))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_old_name_of_an_option_works_and_says_what_it_is_called_now(run: Run) -> None:
    words = ["compare", "--voters", "7", "--max-disagreement", "0.1"]
    for old, new in ((["--answers", "3"], ["--n-answers", "3"]), (["--answers=3"], ["--n-answers=3"])):
        outcome = run(*words, *old)
        assert outcome.code == 0
        assert "--answers is now called --n-answers" in outcome.err
        renamed = run(*words, *new)
        assert renamed.err == ""
        assert renamed.out == outcome.out

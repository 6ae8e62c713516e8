from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from foregone import ScoreStrategy, StoppingStrategy, early_stop, evaluate, rules, solve, solve_plurality
from foregone.forest import PluralityForest, ScoredForest
from foregone.plurality import rules as plurality_rules
from tests.cli.conftest import Run

PNG_START, PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"


@pytest.mark.parametrize("n_voters", [1, 2, 101, 1001])
def test_the_picture_fits_80_columns_and_names_the_regions(n_voters: int, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    solve("minimean", n_voters, 1e-3).save(file)
    outcome = run("show", file)
    assert outcome.code == 0
    assert max(len(line) for line in outcome.out.splitlines()) <= 80
    for words in ("stop: the answer is YES", "stop: the answer is NO", "continue", "votes asked"):
        assert words in outcome.out
    assert "\x1b" not in outcome.out


def test_states_where_chance_decides_are_marked_and_listed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    solution = solve("minimixed", 101, 1e-3)
    solution.save(file)
    outcome = run("show", file)
    assert outcome.out.count("◆ Chance decides after") == len(solution.strategy.randomised)
    asked, yes, probability = solution.strategy.randomised[0]
    assert (
        f"after {asked} votes at {yes} : {asked - yes}: stops with probability {probability:.4g}"
        in outcome.out
    )


def test_a_strategy_that_asks_nobody_says_so(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    solve("minimean", 5, 1.0).save(file)
    assert "asks no voters and always answers no" in run("show", file).out
    StoppingStrategy.from_rows(5, lambda asked: np.ones(asked + 1), yes_from=[0, 1, 2, 2, 3, 3]).save(file)
    assert "asks no voters and always answers yes" in run("show", file).out


def test_looks_and_answers_of_its_own_are_told(run: Run, tmp_path: Path) -> None:
    file, every_vote = tmp_path / "strategy.json", solve("minimixed", 101, 1e-3).strategy
    every_vote.save(file)
    out = run("show", file).out
    assert "can stop only after" not in out
    assert "not always answer the majority" not in out
    StoppingStrategy.from_rows(
        101,
        lambda asked: every_vote.stop_probabilities(asked) if asked % 25 == 0 else np.zeros(asked + 1),
        yes_from=[*np.arange(101) * 3 // 4, 51],
    ).save(file)
    outcome = run("show", file)
    assert outcome.code == 0
    assert "It can stop only after 25, 50, 75, 100, 101 votes" in outcome.out
    assert "does not always answer the majority of the votes so far" in outcome.out


def test_a_strategy_without_a_solution_can_be_shown(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    rules.lead(21, k=3).save(file)
    outcome = run("show", file)
    assert outcome.code == 0
    assert outcome.out.startswith("Strategy for 21 voters")


def test_the_png_is_a_whole_png_and_nothing_else_is_left(
    run: Run, strategy_file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    outcome = run("show", strategy_file, "--png", picture)
    assert outcome.code == 0
    content = picture.read_bytes()
    assert content.startswith(PNG_START)
    assert content.endswith(PNG_END)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["picture.png", "strategy.json"]


def test_every_file_says_what_it_is_and_what_it_promises(run: Run, tmp_path: Path) -> None:
    solution = solve_plurality([[9], [8, 1]] * 30 + [[5, 3, 1]], 0.05, n_voters=9)
    solution.save(tmp_path / "many")
    ScoreStrategy.from_thresholds([-9, -2, -1, 0], [9, 2, float("inf"), 0]).save(tmp_path / "scores")
    for file, kind, promise in (
        ("many", "solution for votes among many answers", "on average over new inputs like the 61 observed"),
        ("scores", "strategy for scores", "Nothing is promised."),
    ):
        outcome = run("show", tmp_path / file)
        assert outcome.code == 0
        assert max(len(line) for line in outcome.out.splitlines()) <= 80
        assert f"kind      {kind}\n" in outcome.out
        assert promise in " ".join(outcome.out.split())
        assert f"format version 3, {(tmp_path / file).stat().st_size:,} bytes, modified 20" in outcome.out
        facts = json.loads(run("show", tmp_path / file, "--json").out)
        assert (facts["kind"], facts["version"]) == (kind, 3)
        assert facts["n_bytes"] == (tmp_path / file).stat().st_size


def test_many_answers_show_where_they_stop_by_lead(run: Run, tmp_path: Path) -> None:
    plurality_rules.lead(9, 2).save(tmp_path / "lead")
    outcome = run("show", tmp_path / "lead")
    assert outcome.out.startswith("Strategy for 9 voters, any answers\n")
    assert re.search(r"\n2 +2 +2 +\d+\.\d%\n", outcome.out)
    fields = json.loads(run("show", tmp_path / "lead", "--json").out)
    assert fields["n_answers"] is None
    leads = {after["asked"]: after["may_stop_from"] for after in fields["stops"]}
    assert leads == {2: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 1, 9: 0}  # after 8 votes a lead of 1 cannot be lost
    assert fields["worst"] == evaluate(plurality_rules.lead(9, 2)).worst()._asdict()


def test_scores_show_their_thresholds_and_their_certificate(run: Run, tmp_path: Path) -> None:
    ScoreStrategy.from_thresholds([-9, -2, -1, 0], [9, 2, float("inf"), 0]).save(tmp_path / "scores")
    out = run("show", tmp_path / "scores").out
    assert re.search(r"\n1 +2 +-2\n2 +-1\n3 +0 +0\n", out)
    golden = Path(__file__).parents[1] / "golden" / "scores-v2.json"
    words = " ".join(run("show", golden).out.split())
    assert "7 of 200 (yes), 2 of 400 (no) differ from the full vote" in words
    ScoreStrategy.ask_all(3, reason="too few rows").save(tmp_path / "all")
    assert "Every voter will be asked: too few rows" in run("show", tmp_path / "all").out


def test_scores_of_many_classes_show_the_lead_from_which_they_stop(run: Run, tmp_path: Path) -> None:
    strategy = ScoreStrategy.from_thresholds(None, [float("inf"), 2, float("inf"), 0.5, 0], start=[0, 0.5, 0])
    strategy.save(tmp_path / "scores")
    out = run("show", tmp_path / "scores").out
    assert out.startswith("Strategy for 4 voters, 3 classes\n")
    assert re.search(r"voters asked +stops at a lead of\n\S+\n1 +2\n3 +0.5\n4 +0\n", out)
    assert "Each of the 3 classes has a sum of scores." in out
    assert "answers yes" not in out
    fields = json.loads(run("show", tmp_path / "scores", "--json").out)
    assert fields["stops_from_a_lead_of"] == [[1, 2.0], [3, 0.5], [4, 0.0]]
    assert (fields["n_answers"], fields["n_classes"], fields["looks"]) == (3, 3, [1, 3, 4])
    assert "answers_yes_from" not in fields


def test_classifiers_say_who_votes_and_what_is_added_up(run: Run, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 4))
    y = np.digitize(rows[:, 0], [-0.5, 0.5])
    model = GradientBoostingClassifier(n_estimators=4, random_state=0).fit(rows, y)
    early_stop(model, rows, max_disagreement=0.2, random_state=0).save(tmp_path / "model")
    out = run("show", tmp_path / "model").out
    assert "voters    12 trees, 4 rounds of one per class\n" in out
    assert "rounds asked   class 0 drops out at   class 1 drops out at   class 2 drops out at" in out
    assert "its voters are no longer asked" in " ".join(out.split())
    fields = json.loads(run("show", tmp_path / "model", "--json").out)
    assert (fields["n_voters"], fields["trees_a_round"], fields["drops_classes"]) == (12, 3, True)
    assert [of_class[-1] for of_class in fields["drops_a_class_from"]] == [[4, 0.0]] * 3
    forest = RandomForestClassifier(5, random_state=0).fit(rows, y)
    votes = ScoredForest.from_model(forest, of_votes=True)
    early_stop(votes, rows, max_disagreement=0.2, random_state=0).save(tmp_path / "votes")
    out = run("show", tmp_path / "votes").out
    assert "Each of the 3 classes has a number of votes." in out
    assert "rounds" not in out


def test_forests_and_classifiers_show_their_classes_and_features(run: Run, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 4))
    model = RandomForestClassifier(5, random_state=0).fit(rows, np.digitize(rows[:, 0], [-0.5, 0.5]))
    PluralityForest.from_sklearn(model).save(tmp_path / "forest")
    early_stop(model, rows, max_disagreement=0.2, voting="hard", random_state=0).save(tmp_path / "model")
    kinds = {"forest": "forest that votes among many classes", "model": "early-stopping classifier"}
    for file, kind in kinds.items():
        out = run("show", tmp_path / file).out
        assert out.startswith(f"{kind.capitalize()}, 5 voters\n")
        assert re.search(r"\nclasses +0, 1, 2\nfeatures +4\n", out)
        facts = json.loads(run("show", tmp_path / file, "--json").out)
        assert (facts["classes"], facts["n_features"], facts["n_answers"]) == ([0, 1, 2], 4, 3)
    assert facts["max_disagreement"] == 0.2
    assert facts["promise"] in " ".join(out.split())
    assert facts["promise"].startswith("With 95 % confidence, this classifier disagrees")
    values = facts["promise_values"]
    assert (values["about"], values["loss"], values["limit"]) == ("classifier", "disagreement", 0.2)
    assert values["confidence"] == 0.95
    assert values["n_rows"] > 0
    assert 0 <= values["bound"][0][-1] <= 0.2
    assert "always stops" in out


def test_what_cannot_be_drawn_is_refused_with_the_reason(run: Run, tmp_path: Path) -> None:
    plurality_rules.lead(5, 2).save(tmp_path / "many")
    rows = np.random.default_rng(0).normal(size=(50, 4))
    model = RandomForestClassifier(3, random_state=0).fit(rows, np.digitize(rows[:, 0], [-0.5, 0.5]))
    PluralityForest.from_sklearn(model).save(tmp_path / "forest")
    for file, reason in {"many": "omit --png", "forest": "for a forest use early_stop"}.items():
        outcome = run("show", tmp_path / file, "--png", tmp_path / "picture.png")
        assert (outcome.code, outcome.out) == (2, "")
        assert reason in outcome.err
        assert not (tmp_path / "picture.png").exists()


@pytest.mark.parametrize("of_leads", [False, True])
def test_thresholds_of_scores_are_drawn(of_leads: bool, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lower, start = (None, [0, 0, 0]) if of_leads else ([-9, -2, -1, 0], 0)
    ScoreStrategy.from_thresholds(lower, [9, 2, 1, 0], start=start).save(tmp_path / "scores")
    assert run("show", tmp_path / "scores", "--png", tmp_path / "picture.png").code == 0
    assert (tmp_path / "picture.png").read_bytes().startswith(PNG_START)

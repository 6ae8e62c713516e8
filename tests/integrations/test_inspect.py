"""The early stopping manager, inside real evals with Inspect's mock model, and by its protocol."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace

import inspect_ai
import pytest
from inspect_ai import Epochs, Task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score, exact, match, scorer

from foregone import Ballot, Verdict, rules, solve
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.integrations import ForegoneEarlyStopping
from foregone.integrations.inspect_early_stopping import _inspect
from foregone.plurality import rules as plurality_rules
from tests.cli.page_blocks import blocks

# Inspect's own: what it gives to tenacity.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

SOLUTION = solve("minimixed", 21, 0.01)


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    """Return a function that runs an eval and reads its log file."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where Inspect keeps traces

    def run(manager, say, ids=("a", "b"), epochs=21, scorer=None, models=1, **options):
        spoken = defaultdict(Counter)

        def model(number):
            def output(messages, tools, tool_choice, config):
                sample = messages[-1].text
                spoken[number][sample] += 1
                text = say(sample, spoken[number][sample], *([number] if models > 1 else []))
                found = ModelOutput.from_content("mockllm", text)
                found.usage = ModelUsage()  # else it downloads a tokenizer to count them
                return found

            return get_model(f"mockllm/{number}", custom_outputs=output)

        task = Task(
            dataset=[Sample(id=id, input=str(id), target="yes") for id in ids],
            scorer=scorer or match(),
            early_stopping=manager,
            epochs=Epochs(epochs, "mode"),
        )
        logs = inspect_ai.eval(
            task,
            model=[model(number) for number in range(models)],
            log_dir=str(tmp_path),
            display="none",
            score_display=False,
            **{"max_samples": 1} | options,
        )
        return read_eval_log(logs[0].location) if models == 1 else logs

    yield run
    gc.collect()  # here, where the streams are not complained about


def epochs_of(log):
    return Counter(sample.id for sample in log.samples)


def verdict_if_all_say(vote, seed=None):
    return Ballot(SOLUTION, seed).cast_many([vote] * 21)


def test_a_sample_runs_until_its_majority_is_foregone_and_the_log_says_so(evaluate):
    manager = ForegoneEarlyStopping(rules.lead(21, 4))
    log = evaluate(manager, lambda sample, _: "yes" if sample == "a" else "no")
    assert log.status == "success"
    assert epochs_of(log) == {"a": 4, "b": 4}
    summary = log.results.early_stopping
    assert (summary.manager, len(summary.early_stops)) == ("foregone", 34)
    stop = summary.early_stops[0]
    assert (stop.id, stop.epoch, stop.reason) == ("a", 5, "foregone: True after 4 of 21 votes")
    assert stop.metadata == {"answer": True, "asked": 4, "yes": 4, "risk": None, "n_voters": 21}
    assert summary.metadata | {"strategy": "", "promise": ""} == {
        "strategy": "",
        "promise": "",
        "samples": 2,
        "samples_with_verdict": 2,
        "samples_stopped_early": 2,
        "epochs_planned": 42,
        "epochs_saved": 34,
        "epochs_counted": 8,
        "epochs_failed": 0,
        "epochs_not_needed": 0,
        "verdicts": {
            "a": {"answer": True, "asked": 4, "yes": 4, "risk": None},
            "b": {"answer": False, "asked": 4, "yes": 0, "risk": None},
        },
    }
    assert manager.verdicts == {"a": Verdict(True, 4, 4, None), "b": Verdict(False, 4, 0, None)}
    assert repr(manager) == "<ForegoneEarlyStopping: 21 voters per sample, 2 verdicts>"
    assert log.results.scores[0].metrics["accuracy"].value == 0.5


def test_the_promise_of_the_solution_is_in_the_log(evaluate):
    log = evaluate(ForegoneEarlyStopping(SOLUTION, seed=0), lambda *_: "yes")
    metadata = log.results.early_stopping.metadata
    assert metadata["promise"].startswith("The disagreement with the full vote is at most 0.01")
    assert metadata["verdicts"]["a"]["risk"] < 0.01
    assert metadata["epochs_counted"] == 2 * verdict_if_all_say(vote=True, seed=0).asked


def test_each_verdict_is_that_of_the_epochs_in_their_order(evaluate):
    chance = random.Random(0)
    manager = ForegoneEarlyStopping(rules.lead(21, 3))
    ids = [f"sample {k}" for k in range(5)]
    log = evaluate(manager, lambda *_: "yes" if chance.random() < 0.7 else "no", ids, max_samples=15)
    for id in ids:
        votes = [
            sample.scores["match"].value == "C"
            for sample in sorted(log.samples, key=lambda sample: sample.epoch)
            if sample.id == id
        ]
        assert manager.verdicts[id] == Ballot(rules.lead(21, 3)).cast_many(votes)
    assert log.results.early_stopping.metadata["epochs_not_needed"] > 0  # 15 at once for 5 samples


def test_an_epoch_that_ends_in_an_error_is_a_voter_that_failed(evaluate):
    def say(sample, count):
        if sample == "a" and count == 2:
            raise RuntimeError("out of order")
        return "yes"

    manager = ForegoneEarlyStopping(rules.lead(21, 4))
    log = evaluate(manager, say, fail_on_error=False)
    assert epochs_of(log) == {"a": 5, "b": 4}
    assert manager.verdicts["a"] == manager.verdicts["b"] == Verdict(True, 4, 4, None)
    assert log.results.early_stopping.metadata["epochs_failed"] == 1


def test_an_epoch_that_is_retried_keeps_its_place(evaluate):
    def say(sample, count):
        if count == 1:
            raise RuntimeError("out of order")
        return "yes"

    manager = ForegoneEarlyStopping(rules.lead(21, 4))
    log = evaluate(manager, say, ids=["a"], retry_on_error=1)
    assert manager.verdicts == {"a": Verdict(True, 4, 4, None)}
    assert log.results.early_stopping.metadata["epochs_failed"] == 0


@scorer(metrics=[])
def partial():
    async def score(state, target):
        return Score(value="P")

    return score


@scorer(metrics=[])
def silent():
    async def score(state, target):
        return Score.unscored() if hasattr(Score, "unscored") else Score(value=float("nan"))

    return score


def test_a_sample_whose_epochs_are_not_scored_runs_them_all(evaluate):
    manager = ForegoneEarlyStopping(rules.lead(5, 2))
    log = evaluate(manager, lambda *_: "yes", epochs=5, scorer=silent())
    assert epochs_of(log) == {"a": 5, "b": 5}
    assert manager.verdicts == {}
    assert log.results.early_stopping.metadata["epochs_failed"] == 10


def test_a_score_that_is_no_vote_ends_the_eval_with_an_error_that_says_what_to_do(evaluate):
    log = evaluate(ForegoneEarlyStopping(rules.lead(5, 2)), lambda *_: "yes", epochs=5, scorer=partial())
    assert log.status == "error"
    assert ": pass vote=" in log.error.message


def test_two_scorers_need_a_function_that_says_what_the_vote_is(evaluate):
    both = [match(), exact()]
    log = evaluate(ForegoneEarlyStopping(rules.lead(5, 2)), lambda *_: "yes", epochs=5, scorer=both)
    assert "expected one scorer, got 2: match, exact. Pass vote=" in log.error.message
    manager = ForegoneEarlyStopping(rules.lead(5, 2), vote=lambda scores: scores["exact"].score.value != "C")
    evaluate(manager, lambda *_: "yes", epochs=5, scorer=both)
    assert manager.verdicts["a"] == Verdict(False, 2, 0, None)


def test_too_few_epochs_are_refused(evaluate):
    log = evaluate(ForegoneEarlyStopping(SOLUTION), lambda *_: "yes", epochs=20)
    assert "run it with --epochs 21, or solve for 20" in log.error.message


def test_answers_are_counted_by_a_strategy_for_many(evaluate):
    manager = ForegoneEarlyStopping(plurality_rules.lead(9, 3))
    log = evaluate(manager, lambda sample, count: "42" if count != 2 else "41", ids=[7], epochs=9)
    assert epochs_of(log) == {7: 5}
    assert manager.verdicts == {7: Verdict("42", 5, 4, None)}
    assert log.results.early_stopping.metadata["verdicts"]["7"]["answer"] == "42"


def test_a_sample_with_more_answers_than_the_strategy_has_is_not_stopped(evaluate):
    manager = ForegoneEarlyStopping(plurality_rules.lead(9, 3, n_classes=2))
    log = evaluate(manager, lambda sample, count: str(count) if sample == "a" else "42", ("a", "b"), epochs=9)
    assert epochs_of(log) == {"a": 9, "b": 3}
    problems = log.results.early_stopping.metadata["problems"]
    assert list(problems) == ["a"]
    assert "expected at most 2 different answers" in problems["a"]


def test_models_that_share_a_manager_do_not_share_votes(evaluate):
    manager = ForegoneEarlyStopping(rules.lead(21, 4))
    logs = evaluate(manager, lambda sample, count, model: ["no", "yes"][model], models=2, max_tasks=2)
    said = {log.eval.model: log.results.early_stopping.metadata["verdicts"]["a"] for log in logs}
    assert {name: (verdict["answer"], verdict["asked"]) for name, verdict in said.items()} == {
        "mockllm/0": (False, 4),
        "mockllm/1": (True, 4),
    }


# What the guide shows --------------------------------------------------------------------------


def test_the_task_of_the_guide_stops_and_its_log_is_read_as_the_guide_says(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    guide = Path(__file__).parents[2] / "docs" / "integrations.md"
    task, reading = (block.text for block in blocks(guide) if "from inspect_ai" in block.text)
    names = {"__name__": "guide"}
    exec(task, names)

    def output(messages, tools, tool_choice, config):
        found = ModelOutput.from_content("mockllm", "42")
        found.usage = ModelUsage()
        return found

    model = get_model("mockllm/model", custom_outputs=output)
    (log,) = inspect_ai.eval(
        names["arithmetic"](), model=model, log_dir=str(tmp_path), display="none", max_samples=1
    )
    exec(reading, names | {"path": log.location})
    metadata = log.results.early_stopping.metadata
    assert metadata["epochs_saved"] > 60
    assert capsys.readouterr().out == (
        f"50.0% of the samples are solved by the majority; {metadata['epochs_saved']} epochs saved\n"
    )
    table = re.findall(r"`(\w+)`", guide.read_text("utf-8").partition("| field |")[2].partition("\n\n")[0])
    assert metadata.keys() | {"problems"} | {"answer", "asked", "yes", "risk"} == {*table, "strategy"} - {
        "Verdict"
    }


# By its protocol ------------------------------------------------------------------------------


def started(manager, epochs=21):
    spec = SimpleNamespace(scorers=[SimpleNamespace(name="match")])
    asyncio.run(manager.start_task(spec, [Sample(id="a", input="?")], epochs))
    return manager


def complete(manager, epoch, value="C"):
    scores = {} if value is None else {"match": SampleScore(score=Score(value=value))}
    asyncio.run(manager.complete_sample("a", epoch, scores))


def is_refused(manager, epoch):
    return asyncio.run(manager.schedule_sample("a", epoch)) is not None


def test_votes_wait_for_the_epochs_before_them():
    manager = started(ForegoneEarlyStopping(rules.lead(21, 4)))
    for epoch in (2, 3, 4, 5, 6, 7):
        complete(manager, epoch, "I")  # quick with a no
    assert manager.verdicts == {}
    assert not is_refused(manager, 8)
    complete(manager, 1)
    assert manager.verdicts == {"a": Verdict(False, 6, 1, None)}
    assert is_refused(manager, 8)


def test_an_epoch_without_scores_holds_nobody_up():
    manager = started(ForegoneEarlyStopping(rules.lead(21, 4)))
    complete(manager, 1, None)
    for epoch in (2, 3, 4, 5):
        assert not is_refused(manager, epoch)
        complete(manager, epoch, 1)
    assert manager.verdicts == {"a": Verdict(True, 4, 4, None)}


def test_a_retried_eval_counts_the_epochs_that_it_takes_from_its_log():
    manager = started(ForegoneEarlyStopping(rules.lead(21, 4)))
    for epoch in (4, 2, 1, 3):
        complete(manager, epoch)  # never scheduled
    assert is_refused(manager, 5)


def test_an_epoch_that_is_run_again_counts_once():
    manager = started(ForegoneEarlyStopping(rules.lead(21, 4)))
    complete(manager, 1)
    complete(manager, 1)
    complete(manager, 3, "I")
    complete(manager, 3)  # not counted yet: the last run of it counts
    for epoch in (2, 4):
        assert manager.verdicts == {}
        complete(manager, epoch)
    assert manager.verdicts == {"a": Verdict(True, 4, 4, None)}


def test_more_epochs_than_voters_stand_in_for_those_that_fail():
    manager = started(ForegoneEarlyStopping(rules.curtailment(3)), epochs=5)
    for epoch, value in enumerate([None, "C", float("nan"), "I", "C"], 1):
        assert not is_refused(manager, epoch)
        complete(manager, epoch, value)
    assert manager.verdicts == {"a": Verdict(True, 3, 2, 0.0)}


def test_a_new_eval_starts_with_no_votes():
    manager = started(ForegoneEarlyStopping(rules.lead(21, 4)))
    for epoch in range(1, 5):
        complete(manager, epoch)
    assert is_refused(manager, 5)
    assert not is_refused(started(manager), 5)


@pytest.mark.parametrize(("strategy", "vote"), [("lead", None), (SOLUTION, "match")])
def test_what_cannot_be_used_is_refused_at_once(strategy, vote):
    with pytest.raises(InvalidInputError, match="must be a"):
        ForegoneEarlyStopping(strategy, vote=vote)


def test_without_inspect_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.util", None)
    with pytest.raises(MissingExtraError, match=r"foregone\[inspect\]"):
        _inspect("inspect_ai.util")


def test_neither_package_is_imported_before_it_is_needed():
    code = (
        "import sys, foregone; foregone.integrations.ForegoneEarlyStopping; "
        "print({'inspect_ai', 'dspy'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"

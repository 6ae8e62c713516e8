"""The module that samples a DSPy program, with DSPy's dummy model and with its real client and cache."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import dspy
import pytest
from dspy.utils import DummyLM

from foregone import Verdict, rules, solve
from foregone.errors import InvalidInputError, PollError
from foregone.integrations import MajorityVote
from foregone.plurality import rules as plurality_rules
from tests.polling.loopback import Loopback, Reply

LEAD = plurality_rules.lead(9, 3)
QUESTION = {"question": "What is six times seven?"}


def saying(*answers):
    """Return a model that gives these answers, one a call."""
    return DummyLM([{"reasoning": f"sample {k}", "answer": answer} for k, answer in enumerate(answers)])


def ask(program, lm, **settings):
    with dspy.context(lm=lm, **settings):
        return program(**QUESTION)


class Counted(dspy.Module):
    """Answers by the rollout of its language model, and counts its calls; raises where there is no answer."""

    def __init__(self, *answers):
        super().__init__()
        self.calls = []
        self.answers = answers
        self.lock = threading.Lock()

    def deepcopy(self):
        return self  # so that the calls can be counted

    def forward(self, question):
        rollout = dspy.settings.lm.kwargs["rollout_id"]
        with self.lock:
            self.calls.append(rollout)
        answer = self.answers[rollout]
        if answer is RuntimeError:
            raise RuntimeError("out of order")
        return dspy.Prediction(answer=answer)

    async def aforward(self, question):
        return self.forward(question)


def test_it_stops_when_the_majority_is_foregone_and_returns_its_first_sample():
    program = MajorityVote(dspy.ChainOfThought("question -> answer"), LEAD)
    prediction = ask(program, saying("41", "42", "42", "42", "42", "never asked"))
    assert (prediction.answer, prediction.reasoning) == ("42", "sample 1")
    assert prediction.verdict == Verdict("42", 5, 4, None)


def test_a_key_says_which_answers_are_equal_and_the_prediction_keeps_its_own_words():
    lm = saying("It is 42", "41", "42.", "about 42", "42")
    program = MajorityVote(
        dspy.ChainOfThought("question -> answer"), LEAD, key=lambda text: text.strip(".").split()[-1]
    )
    prediction = ask(program, lm)
    assert (prediction.answer, prediction.verdict.answer) == ("It is 42", "42")


def test_a_field_that_is_true_or_false_votes_yes_or_no():
    lm = DummyLM([{"passes": word} for word in ("True", "False", "True", "True", "True")])
    program = MajorityVote(dspy.Predict("question -> passes: bool"), rules.lead(21, 3), field="passes")
    prediction = ask(program, lm)
    assert prediction.passes is True
    assert prediction.verdict == Verdict(True, 5, 4, None)


def test_every_sample_has_a_rollout_of_its_own_and_the_models_temperature():
    temperatures = []

    class Noted(Counted):
        def forward(self, question):
            temperatures.append(dspy.settings.lm.kwargs["temperature"])
            return super().forward(question)

    for given, used in ((0.0, 1.0), (None, 1.0), (0.3, 0.3)):
        program = Noted("42", "42", "42")
        ask(MajorityVote(program, LEAD), DummyLM([]).copy(temperature=given))
        assert program.calls == [0, 1, 2]
        assert temperatures[-3:] == [used] * 3


def test_predictors_with_a_model_of_their_own_sample_anew_too():
    predictor = dspy.ChainOfThought("question -> answer")
    predictor.set_lm(saying("42", "41", "42", "42", "42"))
    predictor._compiled = True  # DSPy does not list the predictors of what is compiled
    prediction = ask(MajorityVote(predictor, LEAD), None)
    assert prediction.verdict == Verdict("42", 5, 4, None)
    assert "rollout_id" not in predictor.predictors()[0].lm.kwargs


def test_samples_that_fail_are_replaced():
    program = Counted("42", RuntimeError, None, "42", "42")
    assert ask(MajorityVote(program, LEAD), DummyLM([])).verdict == Verdict("42", 3, 3, None)
    assert program.calls == [0, 1, 2, 3, 4]
    program = Counted("42", RuntimeError, None, "42", "42")
    with pytest.raises(PollError, match="has no answer: None") as raised:
        ask(MajorityVote(program, LEAD, max_failures=1), DummyLM([]))
    assert raised.value.votes == {0: "42"}


@pytest.mark.parametrize("n_parallel", [1, 4])
def test_in_parallel_the_verdict_is_the_same_and_few_samples_are_in_vain(n_parallel):
    program = Counted("41", "42", "41", "42", "42", "42", "41", "42", "42")
    prediction = ask(MajorityVote(program, LEAD, n_parallel=n_parallel), DummyLM([]))
    assert prediction.verdict == Verdict("42", 8, 5, 0.0)
    assert 8 <= len(program.calls) <= 8 + n_parallel - 1


def test_it_can_be_awaited():
    async def main():
        with dspy.context(lm=DummyLM([])):
            return await MajorityVote(Counted("42", "41", "42", "42", "42"), LEAD).acall(**QUESTION)

    assert asyncio.run(main()).verdict == Verdict("42", 5, 4, None)


def test_it_can_be_called_where_an_event_loop_is_running():
    async def main():
        return ask(MajorityVote(Counted("42", "42", "42"), LEAD), DummyLM([]))

    assert asyncio.run(main()).verdict == Verdict("42", 3, 3, None)


def test_an_answer_that_nobody_gave_comes_alone():
    program = Counted()
    prediction = ask(MajorityVote(program, solve("minimixed", 5, 1.0)), DummyLM([]))
    assert prediction.keys() == ["answer", "verdict"]
    assert (prediction.answer, prediction.verdict.asked, program.calls) == (prediction.verdict.answer, 0, [])


def test_the_trace_holds_the_sample_that_was_chosen_under_the_programs_own_predictor():
    program = dspy.ChainOfThought("question -> answer")
    trace = []
    prediction = ask(MajorityVote(program, LEAD), saying("41", "42", "42", "42", "42"), trace=trace)
    ((predictor, inputs, output),) = trace
    assert predictor is program.predictors()[0]
    assert inputs == QUESTION
    assert (output.reasoning, "verdict" in output) == (prediction.reasoning, False)


def test_it_is_saved_and_loaded_as_modules_are(tmp_path):
    program = MajorityVote(dspy.Predict("question -> answer"), LEAD)
    program.program.demos = [dspy.Example(question="What is one?", answer="1")]
    program.save(tmp_path / "program.json")
    other = MajorityVote(dspy.Predict("question -> answer"), LEAD)
    other.load(tmp_path / "program.json")
    assert other.program.demos[0]["answer"] == "1"
    assert ask(other, saying("42", "42", "42")).verdict == Verdict("42", 3, 3, None)
    copied = program.deepcopy()
    assert copied.strategy == LEAD
    assert copied.program is not program.program


def test_the_cache_gives_different_samples_once_and_the_same_ones_again(monkeypatch):
    requests = []

    def behave(request):
        requests.append(request)
        return Reply(f"[[ ## answer ## ]]\n{len(requests)}\n\n[[ ## completed ## ]]")

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(
        dspy,
        "cache",
        dspy.clients.Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=""),
    )
    with Loopback(behave) as server:
        lm = dspy.LM("openai/model", api_base=server.url, api_key="secret", temperature=0.7)
        program = MajorityVote(dspy.Predict("question -> answer"), plurality_rules.curtailment(4))
        first = ask(program, lm)
        assert len(requests) == 4
        assert {request["temperature"] for request in requests} == {0.7}
        assert ask(program, lm) == first
        assert len(requests) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        {"program": "question -> answer"},
        {"strategy": "lead"},
        {"key": "answer"},
        {"n_parallel": 0},
        {"seed": -1},
        {"max_failures": 0.5},
    ],
)
def test_what_cannot_be_used_is_refused_at_once(arguments):
    usable = {"program": dspy.Predict("question -> answer"), "strategy": LEAD}
    with pytest.raises(InvalidInputError, match="must be a"):
        MajorityVote(**usable | arguments)


def test_an_answer_that_is_not_a_vote_is_an_error_and_no_failure():
    program = MajorityVote(Counted("yes", "yes"), rules.lead(9, 3))
    with pytest.raises(InvalidInputError, match="expected True or False"):
        ask(program, DummyLM([]))


def test_without_dspy_the_error_names_the_extra():
    code = "import sys; sys.modules['dspy'] = None; import foregone; foregone.integrations.MajorityVote"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError" in result.stderr
    assert "foregone[dspy]" in result.stderr

"""The example that lets a language model judge, against a real server that misbehaves."""

from __future__ import annotations

import asyncio
import doctest
import importlib.util
import itertools
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from foregone import solve
from foregone.errors import PollManyError
from foregone.polling import poll_many
from tests.polling.loopback import Loopback, Reply

httpx = pytest.importorskip("httpx", reason="the example needs the extra llm")

EXAMPLE = Path(__file__).parents[2] / "examples" / "llm_judge.py"
SOLUTION = solve("minimixed", 21, 0.01)


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("llm_judge", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["llm_judge"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def judge(example):
    """Return a function that has items judged by a server that behaves so."""

    def run(behave, items=None, **options):
        async def main(url):
            async with httpx.AsyncClient(base_url=url, timeout=5, trust_env=False) as client:
                polls = poll_many(
                    items or {"a": {"question": "1 + 1?", "answer": "2"}},
                    example.Judge(client, "model").ask,
                    SOLUTION,
                    seed=0,
                    **options,
                )
                return {key: verdict async for key, verdict in polls}

        with Loopback(behave) as server:
            return asyncio.run(main(server.url))

    return run


def verdict_if_all_say(vote):
    """Return the verdict when everyone votes so."""
    return poll_many({"a": 0}, lambda *_: vote, SOLUTION, seed=0).run()["a"]


def test_what_it_sends_is_a_chat_completion_and_what_it_hears_is_a_vote(judge):
    requests = []

    def behave(request):
        requests.append(request)
        return Reply("PASS" if "Answer: 2" in request["messages"][1]["content"] else "FAIL.")

    items = {"a": {"question": "1 + 1?", "answer": "2"}, "b": {"question": "1 + 1?", "answer": "3"}}
    verdicts = judge(behave, items)
    assert [verdicts["a"].answer, verdicts["b"].answer] == [True, False]
    assert {request["model"] for request in requests} == {"model"}
    seeds = [request["seed"] for request in requests if "Answer: 2" in request["messages"][1]["content"]]
    assert sorted(seeds) == list(range(verdicts["a"].asked))


TROUBLES = {
    "too many requests": Reply(status=429, headers={"Retry-After": "0.01"}),
    "too many requests until some date": Reply(status=429, headers={"Retry-After": "nan"}),
    "broken": Reply(status=500),
    "overloaded": Reply(status=503, headers={"Retry-After": "0"}),
    "hangs up": Reply(drop=True),
    "says both": Reply("PASS or FAIL, who knows"),
    "says nothing": Reply(""),
    "says null": Reply(None),
    "no JSON": Reply(body=b"<html>busy</html>"),
    "other JSON": Reply(body=b'{"choices": []}'),
    "binary": Reply(body=bytes(range(256))),
    "deeply nested": Reply(body=b"[" * 100_000),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_one_trouble_costs_one_more_call_and_changes_nothing_else(judge, trouble, monkeypatch, example):
    monkeypatch.setattr(example, "LONGEST_WAIT", 0.02)
    calls = Counter()

    def behave(request):
        calls[request["seed"]] += 1
        return TROUBLES[trouble] if request["seed"] == 1 and calls[1] == 1 else Reply("PASS")

    assert judge(behave) == {"a": verdict_if_all_say(True)}
    assert calls[1] == 2


def test_slow_replies_run_into_the_time_limit_and_are_asked_again(judge):
    calls = itertools.count()
    verdicts = judge(lambda _: Reply("PASS", delay=0 if next(calls) else 60), timeout=0.3)
    assert verdicts == {"a": verdict_if_all_say(True)}


def test_a_server_that_is_of_no_use_ends_in_an_error_that_says_why(judge):
    with pytest.raises(PollManyError, match="status 401"):
        judge(lambda _: Reply(status=401), retries=0, max_failures=2)


@pytest.mark.parametrize(
    ("text", "vote"),
    [
        ("PASS", True),
        ("fail", False),
        (" **Pass**. ", True),
        ('{"verdict": "FAIL"}', False),
        ("At first it seems to pass.\n\nFAIL\n", False),
        ("PASS: it does not fail", None),
        ("passable", None),
        ("", None),
        ("yes", None),
    ],
)
def test_votes_are_understood_and_nothing_else_is(example, text, vote):
    if vote is None:
        with pytest.raises(example.NoVoteError):
            example.parse_vote(text)
    else:
        assert example.parse_vote(text) is vote


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3), ("0", 0), (None, 1), ("-1", 0), ("1e9", 60), ("Wed, 21 Oct", 5), ("nan", 60), ("inf", 60)],
)
def test_the_wait_that_a_server_asks_for_is_bounded(example, header, seconds):
    assert example.wait_for(header) == seconds


def test_its_docstrings_are_true(example):
    results = doctest.testmod(example)
    assert (results.failed, results.attempted > 0) == (0, True)


def test_in_batches_it_sends_n_and_no_seed_and_asks_again_for_what_is_missing(example):
    requests = []

    def behave(request):
        requests.append(request)
        texts = ["PASS"] * request["n"]
        if len(requests) == 1:
            texts = ["PASS", "who knows", None]  # and no more of them
        return Reply(texts=tuple(texts), usage={"prompt_tokens": 70, "completion_tokens": 2 * len(texts)})

    async def main(url):
        async with httpx.AsyncClient(base_url=url, timeout=5, trust_env=False) as client:
            polls = poll_many(
                {"a": {"question": "1 + 1?", "answer": "2"}}, None, SOLUTION,
                ask_batch=example.Judge(client, "model").ask_batch, seed=0,
            )  # fmt: skip
            return {key: verdict async for key, verdict in polls}, polls.spent

    with Loopback(behave) as server:
        verdicts, spent = asyncio.run(main(server.url))
    assert verdicts == {"a": verdict_if_all_say(True)}
    assert [request["n"] for request in requests[:2]] == [5, 4]
    assert not any("seed" in request for request in requests)
    assert spent.requests == len(requests)
    assert spent.prompt_tokens == 70 * len(requests)
    assert spent.completion_tokens == 2 * (verdicts["a"].asked + 2)  # two of them were no votes


@pytest.mark.parametrize("usage", [None, 5, {}, {"prompt_tokens": "many"}, {"prompt_tokens": -1}, [1]])
def test_a_server_that_does_not_say_what_it_bills_bills_nothing(example, usage):
    reply = example.reply_of({"usage": usage}, True)
    assert (reply.votes, reply.prompt_tokens, reply.completion_tokens) == (True, 0, 0)


def asked_of(lines):
    return {row["id"]: row["asked"] for row in map(json.loads, lines)}


def test_as_a_command_it_prints_verdicts_and_goes_on_from_its_journal(example, tmp_path, monkeypatch, capsys):
    items = tmp_path / "answers.jsonl"
    rows = [{"id": k, "question": "1 + 1?", "answer": str(k)} for k in range(5)]
    items.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    calls = []

    def behave(request):
        calls.append(request)
        return Reply("PASS" if "Answer: 2" in request["messages"][1]["content"] else "FAIL")

    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    arguments = [str(items), "--journal", str(tmp_path / "votes.jsonl")]
    with Loopback(behave) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert example.main(arguments) == 0
        first = sorted(capsys.readouterr().out.splitlines())
        n_calls = len(calls)
        assert example.main(arguments) == 0
        assert sorted(capsys.readouterr().out.splitlines()) == first
        assert len(calls) == n_calls
        assert example.main([*arguments, "--max-disagreement", "0.001"]) == 0
        asked, stricter = map(asked_of, (first, capsys.readouterr().out.splitlines()))
        assert n_calls < len(calls) == sum(max(asked[k], stricter[k]) for k in asked)
        assert example.main([*arguments, "--model", "other"]) == 1
    assert "has changed since its votes were recorded" in capsys.readouterr().err
    assert {row["id"]: row["verdict"] for row in map(json.loads, first)} == {
        str(k): "pass" if k == 2 else "fail" for k in range(5)
    }
    assert "secret" not in (tmp_path / "votes.jsonl").read_text()
    items.write_text('{"id": 1}\n')
    with pytest.raises(SystemExit, match="line 1: need an object"):
        example.main(arguments)
    (tmp_path / "votes.jsonl").write_text("precious")
    items.write_text(json.dumps(rows[0]))
    assert example.main(arguments) == 1
    assert "not a journal" in capsys.readouterr().err

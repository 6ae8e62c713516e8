"""The recipe of docs/polling.md for the openai client, run as it stands against a server on loopback."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.page_blocks import blocks
from tests.polling.loopback import Loopback, Reply

pytest.importorskip("openai", reason="the recipe needs the extra llm")

GUIDE = Path(__file__).parents[2] / "docs" / "polling.md"


def completion(text):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "model", "choices": [choice]}
    return Reply(body=json.dumps(body).encode())


def test_it_samples_each_question_until_its_answer_is_foregone(monkeypatch, capsys):
    (recipe,) = (block for block in blocks(GUIDE) if "AsyncOpenAI" in block.text)
    calls = Counter()

    def behave(request):
        question = request["messages"][0]["content"]
        calls[question] += 1
        if "6 * 7" in question:
            return completion(" 42\n" if calls[question] != 2 else "")
        return Reply(status=500) if calls[question] == 1 else completion("2")

    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Loopback(behave) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        exec(compile(recipe.text, str(GUIDE), "exec"), {"__name__": "recipe"})
    said = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    (asked,) = {words.split()[3] for words in said.values()}
    assert said["a"].startswith(f"42 ({asked} of {asked} samples, risk 0.0")
    assert said["b"].startswith(f"2 ({asked} of {asked} samples, risk 0.0")
    assert set(calls.values()) == {int(asked) + 1}  # one sample had no answer, one call failed

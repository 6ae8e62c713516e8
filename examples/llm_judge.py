"""Let a language model judge answers, and stop asking it as soon as the majority is a foregone conclusion.

    export OPENAI_BASE_URL=http://localhost:8000/v1     # any OpenAI-compatible endpoint
    export OPENAI_API_KEY=...                           # if it wants one
    python examples/llm_judge.py answers.jsonl --model my-model --journal votes.jsonl

Each line of answers.jsonl is an object with "id", "question" and "answer". Each line that is printed is one
with "id", "verdict" (pass or fail), how many votes were "asked", how many of them were "pass", and the "risk"
that all voters together would have said otherwise. Stop it and run it again, with more answers or a stricter
limit if you like: the journal keeps every vote that was paid for.

Needs httpx:  pip install 'foregone[llm]', or in a checkout  pip install '.[llm]'
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from foregone import ForegoneError, poll_many, solve
from foregone.polling import Prices, Reply

INSTRUCTION = (
    "You check answers. If the answer below is correct, reply with the single word PASS, otherwise with the "
    "single word FAIL. Do not explain."
)
TOKENS = ("prompt_tokens", "completion_tokens")
LONGEST_WAIT = 60.0  # seconds, whatever the server asks for


class NoVoteError(Exception):
    """The model, or the server before it, gave no vote; the voter is asked again."""


@dataclass
class Judge:
    """A language model that votes on answers.

    Attributes
    ----------
    client : httpx.AsyncClient
        With base URL, key and time limits set.
    model : str
        Name of the model.
    """

    client: httpx.AsyncClient
    model: str

    async def ask(self, item: dict[str, Any], voter: int) -> Reply:
        """Return one vote: whether the answer passes. Each voter is one sample of the model."""
        completion = await self._complete(item, {"seed": voter})
        return reply_of(completion, votes_of(completion)[0])

    async def ask_batch(self, item: dict[str, Any], voters: list[int]) -> Reply:
        """Return one vote for each of these voters, of one request. The server reads the prompt once.

        There is no seed: with one, votes asked for again could repeat votes of the request before.
        """
        completion = await self._complete(item, {"n": len(voters)})
        return reply_of(completion, votes_of(completion)[: len(voters)])

    async def _complete(self, item: dict[str, Any], settings: dict[str, Any]) -> Any:
        response = await self.client.post(
            "chat/completions",
            json={
                "model": self.model,
                "temperature": 1.0,
                "max_tokens": 16,
                "messages": [
                    {"role": "system", "content": INSTRUCTION},
                    {"role": "user", "content": f"Question: {item['question']}\n\nAnswer: {item['answer']}"},
                ],
                **settings,
            },
        )
        if response.status_code != 200:
            if response.status_code in (429, 503):
                await asyncio.sleep(wait_for(response.headers.get("retry-after")))
            raise NoVoteError(f"the server replied with status {response.status_code}")
        try:
            return response.json()
        except (ValueError, RecursionError):
            raise NoVoteError("the reply is not a chat completion") from None


def wait_for(retry_after: str | None) -> float:
    """Return how long to wait before asking again, in seconds, however the server words it."""
    try:
        seconds = float(retry_after or 1.0)
    except ValueError:  # a date, which only a clock like the server's could make use of
        seconds = 5.0
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else LONGEST_WAIT


def votes_of(completion: Any) -> list[bool | NoVoteError]:
    """Return the vote of every choice of a chat completion, or the reason why there is no vote."""
    try:
        texts = [choice["message"]["content"] for choice in completion["choices"]]
    except (KeyError, IndexError, TypeError):
        raise NoVoteError("the reply is not a chat completion") from None
    if not texts:
        raise NoVoteError("the reply has no choices")
    votes: list[bool | NoVoteError] = []
    for text in texts:
        try:
            votes.append(parse_vote(text if isinstance(text, str) else ""))
        except NoVoteError as error:
            votes.append(error)
    return votes


def reply_of(completion: Any, votes: Any) -> Reply:
    """Return votes with the tokens that the server bills; 0 where it does not say."""
    usage = completion.get("usage") if isinstance(completion, dict) else None
    counts = [usage.get(name) if isinstance(usage, dict) else None for name in TOKENS]
    return Reply(votes, *(count if type(count) is int and count >= 0 else 0 for count in counts))


def parse_vote(text: str) -> bool:
    r"""Return True for PASS and False for FAIL; the last line decides if there are both.

    Examples
    --------
    >>> parse_vote(" **Pass.**"), parse_vote("It may pass at first sight.\n\nFAIL")
    (True, False)
    """
    lines = [line for line in text.splitlines() if line.strip()]
    for part in (text, lines[-1] if lines else ""):
        words = {word.lower() for word in re.findall(r"\b(?:pass|fail)\b", part, re.IGNORECASE)}
        if len(words) == 1:
            return words == {"pass"}
    raise NoVoteError(f"neither PASS nor FAIL, or both: {text[:80]!r}")


def read_items(path: Path) -> dict[str, dict[str, Any]]:
    """Return the items of a file by their ids."""
    items: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            items[str(item["id"])] = {"question": str(item["question"]), "answer": str(item["answer"])}
        except (ValueError, KeyError, TypeError):
            sys.exit(f'{path}, line {number}: need an object with "id", "question" and "answer"')
    return items


async def judge_all(options: argparse.Namespace) -> None:
    """Print a verdict on every item, as they come."""
    solution = solve("minimixed", options.voters, options.max_disagreement)
    key = os.environ.get("OPENAI_API_KEY")
    async with httpx.AsyncClient(
        base_url=os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=options.timeout,
        limits=httpx.Limits(max_connections=options.concurrency),
    ) as client:
        judge = Judge(client, options.model)
        read, written = (price / 1e6 for price in options.prices)
        polls = poll_many(
            # The model is part of the question, so that a journal with votes of another one is refused.
            {name: item | {"model": options.model} for name, item in read_items(options.items).items()},
            None if options.batches else judge.ask,
            solution,
            ask_batch=judge.ask_batch if options.batches else None,
            prices=Prices(prompt_token=read, completion_token=written),
            concurrency=options.concurrency,
            journal=options.journal,
            progress=True,
        )
        async for key, verdict in polls:
            word = "pass" if verdict.answer else "fail"
            row = {
                "id": key,
                "verdict": word,
                "asked": verdict.asked,
                "pass": verdict.yes,
                "risk": verdict.risk,
            }
            print(json.dumps(row), flush=True)
        print(f"spent: {polls.spent}; saved, estimated: {polls.saved}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", type=Path, help="JSON lines with id, question and answer")
    parser.add_argument("--model", default=os.environ.get("JUDGE_MODEL", "gpt-4o-mini"))
    parser.add_argument("--voters", type=int, default=21, help="votes that a full poll would take")
    parser.add_argument("--max-disagreement", type=float, default=0.01)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument(
        "--batches",
        action="store_true",
        help="get several votes from one request, if the server supports n=; it bills the prompt once",
    )
    parser.add_argument(
        "--prices",
        type=float,
        nargs=2,
        default=(0.0, 0.0),
        metavar=("READ", "WRITTEN"),
        help="of a million tokens, to have the money counted",
    )
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one call")
    parser.add_argument("--journal", type=Path, help="file that keeps all votes, to go on after a stop")
    try:
        asyncio.run(judge_all(parser.parse_args(arguments)))
    except (ForegoneError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

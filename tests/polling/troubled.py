"""A judge that answers as `Simulated` says, and fails in every way a server can; in a process of its own."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tests.polling.loopback import Reply, start, url_of
from tests.polling.simulated import Simulated

TROUBLES = (
    Reply(status=429, headers={"Retry-After": "0.01"}),
    Reply(status=500),
    Reply(drop=True),
    Reply("PASS or FAIL"),
    Reply(body=b"<html>busy</html>"),
)


class Troubled:
    """Replies to what ``examples/llm_judge.py`` asks; an empty request is told what was billed so far.

    A request for several votes names the voters, so that the same are told the same by whatever request. It
    fails as a whole, or some of its choices are missing or nonsense.
    """

    def __init__(self, seed: int, failure_rate: float) -> None:
        self._simulated = Simulated(seed, failure_rate)
        self._billed = {"requests": 0, "prompt_tokens": 0, "completion_tokens": 0}

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Reply to one request."""
        if not request:
            return Reply(body=json.dumps(self._billed).encode())
        self._billed["requests"] += 1
        found = re.search(r"Question: (\d+)", request["messages"][1]["content"])
        assert found is not None
        question, voters = int(found[1]), tuple(request.get("voters", [request.get("seed")]))
        if len(voters) > 1 and self._simulated.next_request_fails(question, voters):
            return self._billing(TROUBLES[self._billed["requests"] % len(TROUBLES)], question, voters)
        texts = [self._text(question, voter) for voter in voters]
        if texts == [None]:
            return self._billing(TROUBLES[self._billed["requests"] % len(TROUBLES)], question, voters)
        while len(texts) > 1 and texts[-1] is None:
            texts.pop()  # the choices that should come last do not come
        turns = max(self._simulated.turns(question, voter) for voter in voters)
        reply = Reply(texts=tuple(text or "PASS or FAIL" for text in texts), delay=0.001 * turns)
        return self._billing(reply, question, voters)

    def _text(self, question: int, voter: int) -> str | None:
        if self._simulated.next_call_fails(question, voter):
            return None
        return "PASS" if self._simulated.vote(question, voter) else "FAIL"

    def _billing(self, reply: Reply, question: int, voters: tuple[int, ...]) -> Reply:
        """Return a reply with what it is billed, if it is an answer of the model."""
        if reply.status != 200 or reply.drop or reply.body is not None:
            return reply
        read, written = self._simulated.tokens(question, voters)
        self._billed["prompt_tokens"] += read
        self._billed["completion_tokens"] += written
        return replace(reply, usage={"prompt_tokens": read, "completion_tokens": written})


def _serve(seed: int, failure_rate: float, urls: Any) -> None:
    async def main() -> None:
        server = await start(Troubled(seed, failure_rate))
        urls.put(url_of(server))
        async with server:
            await server.serve_forever()

    asyncio.run(main())


@contextmanager
def troubled_server(seed: int, failure_rate: float) -> Iterator[str]:
    """Give the base URL of such a server; it ends with the block."""
    context = multiprocessing.get_context("spawn")
    urls = context.Queue()
    process = context.Process(target=_serve, args=(seed, failure_rate, urls), daemon=True)
    process.start()
    try:
        yield urls.get(timeout=60)
    finally:
        process.terminate()
        process.join()
        urls.close()

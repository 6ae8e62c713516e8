"""A judge that answers as `Simulated` says, and fails in every way a server can; in a process of its own."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
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
    """Replies to what ``examples/llm_judge.py`` asks; an empty request is told the number of calls so far."""

    def __init__(self, seed: int, failure_rate: float) -> None:
        self._simulated = Simulated(seed, failure_rate)
        self._calls = 0

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Reply to one request."""
        if not request:
            return Reply(body=json.dumps(self._calls).encode())
        self._calls += 1
        found = re.search(r"Question: (\d+)", request["messages"][1]["content"])
        assert found is not None
        question, voter = int(found[1]), request["seed"]
        if self._simulated.next_call_fails(question, voter):
            return TROUBLES[self._calls % len(TROUBLES)]
        vote = self._simulated.vote(question, voter)
        return Reply("PASS" if vote else "FAIL", delay=0.001 * self._simulated.turns(question, voter))


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

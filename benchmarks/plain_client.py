"""A client that asks a judge as ``examples/llm_judge.py`` does, over sockets of its own.

With 64 calls at once httpx spends most of its time looking for a free connection; here nothing but the
polling and the server is to be measured.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import urlsplit

from examples.llm_judge import NoVoteError, reply_of, votes_of, wait_for

from foregone.polling import Reply

__all__ = ["PlainClient"]

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class PlainClient:
    """Connections to one server, kept open between calls, and a record of who was asked and has voted."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname, parts.port
        self._idle: list[Connection] = []
        self.voted: dict[int, int] = {}  # question -> who has voted, as bits: there are many of them
        self.without_vote: Counter[tuple[int, int]] = Counter()  # how often a voter was asked in vain

    async def ask(self, item: dict[str, Any], voter: int) -> Reply:
        """Return one vote."""
        completion = await self._complete(item, {"seed": voter}, [voter])
        votes = votes_of(completion)
        self._note(item, [voter], votes)
        return reply_of(completion, votes[0])

    async def ask_batch(self, item: dict[str, Any], voters: list[int]) -> Reply:
        """Return one vote for each voter, of one request; the simulated server is told which they are."""
        completion = await self._complete(item, {"n": len(voters), "voters": voters}, voters)
        votes = votes_of(completion)
        self._note(item, voters, votes)
        return reply_of(completion, votes)

    async def _complete(self, item: dict[str, Any], settings: dict[str, Any], voters: list[int]) -> Any:
        content = f"Question: {item['question']}\n\nAnswer: {item['answer']}"
        try:
            status, headers, body = await self.post(
                {"messages": [{"role": "system"}, {"role": "user", "content": content}], **settings}
            )
            if status != 200:
                if status == 429:
                    await asyncio.sleep(wait_for(headers.get("retry-after")))
                raise NoVoteError(f"status {status}")
            return json.loads(body)
        except (ValueError, NoVoteError, OSError, EOFError) as error:
            self._note(item, voters, [])
            raise NoVoteError(f"no chat completion: {error}") from None

    def _note(self, item: dict[str, Any], voters: list[int], votes: Sequence[object]) -> None:
        question = int(item["question"])
        for voter, vote in zip_longest(voters, votes):
            if isinstance(vote, bool):
                self.voted[question] = self.voted.get(question, 0) | 1 << voter
            else:
                self.without_vote[question, voter] += 1

    async def post(self, content: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the reply to a request."""
        reader, writer = (
            self._idle.pop() if self._idle else await asyncio.open_connection(self._host, self._port)
        )
        try:
            body = json.dumps(content).encode()
            writer.write(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines if line)
            reply = await reader.readexactly(int(headers["content-length"]))
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        return int(first.split()[1]), headers, reply

    async def close(self) -> None:
        """Close all connections."""
        for _, writer in self._idle:
            writer.close()
            await writer.wait_closed()

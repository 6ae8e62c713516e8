"""A client that asks a judge as ``examples/llm_judge.py`` does, over sockets of its own.

With 64 calls at once httpx spends most of its time looking for a free connection; here nothing but the
polling and the server is to be measured.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

from examples.llm_judge import NoVoteError, parse_vote, wait_for

__all__ = ["PlainClient"]

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class PlainClient:
    """Connections to one server, kept open between calls."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname, parts.port
        self._idle: list[Connection] = []

    async def ask(self, item: dict[str, Any], voter: int) -> bool:
        """Return one vote."""
        content = f"Question: {item['question']}\n\nAnswer: {item['answer']}"
        status, headers, body = await self.post(
            {"seed": voter, "messages": [{"role": "system"}, {"role": "user", "content": content}]}
        )
        if status != 200:
            if status == 429:
                await asyncio.sleep(wait_for(headers.get("retry-after")))
            raise NoVoteError(f"status {status}")
        try:
            return parse_vote(json.loads(body)["choices"][0]["message"]["content"])
        except (ValueError, KeyError):
            raise NoVoteError("not a chat completion") from None

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

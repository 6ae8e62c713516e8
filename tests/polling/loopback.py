"""A server on loopback that speaks enough HTTP and chat completions, and misbehaves as it is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """How to reply to one request."""

    text: str | None = "PASS"
    texts: tuple[str | None, ...] | None = None  # several choices instead of one
    usage: dict[str, int] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    body: bytes | None = None  # sent as it is, instead of a chat completion
    drop: bool = False  # close the connection in the middle of the reply


Behave = Callable[[dict[str, Any]], Reply]


async def handle(behave: Behave, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until it is closed."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(
                (
                    int(line.split(":")[1])
                    for line in head.split("\r\n")
                    if line.startswith("content-length:")
                ),
                0,
            )
            request = json.loads(await reader.readexactly(length) or b"{}")
            reply = behave(request)
            if reply.delay:
                await asyncio.sleep(reply.delay)
            body = reply.body
            if body is None:
                texts = (reply.text,) if reply.texts is None else reply.texts
                completion: dict[str, Any] = {"choices": [{"message": {"content": text}} for text in texts]}
                if reply.usage is not None:
                    completion["usage"] = reply.usage
                body = json.dumps(completion).encode()
            fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
            lines = [f"HTTP/1.1 {reply.status} x", *(f"{name}: {value}" for name, value in fields.items())]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
            if reply.drop:
                break
            writer.write(body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


async def start(behave: Behave) -> asyncio.Server:
    """Start serving on a free port."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await handle(behave, reader, writer)

    return await asyncio.start_server(connected, "127.0.0.1", 0)


def url_of(server: asyncio.Server) -> str:
    """Return the base URL for clients."""
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/"


class Loopback:
    """A server in a thread of its own, for a ``with`` block."""

    def __init__(self, behave: Behave) -> None:
        self._behave = behave
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.url = ""

    def _run(self) -> None:
        with (
            asyncio.Runner(loop_factory=lambda: self._loop) as runner,
            contextlib.suppress(asyncio.CancelledError),
        ):
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._main = asyncio.current_task()
        server = await start(self._behave)
        self.url = url_of(server)
        self._ready.set()
        try:
            await asyncio.Event().wait()
        finally:  # and not wait for connections to end, as leaving `async with server` does since Python 3.12
            server.close()

    def __enter__(self) -> Loopback:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._main is not None
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(10)
        assert not self._thread.is_alive()

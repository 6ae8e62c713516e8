"""Running polls so that nothing they leave behind goes unnoticed, and slowness without a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


def run(poll: Coroutine[Any, Any, Any]) -> Any:
    """Run a poll, and see to it that nothing is left behind: no task, no complaint of asyncio."""
    complaints: list[dict[str, Any]] = []

    async def main() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        try:
            return await poll
        finally:
            assert asyncio.all_tasks() == {asyncio.current_task()}

    try:
        return asyncio.run(main())
    finally:
        assert complaints == []


async def wait(turns: int) -> None:
    """Take so many turns of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)

"""Ask voters concurrently: requests with a time limit and retries, a task pool, an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from foregone.ballot import check_several
from foregone.errors import InvalidInputError
from foregone.polling.costs import Costs, Reply

__all__ = ["Asker", "Failure", "TaskPool", "read_reply", "run_to_end"]

Tag = TypeVar("Tag")
Result = TypeVar("Result")
# Records the result of one request, and returns its votes in the form in which they are counted.
Note = Callable[[dict[int, Any], Costs], dict[int, Any]]


@dataclass(frozen=True)
class Failure:
    """A voter that gave no answer after all retries."""

    error: Exception


@dataclass(frozen=True)
class Asker:
    """The functions that ask voters: ``ask`` with one request per voter, or ``ask_batch`` with several."""

    ask: Callable[..., Any] | None
    ask_batch: Callable[..., Any] | None
    timeout: float | None
    retries: int

    def __post_init__(self) -> None:
        if self.ask is not None and self.ask_batch is not None:
            raise InvalidInputError("got both ask and ask_batch, which ask the same voters: pass only one")
        for name, function in (("ask", self.ask), ("ask_batch", self.ask_batch)):
            if function is not None and not callable(function):
                raise InvalidInputError(f"{name} must be a function, got {function!r}")

    @property
    def in_batches(self) -> bool:
        """Whether several voters are asked by one request."""
        return self.ask_batch is not None

    def requests(self, voters: list[int]) -> list[list[int]]:
        """Return the voters of each request."""
        if self.in_batches:
            return [voters] if voters else []
        return [[voter] for voter in voters]

    async def votes(self, about: tuple[Any, ...], voters: list[int], note: Note) -> dict[int, Any]:
        """Ask these voters in one request, retry those without a vote, and return votes and failures.

        An exception, or a reply that takes longer than ``timeout`` seconds, fails all voters of a request.
        Anything that is not an ``Exception`` (KeyboardInterrupt, SystemExit, a cancellation from outside)
        is raised at once. Votes that arrived are recorded before the missing ones are requested again.

        Returns
        -------
        dict
            Voter -> vote, or a `Failure` if all ``retries`` were used up.
        """
        answers: dict[int, Any] = {}
        errors: list[Exception] = []
        missing = list(voters)
        for _ in range(self.retries + 1):
            votes: dict[int, Any] = {}
            cost = Costs(requests=1)
            try:
                async with asyncio.timeout(self.timeout):
                    answer = await self._request(about, missing)
            except Exception as error:
                errors = [error]
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                errors = [RuntimeError("the voter cancelled its own task")]  # not cancelled from outside
            else:
                votes, cost, reason = read_reply(answer, missing, in_batch=self.in_batches)
                errors = [] if reason is None else [reason]
            answers |= note(votes, cost)
            missing = [voter for voter in missing if voter not in votes]
            if not missing:
                return answers
        failure = Failure(errors.pop())  # popped: a frame and an error that refer to each other would leak
        return answers | dict.fromkeys(missing, failure)

    async def _request(self, about: tuple[Any, ...], voters: list[int]) -> Any:
        if self.ask_batch is not None:
            return await _call(self.ask_batch, (*about, list(voters)))
        return await _call(self.ask, (*about, *voters))  # type: ignore[arg-type]  # None is a failure, too


def read_reply(
    answer: Any, voters: Sequence[int], *, in_batch: bool
) -> tuple[dict[int, Any], Costs, Exception | None]:
    """Return the votes in a reply by voter, its costs, and an error if some votes are missing.

    Raises
    ------
    InvalidInputError
        If the reply to a batch is not a list, or has more votes than voters.
    """
    given, error = answer.votes if isinstance(answer, Reply) else answer, None
    if in_batch:
        check_several(given, "what ask_batch returns")
        if isinstance(given, Mapping):
            raise InvalidInputError(
                "ask_batch must return a list with one vote for each voter, got a mapping: return its "
                "values in the order of the voters"
            )
        entries = list(given)
        if len(entries) > len(voters):
            raise InvalidInputError(
                f"ask_batch returned {len(entries)} votes for {len(voters)} voters: return one vote for each "
                "voter, in the order of the voters"
            )
    else:
        entries = [given]
        if not isinstance(answer, Reply):  # an invalid vote raises an error later
            return {voters[0]: given}, Costs(1, 1), None
    votes = {}
    for voter, entry in zip(voters, entries, strict=False):
        if isinstance(entry, Exception):
            error = entry
        elif entry is not None:
            votes[voter] = entry
    if error is None and len(votes) < len(voters):
        error = RuntimeError(f"the reply has only {len(votes)} of {len(voters)} votes")
    tokens = (answer.prompt_tokens, answer.completion_tokens) if isinstance(answer, Reply) else (0, 0)
    return votes, Costs(1, len(votes), *tokens), error


async def _call(ask: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(getattr(ask, "__call__", None)):  # noqa: B004  # an object whose __call__ is async
        return await ask(*arguments)
    answer = await _in_thread(ask, arguments)
    return await answer if inspect.isawaitable(answer) else answer


async def _in_thread(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run a blocking call in its own thread; after a cancellation its answer is dropped.

    Not in a pool: calls that exceed their time limit would block the threads that later calls need.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if answer.done():  # cancelled
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    def work() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = context.run(call, *arguments)
        except StopIteration as stop:  # which a future cannot hold
            error = RuntimeError(f"the voter raised {stop!r}")
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    context = contextvars.copy_context()
    threading.Thread(target=work, daemon=True, name="foregone-voter").start()
    return await answer


class TaskPool(Generic[Tag]):
    """Run up to ``size`` tagged tasks at once; leaving the block cancels the rest and waits for them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._running: dict[asyncio.Task[Any], Tag] = {}
        self._finished: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    @property
    def free(self) -> int:
        """Number of tasks that can be started now."""
        return self._size - len(self._running)

    @property
    def busy(self) -> bool:
        """Whether a task is running, or finished and not collected."""
        return bool(self._running)

    def start(self, tag: Tag, work: Coroutine[Any, Any, Any]) -> None:
        """Start a task."""
        task = asyncio.create_task(work)
        self._running[task] = tag
        task.add_done_callback(self._finished.put_nowait)

    async def next(self) -> tuple[Tag, Any]:
        """Wait for the next task to finish, and return its tag and result, or raise what it raised."""
        task = await self._finished.get()
        return self._running.pop(task), task.result()

    async def __aenter__(self) -> TaskPool[Tag]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._running:
            task.cancel()
        cancelled = None
        while any(not task.done() for task in self._running):
            try:
                await asyncio.wait(self._running)
            except asyncio.CancelledError as again:  # raised below, after all tasks have stopped
                cancelled = again
        for task in self._running:
            if not task.cancelled():
                task.exception()  # retrieved, or asyncio would log it as never retrieved
        self._running.clear()
        if cancelled is not None and error is None:
            raise cancelled


def run_to_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on a new event loop, in a new thread if this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _run_in_thread(work)


def _run_in_thread(work: Coroutine[Any, Any, Result]) -> Result:
    ready = threading.Event()  # set once an interrupt of this thread would cancel the work
    started: Future[Callable[[], object]] = Future()  # a function that cancels the work
    ended: Future[Result] = Future()

    async def main() -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        started.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work

    def run() -> None:
        ready.wait()
        try:
            ended.set_result(context.run(asyncio.run, main()))
        except BaseException as error:
            ended.set_exception(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=run, daemon=True, name="foregone-polls")
    thread.start()
    try:
        ready.set()
        while not ended.done():  # an interrupt just before an endless wait would go unnoticed
            wait([ended], timeout=0.5)
        return ended.result()
    except BaseException:
        if not ended.done():
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                started.result()()
        raise
    finally:
        thread.join()

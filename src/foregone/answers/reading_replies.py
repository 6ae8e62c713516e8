"""reading: wrap an ``ask`` function with an extractor, for polls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from foregone.answers.structured import Extractor
from foregone.checks import check_choice
from foregone.errors import InvalidInputError, NoVoteError

__all__ = ["UNPARSABLE", "reading"]

UNPARSABLE = "(unparsable)"  # the common answer of all unreadable replies, if they are counted


def reading(
    ask: Callable[..., Any],
    extract: Extractor,
    *,
    unparsable: Literal["no_vote", "answer"] = "no_vote",
    refused: Callable[[str], bool] | None = None,
) -> Callable[..., Any]:
    """Wrap ``ask`` so that it returns the extracted answer instead of the reply.

    For `foregone.poll`, `foregone.poll_async` and `foregone.poll_many`, or for a custom loop.

    Parameters
    ----------
    ask : callable
        Function of any arguments that returns the reply as a string, or a coroutine.
    extract : callable
        Function from the reply to the canonical form of the answer, or None.
    unparsable : {"no_vote", "answer"}
        How to treat a reply without an answer. With "no_vote" it raises a `NoVoteError`, which a poll counts
        as a failed call: the voter is asked again up to ``retries`` times, then replaced by another one, up
        to ``max_failures`` times. With "answer" all such replies count as the same answer, `UNPARSABLE`,
        which may win. This choice defines the full vote that the limit refers to.
    refused : callable, optional
        Function such as `is_refusal`; replies for which it returns True have no answer.

    Examples
    --------
    >>> from foregone import poll
    >>> from foregone.answers import number, reading
    >>> from foregone.plurality import rules
    >>> replies = iter(["It is 7.", "I would say 7.0", "Who knows?", "7!"])
    >>> ask = reading(lambda: next(replies), number)
    >>> poll([ask] * 5, rules.lead(5, 3)).answer
    '7'
    """
    check_choice(unparsable, "unparsable", ("no_vote", "answer"))
    if not all(map(callable, (ask, extract))):
        raise InvalidInputError(f"reading needs two functions, ask and extract, got {ask!r} and {extract!r}")

    def read(reply: Any) -> Any:
        answer = None if reply is None or (refused is not None and refused(reply)) else extract(reply)
        if answer is not None:
            return answer
        if unparsable == "answer":
            return UNPARSABLE
        said = repr(reply)
        raise NoVoteError(f"no answer in {said if len(said) <= 80 else said[:77] + '...'}")

    async def read_later(reply: Awaitable[Any]) -> Any:
        return read(await reply)

    if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(getattr(ask, "__call__", None)):  # noqa: B004  # an object whose __call__ is async

        @functools.wraps(ask)
        async def answer_async(*args: Any, **kwargs: Any) -> Any:
            return read(await ask(*args, **kwargs))

        return answer_async

    @functools.wraps(ask)
    def answer(*args: Any, **kwargs: Any) -> Any:
        reply = ask(*args, **kwargs)
        return read_later(reply) if inspect.isawaitable(reply) else read(reply)

    return answer

"""reading: put an extractor around whoever is asked, for polls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from foregone.answers.structured import Extractor
from foregone.checks import check_choice
from foregone.errors import InvalidInputError, NoVoteError

__all__ = ["UNPARSABLE", "reading"]

UNPARSABLE = "(unparsable)"  # the answer that all unreadable replies count for, if they are to count


def reading(
    ask: Callable[..., Any],
    extract: Extractor,
    *,
    unparsable: Literal["no_vote", "answer"] = "no_vote",
    refused: Callable[[str], bool] | None = None,
) -> Callable[..., Any]:
    """Return ``ask`` with its replies read: a function that returns the answer to count.

    For `foregone.poll`, `foregone.poll_async` and `foregone.poll_many`, or for a loop of your own.

    Parameters
    ----------
    ask : callable
        Returns the reply as a text, or a coroutine that does; of any arguments.
    extract : callable
        From the reply to the canonical form of the answer, or None.
    unparsable : {"no_vote", "answer"}
        What a reply without an answer is. With "no_vote" it raises a `NoVoteError`, and a poll takes it for
        a failed call: the voter is asked again up to ``retries`` times, then another one instead, up to
        ``max_failures`` times. With "answer" all such replies are one answer, `UNPARSABLE`, which may win.
        Which one you choose decides what the full vote is that the limit is about.
    refused : callable, optional
        Replies for which it is true have no answer, whatever can be read in them, such as `is_refusal`.

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
        raise InvalidInputError("reading takes two functions: one that asks, and one that reads the reply")

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

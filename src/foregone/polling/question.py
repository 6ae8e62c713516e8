"""One of many questions that is being asked, and a name for all of them together."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from foregone.errors import InvalidInputError, PollError
from foregone.polling.asking import Failure
from foregone.polling.journal import FAILED
from foregone.polling.line import Line

__all__ = ["Question", "fingerprint_of"]


@dataclass(eq=False)
class Question:
    """A question that is being asked."""

    key: Any
    content: Any
    line: Line
    recorded: dict[int, Any]
    error: PollError | None = None

    @property
    def is_open(self) -> bool:
        """Whether votes are needed, and hoped for."""
        return self.line.verdict is None and self.error is None

    def take(self, most: int) -> list[int]:
        """Return up to ``most`` voters to ask now; what others have voted is taken from the record."""
        to_ask: list[int] = []
        try:
            while len(to_ask) < most and (voters := self.line.take(most - len(to_ask))):
                for voter in voters:
                    if voter in self.recorded:
                        self._note_recorded(voter)
                    else:
                        to_ask.append(voter)
        except PollError as error:
            self.error = error
        return to_ask

    def _note_recorded(self, voter: int) -> None:
        vote = self.recorded.pop(voter)
        if vote is FAILED:
            self.line.failed(voter, None)
        else:
            self.line.answered(voter, vote)

    def note(self, voter: int, answer: Any) -> None:
        """Take down what a voter answered, or that it failed."""
        try:
            if isinstance(answer, Failure):
                self.line.failed(voter, answer.error)
            else:
                self.line.answered(voter, answer)
        except PollError as error:
            self.error = error


def fingerprint_of(questions: dict[Any, Any]) -> str:
    """Return a name that equal questions share, in every process."""
    digest = hashlib.sha256()
    for key, content in questions.items():
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise InvalidInputError(
                f"with a journal, the id of a question must be a text or an int, not {key!r}"
            )
        try:
            digest.update(json.dumps([key, content], sort_keys=True).encode() + b"\n")
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(
                "with a journal, questions must be made of texts, numbers, lists and dicts, "
                f"and {key!r} is not ({error}): give ids as questions, and let `ask` look up the rest"
            ) from None
    return digest.hexdigest()[:32]

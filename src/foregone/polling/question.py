"""One of many questions, while it is being asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foregone.errors import PollError
from foregone.polling.asking import Failure
from foregone.polling.journal import FAILED
from foregone.polling.voter_queue import VoterQueue

__all__ = ["Question"]


@dataclass(eq=False)
class Question:
    """A question that is being asked."""

    key: Any
    content: Any
    queue: VoterQueue
    recorded: dict[int, Any]
    error: PollError | None = None

    @property
    def is_open(self) -> bool:
        """Whether votes are needed, and hoped for."""
        return self.queue.verdict is None and self.error is None

    def take(self, most: int) -> list[int]:
        """Return up to ``most`` voters to ask now; what others have voted is taken from the record."""
        to_ask: list[int] = []
        try:
            while len(to_ask) < most and (voters := self.queue.take(most - len(to_ask))):
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
            self.queue.failed(voter, None)
        else:
            self.queue.answered(voter, vote)

    def note(self, voter: int, answer: Any) -> None:
        """Take down what a voter answered, or that it failed."""
        try:
            if isinstance(answer, Failure):
                self.queue.failed(voter, answer.error)
            else:
                self.queue.answered(voter, answer)
        except PollError as error:
            self.error = error

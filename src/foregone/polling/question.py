"""Question: the state of one of many questions while voters are asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foregone.errors import PollError
from foregone.polling.asking import Failure
from foregone.polling.costs import Costs
from foregone.polling.journal import FAILED
from foregone.polling.voter_queue import VoterQueue

__all__ = ["Question"]


@dataclass(eq=False)
class Question:
    """A question that voters are asked about.

    Attributes
    ----------
    key, content : any
        Its id and what is asked.
    queue : VoterQueue
        Its voters.
    recorded : dict
        Voter -> vote, or `FAILED`, of earlier runs.
    cost : Costs
        Costs so far, including earlier runs.
    error : PollError or None
        The reason if it will not get a verdict.
    rounds_done : int
        The last round with a reply. Voters asked now belong to the next one.
    place : int
        Its position in the order in which questions are started.
    """

    key: Any
    content: Any
    queue: VoterQueue
    recorded: dict[int, Any]
    cost: Costs = field(default_factory=Costs)
    error: PollError | None = None
    rounds_done: int = 0
    place: int = 0
    _unasked: list[int] = field(default_factory=list)  # in the queue already

    def __post_init__(self) -> None:
        self.rounds_done = self.cost.rounds

    @property
    def is_open(self) -> bool:
        """Whether it still needs votes, and can get them."""
        return self.queue.verdict is None and self.error is None

    def take(self, most: int) -> list[int]:
        """Return up to ``most`` voters to ask now; recorded votes of others are counted."""
        to_ask, self._unasked = self._unasked[:most], self._unasked[most:]
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

    def recall(self, n_voters: int) -> None:
        """Count recorded votes, as far as possible without asking anyone."""
        if self.recorded and not self._unasked:
            self._unasked = self.take(n_voters)

    def _note_recorded(self, voter: int) -> None:
        vote = self.recorded.pop(voter)
        if vote is FAILED:
            self.queue.failed(voter, None)
        else:
            self.queue.answered(voter, vote)

    def note(self, answers: Mapping[int, Any], in_round: int) -> None:
        """Record the votes or failures of voters."""
        self.rounds_done = max(self.rounds_done, in_round)
        try:
            for voter, answer in answers.items():
                if isinstance(answer, Failure):
                    self.queue.failed(voter, answer.error)
                else:
                    self.queue.answered(voter, answer)
        except PollError as error:
            self.error = error

    def pay(self, cost: Costs, in_round: int) -> Costs:
        """Record the costs of a request, and return them, with one round added if the round is new."""
        whole = cost + Costs(rounds=int(in_round > self.cost.rounds))
        self.cost += whole
        return whole

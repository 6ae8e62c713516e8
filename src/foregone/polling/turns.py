"""Scheduling: which question to ask about next, and how many votes the budget still allows."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator

from foregone.polling.costs import Account
from foregone.polling.question import Question

__all__ = ["Purse", "Turns", "TurnsByValue"]


class Turns:
    """Queue of open questions that may have voters to ask; new ones come last."""

    def __init__(self, unopened: Iterator[Question | None]) -> None:
        self._unopened = unopened  # yields None if the next one cannot be started yet
        self._waiting: dict[Question, None] = {}

    def next(self) -> Question | None:
        """Return the next question, None if none is waiting."""
        question = next(iter(self._waiting), None)
        if question is None:
            return next(self._unopened, None)
        del self._waiting[question]
        return question

    def put_first(self, question: Question) -> None:
        """Put a question at the front of the queue."""
        self._waiting = {question: None} | self._waiting

    def put(self, question: Question) -> None:
        """Put a question at the end of the queue."""
        self._waiting[question] = None

    def drop(self, question: Question) -> None:
        """Forget a question that has no turn any more."""
        self._waiting.pop(question, None)

    def rest(self) -> Iterator[Question]:
        """Yield all that still wait."""
        while (question := self.next()) is not None:
            yield question


class TurnsByValue(Turns):
    """Priority queue of questions, by the value of their next vote.

    Questions are opened lazily, because all questions without a vote have the same value.
    """

    def __init__(self, unopened: Iterator[Question | None], n_voters: int) -> None:
        super().__init__(unopened)
        self._n_voters = n_voters
        self._heap: list[tuple[float, int, Question]] = []
        self._place: dict[Question, int] = {}  # which entry of the heap stands for a question
        self._counter = itertools.count()
        self._newest: Question | None = None  # without a vote; the next to be opened

    def next(self) -> Question | None:
        """Return the question whose next vote has the highest value, None if none is waiting."""
        self._open()
        while self._heap and self._place.get(self._heap[0][2]) != self._heap[0][1]:
            heapq.heappop(self._heap)  # an older entry of a question
        new = self._newest
        if new is not None and (not self._heap or -self._heap[0][0] <= new.queue.value_of_a_vote()):
            self._newest = None
            return new
        if not self._heap:
            return None
        question = heapq.heappop(self._heap)[2]
        del self._place[question]
        return question

    def _open(self) -> None:
        """Open questions until there is one without recorded votes."""
        while self._newest is None and (question := next(self._unopened, None)) is not None:
            if question.recorded:
                question.recall(self._n_voters)
                self.put(question)
            else:
                self._newest = question

    def put_first(self, question: Question) -> None:
        """Put a question back; its value decides its position."""
        self.put(question)

    def put(self, question: Question) -> None:
        """Put a question back by its value; a closed question comes first."""
        value = question.queue.value_of_a_vote() if question.is_open else math.inf
        self._place[question] = next(self._counter)
        heapq.heappush(self._heap, (-value, self._place[question], question))

    def drop(self, question: Question) -> None:
        """Forget a question that has no turn any more."""
        self._place.pop(question, None)


class Purse:
    """The rest of a budget, in votes or, with prices, in money; infinite without a budget.

    The cost of a request in money is known only with its reply. Until then the mean cost so far is assumed,
    and before the first reply only one request is made.
    """

    def __init__(self, budget: float, account: Account, *, in_batches: bool, in_money: bool) -> None:
        self._budget = budget
        self._account = account
        self._in_batches = in_batches
        self._in_money = in_money
        self._reserved = 0.0
        self._n_running = 0

    def affords(self, most: int) -> int:
        """Return how many of ``most`` votes the budget allows now."""
        if self._budget == math.inf:
            return most
        costs = self._account.unit_costs()
        left = self._left()
        if costs is None:
            return int(left > 0 and not self._n_running)
        request, vote = costs
        if not self._in_batches:
            request, vote = 0.0, request + vote
        left -= request
        if left < vote or left < 0:
            return 0
        return most if vote == 0 else min(most, int(left / vote + 1e-9))

    def _left(self) -> float:
        spent = self._account.spent
        return self._budget - (spent.money or 0.0 if self._in_money else spent.votes) - self._reserved

    def reserve(self, n_votes: int) -> float:
        """Reserve the expected cost of a request, and return it, to be given back with its reply."""
        request, vote = self._account.unit_costs() or (0.0, 0.0)
        amount = request + n_votes * vote
        self._reserved += amount
        self._n_running += 1
        return amount

    def give_back(self, amount: float) -> None:
        """Give back what was reserved for a request; its actual cost is in the account."""
        self._n_running -= 1
        self._reserved = self._reserved - amount if self._n_running else 0.0

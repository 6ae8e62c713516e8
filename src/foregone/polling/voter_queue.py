"""VoterQueue: the voters asked about one question, whose votes are counted in the order asked. No I/O."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Hashable, Iterator
from typing import Any, Literal

from foregone.ballot import Ballot, Verdict
from foregone.checks import check_choice, check_seed, check_whole
from foregone.errors import InvalidInputError, PollError

__all__ = ["Ahead", "VoterQueue", "check_ahead", "check_voters", "derive_seed", "voter_order"]

Ahead = int | Literal["expected"]

_PENDING = object()  # placeholder for a vote that has not arrived yet


class VoterQueue:
    """Queue of voters in the order asked; votes are counted from its head, and failed voters leave it.

    So votes are counted in the order asked, however long each voter takes. The replacement of a failed voter
    joins at the end: a random order of all voters, without those that fail, is a random order of the others.

    Parameters
    ----------
    ballot : Ballot
        Counts the votes.
    voters : iterator of int
        The voters in the random order in which they will be asked.
    max_failures : int
        How many voters may fail before the poll raises `PollError`.
    ahead : int or "expected"
        Length of the queue up to which votes that may not be needed are requested; 0 requests only votes
        that must arrive before any stop is possible, "expected" as many as are needed on average.
    about : str
        Name of the poll, for error messages.
    """

    def __init__(
        self,
        ballot: Ballot,
        voters: Iterator[int],
        max_failures: int,
        ahead: Ahead = 0,
        about: str = "the poll",
    ) -> None:
        self._ballot = ballot
        self._voters = voters
        self._max_failures = max_failures
        self._ahead = ahead
        self._about = about
        self._n_failures = 0
        self._last_error: Exception | None = None
        self._queue: dict[int, Any] = {}  # voter -> vote, in the order asked
        self._counted: dict[int, Any] = {}

    @property
    def verdict(self) -> Verdict | None:
        """The verdict; None as long as votes are needed."""
        return self._ballot.verdict

    @property
    def votes(self) -> list[Any]:
        """The votes counted, in the order asked."""
        return list(self._counted.values())

    def check(self, voter: int, answer: object) -> Any:
        """Return a vote in the form in which it is counted. Raises InvalidInputError if it is not a vote."""
        try:
            return self._ballot.check(answer)
        except InvalidInputError as error:
            raise InvalidInputError(f"{self._about}, voter {voter}: {error}") from None

    def take(self, most: int) -> list[int]:
        """Add up to ``most`` voters to the queue, and return them to be asked now.

        Raises
        ------
        PollError
            If votes are needed, but no voter is pending or left to ask.
        """
        wanted = max(self._ballot.needed_at_least(), self._useful_ahead()) - len(self._queue)
        voters = list(itertools.islice(self._voters, max(0, min(most, wanted))))
        if wanted > 0 and most > 0 and not voters and not self._queue:
            failed = f" ({self._n_failures} failed)" if self._n_failures else ""
            raise self._error(
                f"no voter is left to ask{failed}, but the strategy is for {self._ballot.n_voters} voters"
            ) from self._last_error
        self._queue.update(dict.fromkeys(voters, _PENDING))
        return voters

    def _useful_ahead(self) -> int:
        ahead = round(self._ballot.expected_votes()) if self._ahead == "expected" else self._ahead
        return self._ballot.useful(ahead) if ahead else 0

    def value_of_a_vote(self) -> float:
        """Return the value of the next vote, see `Ballot.value_of_a_vote`; infinity after the verdict."""
        return math.inf if self.verdict is not None else self._ballot.value_of_a_vote()

    def cut_short(self) -> Verdict:
        """End with the votes counted so far."""
        return self._ballot.cut_short()

    def answered(self, voter: int, vote: Any) -> None:
        """Record a checked vote, and count all votes that can be counted now."""
        self._queue[voter] = vote
        self._count()

    def failed(self, voter: int, error: Exception | None) -> None:
        """Remove a voter that failed after all retries.

        An error of None means that it failed in an earlier run, which does not count.

        Raises
        ------
        PollError
            If more than ``max_failures`` voters have failed.
        """
        del self._queue[voter]
        if error is not None:
            self._n_failures += 1
            self._last_error = error
            if self._n_failures > self._max_failures:
                raise self._error(
                    f"{self._n_failures} voters failed, more than max_failures={self._max_failures}"
                ) from error
        self._count()

    def _count(self) -> None:
        while self._queue and self.verdict is None:
            voter, vote = next(iter(self._queue.items()))
            if vote is _PENDING:
                return
            del self._queue[voter]
            self._counted[voter] = vote
            self._ballot.cast(vote)

    def _error(self, what: str) -> PollError:
        votes = self._counted | {voter: vote for voter, vote in self._queue.items() if vote is not _PENDING}
        last = self._last_error
        reason = "" if last is None else f" (last error: {type(last).__name__}: {str(last)[:200]})"
        return PollError(
            f"{self._about} has no verdict after {len(votes)} votes: {what}{reason}. "
            "See `votes` of this error for the votes so far",
            votes,
        )


def voter_order(n_available: int | None, seed: int | None) -> Iterator[int]:
    """Return the numbers of the voters in a random order; for None, count without end.

    Uses only ``random.Random.random``, which gives the same numbers in every version of Python.
    """
    if n_available is None:
        return itertools.count()
    chance = random.Random(seed)
    return iter(sorted(range(n_available), key=lambda _: chance.random()))


def derive_seed(seed: int | None, purpose: str, key: Hashable = None) -> int | None:
    """Return a separate seed for one purpose and question; None for None."""
    if seed is None:
        return None
    name = f"{check_seed(seed)}/{purpose}/{type(key).__name__}/{key}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def check_voters(voters: Any, n_voters: int) -> int | None:
    """Return the number of voters, at least as many as the strategy is for; None if unlimited."""
    if voters is None:
        return None
    number = check_whole(voters, "voters")
    if number < n_voters:
        raise InvalidInputError(f"the strategy is for {n_voters} voters, got {number}: solve for {number}")
    return number


def check_ahead(speculate: Any, ballot: Ballot) -> Ahead:
    """Return how many votes to request ahead. Raises InvalidInputError if the ballot does not know."""
    if isinstance(speculate, str):
        check_choice(speculate, "speculate", ["expected"])
        ballot.expected_votes()  # raises if it is unknown
        return "expected"
    return check_whole(speculate, "speculate", 0)

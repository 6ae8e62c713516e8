"""Voters whose votes, speed and failures are known beforehand, and what a strategy makes of them."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator

from foregone import StoppingStrategy, Verdict, VoteDistribution

N_VOTERS = 21
# How many of them say yes if the share is beta distributed, both shapes 1/2: it is sin(u pi / 2) ** 2.
VOTES = VoteDistribution.from_counts(
    [math.comb(2 * n, n) * math.comb(2 * (N_VOTERS - n), N_VOTERS - n) for n in range(N_VOTERS + 1)]
)


class Simulated:
    """For each question a share of yes votes, beta distributed, and voters who say yes with that chance.

    So of any ``N_VOTERS`` of them, the number of yes votes is distributed as ``VOTES``. Everything is a
    function of the seed, the question and the voter: each call gives the same, in every process.
    """

    def __init__(self, seed: int, failure_rate: float = 0.0) -> None:
        self._seed = seed
        self._failure_rate = failure_rate
        self._calls: Counter[tuple[int, int]] = Counter()
        self._requests: Counter[tuple[int, tuple[int, ...]]] = Counter()

    def _uniform(self, *what: object) -> float:
        digest = hashlib.blake2b(repr((self._seed, *what)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") / 2**64

    def vote(self, question: int, voter: int) -> bool:
        """Return a vote."""
        share = math.sin(self._uniform("share", question) * math.pi / 2) ** 2
        return self._uniform("vote", question, voter) < share

    def turns(self, question: int, voter: int) -> int:
        """Return how slow a voter is: those who say no are slower."""
        return int(4 * self._uniform("slow", question, voter)) + 3 * (not self.vote(question, voter))

    def fails(self, question: int, voter: int, call: int) -> bool:
        """Whether the voter's call of that number fails."""
        return self._uniform("fails", question, voter, call) < self._failure_rate

    def next_call_fails(self, question: int, voter: int) -> bool:
        """Whether this call fails; a voter asked again may answer."""
        call = self._calls[question, voter]
        self._calls[question, voter] += 1
        return self.fails(question, voter, call)

    def next_request_fails(self, question: int, voters: tuple[int, ...]) -> bool:
        """Whether a request for several votes fails as a whole."""
        call = self._requests[question, voters]
        self._requests[question, voters] += 1
        return self._uniform("fails together", question, voters, call) < self._failure_rate

    def tokens(self, question: int, voters: tuple[int, ...]) -> tuple[int, int]:
        """Return how many tokens the prompt has, and all completions together."""
        written = sum(2 + int(4 * self._uniform("tokens", question, voter)) for voter in voters)
        return 100 + int(100 * self._uniform("tokens", question)), written

    def _gives_up(self, question: int, voter: int, retries: int) -> bool:
        return all(self.fails(question, voter, call) for call in range(retries + 1))

    def willing(self, question: int, retries: int) -> Iterator[bool]:
        """Yield the votes of those who answer, in the order asked, without an end."""
        voter = 0
        while True:
            if not self._gives_up(question, voter, retries):
                yield self.vote(question, voter)
            voter += 1

    def calls(self, question: int, asked: int, retries: int) -> int:
        """Return how many calls it takes to get so many votes, if none is made in vain."""
        calls = voter = 0
        while asked:
            failed = next((k for k in range(retries + 1) if not self.fails(question, voter, k)), None)
            calls += retries + 1 if failed is None else failed + 1
            asked -= failed is not None
            voter += 1
        return calls


def might_be(strategy: StoppingStrategy, votes: Iterator[bool], verdict: Verdict) -> None:
    """Check that a verdict is the strategy's on votes in this order; both ways where chance decides."""
    yes = 0
    for asked in range(verdict.asked):
        assert strategy.stop_probability(asked, yes) < 1
        yes += next(votes)
    assert yes == verdict.yes
    assert strategy.stop_probability(verdict.asked, yes) > 0
    assert strategy.answer(verdict.asked, yes) == verdict.answer

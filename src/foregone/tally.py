"""What has been counted in one poll: the votes so far, where they lead, and what a stop there says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from foregone.errors import InvalidInputError
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = ["Tally", "Verdict", "YesNoTally", "shorten"]


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """How a poll ended.

    Attributes
    ----------
    answer : bool or any answer
        What the strategy answers: True for yes; with many answers the one that leads.
    asked : int
        How many votes were counted.
    yes : int
        How many of them were yes; with many answers, how many were for the answer.
    risk : float or None
        The probability that the full vote says otherwise, given the votes counted, if beforehand the
        number of yes votes was distributed as the `VoteDistribution` that the ballot was given; with
        many answers, the probability that the answer is not among those that lead in the end.
        Averaged over polls it is the mean disagreement of the strategy; a single stop may have more
        or less of it than the limit. It is 0 where the voters not asked cannot change the answer.
        Elsewhere it is None if no distribution was given, or if the one given rules out the votes
        that were seen: what the full vote says is then anyone's guess, and only the strategy's limit
        stands.
    """

    answer: Any
    asked: int
    yes: int
    risk: float | None

    def __repr__(self) -> str:
        risk = None if self.risk is None else f"{self.risk:.4g}"
        return f"Verdict(answer={shorten(self.answer)}, asked={self.asked}, yes={self.yes}, risk={risk})"


class Tally(Protocol):
    """What a ballot asks of the count behind it; one kind of strategy, one kind of tally."""

    n_voters: int
    asked: int

    def check(self, vote: object) -> Any:
        """Return a vote in the form in which it is kept. Raises InvalidInputError if it is not a vote."""

    def check_all(self, votes: Iterable[object]) -> list[Any]:
        """Return votes that are to be counted together, checked. Raises InvalidInputError if one is not."""

    def add(self, vote: Any) -> None:
        """Count a checked vote."""

    def stop_probability(self) -> float:
        """Return the probability with which the strategy stops here."""

    def needed_at_least(self) -> int:
        """Return after how many more votes, at least one, a stop is possible for the first time."""

    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can still be counted before a stop is certain."""

    def verdict(self) -> Verdict:
        """Return what a stop here says."""


class YesNoTally:
    """The tally of a `StoppingStrategy`: how many were asked, and how many of them said yes."""

    def __init__(self, strategy: StoppingStrategy, votes: VoteDistribution | None) -> None:
        if votes is not None and not isinstance(votes, VoteDistribution):
            raise InvalidInputError(
                "a strategy for yes and no takes votes as a VoteDistribution, such as "
                f"VoteDistribution.from_votes gives, not a {type(votes).__name__}"
            )
        if votes is not None and votes.n_voters != strategy.n_voters:
            raise InvalidInputError(
                f"the votes are for {votes.n_voters} voters, the strategy for {strategy.n_voters}: "
                "use equal ones"
            )
        self.n_voters = strategy.n_voters
        self.asked = self.yes = 0
        self._strategy = strategy
        self._votes = votes

    def check(self, vote: object) -> bool:
        """Return the vote as a bool; 0 and 1 are votes, too."""
        if isinstance(vote, bool | np.bool_) or (isinstance(vote, int | np.integer) and vote in (0, 1)):
            return bool(vote)
        raise InvalidInputError(
            f"expected True or False (or 1 or 0) as a vote, got {shorten(vote)}: turn answers into votes, or "
            "use a strategy of `solve_plurality` to count any answers"
        )

    def check_all(self, votes: Iterable[object]) -> list[bool]:
        """Return votes as bools."""
        return [self.check(vote) for vote in votes]

    def add(self, vote: bool) -> None:
        """Count a checked vote."""
        self.asked += 1
        self.yes += vote

    def stop_probability(self) -> float:
        """Return the probability with which the strategy stops here."""
        return self._strategy.stop_probability(self.asked, self.yes)

    def needed_at_least(self) -> int:
        """Return after how many more votes a stop is possible for the first time.

        Until then it goes on whatever is voted, so any number of the votes to come may be yes.
        """
        lower, upper, start, exception_yes, _, _ = self._strategy.kernel_arrays
        ahead = np.arange(1, self.n_voters - self.asked + 1)
        can_stop = (self.yes <= lower[self.asked + 1 :]) | (self.yes + ahead >= upper[self.asked + 1 :])
        fewest = int(np.argmax(can_stop)) + 1  # the last step always stops
        for k in range(1, fewest):
            in_step = exception_yes[start[self.asked + k] : start[self.asked + k + 1]]
            if ((in_step >= self.yes) & (in_step <= self.yes + k)).any():
                return k
        return fewest

    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can still be counted before a stop is certain."""
        going_on = np.array([self.yes])  # the numbers of yes votes with which the next vote is asked
        for ahead in range(1, min(most, self.n_voters - self.asked) + 1):
            reached = np.union1d(going_on, going_on + 1)
            going_on = reached[self._strategy.stop_probabilities(self.asked + ahead)[reached] < 1]
            if len(going_on) == 0:
                return ahead
        return min(most, self.n_voters - self.asked)

    def verdict(self) -> Verdict:
        """Return what a stop here says."""
        answer = self._strategy.answer(self.asked, self.yes)
        return Verdict(answer, self.asked, self.yes, self._risk(answer))

    def _risk(self, answer: bool) -> float | None:
        """Return the probability that the full vote is not ``answer``, given the votes seen."""
        # Given n yes votes among all, the chance of these votes in this order is, up to a factor without n,
        # C(N - asked, n - yes) / C(N, n): the rest holds the n - yes others, each arrangement equally likely.
        n = np.arange(self.yes, self.n_voters - (self.asked - self.yes) + 1)
        otherwise = (2 * n > self.n_voters) != answer
        if not otherwise.any():
            return 0.0
        if self._votes is None:
            return None
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, self.n_voters + 1)))])

        def log_choose(total: int, chosen: Any) -> Any:
            return log_factorial[total] - log_factorial[chosen] - log_factorial[total - chosen]

        with np.errstate(divide="ignore"):  # log(0) = -inf is what it should be
            logs = np.log(self._votes.probabilities[n])
        logs += log_choose(self.n_voters - self.asked, n - self.yes) - log_choose(self.n_voters, n)
        if logs.max() == -np.inf:
            return None
        weights = np.exp(logs - logs.max())
        return float(weights[otherwise].sum() / weights.sum())


def shorten(vote: object) -> str:
    """Return a vote as an error shows it."""
    text = repr(vote)
    return text if len(text) <= 60 else f"{text[:57]}..."

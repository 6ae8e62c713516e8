"""The running count of one poll, one class for each kind of strategy, and the verdict at a stop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from foregone.checks import FloatArray
from foregone.errors import InvalidInputError
from foregone.outlook import plurality_outlook, yes_no_outlook
from foregone.plurality import CompositionDistribution, Lattice, PluralitySolution, PluralityStrategy
from foregone.plurality.plurality_strategy import leader
from foregone.scores import ScoreStrategy
from foregone.solving import Solution
from foregone.strategy import SolvedStrategy, StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = [
    "Followed",
    "PluralityTally",
    "Tally",
    "Verdict",
    "WeightedTally",
    "YesNoTally",
    "shorten",
    "tally_of",
]

# Strategies that a poll can follow.
Followed = Solution | StoppingStrategy | PluralitySolution | PluralityStrategy | ScoreStrategy

Counting = TypeVar("Counting", bound=StoppingStrategy | PluralityStrategy | ScoreStrategy)
FullVotes = TypeVar("FullVotes", bound=VoteDistribution | CompositionDistribution)


_MOST_WEIGHT = 1e100  # so that no sum of weights overflows


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """How a poll ended.

    Attributes
    ----------
    answer : bool or any answer
        The strategy's answer: True for yes; with many answers, the leading one. For weighted votes among many
        answers, the number of the answer.
    asked : int
        How many votes were counted.
    yes : int
        How many of them were yes; with many answers, how many were for the answer. A weighted vote counts as
        yes if it is above 0.
    risk : float or None
        The probability that the full vote differs, given the votes counted, under the ballot's
        `VoteDistribution`; with many answers, the probability that the answer does not lead the full vote.
        Its average over polls is the mean disagreement of the strategy; at a single stop it may be above or
        below the limit. It is 0 if the remaining voters cannot change the answer. Otherwise it is None if the
        ballot has no distribution, or if the distribution rules out the votes seen: nothing is then known
        about this poll, and only the strategy's limit holds. For weighted votes it is None unless all voters
        were asked.
    cut_short : bool
        Whether the poll ended before the strategy stopped, because a budget was spent. The strategy's limit
        does not cover such a verdict; only its ``risk`` is known.
    score : float or None
        The running sum of weighted votes (with many answers, the lead of the answer); otherwise None.
    """

    answer: Any
    asked: int
    yes: int
    risk: float | None
    cut_short: bool = False
    score: float | None = None

    def __repr__(self) -> str:
        risk = None if self.risk is None else f"{self.risk:.4g}"
        besides = ", cut_short=True" if self.cut_short else ""
        besides += "" if self.score is None else f", score={self.score:.4g}"
        said = f"answer={shorten(self.answer)}, asked={self.asked}, yes={self.yes}, risk={risk}{besides}"
        return f"Verdict({said})"


class Tally(ABC, Generic[Counting, FullVotes]):
    """The running count behind a ballot; each kind of strategy has its own subclass."""

    def __init__(self, strategy: Counting, votes: FullVotes | None) -> None:
        if votes is not None and votes.n_voters != strategy.n_voters:
            raise InvalidInputError(
                f"votes must have as many voters as the strategy, got {votes.n_voters} and "
                f"{strategy.n_voters}: solve for {votes.n_voters} voters, or give a distribution for "
                f"{strategy.n_voters}"
            )
        self.n_voters: int = strategy.n_voters
        self.asked = 0
        self._strategy = strategy
        self._votes = votes

    @abstractmethod
    def check(self, vote: object) -> Any:
        """Return a vote in the form that is stored. Raises InvalidInputError if it is not a vote."""

    def check_all(self, votes: Iterable[object]) -> list[Any]:
        """Return several checked votes. Raises InvalidInputError if one is not a vote."""
        return [self.check(vote) for vote in votes]

    @abstractmethod
    def add(self, vote: Any) -> None:
        """Count a checked vote."""

    @abstractmethod
    def stop_probability(self) -> float:
        """Return the probability with which the strategy stops here."""

    @abstractmethod
    def needed_at_least(self) -> int:
        """Return the number of further votes, at least one, until a stop is first possible."""

    @abstractmethod
    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can be counted before a stop is certain."""

    @abstractmethod
    def verdict(self) -> Verdict:
        """Return the verdict of a stop at this point."""

    @abstractmethod
    def cut(self) -> Verdict:
        """Return the best guess if the poll ends here although the strategy would continue."""

    def outlook(self) -> tuple[float, float]:
        """Return the mean number of votes still to come, and the mean fall of the risk per vote.

        Raises
        ------
        InvalidInputError
            If the distribution of full votes is not known.
        """
        if self._votes is None:
            raise InvalidInputError(
                "the expected number and the value of further votes need a distribution of votes: pass a "
                "solution of `solve` or `solve_plurality`, not a strategy alone or a ScoreStrategy"
            )
        return self._outlook(self._votes)

    @abstractmethod
    def _outlook(self, votes: FullVotes) -> tuple[float, float]:
        """Return the same, given the distribution of full votes."""


class YesNoTally(Tally[StoppingStrategy, VoteDistribution]):
    """The tally of a `StoppingStrategy`: the number of votes asked, and of yes votes among them."""

    def __init__(self, strategy: StoppingStrategy, votes: VoteDistribution | None) -> None:
        if votes is not None and not isinstance(votes, VoteDistribution):
            raise InvalidInputError(
                "votes must be a VoteDistribution for a strategy of yes and no, got "
                f"{type(votes).__name__}: make one with VoteDistribution.from_votes"
            )
        super().__init__(strategy, votes)
        self.yes: int = 0

    def check(self, vote: object) -> bool:
        """Return the vote as a bool; 0 and 1 are accepted."""
        if isinstance(vote, bool | np.bool_) or (isinstance(vote, int | np.integer) and vote in (0, 1)):
            return bool(vote)
        raise InvalidInputError(
            f"expected True or False (or 1 or 0) as a vote, got {shorten(vote)}: convert answers to True or "
            "False, or count arbitrary answers with a strategy of `solve_plurality`"
        )

    def add(self, vote: bool) -> None:
        """Count a checked vote."""
        self.asked += 1
        self.yes += vote

    def stop_probability(self) -> float:
        """Return the probability with which the strategy stops here."""
        return self._strategy.stop_probability(self.asked, self.yes)

    def needed_at_least(self) -> int:
        """Return the number of further votes until a stop is first possible.

        Before that the strategy continues whatever the votes are, so any number of them may be yes.
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
        """Return how many of the next ``most`` votes can be counted before a stop is certain."""
        going_on = np.array([self.yes])  # numbers of yes votes at which the strategy continues
        for ahead in range(1, min(most, self.n_voters - self.asked) + 1):
            reached = np.union1d(going_on, going_on + 1)
            going_on = reached[self._strategy.stop_probabilities(self.asked + ahead)[reached] < 1]
            if len(going_on) == 0:
                return ahead
        return min(most, self.n_voters - self.asked)

    def verdict(self) -> Verdict:
        """Return the verdict of a stop at this point."""
        answer = self._strategy.answer(self.asked, self.yes)
        return Verdict(answer, self.asked, self.yes, self._risk(answer))

    def cut(self) -> Verdict:
        """Return the answer with less risk; the strategy's own if the risk is not known."""
        answer = self._strategy.answer(self.asked, self.yes)
        risk = self._risk(answer)
        if risk is not None and risk > 0.5:
            answer, risk = not answer, self._risk(not answer)
        return Verdict(answer, self.asked, self.yes, risk, cut_short=True)

    def _outlook(self, votes: VoteDistribution) -> tuple[float, float]:
        found = yes_no_outlook(self._strategy, votes)
        return float(found.votes[self.asked, self.yes]), float(found.value[self.asked, self.yes])

    def _risk(self, answer: bool) -> float | None:
        """Return the probability that the full vote is not ``answer``, given the votes seen."""
        # Given n yes votes among all, the chance of these votes in this order is, up to a factor without n,
        # C(N - asked, n - yes) / C(N, n): the rest holds the n - yes others, each arrangement equally likely.
        n = np.arange(self.yes, self.n_voters - (self.asked - self.yes) + 1)
        otherwise = (n >= self._strategy.quota) != answer
        if not otherwise.any():
            return 0.0
        if self._votes is None:
            return None
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, self.n_voters + 1)))])

        def log_choose(total: int, chosen: Any) -> Any:
            return log_factorial[total] - log_factorial[chosen] - log_factorial[total - chosen]

        with np.errstate(divide="ignore"):  # log(0) = -inf is intended
            logs = np.log(self._votes.probabilities[n])
        logs += log_choose(self.n_voters - self.asked, n - self.yes) - log_choose(self.n_voters, n)
        if logs.max() == -np.inf:
            return None
        weights = np.exp(logs - logs.max())
        return float(weights[otherwise].sum() / weights.sum())


class PluralityTally(Tally[PluralityStrategy, CompositionDistribution]):
    """The tally of a `PluralityStrategy`: the number of votes of each answer, in the order first cast."""

    def __init__(self, strategy: PluralityStrategy, votes: CompositionDistribution | None) -> None:
        if votes is not None and not isinstance(votes, CompositionDistribution):
            raise InvalidInputError(
                "votes must be a CompositionDistribution for a strategy of many answers, got "
                f"{type(votes).__name__}: make one with CompositionDistribution.from_counts"
            )
        super().__init__(strategy, votes)
        self._counts: dict[Hashable, int] = {}

    def check(self, vote: object) -> Hashable:
        """Return the answer, NumPy numbers as Python ones. Raises InvalidInputError if not an answer."""
        if isinstance(vote, np.generic):
            vote = vote.item()
        if vote is None or (isinstance(vote, float) and math.isnan(vote)):
            raise InvalidInputError(
                f"expected an answer, got {vote!r}: raise an error for a voter without an answer (it counts "
                'as a failed call), or give missing answers a name, such as "none"'
            )
        try:
            hash(vote)
        except TypeError:
            raise InvalidInputError(
                f"an answer must be hashable, such as a string or a number, got {shorten(vote)}: convert "
                "equal answers to equal strings before you cast them"
            ) from None
        return vote

    def check_all(self, votes: Iterable[object]) -> list[Hashable]:
        """Return several checked votes. Raises InvalidInputError if there are too many different answers."""
        checked = super().check_all(votes)
        different = dict(self._counts)
        for vote in checked:
            different.setdefault(vote, 0)
            if len(different) > self._strategy.lattice.n_classes:
                raise InvalidInputError(
                    f"expected at most {self._strategy.lattice.n_classes} different answers, and "
                    f"{shorten(vote)} is one more: solve with a larger n_classes"
                )
        return checked

    def add(self, vote: Hashable) -> None:
        """Count a checked vote."""
        self.check_all([vote])
        self.asked += 1
        self._counts[vote] = self._counts.get(vote, 0) + 1

    def stop_probability(self) -> float:
        """Return the probability with which the strategy stops here."""
        return self._strategy.stop_probability(list(self._counts.values()))

    def needed_at_least(self) -> int:
        """Return the number of further votes, at least one, until a stop is first possible."""
        counts = list(self._counts.values())
        least = self._strategy.votes_needed_at_least(counts)
        if least > 0:
            return least
        # The strategy has already continued from this state, so look at the states that one vote leads to.
        following = [[*counts[:k], count + 1, *counts[k + 1 :]] for k, count in enumerate(counts)]
        if len(counts) < self._strategy.lattice.n_classes:
            following.append([*counts, 1])
        return 1 + min(map(self._strategy.votes_needed_at_least, following))

    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can be counted before a stop is certain."""
        return min(most, self._strategy.votes_needed_at_most(list(self._counts.values())))

    def verdict(self) -> Verdict:
        """Return the verdict of a stop at this point."""
        answer = leader(self._counts)
        return Verdict(answer, self.asked, self._counts[answer], self._risk())

    def cut(self) -> Verdict:
        """Return the leader; without any vote the answer is None, with risk 1."""
        if not self._counts:
            return Verdict(None, 0, 0, 1.0, cut_short=True)
        return replace(self.verdict(), cut_short=True)

    def _outlook(self, votes: CompositionDistribution) -> tuple[float, float]:
        found = plurality_outlook(self._strategy, votes)
        state = self._strategy.lattice.number_of(list(self._counts.values()))
        return float(found.votes[state]), float(found.value[state])

    def _risk(self) -> float | None:
        """Return the probability that the leader does not win the full vote, given the votes seen."""
        first, second = sorted([*self._counts.values(), 0, 0], reverse=True)[:2]
        if first - second >= self.n_voters - self.asked:
            return 0.0
        if self._votes is None:
            return None
        reach, wrong = _chances(self._strategy.lattice, self._votes)
        state = self._strategy.lattice.number_of(list(self._counts.values()))
        return float(min(wrong[state] / reach[state], 1.0)) if reach[state] > 0 else None


class WeightedTally(Tally[ScoreStrategy, VoteDistribution]):
    """The tally of a `ScoreStrategy`: the running sum of weighted votes, in the order asked.

    For two answers it is one sum: a yes adds its weight, a no subtracts it. For more, each answer has its own
    sum.
    """

    def __init__(self, strategy: ScoreStrategy, votes: object) -> None:
        if votes is not None:
            raise InvalidInputError(
                "a ScoreStrategy takes no distribution of votes: leave out votes. Its certificate states the "
                "guarantee"
            )
        if strategy.drops_classes:
            raise InvalidInputError(
                "a ballot cannot follow a ScoreStrategy with drops_classes, in which each class has its own "
                "voters, as in boosted trees: solve without drops_classes"
            )
        if (strategy.order != np.arange(strategy.n_steps)).any():
            raise InvalidInputError(
                "this strategy asks its voters in its own order, and a ballot counts votes in the order in "
                'which you cast them: use solve_scores(..., order="given"), with one column per call in the '
                "order asked"
            )
        super().__init__(strategy, None)
        self._sum = np.array(strategy.start, np.float64)
        self._n_votes = np.zeros(strategy.n_classes, np.int64)  # for each answer
        self._looks = strategy.looks
        lower, upper = strategy.lower, strategy.upper
        self._certain = np.flatnonzero(upper <= (0.0 if strategy.adds_by_class else lower))

    def check(self, vote: object) -> Any:
        """Return a vote for two answers as a signed number, for more answers as (answer, weight)."""
        by_class, n_classes = self._strategy.adds_by_class, self._strategy.n_classes
        if not by_class and not isinstance(vote, tuple | list):
            return _weight(vote, "as a weighted vote")
        if not (isinstance(vote, tuple | list) and len(vote) == 2):
            answers = f"a number from 0 to {n_classes - 1}" if by_class else "True or False"
            raise InvalidInputError(
                f"expected a pair (answer, weight) as a vote, with {answers} as the answer, got "
                f"{shorten(vote)}: cast for example ({'0' if by_class else 'True'}, 0.8)"
            )
        answer, weight = vote[0], _weight(vote[1], "as the weight of a vote")
        if weight < 0:
            raise InvalidInputError(
                f"the weight of a vote must be at least 0, got {weight!r}: cast a positive weight for the "
                "other answer instead"
            )
        if by_class:
            is_number = isinstance(answer, int | np.integer) and not isinstance(answer, bool)
            if not is_number or not 0 <= answer < n_classes:
                raise InvalidInputError(
                    f"expected an integer from 0 to {n_classes - 1} as the answer, got {shorten(answer)}: "
                    "number your answers"
                )
            return int(answer), weight
        if isinstance(answer, bool | np.bool_) or (isinstance(answer, int | np.integer) and answer in (0, 1)):
            return weight if answer else -weight
        raise InvalidInputError(
            f"expected True or False (or 1 or 0) as the answer of a weighted vote, got {shorten(answer)}: "
            "convert answers to True or False"
        )

    def add(self, vote: Any) -> None:
        """Count a checked vote."""
        answer, weight = vote if self._strategy.adds_by_class else (int(vote > 0), vote)
        self._sum[answer if self._strategy.adds_by_class else ()] += weight
        self._n_votes[answer] += 1
        self.asked += 1

    def stop_probability(self) -> float:
        """Return 1 if the strategy stops here, otherwise 0: it is deterministic."""
        return float(self._strategy.decide(self.asked, self._sum) is not None)

    def needed_at_least(self) -> int:
        """Return the number of further votes until the next look; one large weight may suffice to stop."""
        return int(self._looks[np.searchsorted(self._looks, self.asked, side="right")]) - self.asked

    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can be counted before a stop is certain."""
        certain = int(self._certain[np.searchsorted(self._certain, self.asked, side="right")])
        return min(most, certain - self.asked)

    def verdict(self) -> Verdict:
        """Return the verdict of a stop at this point."""
        return self._verdict(self._strategy.decide(self.asked, self._sum))

    def cut(self) -> Verdict:
        """Return the answer of the sum so far; its risk is not known."""
        by_class = self._strategy.adds_by_class
        answer = int(self._sum.argmax()) if by_class else bool(self._sum > 0)
        return replace(self._verdict(answer), cut_short=True)

    def _verdict(self, answer: Any) -> Verdict:
        risk = 0.0 if self.asked == self.n_voters else None
        if not self._strategy.adds_by_class:
            return Verdict(answer, self.asked, int(self._n_votes[1]), risk, score=float(self._sum))
        second, first = np.sort(self._sum)[-2:].tolist()
        return Verdict(answer, self.asked, int(self._n_votes[answer]), risk, score=first - second)

    def _outlook(self, votes: VoteDistribution) -> tuple[float, float]:
        raise AssertionError("weighted votes have no distribution")  # outlook() has raised


def _weight(value: Any, role: str) -> float:
    """Return a number whose sums stay finite. Raises InvalidInputError otherwise, also for a bool."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not abs(value) <= _MOST_WEIGHT:
        raise InvalidInputError(
            f"expected a number from {-_MOST_WEIGHT:g} to {_MOST_WEIGHT:g} {role}, got {shorten(value)}: "
            "cast weighted votes such as (True, 0.8) and (False, 0.8), or 0.8 and -0.8"
        )
    return float(value)


@lru_cache(maxsize=2)
def _chances(lattice: Lattice, votes: CompositionDistribution) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each state, and of reaching it with a leader that loses the full vote."""
    weights = votes.weights_on(lattice)
    return lattice.pull_back(weights), lattice.pull_back_wrong(weights)


def tally_of(strategy: object, votes: Any = None) -> Tally[Any, Any]:
    """Return an empty tally for a strategy or a solution; a new kind of strategy is registered here.

    Parameters
    ----------
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop.
    votes : VoteDistribution or CompositionDistribution, optional
        The distribution of votes; by default the one that a solution was solved for.
    """
    followed = strategy
    if isinstance(strategy, SolvedStrategy):
        votes, followed = strategy.distribution if votes is None else votes, strategy.strategy
    if isinstance(followed, PluralityStrategy):
        return PluralityTally(followed, votes)
    if isinstance(followed, StoppingStrategy):
        return YesNoTally(followed, votes)
    if isinstance(followed, ScoreStrategy):
        return WeightedTally(followed, votes)
    raise InvalidInputError(
        "strategy must be a Solution, PluralitySolution, StoppingStrategy, PluralityStrategy or "
        f"ScoreStrategy, got {shorten(strategy)}: make one with `solve`, `solve_plurality`, `solve_scores` "
        "or `foregone.rules`"
    )


def shorten(vote: object) -> str:
    """Return the repr of a vote for an error message, cut to 60 characters."""
    text = repr(vote)
    return text if len(text) <= 60 else f"{text[:57]}..."

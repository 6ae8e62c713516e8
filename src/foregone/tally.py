"""What has been counted in one poll: the votes so far, where they lead, and what a stop there says."""

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

# What a poll can follow.
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
        What the strategy answers: True for yes; with many answers the one that leads. Of votes with a weight
        for many answers, the number of the answer.
    asked : int
        How many votes were counted.
    yes : int
        How many of them were yes; with many answers, how many were for the answer. Of votes with a weight, a
        yes is one above 0.
    risk : float or None
        The probability that the full vote says otherwise, given the votes counted, if beforehand the
        number of yes votes was distributed as the `VoteDistribution` that the ballot was given; with
        many answers, the probability that the answer is not among those that lead in the end.
        Averaged over polls it is the mean disagreement of the strategy; a single stop may have more
        or less of it than the limit. It is 0 where the voters not asked cannot change the answer.
        Elsewhere it is None if no distribution was given, or if the one given rules out the votes
        that were seen: what the full vote says is then anyone's guess, and only the strategy's limit
        stands. Of votes with a weight it is None until everyone was asked.
    cut_short : bool
        Whether the poll was ended before the strategy stopped, because a budget was spent. The
        strategy's limit says nothing about such a verdict: its risk is all that is known.
    score : float or None
        Of votes with a weight, their running sum (with many answers, how far the answer leads); otherwise
        None.
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
    """What a ballot asks of the count behind it; one kind of strategy, one kind of tally."""

    def __init__(self, strategy: Counting, votes: FullVotes | None) -> None:
        if votes is not None and votes.n_voters != strategy.n_voters:
            raise InvalidInputError(
                f"the votes are for {votes.n_voters} voters, the strategy for {strategy.n_voters}: "
                "use equal ones"
            )
        self.n_voters = strategy.n_voters
        self.asked = 0
        self._strategy = strategy
        self._votes = votes

    @abstractmethod
    def check(self, vote: object) -> Any:
        """Return a vote in the form in which it is kept. Raises InvalidInputError if it is not a vote."""

    def check_all(self, votes: Iterable[object]) -> list[Any]:
        """Return votes that are to be counted together, checked. Raises InvalidInputError if one is not."""
        return [self.check(vote) for vote in votes]

    @abstractmethod
    def add(self, vote: Any) -> None:
        """Count a checked vote."""

    @abstractmethod
    def stop_probability(self) -> float:
        """Return the probability with which the strategy stops here."""

    @abstractmethod
    def needed_at_least(self) -> int:
        """Return after how many more votes, at least one, a stop is possible for the first time."""

    @abstractmethod
    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can still be counted before a stop is certain."""

    @abstractmethod
    def verdict(self) -> Verdict:
        """Return what a stop here says."""

    @abstractmethod
    def cut(self) -> Verdict:
        """Return what is said if the poll ends here although the strategy would go on: the best guess."""

    def outlook(self) -> tuple[float, float]:
        """Return the mean number of votes to come, and by how much the risk falls with each of them.

        Raises
        ------
        InvalidInputError
            If no distribution of the full votes is known.
        """
        if self._votes is None:
            raise InvalidInputError(
                "how many votes are to come, and what they are worth, depends on how the votes are "
                "distributed: pass a solution of `solve` or `solve_plurality`, not a strategy alone or "
                "one on scores"
            )
        return self._outlook(self._votes)

    @abstractmethod
    def _outlook(self, votes: FullVotes) -> tuple[float, float]:
        """Return the same, given how the full votes are distributed."""


class YesNoTally(Tally[StoppingStrategy, VoteDistribution]):
    """The tally of a `StoppingStrategy`: how many were asked, and how many of them said yes."""

    def __init__(self, strategy: StoppingStrategy, votes: VoteDistribution | None) -> None:
        if votes is not None and not isinstance(votes, VoteDistribution):
            raise InvalidInputError(
                "a strategy for yes and no takes votes as a VoteDistribution, such as "
                f"VoteDistribution.from_votes gives, got a {type(votes).__name__}"
            )
        super().__init__(strategy, votes)
        self.yes = 0

    def check(self, vote: object) -> bool:
        """Return the vote as a bool; 0 and 1 are votes, too."""
        if isinstance(vote, bool | np.bool_) or (isinstance(vote, int | np.integer) and vote in (0, 1)):
            return bool(vote)
        raise InvalidInputError(
            f"expected True or False (or 1 or 0) as a vote, got {shorten(vote)}: turn answers into votes, or "
            "use a strategy of `solve_plurality` to count any answers"
        )

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

    def cut(self) -> Verdict:
        """Return the answer with less risk; the strategy's own where that cannot be told."""
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

        with np.errstate(divide="ignore"):  # log(0) = -inf is what it should be
            logs = np.log(self._votes.probabilities[n])
        logs += log_choose(self.n_voters - self.asked, n - self.yes) - log_choose(self.n_voters, n)
        if logs.max() == -np.inf:
            return None
        weights = np.exp(logs - logs.max())
        return float(weights[otherwise].sum() / weights.sum())


class PluralityTally(Tally[PluralityStrategy, CompositionDistribution]):
    """The tally of a `PluralityStrategy`: how many votes each answer has, in the order first cast."""

    def __init__(self, strategy: PluralityStrategy, votes: CompositionDistribution | None) -> None:
        if votes is not None and not isinstance(votes, CompositionDistribution):
            raise InvalidInputError(
                "a strategy for many answers takes votes as a CompositionDistribution, "
                f"not a {type(votes).__name__}"
            )
        super().__init__(strategy, votes)
        self._counts: dict[Hashable, int] = {}

    def check(self, vote: object) -> Hashable:
        """Return the answer, numbers of numpy as Python's own. Raises InvalidInputError if it is not one."""
        if isinstance(vote, np.generic):
            vote = vote.item()
        if vote is None or (isinstance(vote, float) and math.isnan(vote)):
            raise InvalidInputError(
                f"{vote!r} is no answer: count a voter without an answer as a failure, by raising an error, "
                'or give such answers a name of their own, such as "none"'
            )
        try:
            hash(vote)
        except TypeError:
            raise InvalidInputError(
                f"an answer must be hashable, such as a text or a number, got {shorten(vote)}: turn what "
                "counts as the same answer into the same text before it is counted"
            ) from None
        return vote

    def check_all(self, votes: Iterable[object]) -> list[Hashable]:
        """Return votes to be counted together, each checked; they must not be too many different ones."""
        checked = super().check_all(votes)
        different = dict(self._counts)
        for vote in checked:
            different.setdefault(vote, 0)
            if len(different) > self._strategy.lattice.n_classes:
                raise InvalidInputError(
                    f"{shorten(vote)} is one answer too many: the strategy is for at most "
                    f"{self._strategy.lattice.n_classes} different ones: solve for more (n_classes)"
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
        """Return after how many more votes, at least one, a stop is possible for the first time."""
        counts = list(self._counts.values())
        least = self._strategy.votes_needed_at_least(counts)
        if least > 0:
            return least
        # Chance has decided to go on from here, so the question is what a vote may lead to.
        following = [[*counts[:k], count + 1, *counts[k + 1 :]] for k, count in enumerate(counts)]
        if len(counts) < self._strategy.lattice.n_classes:
            following.append([*counts, 1])
        return 1 + min(map(self._strategy.votes_needed_at_least, following))

    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can still be counted before a stop is certain."""
        return min(most, self._strategy.votes_needed_at_most(list(self._counts.values())))

    def verdict(self) -> Verdict:
        """Return what a stop here says."""
        answer = leader(self._counts)
        return Verdict(answer, self.asked, self._counts[answer], self._risk())

    def cut(self) -> Verdict:
        """Return the leader; without a vote None, which is certainly not right."""
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
    """The tally of a `ScoreStrategy`: the running sum of votes with a weight, in the order asked.

    Between two answers it is one sum, to which a yes adds its weight and from which a no takes it away; among
    more, each answer has a sum.
    """

    def __init__(self, strategy: ScoreStrategy, votes: object) -> None:
        if votes is not None:
            raise InvalidInputError(
                "a strategy on scores takes no distribution of votes: leave votes out, its certificate says "
                "what is promised"
            )
        if strategy.drops_classes:
            raise InvalidInputError(
                "this strategy is for classes with voters of their own, as boosted trees have: a ballot "
                "takes strategies without drops_classes"
            )
        if (strategy.order != np.arange(strategy.n_steps)).any():
            raise InvalidInputError(
                "this strategy asks its voters in an order of its own, and a ballot counts votes as they "
                'come: use solve_scores(..., order="given"), one column for each call in the order asked'
            )
        super().__init__(strategy, None)
        self._sum = np.array(strategy.start, np.float64)
        self._n_votes = np.zeros(strategy.n_classes, np.int64)  # for each answer
        self._looks = strategy.looks
        lower, upper = strategy.lower, strategy.upper
        self._certain = np.flatnonzero(upper <= (0.0 if strategy.adds_by_class else lower))

    def check(self, vote: object) -> Any:
        """Return the vote between two answers as a signed number, among more as (answer, weight)."""
        by_class, n_classes = self._strategy.adds_by_class, self._strategy.n_classes
        if not by_class and not isinstance(vote, tuple | list):
            return _weight(vote, "as a vote")
        if not (isinstance(vote, tuple | list) and len(vote) == 2):
            answers = f"a number from 0 to {n_classes - 1}" if by_class else "True or False"
            raise InvalidInputError(
                f"expected a pair (answer, weight) as a vote, the answer {answers}, got {shorten(vote)}"
            )
        answer, weight = vote[0], _weight(vote[1], "as the weight of a vote")
        if weight < 0:
            raise InvalidInputError(f"the weight of a vote must be at least 0, got {weight!r}")
        if by_class:
            is_number = isinstance(answer, int | np.integer) and not isinstance(answer, bool)
            if not is_number or not 0 <= answer < n_classes:
                raise InvalidInputError(
                    f"expected a number from 0 to {n_classes - 1} as an answer, got {shorten(answer)}"
                )
            return int(answer), weight
        if isinstance(answer, bool | np.bool_) or (isinstance(answer, int | np.integer) and answer in (0, 1)):
            return weight if answer else -weight
        raise InvalidInputError(
            f"expected True or False (or 1 or 0) as the answer of a vote with a weight, got {shorten(answer)}"
        )

    def add(self, vote: Any) -> None:
        """Count a checked vote."""
        answer, weight = vote if self._strategy.adds_by_class else (int(vote > 0), vote)
        self._sum[answer if self._strategy.adds_by_class else ()] += weight
        self._n_votes[answer] += 1
        self.asked += 1

    def stop_probability(self) -> float:
        """Return 1 where the strategy stops, otherwise 0: nothing is left to chance."""
        return float(self._strategy.decide(self.asked, self._sum) is not None)

    def needed_at_least(self) -> int:
        """Return after how many more votes it looks at the sum next: one weight may be as large as any."""
        return int(self._looks[np.searchsorted(self._looks, self.asked, side="right")]) - self.asked

    def useful(self, most: int) -> int:
        """Return how many of the next ``most`` votes can still be counted before a stop is certain."""
        certain = int(self._certain[np.searchsorted(self._certain, self.asked, side="right")])
        return min(most, certain - self.asked)

    def verdict(self) -> Verdict:
        """Return what a stop here says."""
        return self._verdict(self._strategy.decide(self.asked, self._sum))

    def cut(self) -> Verdict:
        """Return what the sum so far is for; how likely that is to change is not known."""
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
        raise AssertionError("there is no distribution of votes with a weight")  # outlook() has raised


def _weight(value: Any, role: str) -> float:
    """Return a number whose sums are finite. Raises InvalidInputError otherwise, also for True and False."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not abs(value) <= _MOST_WEIGHT:
        raise InvalidInputError(
            f"expected a number from {-_MOST_WEIGHT:g} to {_MOST_WEIGHT:g} {role}, got {shorten(value)}: the "
            "strategy is for votes with a weight, (True, 0.8) or (False, 0.8), or 0.8 and -0.8"
        )
    return float(value)


@lru_cache(maxsize=2)
def _chances(lattice: Lattice, votes: CompositionDistribution) -> tuple[FloatArray, FloatArray]:
    """Return how likely each state is, and how likely it is together with its leader not being right."""
    weights = votes.weights_on(lattice)
    return lattice.pull_back(weights), lattice.pull_back_wrong(weights)


def tally_of(strategy: object, votes: Any = None) -> Tally[Any, Any]:
    """Return an empty tally for a strategy or a solution: the one place to teach ballots another kind.

    Parameters
    ----------
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        What decides when to stop.
    votes : VoteDistribution or CompositionDistribution, optional
        How the votes are distributed; by default as those that a solution was solved for.
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
        "strategy must be a Solution or PluralitySolution (as `solve` and `solve_plurality` give them), a "
        f"StoppingStrategy, a PluralityStrategy or a ScoreStrategy, got {shorten(strategy)}"
    )


def shorten(vote: object) -> str:
    """Return a vote as an error shows it."""
    text = repr(vote)
    return text if len(text) <= 60 else f"{text[:57]}..."

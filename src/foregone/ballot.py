"""Ballot: cast votes one by one and get the verdict as soon as the strategy stops. No I/O, no clock."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from foregone.checks import check_seed, check_whole
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution
from foregone.tally import Followed, Verdict, shorten, tally_of
from foregone.votes import VoteDistribution

__all__ = ["Ballot", "Followed", "Verdict", "check_several"]


class Ballot:
    """One question put to voters until a strategy stops.

    Cast the votes in the order in which the voters were *asked*, not in the order in which their answers
    arrived, and ask the voters in random order: the strategy's guarantee depends on both. For weighted votes,
    the guarantee is for calls in the same order as on the questions that the strategy was learned from.

    Parameters
    ----------
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer. A solution also provides the distribution of votes it was solved for.
        The first two take votes of yes or no, the next two any hashable answers, the last one weighted votes.
    seed : int, optional
        Seed for the few states in which the strategy stops at random: equal seeds and equal votes give equal
        verdicts. By default a new seed is drawn.
    votes : VoteDistribution or CompositionDistribution, optional
        The distribution of votes, for the verdict's ``risk``; by default that of the solution.

    Attributes
    ----------
    verdict : Verdict or None
        The result; None as long as votes are needed. A strategy may know the answer before the first vote.

    Examples
    --------
    >>> from foregone import Ballot, solve
    >>> ballot = Ballot(solve("minimixed", 21, 0.01), seed=0)
    >>> ballot.needed_at_least()                     # this many can be asked at once
    5
    >>> ballot.cast_many([True, True, True, False])
    >>> ballot.needed_at_least(), ballot.can_stop_within(3), ballot.can_stop_within(4)
    (4, False, True)
    >>> verdict = ballot.cast_many([True, True, True, True])
    >>> verdict.answer, verdict.asked, verdict.yes, round(verdict.risk, 4)
    (True, 8, 7, 0.0038)

    Arbitrary answers; the one with the most votes wins:

    >>> from foregone.plurality import rules
    >>> ballot = Ballot(rules.lead(9, 3))            # or a result of solve_plurality
    >>> verdict = ballot.cast_many(["42", "41", "42", "42", "42", "42"])
    >>> verdict.answer, verdict.yes
    ('42', 4)

    Weighted votes, added up; you may write (True, 0.9) as 0.9, and (False, 0.2) as -0.2:

    >>> from foregone import ScoreStrategy
    >>> thresholds = ScoreStrategy.from_thresholds([-9, -1, -1, 0], [9, 1, 1, 0])  # or use solve_scores
    >>> ballot = Ballot(thresholds)
    >>> ballot.cast_many([(True, 0.9), (False, 0.2), (True, 0.5)])
    Verdict(answer=True, asked=3, yes=2, risk=0, score=1.2)
    """

    def __init__(
        self,
        strategy: Followed,
        seed: int | None = None,
        *,
        votes: VoteDistribution | CompositionDistribution | None = None,
    ) -> None:
        self._tally = tally_of(strategy, votes)
        self._seed = None if seed is None else check_seed(seed)
        self._chance: random.Random | None = None  # created on first use: most ballots never need it
        self.verdict: Verdict | None = None
        self._look()

    @property
    def n_voters(self) -> int:
        """Number of voters of the strategy."""
        return self._tally.n_voters

    @property
    def asked(self) -> int:
        """Number of votes counted so far."""
        return self._tally.asked

    def check(self, vote: object) -> Any:
        """Return a vote in the form that is counted, without counting it.

        Raises
        ------
        InvalidInputError
            If it is not a vote.
        """
        return self._tally.check(vote)

    def cast(self, vote: object) -> Verdict | None:
        """Count one vote and return the verdict, or None if more votes are needed.

        Raises
        ------
        InvalidInputError
            If it is not a vote (True, False, 1 or 0; with many answers anything hashable except None; a pair
            or a number for weighted votes), or there is a verdict already. The vote is then not counted.
        """
        checked = self._tally.check(vote)
        self._refuse_if_decided()
        self._tally.add(checked)
        self._look()
        return self.verdict

    def cast_many(self, votes: Iterable[object]) -> Verdict | None:
        """Count votes in this order until there is a verdict; return it, or None if more votes are needed.

        Votes after the verdict are not counted, so you may ask more voters at once than needed; the verdict's
        ``asked`` is the number counted.

        Raises
        ------
        InvalidInputError
            If one of them is not a vote, there are more votes than voters left, or there is a verdict
            already. None of the votes is then counted.
        """
        check_several(votes, "votes")
        checked = self._tally.check_all(votes)
        left = self.n_voters - self.asked
        if checked:
            self._refuse_if_decided()
        if len(checked) > left:
            raise InvalidInputError(
                f"expected at most {left} votes, because {left} of {self.n_voters} voters are left, got "
                f"{len(checked)}: solve for the number of voters that you have"
            )
        for vote in checked:
            if self.cast(vote) is not None:
                break
        return self.verdict

    def needed_at_least(self) -> int:
        """Return the number of further votes before any stop is possible; 0 once there is a verdict.

        This many can be asked in parallel with none wasted.
        """
        return 0 if self.verdict is not None else self._tally.needed_at_least()

    def can_stop_within(self, k: int) -> bool:
        """Whether a stop is possible within the next ``k`` votes, or there is a verdict already."""
        return self.needed_at_least() <= check_whole(k, "k", 0)

    def useful(self, k: int) -> int:
        """Return how many of the next ``k`` votes can be counted before a stop is certain.

        Further votes asked in parallel would be wasted.
        """
        return 0 if self.verdict is not None else self._tally.useful(check_whole(k, "k", 0))

    def expected_votes(self) -> float:
        """Return the mean number of votes still to come; 0 once there is a verdict.

        The mean is over the votes of the remaining voters, given the votes so far and the distribution of
        full votes of the solution.

        Raises
        ------
        InvalidInputError
            If the distribution of full votes is not known.
        """
        return 0.0 if self.verdict is not None else self._tally.outlook()[0]

    def value_of_a_vote(self) -> float:
        """Return the mean fall of the risk per further vote; 0 once there is a verdict.

        It is the risk of the best answer now, minus the mean risk at the strategy's stop, divided by the mean
        number of votes until then. The assumption and the exception are those of `expected_votes`. Ask next
        about the question with the highest value.

        Examples
        --------
        >>> from foregone import Ballot, solve
        >>> ballots = [Ballot(solve("minimixed", 21, 0.01), seed=0) for _ in range(2)]
        >>> _ = ballots[0].cast_many([True] * 4), ballots[1].cast_many([True, False] * 2)
        >>> [round(ballot.value_of_a_vote(), 3) for ballot in ballots]   # clear, and contested
        [0.004, 0.039]
        """
        return 0.0 if self.verdict is not None else self._tally.outlook()[1]

    def cut_short(self) -> Verdict:
        """End the poll with the votes so far and return the verdict; an existing verdict is kept.

        The answer is the one with less risk. The strategy's limit does not cover it.
        """
        if self.verdict is None:
            self.verdict = self._tally.cut()
        return self.verdict

    def _refuse_if_decided(self) -> None:
        if self.verdict is None:
            return
        if self.asked == self.n_voters:
            raise InvalidInputError(
                f"expected at most {self.n_voters} votes, and all {self.n_voters} voters have voted: solve "
                "for the number of voters that you have"
            )
        raise InvalidInputError(
            f"this poll has ended with {shorten(self.verdict.answer)} after {self.verdict.asked} votes: make "
            "a new Ballot for the next question"
        )

    def _look(self) -> None:
        """Stop here if the strategy does; a random stop is drawn once for each state."""
        probability = self._tally.stop_probability()
        if 0 < probability < 1:
            if self._chance is None:
                self._chance = random.Random(self._seed)
            stops = self._chance.random() < probability
        else:
            stops = probability == 1
        if stops:
            self.verdict = self._tally.verdict()

    def __repr__(self) -> str:
        state = "no verdict yet" if self.verdict is None else f"answer {shorten(self.verdict.answer)}"
        return f"<Ballot: {self.asked} of {self.n_voters} voters asked, {state}>"


def check_several(values: object, name: str) -> None:
    """Raise InvalidInputError if this is a single value or a string where a list is expected."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name} must be a list or another iterable, got {shorten(values)}")

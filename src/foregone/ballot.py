"""Ballot: give it votes one by one, get a verdict as soon as there is one. No input, no output, no clock."""

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
    """One question that is put to voters until a strategy knows enough.

    The votes have to be cast in the order in which the voters were *asked*, not in the order in which their
    answers happened to arrive, and that order has to be random: the strategy's promise rests on it. Of votes
    with a weight, the promise is for calls in the order asked, as those of the questions it was learned from.

    Parameters
    ----------
    strategy : Solution, StoppingStrategy, PluralitySolution, PluralityStrategy or ScoreStrategy
        When to stop and what to answer. A solution also brings the votes it was solved for. The first two
        take votes of yes or no, the next two any hashable answers, the last one votes with a weight.
    seed : int, optional
        Decides in the few states where the strategy leaves the stop to chance: an equal seed and equal votes
        give an equal verdict. By default it is drawn anew.
    votes : VoteDistribution or CompositionDistribution, optional
        How the votes are distributed, for the verdict's ``risk``; by default those of the solution.

    Attributes
    ----------
    verdict : Verdict or None
        How it ended; None as long as votes are needed. A strategy may know the answer before the first vote.

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

    Any answers, of which the one with the most votes wins:

    >>> from foregone.plurality import rules
    >>> ballot = Ballot(rules.lead(9, 3))            # or what solve_plurality gives
    >>> verdict = ballot.cast_many(["42", "41", "42", "42", "42", "42"])
    >>> verdict.answer, verdict.yes
    ('42', 4)

    Votes with a weight, added up; (True, 0.9) may be written 0.9, and (False, 0.2) as -0.2:

    >>> from foregone import ScoreStrategy
    >>> thresholds = ScoreStrategy.from_thresholds([-9, -1, -1, 0], [9, 1, 1, 0])  # or solve_scores gives
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
        self._chance: random.Random | None = None  # made when first needed: most ballots never need it
        self.verdict: Verdict | None = None
        self._look()

    @property
    def n_voters(self) -> int:
        """Number of voters that the strategy is for."""
        return self._tally.n_voters

    @property
    def asked(self) -> int:
        """Number of votes counted so far."""
        return self._tally.asked

    def check(self, vote: object) -> Any:
        """Return a vote in the form in which it is counted; count nothing.

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
            If it is not a vote (True, False, 1 or 0; with many answers anything hashable but None; a pair or
            a number, if votes have a weight), or the verdict has fallen. Nothing is counted then.
        """
        checked = self._tally.check(vote)
        self._refuse_if_decided()
        self._tally.add(checked)
        self._look()
        return self.verdict

    def cast_many(self, votes: Iterable[object]) -> Verdict | None:
        """Count votes in this order until the verdict falls, and return it, or None if more are needed.

        What comes after the verdict is not counted, so more may have been asked at once than were needed; the
        verdict's ``asked`` says how many were.

        Raises
        ------
        InvalidInputError
            If one of them is not a vote, there are more than voters left, or the verdict has fallen before.
            Nothing is counted then.
        """
        check_several(votes, "votes")
        checked = self._tally.check_all(votes)
        left = self.n_voters - self.asked
        if checked:
            self._refuse_if_decided()
        if len(checked) > left:
            raise InvalidInputError(
                f"{len(checked)} votes are more than there are voters: {left} of {self.n_voters} are left. "
                f"The strategy is for {self.n_voters} voters: solve for as many as you have"
            )
        for vote in checked:
            if self.cast(vote) is not None:
                break
        return self.verdict

    def needed_at_least(self) -> int:
        """Return how many votes must still come before any stop is possible; 0 once the verdict has fallen.

        This many can be asked in parallel with none wasted.
        """
        return 0 if self.verdict is not None else self._tally.needed_at_least()

    def can_stop_within(self, k: int) -> bool:
        """Whether, with luck, the verdict falls with one of the next ``k`` votes, or has fallen."""
        return self.needed_at_least() <= check_whole(k, "k", 0)

    def useful(self, k: int) -> int:
        """Return how many of the next ``k`` votes can be counted before a stop is certain."""
        return 0 if self.verdict is not None else self._tally.useful(check_whole(k, "k", 0))

    def expected_votes(self) -> float:
        """Return the mean number of votes still to come; 0 once the verdict has fallen.

        The mean is over what the voters not asked may say, given the votes so far, if beforehand the full
        votes were distributed as those of the solution.

        Raises
        ------
        InvalidInputError
            If no distribution is known.
        """
        return 0.0 if self.verdict is not None else self._tally.outlook()[0]

    def value_of_a_vote(self) -> float:
        """Return by how much each vote to come lowers the risk, on average; 0 once the verdict has fallen.

        That is the risk of the best answer now, less the mean risk at the strategy's stop, divided by the
        mean number of votes until then; under the same assumption, and with the same error, as
        `expected_votes`. A question whose votes are worth more is the better one to ask about next.

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
        """End the poll with the votes so far, and return the verdict; one that has fallen stays as it is.

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
                f"all {self.n_voters} voters have voted: the strategy is for no more. "
                "Solve for as many as you have"
            )
        raise InvalidInputError(
            f"the poll has ended with {shorten(self.verdict.answer)} after {self.verdict.asked} votes: "
            "make a new Ballot for the next question"
        )

    def _look(self) -> None:
        """Stop here, if the strategy does; chance is asked once for each state."""
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
    """Raise InvalidInputError if this is a single value, or a text, where a list is expected."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name} must be a list or another iterable, got {shorten(values)}")

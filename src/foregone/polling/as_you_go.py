"""Course: begin without past votes, learn how votes are spread from the first questions, become bolder.

Some questions are put to every voter; from their full votes a bolder strategy is certified, at numbers of
questions that are fixed beforehand. All others follow what is certified by then, and before that a strategy
that keeps the limit for every question by itself. The proof is in docs/theory.md, "Learning while polling".
No I/O.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foregone.ballot import Followed
from foregone.checks import check_confidence
from foregone.errors import InvalidInputError, SolverError
from foregone.kinds import AnySolution, evaluate, solution_of
from foregone.plurality import CompositionDistribution, PluralitySolution, PluralityStrategy, solve_plurality
from foregone.polling.voter_queue import derive_seed
from foregone.solving import Solution, solve
from foregone.strategy import StoppingStrategy
from foregone.strategy.limits import traits_of
from foregone.votes import VoteDistribution

__all__ = ["Course", "Phase"]

FIRST_CHECK = 32  # questions put to everyone before the first check; twice as many before every later one
MOST_IN_FULL = 1 / 16  # share of the questions that may be put to everyone before something is certified
EXTRA = 0.1  # by which questions put to everyone may raise the votes asked, once something is certified
WORTH_IT = 0.98  # a strategy is changed for one that asks at most this share of the votes


@dataclass(frozen=True)
class Phase:
    """What is done with the questions from one place on.

    Attributes
    ----------
    first : int
        The place of the first question, in the order in which they are begun.
    strategy : Solution, PluralitySolution
        What questions follow that are not put to everyone.
    expected_votes : float or None
        What it asks on average of the questions put to everyone so far; None before there are any.
    in_full : float
        The share of questions that are put to everyone.
    confidence : float or None
        At which the strategy was certified; None for the one that keeps its limit for every question.
    """

    first: int
    strategy: AnySolution
    expected_votes: float | None
    in_full: float
    confidence: float | None


class Course:
    """Which strategy each of many questions follows, in the order in which they are begun.

    A function of the places, the seed and the votes of questions put to everyone, and of nothing else: who
    begins again with the same votes takes the same course.

    Parameters
    ----------
    careful : Solution or PluralitySolution
        For ``"minimixed"`` or ``"minimax"``: it keeps its limit for every question by itself.
    n_questions : int
        How many questions there are; their order must be random.
    confidence : float, default=0.95
        With which the limit is kept, on average over questions, by all strategies together.
    seed : int, optional
        Draws which questions are put to everyone.

    Attributes
    ----------
    phases : list of Phase
        What has been done so far.

    Examples
    --------
    >>> from foregone import solve
    >>> course = Course(solve("minimixed", 21, 0.05), n_questions=1000, seed=0)
    >>> course.is_in_full(0), course.strategy_for(0).n_voters, course.strategy_for(32)
    (True, 21, None)
    >>> for place in range(32):
    ...     course.note(place, [True] * 21)
    >>> course.check()
    >>> course.strategy_for(32) is not None, len(course.phases)
    (True, 2)
    """

    def __init__(
        self, careful: Followed, n_questions: int, *, confidence: float = 0.95, seed: int | None = None
    ) -> None:
        solution = solution_of(careful)
        if solution is None or traits_of(solution.criterion).bounds_the_mean:
            raise InvalidInputError(
                'calibrate="as_you_go" begins with a strategy that keeps its limit for every question: give '
                'solve("minimixed", n_voters, limit), or solve_plurality(None, limit, n_voters=..., '
                'criterion="minimixed")'
            )
        if isinstance(solution.max_disagreement, dict):
            raise InvalidInputError(
                'calibrate="as_you_go" has one limit for all questions, not one by answer'
            )
        if isinstance(solution, Solution) and (
            solution.values is not None or solution.quota not in (None, solution.n_voters // 2 + 1)
        ):
            raise InvalidInputError('calibrate="as_you_go" learns majorities: leave out quota and values')
        self.careful = solution
        self.confidence = check_confidence(confidence)
        self._limit = float(solution.max_disagreement)
        self._n_questions = n_questions
        self._seed = 0 if seed is None else seed
        self._everyone = _ask_all(solution)
        self._votes: dict[int, Any] = {}  # by place: what everyone said
        self._places: list[int] = []  # put to everyone, as far as is known
        can_learn = n_questions * MOST_IN_FULL >= FIRST_CHECK
        self.phases = [Phase(0, solution, None, 1.0 if can_learn else 0.0, None)]
        self._end = self._end_of_phase()

    def is_in_full(self, place: int) -> bool:
        """Whether a question of this phase, or of an earlier one, is put to everyone."""
        phase = next(phase for phase in reversed(self.phases) if phase.first <= place)
        if phase.in_full in (0.0, 1.0):
            return bool(phase.in_full)
        return random.Random(derive_seed(self._seed, "in full", place)).random() < phase.in_full

    def strategy_for(self, place: int) -> Followed | None:
        """Return what a question follows; None before the `check` that decides it."""
        if place >= self._end:
            return None
        return self._everyone if self.is_in_full(place) else self.phases[-1].strategy

    def note(self, place: int, votes: Sequence[Any]) -> None:
        """Take down the votes on a question that has ended; those that everyone has cast are learned from."""
        if self.is_in_full(place):
            whole = len(votes) == self.careful.n_voters
            self._votes[place] = list(votes) if whole else None  # or it failed

    @property
    def is_due(self) -> bool:
        """Whether all votes are there that the next check needs."""
        return self._end < self._n_questions and all(place in self._votes for place in self._places)

    @property
    def n_in_full(self) -> int:
        """How many questions have been put to everyone so far, or are to be in this phase."""
        return len(self._places)

    def _end_of_phase(self) -> int:
        """Return the place of the first question after the phase, and list those put to everyone in it."""
        phase = self.phases[-1]
        wanted = FIRST_CHECK * 2 ** (len(self.phases) - 1)
        if phase.in_full == 0.0:
            return self._n_questions
        for place in range(phase.first, self._n_questions):
            if len(self._places) >= wanted:
                return place
            if self.is_in_full(place):
                self._places.append(place)
        return self._n_questions

    def check(self) -> None:
        """Certify a bolder strategy with all full votes so far, and begin the next phase; takes a while."""
        number, now = len(self.phases), self.phases[-1]
        # The chances to fail of all checks, 1/2 + 1/6 + 1/12 + ... of what is allowed, add up to it.
        confidence = 1 - (1 - self.confidence) / (number * (number + 1))
        votes = _distribution([said for _, said in sorted(self._votes.items()) if said], self.careful)
        best, certified = now.strategy, now.confidence
        try:
            found = _solve(votes, self._limit, confidence, self.careful)
        except SolverError:
            found = None
        if found is not None and _mean_votes(found, votes) < WORTH_IT * _mean_votes(best, votes):
            best, certified = found, confidence
        expected = _mean_votes(best, votes)
        in_full = self._share_in_full(expected, number, is_bold=certified is not None)
        self.phases.append(Phase(self._end, best, expected, in_full, certified))
        self._end = self._end_of_phase()

    def _share_in_full(self, expected_votes: float, number: int, *, is_bold: bool) -> float:
        """Return the share of questions to put to everyone; 0 where the next check would not be reached."""
        wanted, left = FIRST_CHECK * 2**number, self._n_questions - self._end
        share = min(1.0, EXTRA * expected_votes / self.careful.n_voters) if is_bold else 1.0
        reaches = self.n_in_full + share * left >= wanted and wanted <= MOST_IN_FULL * self._n_questions
        return share if reaches else 0.0


def _ask_all(solution: AnySolution) -> StoppingStrategy | PluralityStrategy:
    """Return the strategy that asks everyone."""
    if isinstance(solution, Solution):
        return StoppingStrategy.ask_all(solution.n_voters, solution.strategy.quota)
    lattice = solution.strategy.lattice
    stops = np.zeros(lattice.n_states, np.bool_)
    stops[lattice.level[-2] :] = True
    return PluralityStrategy(lattice, stops)


def _distribution(votes: list[Any], solution: AnySolution) -> Any:
    if isinstance(solution, Solution):
        return VoteDistribution.from_yes_counts([sum(said) for said in votes], solution.n_voters)
    return CompositionDistribution.from_answers(votes, n_classes=solution.strategy.n_classes)


def _solve(votes: Any, limit: float, confidence: float, solution: AnySolution) -> AnySolution:
    if isinstance(solution, PluralitySolution):
        return solve_plurality(
            votes,
            limit,
            n_voters=solution.n_voters,
            n_classes=solution.strategy.n_classes,
            confidence=confidence,
        )
    return solve("minimean", votes, limit, confidence=confidence)


def _mean_votes(solution: AnySolution, votes: Any) -> float:
    """Return the votes asked on average of questions like those put to everyone."""
    evaluation: Any = evaluate(solution)
    return float(evaluation.mean(votes).expected_votes)

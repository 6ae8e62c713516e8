"""Course: start without past votes, learn their distribution from the first questions, then ask fewer voters.

Some questions get a full vote. After fixed numbers of questions, a bolder strategy is certified from these
full votes. All other questions follow the latest certified strategy; before there is one, they follow a
strategy that keeps the limit for every single question. The proof is in docs/theory.md, "Learning while
polling". No I/O.
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

FIRST_CHECK = 32  # full votes before the first check; the number doubles with every later check
MOST_IN_FULL = 1 / 16  # largest share of questions that get a full vote before a strategy is certified
EXTRA = 0.1  # largest relative increase of the votes asked by full votes, once a strategy is certified
WORTH_IT = 0.98  # switch to a new strategy only if it asks at most this share of the votes


@dataclass(frozen=True)
class Phase:
    """The strategy, and the share of full votes, from one question on.

    Attributes
    ----------
    first : int
        Position of the first question, in the order in which questions are started.
    strategy : Solution, PluralitySolution
        The strategy of all questions that do not get a full vote.
    expected_votes : float or None
        Mean votes it would ask about the questions with a full vote so far; None before there are any.
    in_full : float
        Share of questions that get a full vote.
    confidence : float or None
        Confidence of the certificate; None for the first strategy, which keeps its limit for every question.
    """

    first: int
    strategy: AnySolution
    expected_votes: float | None
    in_full: float
    confidence: float | None


class Course:
    """Choose the strategy of each question, in the order in which questions are started.

    The choice depends only on positions, the seed and the full votes: restarting with the same votes gives
    the same strategies.

    Parameters
    ----------
    careful : Solution or PluralitySolution
        Solved for ``"minimixed"`` or ``"minimax"``, which keep the limit for every single question.
    n_questions : int
        Number of questions; their order must be random.
    confidence : float, default=0.95
        Confidence that all strategies together keep the limit, on average over questions.
    seed : int, optional
        Seed that decides which questions get a full vote.

    Attributes
    ----------
    phases : list of Phase
        The phases so far.

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
                'calibrate="as_you_go" needs a strategy that keeps its limit for every single question: pass '
                'solve("minimixed", n_voters, limit), or solve_plurality(None, limit, n_voters=..., '
                'criterion="minimixed")'
            )
        if isinstance(solution.max_disagreement, dict):
            raise InvalidInputError(
                'calibrate="as_you_go" needs one limit for all answers, got one per answer: pass a number'
            )
        if isinstance(solution, Solution) and (
            solution.values is not None or solution.quota not in (None, solution.n_voters // 2 + 1)
        ):
            raise InvalidInputError(
                'calibrate="as_you_go" supports only majority votes: solve without quota and values'
            )
        self.careful = solution
        self.confidence: float = check_confidence(confidence)
        self._limit = float(solution.max_disagreement)
        self._n_questions = n_questions
        self._seed = 0 if seed is None else seed
        self._everyone = _ask_all(solution)
        self._votes: dict[int, Any] = {}  # by place: what everyone said
        self._places: list[int] = []  # of the full votes known so far
        can_learn = n_questions * MOST_IN_FULL >= FIRST_CHECK
        self.phases: list[Phase] = [Phase(0, solution, None, 1.0 if can_learn else 0.0, None)]
        self._end = self._end_of_phase()

    def is_in_full(self, place: int) -> bool:
        """Whether a question of this or an earlier phase gets a full vote."""
        phase = next(phase for phase in reversed(self.phases) if phase.first <= place)
        if phase.in_full in (0.0, 1.0):
            return bool(phase.in_full)
        return random.Random(derive_seed(self._seed, "in full", place)).random() < phase.in_full

    def strategy_for(self, place: int) -> Followed | None:
        """Return the strategy of a question; None before the `check` that decides it."""
        if place >= self._end:
            return None
        return self._everyone if self.is_in_full(place) else self.phases[-1].strategy

    def note(self, place: int, votes: Sequence[Any]) -> None:
        """Record the votes on a finished question; full votes are used for learning."""
        if self.is_in_full(place):
            whole = len(votes) == self.careful.n_voters
            self._votes[place] = list(votes) if whole else None  # or it failed

    @property
    def is_due(self) -> bool:
        """Whether all votes that the next check needs have arrived."""
        return self._end < self._n_questions and all(place in self._votes for place in self._places)

    @property
    def n_in_full(self) -> int:
        """Number of questions with a full vote, up to the end of this phase."""
        return len(self._places)

    def _end_of_phase(self) -> int:
        """Return the position of the first question after the phase, and list its full votes."""
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
        """Certify a bolder strategy from all full votes so far, and begin the next phase; can be slow."""
        number, now = len(self.phases), self.phases[-1]
        # Check k may fail with 1 / (k (k + 1)) of the allowed probability; these shares sum to 1.
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
        """Return the share of questions that get a full vote; 0 if the next check would not be reached."""
        wanted, left = FIRST_CHECK * 2**number, self._n_questions - self._end
        share = min(1.0, EXTRA * expected_votes / self.careful.n_voters) if is_bold else 1.0
        reaches = self.n_in_full + share * left >= wanted and wanted <= MOST_IN_FULL * self._n_questions
        return share if reaches else 0.0


def _ask_all(solution: AnySolution) -> StoppingStrategy | PluralityStrategy:
    """Return the strategy that asks all voters."""
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
    """Return the mean votes asked about questions like those with a full vote."""
    evaluation: Any = evaluate(solution)
    return float(evaluation.mean(votes).expected_votes)

"""What can be planned for: votes between two answers, votes among many, scores. They are told apart here.

Each kind says how one limit is solved and what its figures are; plans and reports are made of that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from foregone.checks import check_choice, check_confidence, check_looks
from foregone.errors import InvalidInputError
from foregone.kinds import AnyDistribution
from foregone.planning.solved_limit import ClassFigures, SolvedLimit
from foregone.plurality import ClassVotes, CompositionDistribution, evaluate_plurality, solve_plurality
from foregone.plurality.ties import bound_with_ties, disagreement_with_ties, solve_with_ties
from foregone.scores import ScoreRows
from foregone.solving import ANSWERS, Answer, Problem, solve
from foregone.strategy.evaluation import FullAnswer
from foregone.strategy.limits import Criterion, Limits, traits_of
from foregone.votes import VoteDistribution

__all__ = ["Kind", "Planned", "Votes", "planned"]

Votes = VoteDistribution | int | CompositionDistribution | ClassVotes | ScoreRows
Kind = Literal["votes", "answers", "scores"]
NO_YES: tuple[FullAnswer, FullAnswer] = ("no", "yes")


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned(ABC):
    """What is planned for, and under which terms.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    votes : VoteDistribution, CompositionDistribution or None
        How the full votes are distributed; None for scores.
    classes : tuple
        What figures by class are keyed by: "no" and "yes", or many labels; empty if classes are not known.
    criterion, confidence, looks, answer
        As in `foregone.solve`; ``confidence`` is None where it has no meaning.
    notes : tuple of str
        Why a confidence that was asked for is not used.
    """

    kind: ClassVar[Kind]
    has_class_limits: ClassVar[bool] = True  # whether each class can have a limit of its own
    priced_by: ClassVar[Literal["guaranteed", "limit"]] = "guaranteed"  # the disagreements that are avoided

    n_voters: int
    votes: AnyDistribution | None
    classes: tuple[Any, ...]
    criterion: Criterion
    confidence: float | None
    looks: tuple[int, ...] | None = None
    answer: Answer = "majority"
    notes: tuple[str, ...] = ()

    @property
    def bounds_the_mean(self) -> bool:
        """Whether the limit is for the mean over inputs; otherwise it is for every single one."""
        return traits_of(self.criterion).bounds_the_mean

    @property
    def n_observations(self) -> int | None:
        """How many observed inputs stand behind the votes."""
        return None if self.votes is None else self.votes.n_observations

    @abstractmethod
    def solve(self, limits: Limits) -> SolvedLimit:
        """Find the strategy for a limit, and its figures."""

    @abstractmethod
    def call(self, limit: str, options: str) -> str:
        """Return the call of the solver, given the limit and the other options as Python has them."""


def planned(
    votes: Any,
    *,
    criterion: Any = "minimean",
    confidence: Any = 0.95,
    looks: int | Iterable[int] | None = None,
    answer: Any = "majority",
    labels: Sequence[Any] | None = None,
    n_classes: int | None = None,
) -> Planned:
    """Check what a plan is asked for, as in `foregone.plan`, and tell which kind it is."""
    if isinstance(votes, ClassVotes | CompositionDistribution):
        return _answers(votes, criterion, confidence, looks, answer, labels, n_classes)
    if n_classes is not None:
        raise InvalidInputError("n_classes is for votes among many answers: leave it out")
    if labels is not None and len(labels) != 2:
        raise InvalidInputError(f"labels must be two, for no and for yes, not {len(labels)}")
    if isinstance(votes, ScoreRows):
        return _scores(votes, criterion, confidence, looks, answer)
    problem = Problem.check(criterion, votes, 0.0, None, looks, answer)
    return PlannedVotes(
        n_voters=problem.n_voters,
        votes=problem.votes,
        classes=NO_YES,
        criterion=problem.criterion,
        looks=problem.looks,
        answer=problem.answer,
        **_confidence(confidence, problem.criterion, problem.votes),
    )


def _confidence(given: Any, criterion: Criterion, votes: AnyDistribution) -> dict[str, Any]:
    """Return the confidence to use, and a note where one was given that has no meaning."""
    checked = None if given is None else check_confidence(given)
    is_mean = traits_of(criterion).bounds_the_mean
    if checked is None or (is_mean and votes.n_observations is not None):
        return {"confidence": checked}
    note = (
        f"No confidence of {checked:g} can be had: these votes were assumed, fitted or weighted, not counted "
        "from observed inputs, so the figures hold for them and for no others. Give observed votes."
        if is_mean
        else f"No confidence is needed: {criterion} keeps the limit for every single input."
    )
    return {"confidence": None, "notes": (note,)}


# Votes between two answers -------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedVotes(Planned):
    """Votes between two answers: every limit is solved exactly."""

    kind = "votes"
    votes: VoteDistribution

    def solve(self, limits: Limits) -> SolvedLimit:
        terms: dict[str, Any] = {
            "confidence": self.confidence, "looks": self.looks, "answer": self.answer
        }  # fmt: skip
        solution = solve(self.criterion, self.votes, limits.given, **terms)
        evaluation = solution.evaluation
        mean, by_class = evaluation.mean(self.votes), evaluation.by_class(self.votes)
        worst = evaluation.worst_by_class()
        no_limits = {"yes": 1.0, "no": 1.0}
        at_most: Any = Problem.check(self.criterion, self.votes, no_limits, **terms).risk(evaluation)
        return SolvedLimit(
            limits=limits,
            strategy=solution.strategy,
            expected_votes=mean.expected_votes,
            disagreement=mean.disagreement,
            guaranteed=solution.disagreement,
            by_class=tuple(
                ClassFigures(
                    _known(by_class[side].expected_votes),
                    _known(by_class[side].disagreement),
                    at_most[side],
                    worst[side].disagreement,
                )
                for side in NO_YES
            ),
            worst=evaluation.worst().disagreement,
            by_yes=evaluation,
            gap=solution.gap,
        )

    def call(self, limit: str, options: str) -> str:
        return f"solve({self.criterion!r}, votes, {limit}{options})"


def _known(figure: float) -> float | None:
    """Return a mean over the inputs of a class; None if there are none."""
    return None if math.isnan(figure) else figure


# Votes among many answers --------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedAnswers(Planned):
    """Votes among many answers.

    Attributes
    ----------
    of_class : tuple of CompositionDistribution or None
        The full votes for each of ``classes``; None for a class without any.
    n_classes : int or None
        How many different answers there can be; None for any number.
    settles_ties : bool
        Whether of several leaders only the first is right, as in a classifier; otherwise each is.
    """

    kind = "answers"
    has_class_limits = False
    votes: CompositionDistribution
    of_class: tuple[CompositionDistribution | None, ...]
    n_classes: int | None
    settles_ties: bool

    def solve(self, limits: Limits) -> SolvedLimit:
        terms: dict[str, Any] = {
            "n_voters": self.n_voters, "n_classes": self.n_classes,
            "criterion": self.criterion, "confidence": self.confidence,
        }  # fmt: skip
        if self.settles_ties:
            strategy, solution = solve_with_ties(self.votes, limits.loosest, **terms)
            guaranteed, differs = bound_with_ties(strategy, solution), disagreement_with_ties(strategy)
            evaluation = evaluate_plurality(strategy)
        else:
            solution = solve_plurality(self.votes, limits.loosest, **terms)
            strategy, evaluation = solution.strategy, solution.evaluation
            guaranteed, differs = solution.disagreement, evaluation.disagreement

        def figures(votes: CompositionDistribution) -> tuple[float, float]:
            weights = votes.weights_on(strategy.lattice)
            return evaluation.mean(votes).expected_votes, float(weights @ differs)

        expected_votes, disagreement = figures(self.votes)
        return SolvedLimit(
            limits=limits,
            strategy=strategy,
            expected_votes=expected_votes,
            disagreement=disagreement,
            guaranteed=guaranteed,
            by_class=tuple(
                ClassFigures() if votes is None else ClassFigures(*figures(votes)) for votes in self.of_class
            ),
            worst=evaluation.worst().disagreement,
            gap=solution.gap,
        )

    def call(self, limit: str, options: str) -> str:
        stated = "" if self.n_classes is None else f", n_classes={self.n_classes}"
        if not self.bounds_the_mean:
            stated += f", criterion={self.criterion!r}"
        elif self.confidence is None:
            stated += ", confidence=None"
        return f"solve_plurality(votes, {limit}, n_voters={self.n_voters}{stated}{options})"


def _answers(
    votes: ClassVotes | CompositionDistribution,
    criterion: Any,
    confidence: Any,
    looks: Any,
    answer: Any,
    labels: Sequence[Any] | None,
    n_classes: int | None,
) -> PlannedAnswers:
    traits_of(criterion)
    if looks is not None or check_choice(answer, "answer", ANSWERS) != "majority":
        raise InvalidInputError(
            "looks and answer are for votes between two answers: among many, a strategy may stop after any "
            "vote and answers the leader so far. Leave them out"
        )
    known: int | None
    classes: tuple[Any, ...] = ()
    of_class: tuple[CompositionDistribution | None, ...] = ()
    names = None if labels is None else tuple(labels)
    if isinstance(votes, ClassVotes):
        classes, of_class = names or tuple(range(votes.n_classes)), votes.of_class
        known, distribution = votes.n_classes, votes.distribution
    else:
        known, distribution = n_classes if names is None else len(names), votes
    if n_classes not in (None, known) or (names is not None and len(names) != known):
        raise InvalidInputError(f"there are {known} classes: leave out n_classes, and give as many labels")
    return PlannedAnswers(
        n_voters=distribution.n_voters,
        votes=distribution,
        classes=classes,
        criterion=criterion,
        of_class=of_class,
        n_classes=known,
        settles_ties=names is not None or isinstance(votes, ClassVotes),
        **_confidence(confidence, criterion, distribution),
    )


# Scores --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedScores(Planned):
    """Scores that are added up: for every limit, thresholds are learned and certified on the rows."""

    kind = "scores"
    priced_by = "limit"  # what was measured on the rows jumps from limit to limit
    confidence: float
    rows: ScoreRows

    def solve(self, limits: Limits) -> SolvedLimit:
        strategy = self.rows.solve(limits.given, confidence=self.confidence, looks=self.looks)
        certificate, everyone = strategy.certificate, float(self.n_voters)
        if certificate is None or certificate.wrong_by_class is None or certificate.bound_by_class is None:
            nobody_differs = (ClassFigures(everyone, 0.0, 0.0),) * 2
            return SolvedLimit(limits, strategy, everyone, 0.0, 0.0, nobody_differs, reason=strategy.reason)
        pairs, bounds = certificate.wrong_by_class, certificate.bound_by_class
        is_yes, (_, asked) = self.rows.right(strategy.order), self.rows.run(strategy)
        by_class = []
        for side, of_it in zip(NO_YES, (~is_yes, is_yes), strict=True):
            n_wrong, n_rows = pairs[side]
            by_class.append(
                ClassFigures(
                    float(asked[of_it].mean()) if of_it.any() else None,
                    n_wrong / n_rows if n_rows else None,
                    bounds[side],
                )
            )
        wrong, tried = np.sum([*pairs.values()], axis=0).tolist()
        return SolvedLimit(
            limits=limits,
            strategy=strategy,
            expected_votes=certificate.mean_asked,
            disagreement=wrong / tried,
            guaranteed=certificate.bound,
            by_class=tuple(by_class),
        )

    def call(self, limit: str, options: str) -> str:
        order = repr(self.rows.order) if isinstance(self.rows.order, str) else "order"
        start = f", start={self.rows.start!r}" if self.rows.start else ""
        return f"solve_scores(scores, {limit}{options}, order={order}{start})"


def _scores(rows: ScoreRows, criterion: Any, confidence: Any, looks: Any, answer: Any) -> PlannedScores:
    if not traits_of(criterion).bounds_the_mean or confidence is None:
        raise InvalidInputError(
            "what adds up scores has a limit that is a mean over rows, certified at a confidence: use "
            "criterion minimean and a confidence such as 0.95. If it is a forest, a bag or a committee, "
            'voting="hard" counts votes, which take any criterion'
        )
    if check_choice(answer, "answer", ANSWERS) != "majority":
        raise InvalidInputError(
            f"answer={answer!r} is for votes: a sum of scores that stops answers by the threshold it passed. "
            'Use "majority", the default'
        )
    return PlannedScores(
        n_voters=rows.n_voters,
        votes=None,
        classes=NO_YES,
        criterion=criterion,
        confidence=check_confidence(confidence),
        looks=check_looks(looks, rows.n_voters),
        rows=rows,
    )

"""Votes for two classes, or for many: all that differs where they are counted.

Between two classes a row's votes are the number of yes, and a solution is optimal. Among many they are a
number for each class, and the strategy is one that also settles ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, check_choice, check_confidence, check_max_disagreement
from foregone.classifier.deciding import Labels, Scheme, Settings, Terms, check_same_voters, terms_of
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, PluralityForest
from foregone.plurality import (
    ClassVotes,
    CompositionDistribution,
    PluralitySolution,
    PluralityStrategy,
    evaluate_plurality,
    lattice_of,
)
from foregone.plurality.ties import solve_with_ties
from foregone.solving import Problem, Solution, solve
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import Evaluation
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import CRITERIA, Limits, by_label
from foregone.votes import VoteDistribution

__all__ = ["ManyClassVotes", "Solved", "TwoClassVotes", "risk_by_label", "two_or_many"]


class Solved(NamedTuple):
    """When to stop, what that is a solution of where it is known, and the votes asked on average."""

    strategy: StoppingStrategy | PluralityStrategy
    solution: Solution | PluralitySolution | None
    expected_votes: float


class TwoClassVotes:
    """How votes between two classes are counted."""

    forest = PackedForest

    def terms(self, settings: Settings, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved, or raise for settings that have no meaning here."""
        return settings.for_two_classes(classes, n_voters)

    def shares(self, counts: npt.NDArray[Any], n_voters: int) -> FloatArray:
        """Return the share of the votes that each class has, for each row."""
        yes = counts / n_voters
        return np.stack([1 - yes, yes], axis=1)

    def solve(self, counts: npt.NDArray[Any], n_voters: int, terms: Terms) -> Solved:
        """Find when to stop, given the votes of everyone on rows like those to come."""
        votes = VoteDistribution.from_yes_counts(counts, n_voters)
        return self._solved(solve(votes_or_n_voters=votes, **terms))

    def _solved(self, solution: Solution) -> Solved:
        mean = solution.evaluation.mean(solution.votes)
        return Solved(solution.strategy, solution, mean.expected_votes)

    def attributes(self, solution: Any, classes: Labels) -> dict[str, Any]:
        """Return the fitted attributes of a classifier that a solution gives."""
        return {
            "solution_": solution,
            "votes_": solution.votes,
            "disagreement_by_class_": risk_by_label(solution, solution.evaluation, classes),
        }

    def votes(self, solution: Any, counts: Any) -> VoteDistribution:
        """Return how votes are spread: those of the solution, or ``counts`` on other rows."""
        return (
            solution.votes if counts is None else VoteDistribution.from_yes_counts(counts, solution.n_voters)
        )

    def to_fields(self, solved: Solved, terms: Terms) -> dict[str, Any]:
        """Return the fields of a file."""
        assert solved.solution is not None
        return {"solution": solved.solution.to_fields()}

    def from_fields(self, fields: Fields, forest: Any) -> tuple[Solved, Terms]:
        """Check what `to_fields` gave, alone and against the forest."""
        solution = Solution.from_fields(fields.section("solution"))
        check_same_voters(fields, "solution", solution.n_voters, forest)
        return self._solved(solution), terms_of(solution)


def risk_by_label(solution: Solution, evaluation: Evaluation, classes: Labels) -> dict[Any, float]:
    """Return what limits for each class would bound, whatever limits the solution was solved for.

    Given that the full vote is for the class: the mean disagreement for minimean, with a confidence the
    largest mean that has to be reckoned with; the worst for the other criteria, and for a class never seen.
    """
    terms = terms_of(solution)
    terms["max_disagreement"] = Limits.for_each(1.0).given
    each = Problem.check(votes_or_n_voters=solution.votes, **terms)
    by_side = {str(budget.side): budget.risk(evaluation.disagreement) for budget in each.budgets}
    return by_label(by_side, classes.tolist())


class ManyClassVotes:
    """How votes among any number of classes are counted; its methods are those of `TwoClassVotes`."""

    forest = PluralityForest

    def terms(self, settings: Settings, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved, or raise for settings that have no meaning here."""
        n_classes = len(classes)
        if isinstance(settings.max_disagreement, Mapping):
            raise InvalidInputError(
                "limits by class are for two classes: with more, the votes are followed without regard to "
                f"the names of the classes. Give one max_disagreement, not {settings.max_disagreement!r}"
            )
        if settings.looks is not None:
            raise InvalidInputError(f"looks are for two classes, there are {n_classes}: use looks=None")
        if settings.answer != "majority":
            raise InvalidInputError(
                f"answer={settings.answer!r} is for two classes, there are {n_classes}: at a stop the leader "
                'is answered. Use answer="majority"'
            )
        return self._terms(
            settings.max_disagreement, settings.criterion, settings.confidence, n_classes, n_voters
        )

    def _terms(self, limit: Any, criterion: Any, confidence: Any, n_classes: int, n_voters: int) -> Terms:
        """Check the rest, even if there are only too many voters and classes."""
        terms = Terms(
            criterion=check_choice(criterion, "criterion", CRITERIA),
            max_disagreement=check_max_disagreement(limit),
            confidence=None if confidence is None else check_confidence(confidence),
            looks=None,
            answer="majority",
        )
        lattice_of(n_voters, n_classes)
        return terms

    def shares(self, counts: npt.NDArray[Any], n_voters: int) -> FloatArray:
        """Return the share of the votes that each class has, for each row."""
        return counts / n_voters

    def solve(self, counts: npt.NDArray[Any], n_voters: int, terms: Terms) -> Solved:
        """Find when to stop, given the votes of everyone on rows like those to come."""
        strategy, solution = solve_with_ties(
            counts,
            Limits.of(terms["max_disagreement"]).loosest,
            n_voters=n_voters,
            criterion=terms["criterion"],
            confidence=terms["confidence"],
        )
        mean = evaluate_plurality(strategy).mean(solution.distribution)
        return Solved(strategy, solution, mean.expected_votes)

    def attributes(self, solution: Any, classes: Labels) -> dict[str, Any]:
        """Return the fitted attributes of a classifier that a solution gives; files hold none."""
        return {} if solution is None else {"solution_": solution, "votes_": solution.distribution}

    def votes(self, solution: Any, counts: Any) -> CompositionDistribution | ClassVotes:
        """Return how votes are spread: those of the solution, or ``counts`` on other rows, by class."""
        if counts is not None:
            return ClassVotes(counts)
        if solution is None:
            raise InvalidInputError(
                "votes of the calibration rows are not kept in files, so give rows to plan with, such as the "
                "calibration rows: plan(X=X_calibration)"
            )
        distribution: CompositionDistribution = solution.distribution
        return distribution

    def to_fields(self, solved: Solved, terms: Terms) -> dict[str, Any]:
        """Return the fields of a file."""
        return {
            "strategy": {"kind": "plurality", **solved.strategy.to_fields()},
            "problem": {
                "max_disagreement": terms["max_disagreement"],
                "criterion": terms["criterion"],
                "confidence": terms["confidence"],
            },
            "expected_votes": solved.expected_votes,
        }

    def from_fields(self, fields: Fields, forest: Any) -> tuple[Solved, Terms]:
        """Check what `to_fields` gave, alone and against the forest."""
        strategy = PluralityStrategy.from_fields(fields.section("strategy"))
        check_same_voters(fields, "strategy", strategy.n_voters, forest)
        if strategy.lattice.n_classes != min(forest.n_classes, forest.n_trees):
            raise fields.error("strategy", f"is not for the {forest.n_classes} classes of the forest")
        section = fields.section("problem")
        try:
            terms = self._terms(
                section.number("max_disagreement"),
                section.text("criterion"),
                section.number("confidence") if "confidence" in section else None,
                forest.n_classes,
                forest.n_trees,
            )
        except InvalidInputError as error:
            raise section.error("max_disagreement", f"is not valid: {error}") from None
        return Solved(strategy, None, fields.number("expected_votes", 1, forest.n_trees)), terms


def two_or_many(scheme: Scheme) -> TwoClassVotes | ManyClassVotes:
    """Return how votes are counted: "hard" for two classes, "plurality" for any number of them."""
    return ManyClassVotes() if scheme == "plurality" else TwoClassVotes()

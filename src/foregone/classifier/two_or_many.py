"""Votes for two classes, or for many: all that differs where they are counted.

Between two classes a row's votes are the number of yes, and a solution is optimal. Among many they are a
number for each class, and the strategy is one that also settles ties.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from foregone.certifying import RowLosses
from foregone.checks import FloatArray, IntArray
from foregone.classifier.deciding import (
    Labels,
    Scheme,
    Settings,
    SolverTerms,
    Terms,
    check_same_voters,
    read_terms,
    solver_terms,
    terms_of,
)
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, PluralityForest
from foregone.labelled_votes import LabelledVotes
from foregone.plurality import (
    ClassVotes,
    PluralitySolution,
    PluralityStrategy,
    evaluate_plurality,
    lattice_of,
)
from foregone.plurality.rules import curtailment as plurality_curtailment
from foregone.plurality.ties import ladder_with_ties, settle_ties, solve_with_ties
from foregone.rules import curtailment
from foregone.solving import Problem, Solution, solve
from foregone.solving.labelled_program import LEAST_VALUE, solve_labelled
from foregone.strategy import StoppingStrategy, evaluate
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import Limits
from foregone.strategy.thresholds import check_quota
from foregone.votes import VoteDistribution

__all__ = ["Kept", "ManyClassVotes", "SeenVotes", "Solved", "TwoClassVotes", "two_or_many"]

# By what limits are lowered until the calibration rows keep theirs, and those for each class are raised.
LOWERED, RAISED = 0.97 ** np.arange(1, 100), 1.1 ** np.arange(1, 30)


class Solved(NamedTuple):
    """When to stop, what that is a solution of where it is known, and the votes asked on average."""

    strategy: StoppingStrategy | PluralityStrategy
    solution: Solution | PluralitySolution | None
    expected_votes: float


class Kept(NamedTuple):
    """What a file holds: when to stop, what was to be solved, and how votes were spread where it is known."""

    solved: Solved
    terms: Terms
    votes: Any


class SeenVotes(Protocol):
    """Rows that were voted on."""

    @property
    def counts(self) -> Any:
        """Votes of everyone."""

    @property
    def losses(self) -> RowLosses:
        """What other answers than those of everyone lose."""


class TwoClassVotes:
    """How votes between two classes are counted."""

    forest = PackedForest

    def step(self, n_voters: int) -> float:
        """Return the factor from rung to rung of a ladder: large where solving takes its time."""
        return 1.05 if n_voters <= 300 else 1.15 if n_voters <= 1_000 else 1.5

    def terms(self, settings: Settings, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved, or raise for settings that have no meaning here."""
        return settings.for_two_classes(classes, n_voters)

    def counts(self, said: npt.NDArray[Any], n_classes: int) -> npt.NDArray[np.int64]:
        """Return how many voters say yes, for each row, given what each says."""
        counts: npt.NDArray[np.int64] = np.asarray(said, np.bool_).sum(axis=1)
        return counts

    def full_answers(self, counts: npt.NDArray[Any], n_voters: int, terms: Terms) -> IntArray:
        """Return the numbers of the classes that everyone together answers."""
        return np.asarray(counts >= check_quota(terms["quota"], n_voters), np.int64)

    def ask_all(self, n_voters: int, terms: Terms) -> StoppingStrategy | None:
        """Return what asks everyone: None for a majority."""
        return None if terms["quota"] is None else _ask_all(n_voters, terms["quota"])

    def shares(self, counts: npt.NDArray[Any], n_voters: int) -> FloatArray:
        """Return the share of the votes that each class has, for each row."""
        yes = counts / n_voters
        return np.stack([1 - yes, yes], axis=1)

    def solve(self, seen: SeenVotes, n_voters: int, terms: Terms, least_value: float = 0.0) -> Solved:
        """Find when to stop, given the votes of everyone on rows like those to come.

        Parameters
        ----------
        seen : SeenVotes
            The votes, and what disagreements lose.
        n_voters : int
            Number of voters.
        terms : Terms
            What is to be kept.
        least_value : float
            The least that a disagreement is taken to lose, whatever the rows say.
        """
        asked = solver_terms(terms)
        if seen.losses.truth is None:
            votes = VoteDistribution.from_yes_counts(seen.counts, n_voters)
            return self._solved(solve(votes_or_n_voters=votes, **asked))
        labelled = LabelledVotes.from_yes_counts(seen.counts, seen.losses.truth, n_voters)
        others = {name: asked[name] for name in ("confidence", "looks", "answer", "quota")}
        limits, how = Limits.of(asked["max_disagreement"]), {"costs": seen.losses.costs, **others}
        return self._solved(solve_labelled(labelled, limits, least_value=least_value, **how))

    def solve_labelled(self, seen: SeenVotes, n_voters: int, terms: Terms) -> Solved:
        """Find when to stop such that the loss on these very rows keeps the limits.

        What is solved for are values, smoothed over numbers of votes, that count losses and no gains. So the
        limits that are solved for are lowered until the rows themselves keep theirs; with a limit for each
        class, where gains make up for much, they are raised as long as the rows do.
        """
        limits = Limits.of(terms["max_disagreement"])
        assert seen.losses.truth is not None
        labelled = LabelledVotes.from_yes_counts(seen.counts, seen.losses.truth, n_voters)

        def solved_for(share: float) -> tuple[Solved, bool]:
            nominal: Terms = {**terms, "max_disagreement": limits.scaled(share).given}
            found = self.solve(seen, n_voters, nominal)
            disagreement = evaluate(cast(StoppingStrategy, found.strategy)).disagreement
            lost = labelled.losses(disagreement, seen.losses.costs, quota=terms["quota"])
            return found, all(lost.get(side, 0.0) <= limit for side, limit in limits)

        best, is_kept = solved_for(1.0)
        if not is_kept:
            tighter = (solved_for(float(share)) for share in LOWERED)
            return next((found for found, is_kept in tighter if is_kept), solved_for(0.0)[0])
        for share in RAISED if limits.by_answer else ():
            bolder, is_kept = solved_for(float(share))
            if not is_kept:
                break
            best = bolder
        return best

    def ladder(
        self, learning: SeenVotes, n_voters: int, terms: Terms, boldness: FloatArray
    ) -> Callable[[int], Solved]:
        """Return what gives the optimum for each share of the limits, by number; each is solved once.

        Learning rows may be few, so each limit is kept with an even chance, and disagreements that seem to
        lose nothing are taken to lose a little: the promise does not depend on it.
        """
        limits = Limits.of(terms["max_disagreement"])

        @cache
        def rung(number: int) -> Solved:
            nominal = limits.scaled(float(boldness[number])).given
            bold: Terms = {**terms, "max_disagreement": nominal, "confidence": 0.5}
            return self.solve(learning, n_voters, bold, LEAST_VALUE)

        return rung

    def curtailed(self, n_voters: int, n_classes: int, terms: Terms) -> Solved:
        """Stop only where the rest cannot change the answer; how many that asks is not known."""
        strategy = curtailment(n_voters, looks=terms["looks"], quota=terms["quota"])
        return Solved(strategy, None, float(n_voters))

    def _solved(self, solution: Solution) -> Solved:
        mean = solution.evaluation.mean(solution.votes)
        return Solved(solution.strategy, solution, mean.expected_votes)

    def votes(self, counts: npt.NDArray[Any], n_voters: int) -> VoteDistribution:
        """Return how votes are spread."""
        return VoteDistribution.from_yes_counts(counts, n_voters)

    def risk_by_side(self, strategy: Any, votes: Any, terms: Terms) -> dict[str, float]:
        """Return what limits for each class would bound, whatever the strategy was solved for.

        Given that the full vote is for the class: the mean disagreement for minimean, with a confidence the
        largest mean that the confidence leaves possible; the worst for the other criteria, and for a class
        never seen.
        """
        each: SolverTerms = {**solver_terms(terms), "max_disagreement": Limits.for_each(1.0).given}
        problem = Problem.check(votes_or_n_voters=votes, **each)
        disagreement = evaluate(strategy).disagreement
        return {str(budget.side): budget.risk(disagreement) for budget in problem.budgets}

    def to_fields(self, solved: Solved, votes: Any) -> dict[str, Any]:
        """Return the fields of a file: a strategy alone where it is no solution."""
        counts = None if votes is None else np.rint(votes.probabilities * votes.n_observations).astype(int)
        return {
            "solution": None if solved.solution is None else solved.solution.to_fields(),
            "strategy": None
            if solved.solution is not None
            else {"kind": StoppingStrategy.KIND, **solved.strategy.to_fields()},
            "votes": None if counts is None else counts.tolist(),
        }

    def from_fields(self, fields: Fields, forest: Any) -> Kept:
        """Check what `to_fields` gave, alone and against the forest."""
        if "solution" in fields:
            solution = Solution.from_fields(fields.section("solution"))
            check_same_voters(fields, "solution", solution.n_voters, forest)
            terms = terms_of(solution)
            if "expected_votes" in fields:  # which is read elsewhere
                solved = Solved(solution.strategy, solution, 0.0)
            else:
                solved = self._solved(solution)
            votes: VoteDistribution | None = solution.votes
        else:
            strategy = StoppingStrategy.from_fields(fields.section("strategy"))
            check_same_voters(fields, "strategy", strategy.n_voters, forest)
            solved, terms, votes = Solved(strategy, None, float(forest.n_trees)), None, None
        if "votes" in fields:
            counts = fields.whole_numbers("votes", forest.n_trees + 1)
            if counts.min() < 0 or counts.sum() == 0:
                raise fields.error("votes", "must hold how many rows had each number of yes votes")
            votes = VoteDistribution.from_counts(counts)
        # Files from before a classifier was certified say what is to be kept in the solution only.
        if "problem" in fields or terms is None:
            terms = read_terms(fields.section("problem"), forest.n_trees, 2)
        return Kept(solved, terms, votes)


@cache
def _ask_all(n_voters: int, quota: int) -> StoppingStrategy:
    """Return the same strategy every time, so that a forest prepares for it once."""
    return StoppingStrategy.ask_all(n_voters, quota)


class ManyClassVotes:
    """How votes among any number of classes are counted; its methods are those of `TwoClassVotes`."""

    forest = PluralityForest

    def step(self, n_voters: int) -> float:
        """Return the factor from rung to rung of a ladder."""
        return 1.15

    def terms(self, settings: Settings, classes: Labels, n_voters: int) -> Terms:
        """Return what is to be solved, or raise for settings that have no meaning here."""
        n_classes = len(classes)
        terms = settings.for_one_limit(classes, n_voters)
        if settings.looks is not None:
            raise InvalidInputError(
                f"votes among {n_classes} classes are looked at one by one: use looks=None"
            )
        if settings.answer != "majority":
            raise InvalidInputError(
                f"answer={settings.answer!r} is for two classes, there are {n_classes}: at a stop the leader "
                'is answered. Use answer="majority"'
            )
        lattice_of(n_voters, n_classes)  # which raises if it is too large
        return terms

    def counts(self, said: npt.NDArray[Any], n_classes: int) -> npt.NDArray[np.int64]:
        """Return how many voters are for each class, for each row, given what each says."""
        return np.stack([np.count_nonzero(said == number, axis=1) for number in range(n_classes)], axis=1)

    def full_answers(self, counts: npt.NDArray[Any], n_voters: int, terms: Terms) -> IntArray:
        """Return the numbers of the classes that everyone together answers: of several, the first."""
        return np.asarray(counts.argmax(axis=1), np.int64)

    def ask_all(self, n_voters: int, terms: Terms) -> None:
        """Return what asks everyone."""
        return

    def shares(self, counts: npt.NDArray[Any], n_voters: int) -> FloatArray:
        """Return the share of the votes that each class has, for each row."""
        return counts / n_voters

    def solve(self, seen: SeenVotes, n_voters: int, terms: Terms) -> Solved:
        """Find when to stop, given the votes of everyone on rows like those to come."""
        strategy, solution = solve_with_ties(
            seen.counts,
            Limits.of(terms["max_disagreement"]).loosest,
            n_voters=n_voters,
            criterion=terms["criterion"],
            confidence=terms["confidence"],
        )
        mean = evaluate_plurality(strategy).mean(solution.distribution)
        return Solved(strategy, solution, mean.expected_votes)

    def ladder(
        self, learning: SeenVotes, n_voters: int, terms: Terms, boldness: FloatArray
    ) -> Callable[[int], Solved]:
        """Return what gives a strategy for each share of the limit, by number; the boldest beyond it."""
        rungs = ladder_with_ties(
            learning.counts, Limits.of(terms["max_disagreement"]).loosest, n_voters, boldness
        )
        known = [next(rungs)]

        def rung(number: int) -> Solved:
            known.extend(islice(rungs, max(number + 1 - len(known), 0)))
            return Solved(known[min(number, len(known) - 1)], None, float(n_voters))

        return rung

    def curtailed(self, n_voters: int, n_classes: int, terms: Terms) -> Solved:
        """Stop only where the rest cannot change the answer; how many that asks is not known."""
        strategy = settle_ties(plurality_curtailment(n_voters, min(n_classes, n_voters)))
        return Solved(strategy, None, float(n_voters))

    def votes(self, counts: npt.NDArray[Any], n_voters: int) -> ClassVotes:
        """Return how votes are spread, by class."""
        return ClassVotes(counts)

    def risk_by_side(self, strategy: Any, votes: Any, terms: Terms) -> dict[str, float]:
        """Return nothing: votes are followed without regard to the names of the classes."""
        return {}

    def to_fields(self, solved: Solved, votes: Any) -> dict[str, Any]:
        """Return the fields of a file."""
        return {"strategy": {"kind": "plurality", **solved.strategy.to_fields()}}

    def from_fields(self, fields: Fields, forest: Any) -> Kept:
        """Check what `to_fields` gave, alone and against the forest."""
        strategy = PluralityStrategy.from_fields(fields.section("strategy"))
        check_same_voters(fields, "strategy", strategy.n_voters, forest)
        if strategy.lattice.n_classes != min(forest.n_classes, forest.n_trees):
            raise fields.error("strategy", f"is not for the {forest.n_classes} classes of the forest")
        terms = read_terms(fields.section("problem"), forest.n_trees, forest.n_classes)
        return Kept(Solved(strategy, None, float(forest.n_trees)), terms, None)


def two_or_many(scheme: Scheme) -> TwoClassVotes | ManyClassVotes:
    """Return how votes are counted: "hard" for two classes, "plurality" for any number of them."""
    return ManyClassVotes() if scheme == "plurality" else TwoClassVotes()

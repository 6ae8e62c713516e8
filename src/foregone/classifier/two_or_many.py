"""Differences between counting votes of two classes and of many.

For two classes the votes of a row are the number of yes votes, and the solution is optimal. For many they are
one number for each class, and the strategy also breaks ties.
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

# Factors by which limits are lowered until the calibration rows keep theirs, and limits by class are raised.
LOWERED, RAISED = 0.97 ** np.arange(1, 100), 1.1 ** np.arange(1, 30)


class Solved(NamedTuple):
    """A strategy, its solution if known, and the mean number of votes asked."""

    strategy: StoppingStrategy | PluralityStrategy
    solution: Solution | PluralitySolution | None
    expected_votes: float


class Kept(NamedTuple):
    """The content of a file: the strategy, the terms, and the distribution of votes if known."""

    solved: Solved
    terms: Terms
    votes: Any


class SeenVotes(Protocol):
    """Rows with votes."""

    @property
    def counts(self) -> Any:
        """Votes of all voters."""

    @property
    def losses(self) -> RowLosses:
        """The loss of answers that differ from the full vote."""


class TwoClassVotes:
    """Counting of votes of two classes."""

    forest = PackedForest

    def step(self, n_voters: int) -> float:
        """Return the factor between rungs of a ladder; larger if solving is slow."""
        return 1.05 if n_voters <= 300 else 1.15 if n_voters <= 1_000 else 1.5

    def terms(self, settings: Settings, classes: Labels, n_voters: int) -> Terms:
        """Return the terms to solve for. Raises InvalidInputError for settings that do not apply here."""
        return settings.for_two_classes(classes, n_voters)

    def counts(self, said: npt.NDArray[Any], n_classes: int) -> npt.NDArray[np.int64]:
        """Return the number of yes votes of each row, given the single votes."""
        counts: npt.NDArray[np.int64] = np.asarray(said, np.bool_).sum(axis=1)
        return counts

    def full_answers(self, counts: npt.NDArray[Any], n_voters: int, terms: Terms) -> IntArray:
        """Return the class numbers of the full votes."""
        return np.asarray(counts >= check_quota(terms["quota"], n_voters), np.int64)

    def ask_all(self, n_voters: int, terms: Terms) -> StoppingStrategy | None:
        """Return the strategy that asks all voters: None for a majority."""
        return None if terms["quota"] is None else _ask_all(n_voters, terms["quota"])

    def shares(self, counts: npt.NDArray[Any], n_voters: int) -> FloatArray:
        """Return the share of votes of each class, for each row."""
        yes = counts / n_voters
        return np.stack([1 - yes, yes], axis=1)

    def solve(self, seen: SeenVotes, n_voters: int, terms: Terms, least_value: float = 0.0) -> Solved:
        """Find when to stop, given full votes on rows like those to come.

        Parameters
        ----------
        seen : SeenVotes
            The votes, and the losses of disagreements.
        n_voters : int
            Number of voters.
        terms : Terms
            The limits and other terms.
        least_value : float
            The least assumed loss of a disagreement.
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
        """Find when to stop such that the loss on these rows keeps the limits.

        The problem is solved for values that are smoothed over numbers of votes and count losses only. So its
        limits are lowered until the rows themselves keep theirs. With a limit for each class, gains offset
        much of the loss, so its limits are raised as long as the rows keep theirs.
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
        """Return a function from the number of a rung to the optimum for its share of the limits, cached.

        Learning rows may be few, so each limit is solved at a confidence of one half, and disagreements
        without an observed loss get a small one. The guarantee does not depend on this.
        """
        limits = Limits.of(terms["max_disagreement"])

        @cache
        def rung(number: int) -> Solved:
            nominal = limits.scaled(float(boldness[number])).given
            bold: Terms = {**terms, "max_disagreement": nominal, "confidence": 0.5}
            return self.solve(learning, n_voters, bold, LEAST_VALUE)

        return rung

    def curtailed(self, n_voters: int, n_classes: int, terms: Terms) -> Solved:
        """Stop only if the rest cannot change the answer; the mean number asked is not known."""
        strategy = curtailment(n_voters, looks=terms["looks"], quota=terms["quota"])
        return Solved(strategy, None, float(n_voters))

    def _solved(self, solution: Solution) -> Solved:
        mean = solution.evaluation.mean(solution.votes)
        return Solved(solution.strategy, solution, mean.expected_votes)

    def votes(self, counts: npt.NDArray[Any], n_voters: int) -> VoteDistribution:
        """Return the distribution of votes."""
        return VoteDistribution.from_yes_counts(counts, n_voters)

    def risk_by_side(self, strategy: Any, votes: Any, terms: Terms) -> dict[str, float]:
        """Return the risk that limits by class would bound, for any strategy.

        Among rows with this full vote: the mean disagreement for minimean, with a confidence the worst-case
        mean over all distributions consistent with the data; the worst for the other criteria, and for a
        class without rows.
        """
        each: SolverTerms = {**solver_terms(terms), "max_disagreement": Limits.for_each(1.0).given}
        problem = Problem.check(votes_or_n_voters=votes, **each)
        disagreement = evaluate(strategy).disagreement
        return {str(budget.side): budget.risk(disagreement) for budget in problem.budgets}

    def to_fields(self, solved: Solved, votes: Any) -> dict[str, Any]:
        """Return the fields of a file: a strategy alone if it has no solution."""
        counts = None if votes is None else np.rint(votes.probabilities * votes.n_observations).astype(int)
        return {
            "solution": None if solved.solution is None else solved.solution.to_fields(),
            "strategy": None
            if solved.solution is not None
            else {"kind": StoppingStrategy.KIND, **solved.strategy.to_fields()},
            "votes": None if counts is None else counts.tolist(),
        }

    def from_fields(self, fields: Fields, forest: Any) -> Kept:
        """Make it from the fields of a file, with checks against the forest."""
        if "solution" in fields:
            solution = Solution.from_fields(fields.section("solution"))
            check_same_voters(fields, "solution", solution.n_voters, forest)
            terms = terms_of(solution)
            if "expected_votes" in fields:  # read elsewhere
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
                raise fields.error("votes", "must contain the number of rows for each number of yes votes")
            votes = VoteDistribution.from_counts(counts)
        # In files from before certification, only the solution contains the terms.
        if "problem" in fields or terms is None:
            terms = read_terms(fields.section("problem"), forest.n_trees, 2)
        return Kept(solved, terms, votes)


@cache
def _ask_all(n_voters: int, quota: int) -> StoppingStrategy:
    """Return a cached strategy that asks all voters, so that a forest prepares for it once."""
    return StoppingStrategy.ask_all(n_voters, quota)


class ManyClassVotes:
    """Counting of votes of any number of classes, with the methods of `TwoClassVotes`."""

    forest = PluralityForest

    def step(self, n_voters: int) -> float:
        """Return the factor between rungs of a ladder."""
        return 1.15

    def terms(self, settings: Settings, classes: Labels, n_voters: int) -> Terms:
        """Return the terms to solve for. Raises InvalidInputError for settings that do not apply here."""
        n_classes = len(classes)
        terms = settings.for_one_limit(classes, n_voters)
        if settings.looks is not None:
            raise InvalidInputError(
                f"looks is not supported for counted votes of more than two classes, got {n_classes} "
                "classes: use looks=None"
            )
        if settings.answer != "majority":
            raise InvalidInputError(
                f"answer={settings.answer!r} needs exactly 2 classes, got {n_classes}: use "
                'answer="majority", which answers the leader'
            )
        lattice_of(n_voters, n_classes)  # raises if it is too large
        return terms

    def counts(self, said: npt.NDArray[Any], n_classes: int) -> npt.NDArray[np.int64]:
        """Return the number of votes for each class, for each row, given the single votes."""
        return np.stack([np.count_nonzero(said == number, axis=1) for number in range(n_classes)], axis=1)

    def full_answers(self, counts: npt.NDArray[Any], n_voters: int, terms: Terms) -> IntArray:
        """Return the class numbers of the full votes; in a tie, the first class."""
        return np.asarray(counts.argmax(axis=1), np.int64)

    def ask_all(self, n_voters: int, terms: Terms) -> None:
        """Return the strategy that asks all voters: None."""
        return

    def shares(self, counts: npt.NDArray[Any], n_voters: int) -> FloatArray:
        """Return the share of votes of each class, for each row."""
        return counts / n_voters

    def solve(self, seen: SeenVotes, n_voters: int, terms: Terms) -> Solved:
        """Find when to stop, given full votes on rows like those to come."""
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
        """Return a function from the number of a rung to a strategy for its share of the limit."""
        rungs = ladder_with_ties(
            learning.counts, Limits.of(terms["max_disagreement"]).loosest, n_voters, boldness
        )
        known = [next(rungs)]

        def rung(number: int) -> Solved:
            known.extend(islice(rungs, max(number + 1 - len(known), 0)))
            return Solved(known[min(number, len(known) - 1)], None, float(n_voters))

        return rung

    def curtailed(self, n_voters: int, n_classes: int, terms: Terms) -> Solved:
        """Stop only if the rest cannot change the answer; the mean number asked is not known."""
        strategy = settle_ties(plurality_curtailment(n_voters, min(n_classes, n_voters)))
        return Solved(strategy, None, float(n_voters))

    def votes(self, counts: npt.NDArray[Any], n_voters: int) -> ClassVotes:
        """Return the distribution of votes by class."""
        return ClassVotes(counts)

    def risk_by_side(self, strategy: Any, votes: Any, terms: Terms) -> dict[str, float]:
        """Return an empty dict: the strategy treats all classes alike."""
        return {}

    def to_fields(self, solved: Solved, votes: Any) -> dict[str, Any]:
        """Return the fields of a file."""
        return {"strategy": {"kind": "plurality", **solved.strategy.to_fields()}}

    def from_fields(self, fields: Fields, forest: Any) -> Kept:
        """Make it from the fields of a file, with checks against the forest."""
        strategy = PluralityStrategy.from_fields(fields.section("strategy"))
        check_same_voters(fields, "strategy", strategy.n_voters, forest)
        if strategy.lattice.n_classes != min(forest.n_classes, forest.n_trees):
            raise fields.error("strategy", f"is not for the {forest.n_classes} classes of the forest")
        terms = read_terms(fields.section("problem"), forest.n_trees, forest.n_classes)
        return Kept(Solved(strategy, None, float(forest.n_trees)), terms, None)


def two_or_many(scheme: Scheme) -> TwoClassVotes | ManyClassVotes:
    """Return how votes are counted: "hard" for two classes, "plurality" for any number of classes."""
    return ManyClassVotes() if scheme == "plurality" else TwoClassVotes()

"""LabelledLimits: limits on the loss of accuracy, for votes between two answers with known true answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foregone.certifying import Judged, Parts, RowLosses
from foregone.labelled_votes import LabelledVotes
from foregone.solving import Solution, solve
from foregone.solving.labelled_program import BOLD, CAREFUL, LEARNING_SHARE, LEAST_VALUE, solve_labelled
from foregone.strategy.evaluation import Evaluation
from foregone.strategy.limits import Limits, MaxDisagreement, as_given
from foregone.strategy.thresholds import check_quota

__all__ = ["LabelledLimits"]

HALVINGS = 7


@dataclass(frozen=True, eq=False)
class LabelledLimits:
    """Solve limits on the loss of accuracy, and compute the accuracy that strategies lose.

    Attributes
    ----------
    labelled : LabelledVotes
        The votes, with the true answers.
    terms : dict
        Looks, answer and quota, as arguments of `foregone.solve`.
    """

    labelled: LabelledVotes
    terms: dict[str, Any]

    @property
    def quota(self) -> int:
        """Smallest number of yes votes for which the full vote is yes."""
        return check_quota(self.terms["quota"], self.labelled.n_voters)

    def solve(self, limits: Limits) -> Solution:
        """Return the optimum if the labelled inputs are the true distribution."""
        return solve_labelled(self.labelled, limits, **self.terms)

    def guaranteed(self, solution: Solution, limits: Limits) -> MaxDisagreement:
        """Return the largest loss of a solution for these limits; for each class as a share of its inputs."""
        if not limits.by_answer:
            return solution.disagreement
        lost, solved_for = Limits.of(solution.disagreement), Limits.of(solution.max_disagreement)
        return as_given(
            {
                side: lost[side] * limit / solved_for[side] if solved_for[side] else 0.0
                for side, limit in limits
            }
        )

    def foresee(self, limits: Limits, confidence: float) -> Solution:
        """Return a strategy about as bold as this number of inputs can certify.

        Like that of a classifier, it is learned from a fifth of the inputs and evaluated on the others,
        averaged over random orders of the voters. Bisection finds the boldness, assuming that losses increase
        with it.
        """
        learning, others = self._parts
        n_yes, truth = _inputs(others)
        if_differs = RowLosses("accuracy", truth).if_differs(n_yes >= self.quota)
        parts = Parts.losing(limits, RowLosses("accuracy", truth), truth)

        def tried(boldness: float) -> tuple[Solution, tuple[Judged, ...]]:
            how = {"confidence": 0.5, "least_value": LEAST_VALUE, **self.terms}
            found = solve_labelled(learning, limits.scaled(boldness), **how)
            risk = found.evaluation.disagreement
            return found, parts.judge(if_differs * risk[n_yes], confidence, float(risk.max()))

        # A strategy that keeps the limit for every single input needs no certification.
        best = solve("minimixed", self.labelled.votes, min(limit for _, limit in limits), **self.terms)
        low, high = np.log(CAREFUL), np.log(BOLD)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            found, judged = tried(float(np.exp(middle)))
            if _are_kept(judged):
                best, low = found, middle
            else:
                high = middle
        return best

    @cached_property
    def _parts(self) -> tuple[LabelledVotes, LabelledVotes]:
        """The inputs to learn from, and the others; a random split with a fixed seed."""
        rng = np.random.default_rng(0)
        counts = np.concatenate([self.labelled.no, self.labelled.yes])
        n_learning = max(round(LEARNING_SHARE * int(counts.sum())), 1)
        learning = rng.multivariate_hypergeometric(counts, n_learning, method="marginals")
        size = self.labelled.n_voters + 1
        return tuple(  # type: ignore[return-value]  # two of them
            LabelledVotes(part[:size], part[size:]) for part in (learning, counts - learning)
        )

    def losses(self, evaluation: Evaluation) -> dict[str, float | None]:
        """Return the loss of accuracy on "all" inputs, and on truly "no" and "yes" ones; None if none."""
        lost = self.labelled.losses(evaluation.disagreement, quota=self.terms["quota"])
        return {side: float(lost[side]) if side in lost else None for side in ("all", "no", "yes")}


def _are_kept(judged: tuple[Judged, ...]) -> bool:
    return all(part.is_kept for part in judged)


def _inputs(labelled: LabelledVotes) -> tuple[Any, Any]:
    """Return the number of yes votes and the true answer of each input."""
    n_yes, size = np.arange(labelled.n_voters + 1), (int(labelled.no.sum()), int(labelled.yes.sum()))
    counts = np.concatenate([np.repeat(n_yes, labelled.no), np.repeat(n_yes, labelled.yes)])
    return counts, np.repeat(np.array([0, 1]), size)

"""Limits on the loss of accuracy, solved for votes between two answers whose true answers are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foregone.certifying import Parts, RowLosses
from foregone.checks import FloatArray
from foregone.labelled_votes import LabelledVotes
from foregone.solving import Solution, solve
from foregone.strategy.evaluation import Evaluation
from foregone.strategy.limits import Limits, MaxDisagreement, as_given
from foregone.strategy.thresholds import check_quota

__all__ = ["LabelledLimits"]

LEARNING_SHARE = 0.2
# What is solved for, as shares of the limit: the usual one, the factor to the next, and how many either way.
USUAL, STEP, MOST_RUNGS = 0.5, 1.2, 16
LEAST_VALUE = 0.1  # of a disagreement that seems to lose nothing, by the few inputs that are learned from


@dataclass(frozen=True, eq=False)
class LabelledLimits:
    """How limits on the loss of accuracy are solved, and what strategies then lose.

    Attributes
    ----------
    labelled : LabelledVotes
        The votes, and what is true.
    terms : dict
        Looks, answer and quota, as `foregone.solve` takes them.
    """

    labelled: LabelledVotes
    terms: dict[str, Any]

    @property
    def quota(self) -> int:
        """The fewest yes votes with which the full vote is yes."""
        return check_quota(self.terms["quota"], self.labelled.n_voters)

    def solve(self, limits: Limits) -> Solution:
        """Return the optimum, the labelled inputs being taken for the truth."""
        return _solve(self.labelled, limits, self.terms)

    def guaranteed(self, solution: Solution, limits: Limits) -> MaxDisagreement:
        """Return what a solution for these limits loses at most; of each class as a share of its inputs."""
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
        """Return a strategy about as bold as can be certified with so many inputs.

        It is learned from a fifth of the inputs and judged by the others, averaged over random orders of the
        voters, as a classifier's would be. How bold it may be is searched for as if losses only grew with it.
        """
        learning, others = self._parts
        n_yes, truth = _inputs(others)
        if_differs = RowLosses("accuracy", truth).if_differs(n_yes >= self.quota)
        parts = Parts.of(limits, truth == 1, may_gain=True)

        kept: dict[int, Solution] = {}

        def is_kept(rung: int) -> bool:
            found = _solve(learning, limits.scaled(USUAL * STEP**rung), self.terms, 0.5, LEAST_VALUE)
            risk = found.evaluation.disagreement
            judged = parts.judge(if_differs * risk[n_yes], confidence, float(risk.max()))
            if all(part.is_kept for part in judged):
                kept[rung] = found
            return rung in kept

        last = _last_kept(is_kept)
        if last is None:  # what keeps the limit for every single input needs none to certify it
            return solve("minimixed", self.labelled.votes, min(limit for _, limit in limits), **self.terms)
        return kept[last]

    @cached_property
    def _parts(self) -> tuple[LabelledVotes, LabelledVotes]:
        """The inputs to learn from, and the others; drawn at random, but the same every time."""
        rng = np.random.default_rng(0)
        counts = np.concatenate([self.labelled.no, self.labelled.yes])
        n_learning = max(round(LEARNING_SHARE * int(counts.sum())), 1)
        learning = rng.multivariate_hypergeometric(counts, n_learning, method="marginals")
        size = self.labelled.n_voters + 1
        return tuple(  # type: ignore[return-value]  # two of them
            LabelledVotes(part[:size], part[size:]) for part in (learning, counts - learning)
        )

    def losses(self, evaluation: Evaluation) -> dict[str, float | None]:
        """Return the accuracy that "all" inputs lose, and those truly "no" and "yes"; None without any."""
        lost = self.labelled.losses(evaluation.disagreement, quota=self.terms["quota"])
        return {side: float(lost[side]) if side in lost else None for side in ("all", "no", "yes")}


def _last_kept(is_kept: Callable[[int], bool]) -> int | None:
    """Return the last rung that is kept, as if all before it were and none after; None for none.

    The search goes from the usual one in steps that double, and then halves.

    Examples
    --------
    >>> [_last_kept(lambda rung: rung <= last) for last in (-99, -5, 0, 3, 99)]
    [None, -5, 0, 3, 16]
    """
    step = 1
    if is_kept(0):
        good, bad = 0, step
        while bad < MOST_RUNGS and is_kept(bad):
            good, step = bad, 2 * step
            bad = good + step
        bad = min(bad, MOST_RUNGS + 1)
    else:
        bad, good = 0, -step
        while good >= -MOST_RUNGS and not is_kept(good):
            bad, step = good, 2 * step
            good = bad - step
        if good < -MOST_RUNGS:
            return None
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if is_kept(middle) else (good, middle)
    return good


def _solve(
    labelled: LabelledVotes,
    limits: Limits,
    terms: dict[str, Any],
    confidence: float | None = None,
    least_value: float = 0.0,
) -> Solution:
    values: FloatArray
    if limits.by_answer:
        limits, values = labelled.by_class(limits, quota=terms["quota"])
    else:
        values = labelled.values(quota=terms["quota"])
    return solve(
        "minimean",
        labelled.votes,
        limits.given,
        values=np.maximum(values, least_value),
        confidence=confidence,
        **terms,
    )


def _inputs(labelled: LabelledVotes) -> tuple[Any, Any]:
    """Return the number of yes votes and the truth of each input."""
    n_yes, size = np.arange(labelled.n_voters + 1), (int(labelled.no.sum()), int(labelled.yes.sum()))
    counts = np.concatenate([np.repeat(n_yes, labelled.no), np.repeat(n_yes, labelled.yes)])
    return counts, np.repeat(np.array([0, 1]), size)

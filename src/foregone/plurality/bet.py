"""Bet: held-out items that test whether a strategy for many answers keeps a limit, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foregone.certifying import Part
from foregone.checks import FloatArray, IntArray
from foregone.plurality.plurality_evaluation import PluralityEvaluation

__all__ = ["Bet"]


@dataclass(frozen=True, eq=False)
class Bet:
    """Held-out items whose losses bet against a large mean disagreement of a strategy.

    The loss of an item is computed, not sampled: the probability, over random orders of the voters, that its
    answer differs from the full vote. The largest loss over all full votes is known, so losses lie between 0
    and that.

    Attributes
    ----------
    counts : ndarray of int, shape (n_compositions,)
        How many of the items have each full vote.
    first_leader_only : bool
        Whether only the first of several leaders of the full vote is correct, as for ordered classes.

    Examples
    --------
    >>> from foregone.plurality import evaluate_plurality, lattice_of, rules
    >>> lattice = lattice_of(9, 3)
    >>> counts = np.zeros(lattice.n_compositions, np.int64)
    >>> counts[lattice.places_of(np.array([[9, 0, 0], [6, 2, 1]]))] = 400, 100
    >>> evaluation = evaluate_plurality(rules.lead(9, 3, n_classes=3))
    >>> round(evaluation.worst().disagreement, 3), round(Bet(counts).bound(evaluation, 0.95), 4)
    (0.071, 0.0005)
    """

    counts: IntArray
    first_leader_only: bool = False

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    def losses(self, evaluation: PluralityEvaluation) -> FloatArray:
        """Return the loss of an item, for every full vote."""
        return evaluation.disagreement_with_ties if self.first_leader_only else evaluation.disagreement

    def part(self, limit: float) -> Part:
        """Return the items as a part with a limit; its rows are numbers of full votes."""
        return Part("all", None, limit, np.repeat(np.arange(len(self.counts)), self.counts))

    def bound(self, evaluation: PluralityEvaluation, confidence: float) -> float:
        """Return an upper bound on the mean disagreement of a strategy chosen without these items."""
        losses = self.losses(evaluation)
        return self.part(1.0).judge(losses, confidence, float(losses.max())).bound

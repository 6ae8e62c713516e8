"""PluralityProblem: what is minimised, and what is bounded under which distributions."""

from __future__ import annotations

from dataclasses import dataclass

from foregone.plurality.evaluation import PluralityEvaluation
from foregone.plurality.lattice import Lattice
from foregone.plurality.possible import Possible
from foregone.votes import FloatArray

__all__ = ["PluralityProblem"]


@dataclass(frozen=True, eq=False)
class PluralityProblem:
    """Minimise the mean votes, or those of the worst full vote, within a limit on the disagreement.

    Attributes
    ----------
    lattice : Lattice
        The states.
    mean : ndarray of shape (n_compositions,)
        The distribution of the full vote that the mean is over.
    possible : Possible
        The distributions under which the mean disagreement must keep to the limit.
    limit : float
        From 0 to 1.
    minimises_the_worst : bool
        Whether the votes of the worst full vote are minimised.
    """

    lattice: Lattice
    mean: FloatArray
    possible: Possible
    limit: float
    minimises_the_worst: bool = False

    def cost(self, evaluation: PluralityEvaluation) -> float:
        """Return what is minimised."""
        votes = evaluation.expected_votes
        return float(votes.max() if self.minimises_the_worst else self.mean @ votes)

    def risk(self, evaluation: PluralityEvaluation) -> float:
        """Return what the limit is for."""
        disagreement = evaluation.disagreement
        return min(float(self.possible.worst_for(disagreement) @ disagreement), 1.0)

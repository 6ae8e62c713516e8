"""LabelledVotes: votes on inputs with a known true answer, and the loss of a disagreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.certifying.losses import CheckedCosts, check_costs
from foregone.checks import FloatArray, IntArray, as_numbers
from foregone.errors import InvalidInputError
from foregone.strategy.limits import Limits
from foregone.strategy.thresholds import check_quota
from foregone.votes import VoteDistribution

__all__ = ["LabelledVotes"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelledVotes:
    """Counts of the yes votes on labelled inputs, separately for true "no" and true "yes" inputs.

    They turn a limit on the loss of accuracy, or on a rise of costs, into a limit on weighted disagreements:
    a disagreement at a vote that is as often wrong as right loses nothing.

    Attributes
    ----------
    no, yes : ndarray of int, shape (n_voters + 1,)
        Entry n: the number of inputs with that true answer on which n voters said yes.

    Examples
    --------
    >>> from foregone import LabelledVotes, solve
    >>> labelled = LabelledVotes.from_yes_counts([0, 0, 1, 2, 2, 3, 3], [0, 0, 0, 1, 0, 1, 1], n_voters=3)
    >>> labelled.values()
    array([1., 1., 0., 1.])
    >>> round(labelled.accuracy(), 3)
    0.857
    >>> round(solve("minimean", labelled.votes, 0.01, values=labelled.values()).expected_votes, 2)
    1.41
    """

    no: IntArray
    yes: IntArray

    @classmethod
    def from_yes_counts(cls, yes_counts: npt.ArrayLike, truth: npt.ArrayLike, n_voters: int) -> LabelledVotes:
        """Make labelled votes from the yes votes of each input and its true answer (0/1 or bool)."""
        votes = VoteDistribution.from_yes_counts(yes_counts, n_voters)  # checks them
        counts, answers = np.asarray(yes_counts, np.int64), np.asarray(truth)
        if answers.shape != counts.shape:
            raise InvalidInputError(
                f"truth must have one answer for each of the {len(counts):,} inputs, got shape "
                f"{answers.shape}: give a row of 0/1 or bool"
            )
        if not np.isin(answers, (0, 1)).all():
            raise InvalidInputError("truth must be 0/1 or bool, got other values: convert labels to 0 and 1")
        yes = np.bincount(counts[answers.astype(bool)], minlength=votes.n_voters + 1)
        return cls(np.bincount(counts, minlength=votes.n_voters + 1) - yes, yes)

    @classmethod
    def from_counts(cls, no: npt.ArrayLike, yes: npt.ArrayLike) -> LabelledVotes:
        """Make labelled votes from counts: entry n counts the true no (or yes) inputs with n yes votes."""
        counts = [as_numbers(given, name) for given, name in ((no, "no"), (yes, "yes"))]
        for given, name in zip(counts, ("no", "yes"), strict=True):
            if given.ndim != 1 or len(given) < 2 or given.shape != counts[0].shape:
                raise InvalidInputError(
                    f"no and yes must be two rows of n_voters + 1 counts each, got shapes {counts[0].shape} "
                    f"and {counts[1].shape}"
                )
            if not ((given >= 0) & (given % 1 == 0)).all():  # also False for NaN
                raise InvalidInputError(f"{name} must be integers of at least 0")
        if not (counts[0].any() or counts[1].any()):
            raise InvalidInputError("all counts are zero: give at least one observed input")
        return cls(counts[0].astype(np.int64), counts[1].astype(np.int64))

    @property
    def n_voters(self) -> int:
        """Number of voters in the ensemble."""
        return len(self.no) - 1

    @cached_property
    def votes(self) -> VoteDistribution:
        """The distribution of votes over all inputs, regardless of the true answer."""
        return VoteDistribution.from_counts(self.no + self.yes)

    @cached_property
    def chance_of_yes(self) -> FloatArray:
        """The probability that the true answer is yes, for each number of yes votes; it never falls.

        It is the isotonic regression of the truth on the number of yes votes.
        """
        from sklearn.isotonic import isotonic_regression  # takes a while to load

        total = self.no + self.yes
        seen = np.flatnonzero(total)
        fitted = isotonic_regression(self.yes[seen] / total[seen], sample_weight=total[seen].astype(float))
        return np.asarray(np.clip(np.interp(np.arange(self.n_voters + 1), seen, fitted), 0.0, 1.0))

    def values(self, costs: Any = None, *, quota: int | None = None) -> FloatArray:
        """Return the mean loss of a disagreement for each number of yes votes, from 0 to 1.

        It is the share of inputs that a disagreement answers wrongly, minus the share that it answers
        correctly; with ``costs``, the extra cost of the other answer. If the other answer is the better one,
        the loss is 0: gains are estimated from few inputs, and are not offset against losses.

        Parameters
        ----------
        costs : array-like of shape (2, 2), optional
            ``costs[truth][answer]``, no before yes. Values are in units of the largest cost difference
            between two answers: divide the limit by it, too.
        quota : int, optional
            The fewest yes votes with which the full vote is yes; by default a majority.
        """
        matrix = _matrix(costs)
        chance = np.stack([1 - self.chance_of_yes, self.chance_of_yes], axis=1)
        cost_of_no, cost_of_yes = (chance @ matrix).T
        full_yes = np.arange(self.n_voters + 1) >= check_quota(quota, self.n_voters)
        lost = np.where(full_yes, cost_of_no - cost_of_yes, cost_of_yes - cost_of_no)
        return np.asarray(np.clip(lost, 0.0, 1.0))

    def by_class(
        self, limits: Limits | Mapping[str, float], *, quota: int | None = None
    ) -> tuple[Limits, FloatArray]:
        """Return limits and values for `foregone.solve` that limit the accuracy lost within each true class.

        An input of a class loses if the full vote is right and the early answer is wrong. The reverse, a
        gain, is not offset against losses.
        """
        quota = check_quota(quota, self.n_voters)
        full_yes = np.arange(self.n_voters + 1) >= quota
        of_side = {
            "yes": self.votes.probabilities[full_yes].sum(),
            "no": self.votes.probabilities[~full_yes].sum(),
        }
        n_inputs = self.no.sum() + self.yes.sum()
        of_class = {"yes": self.yes.sum() / n_inputs, "no": self.no.sum() / n_inputs}
        scaled = tuple(
            (side, float(min(limit * of_class[side] / of_side[side], 1.0)))
            if limit < 1 and of_side[side] > 0
            else (side, 1.0)
            for side, limit in Limits.of(limits, "limits")
        )
        return Limits(scaled), np.where(full_yes, self.chance_of_yes, 1 - self.chance_of_yes)

    def accuracy(self, *, quota: int | None = None) -> float:
        """Return the share of inputs that the full vote answers correctly."""
        quota = check_quota(quota, self.n_voters)
        return float((self.no[:quota].sum() + self.yes[quota:].sum()) / (self.no.sum() + self.yes.sum()))

    def losses(
        self, disagreement: FloatArray, costs: Any = None, *, quota: int | None = None
    ) -> dict[str, float]:
        """Return the mean loss of accuracy (or rise in cost) for all inputs and for true "yes" and "no" ones.

        Gains are offset against losses. Costs are in units of the largest cost difference between two
        answers. A class without inputs is left out.

        Parameters
        ----------
        disagreement : ndarray of shape (n_voters + 1,)
            The disagreement for each number of yes votes, as in an `Evaluation`.
        costs, quota
            As in `values`.
        """
        matrix = _matrix(costs)
        side = np.where(np.arange(self.n_voters + 1) >= check_quota(quota, self.n_voters), 1.0, -1.0)
        lost = {
            name: (float(counts @ (side * disagreement) * (row[0] - row[1])), int(counts.sum()))
            for name, counts, row in (("no", self.no, matrix[0]), ("yes", self.yes, matrix[1]))
        }
        total = sum(loss for loss, _ in lost.values()) / sum(count for _, count in lost.values())
        return {"all": total, **{name: loss / count for name, (loss, count) in lost.items() if count}}

    def __repr__(self) -> str:
        return f"<LabelledVotes of {self.n_voters} voters, {int(self.no.sum() + self.yes.sum()):,} inputs>"


def _matrix(costs: Any) -> FloatArray:
    """Return the cost matrix in units of its largest difference; by default a wrong answer costs 1."""
    if isinstance(costs, CheckedCosts):
        return costs.matrix
    return check_costs([[0, 1], [1, 0]] if costs is None else costs, 2).matrix

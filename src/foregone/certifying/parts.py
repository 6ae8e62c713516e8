"""Parts: the rows that have a limit in common, and whether the losses on them keep it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from foregone.certifying.bounds import betting_bound, clopper_pearson_bound, rows_needed
from foregone.certifying.losses import RowLosses
from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.errors import InvalidInputError
from foregone.strategy.limits import Limits, as_given

__all__ = ["Judged", "Part", "Parts", "RowLabels", "bounds_by_side", "by_part", "confidence_for_all"]

MISSING = ("None", "nan", "NaN", "NaT", "<NA>")


@dataclass(frozen=True, eq=False)
class RowLabels:
    """What is known about rows before anyone is asked: which group each is in, and which cluster.

    Attributes
    ----------
    groups : ndarray of int, shape (n_rows,), or None
        Numbers of groups. Each group has to keep the limits by itself.
    clusters : ndarray of int, shape (n_rows,), or None
        Numbers of clusters. Rows of one cluster depend on each other, and count as one observation.
    names : tuple
        Of the groups; none of their rows may be among these rows.

    Examples
    --------
    >>> labels = RowLabels.of(["b", "a", "b"], None, 3)
    >>> labels.names, labels.groups
    (('a', 'b'), array([1, 0, 1]))
    """

    groups: IntArray | None = None
    clusters: IntArray | None = None
    names: tuple[Any, ...] = ()

    @classmethod
    def of(cls, groups: Any, clusters: Any, n_rows: int) -> RowLabels:
        """Check what a user gave for each of ``n_rows``; None for what there is not."""
        names, group_of = _numbered(groups, n_rows, "groups")
        return cls(group_of, _numbered(clusters, n_rows, "clusters")[1], names)

    def take(self, rows: IntArray) -> RowLabels:
        """Return those of some rows."""
        groups, clusters = (
            None if labels is None else labels[rows] for labels in (self.groups, self.clusters)
        )
        return RowLabels(groups, clusters, self.names)

    def split(
        self, n_rows: int, learning_share: float, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Divide rows at random into those to learn from and those to certify with; clusters stay together.

        Examples
        --------
        >>> learning, certifying = RowLabels().split(10, 0.2, np.random.default_rng(0))
        >>> len(learning), len(certifying)
        (2, 8)
        """
        of_row = np.arange(n_rows) if self.clusters is None else self.clusters
        n_clusters = int(of_row.max(initial=-1)) + 1
        drawn = np.zeros(n_clusters, np.bool_)
        drawn[rng.permutation(n_clusters)[: int(n_clusters * learning_share)]] = True
        return np.flatnonzero(drawn[of_row]), np.flatnonzero(~drawn[of_row])

    def __bool__(self) -> bool:
        """Whether there are groups or clusters."""
        return self.groups is not None or self.clusters is not None


def _numbered(labels: Any, n_rows: int, name: str) -> tuple[tuple[Any, ...], IntArray | None]:
    """Return all labels, and the number of each row's; a missing one would be in no group."""
    if labels is None:
        return (), None
    try:
        given = np.asarray(labels)
        if given.dtype.kind == "O":
            given = np.array([str(label) for label in given.tolist()])
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} must have one label for each of the {n_rows:,} rows, got shape {given.shape}"
        )
    names, numbers = np.unique(given, return_inverse=True)
    if any(str(label) in MISSING for label in names.tolist()):
        raise InvalidInputError(f"{name} has missing labels: give every row one, such as 'unknown'")
    return tuple(names.tolist()), numbers.astype(np.int64)


class Judged(NamedTuple):
    """What the observations of a part say.

    Attributes
    ----------
    side : {"all", "yes", "no"}
        Which answers of everyone its rows have.
    group : object or None
        Which group its rows are of; None if there are no groups.
    limit : float
        The largest mean loss that is allowed.
    n_observations : int
        How many there are: rows, or clusters of rows.
    mean_loss : float
        Their mean; of rows, the share that was answered differently from everyone.
    bound : float
        Upper bound on the mean loss of new ones.
    """

    side: str
    group: Any
    limit: float
    n_observations: int
    mean_loss: float
    bound: float

    @property
    def is_kept(self) -> bool:
        """Whether the limit is kept, as far as these observations can tell."""
        return self.bound <= self.limit

    def times(self, unit: float) -> Judged:
        """Return it with a loss of 1 counted as ``unit``."""
        return self._replace(
            limit=self.limit * unit, mean_loss=self.mean_loss * unit, bound=self.bound * unit
        )


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that have a limit in common.

    Attributes
    ----------
    side : {"all", "yes", "no"}
        Rows of all answers, or those that everyone together answers like this.
    group : object or None
        The group its rows are of; None if there are no groups.
    limit : float
        The largest mean loss that is allowed.
    rows : ndarray of int
        Which rows.
    clusters : ndarray of int or None
        The number of the cluster that each of these rows is in, from 0 on; None if every row is alone.
    may_gain : bool
        Whether losses are numbers that may be negative.
    by_truth : bool
        Whether a side is of the rows that are truly of it.
    """

    side: str
    group: Any
    limit: float
    rows: IntArray
    clusters: IntArray | None = None
    may_gain: bool = False
    by_truth: bool = False

    @property
    def n_observations(self) -> int:
        """Number of rows, or of clusters."""
        return len(self.rows) if self.clusters is None else int(self.clusters.max(initial=-1)) + 1

    def needed(self, confidence: float) -> int:
        """Return how many observations it takes to certify it, if none of them loses anything."""
        return rows_needed(self.limit, confidence, may_gain=self.may_gain)

    def judge(
        self, losses: BoolArray | FloatArray, confidence: float, most: float = 1.0, times: float = 1.0
    ) -> Judged:
        """Return what the losses of its rows say, given those of all rows.

        Losses that are true or false are counted (Clopper and Pearson), unless rows are in clusters; others,
        of at most ``most``, are bet on. Which of the two does not depend on what they show. To foresee what
        more rows would say, each counts ``times`` as often.
        """
        own = losses[self.rows]
        if own.dtype == np.bool_ and self.clusters is None:
            n_wrong = int(np.count_nonzero(own))
            bound = clopper_pearson_bound(round(times * n_wrong), round(times * len(own)), confidence)
        else:
            own = self._observed(own.astype(np.float64))
            bound = 0.0
            if most > 0:
                bound = most * betting_bound(own / most, confidence, may_gain=self.may_gain, times=times)
        mean = float(own.mean()) if len(own) else 0.0
        return Judged(self.side, self.group, self.limit, len(own), mean, bound)

    def _observed(self, own: FloatArray) -> FloatArray:
        """Return the loss of each observation: of a cluster, the mean over its rows."""
        if self.clusters is None:
            return own
        sizes = np.bincount(self.clusters, minlength=self.n_observations)
        return np.asarray(np.bincount(self.clusters, own, self.n_observations) / sizes)

    def __str__(self) -> str:
        """Return what its rows are, in words."""
        whose = "true" if self.by_truth else "full"
        side = "" if self.side == "all" else f' whose {whose} answer is "{self.side}"'
        group = "" if self.group is None else f" of group {self.group!r}"
        return f"{'rows' if self.clusters is None else 'clusters with rows'}{group}{side}"


@dataclass(frozen=True, eq=False)
class Parts:
    """All parts of some rows; every one of them has to keep its limit."""

    parts: tuple[Part, ...]

    @classmethod
    def of(
        cls,
        limits: Limits,
        full_yes: BoolArray,
        labels: RowLabels | None = None,
        *,
        may_gain: bool = False,
        by_truth: bool = False,
    ) -> Parts:
        """Divide rows by the answers that have limits of their own, and by group.

        Parameters
        ----------
        limits : Limits
            One for all rows, or one for rows that everyone together answers with "yes" and one for "no".
        full_yes : ndarray of bool, shape (n_rows,)
            Which rows are of class "yes"; only looked at if limits differ by class.
        labels : RowLabels, optional
            Groups and clusters of the rows.
        may_gain, by_truth : bool
            Whether losses are numbers that may be negative, and whether classes are true ones.
        """
        labels = labels or RowLabels()
        of_group: list[tuple[Any, IntArray]] = [(None, np.arange(len(full_yes)))]
        if labels.groups is not None:
            numbers = labels.groups
            of_group = [(name, np.flatnonzero(numbers == place)) for place, name in enumerate(labels.names)]
        found = []
        for group, rows in of_group:
            for side, limit in limits:
                own = rows if side == "all" else rows[full_yes[rows] == (side == "yes")]
                clusters = labels.clusters
                if clusters is not None:
                    clusters = np.unique(clusters[own], return_inverse=True)[1].astype(np.int64)
                found.append(Part(side, group, limit, own, clusters, may_gain, by_truth))
        return cls(tuple(found))

    @classmethod
    def losing(cls, limits: Limits, losses: RowLosses, full: Any, labels: RowLabels | None = None) -> Parts:
        """Divide rows with limits on these losses, given the answers of everyone."""
        is_yes, by_truth = losses.in_class_yes(full), losses.truth is not None
        return cls.of(limits, is_yes, labels, may_gain=losses.may_gain, by_truth=by_truth)

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def judge(
        self, losses: BoolArray | FloatArray, confidence: float, most: float = 1.0, times: float = 1.0
    ) -> tuple[Judged, ...]:
        """Return what the losses of all rows say about each part, each at the full confidence."""
        return tuple(part.judge(losses, confidence, most, times) for part in self.parts)

    def too_few(self, confidence: float, times: float = 1.0) -> Part | None:
        """Return the first part with fewer than ``times`` the rows it takes to certify it without a loss."""
        for part in self.parts:
            if part.n_observations < times * part.needed(confidence):
                return part
        return None


def bounds_by_side(
    losses: BoolArray, full_yes: BoolArray, labels: RowLabels, confidence: float, n_rungs: int
) -> dict[str, float]:
    """Return bounds on the mean loss of "yes" and "no" that hold together, whichever rung was chosen.

    Which one was depends on the same rows, so each bound is made sure enough for all ``n_rungs`` that there
    were to choose from.
    """
    sides = Parts.of(Limits.for_each(1.0), full_yes, RowLabels(clusters=labels.clusters))
    judged = sides.judge(losses, confidence_for_all(confidence, n_rungs))
    return {part.side: part.bound for part in judged}


def confidence_for_all(confidence: float, n_rungs: int) -> float:
    """Return the confidence at which bounds of both answers hold together for this many strategies."""
    return 1 - (1 - confidence) / (2 * n_rungs)


def by_part(values: Mapping[tuple[str, Any], float]) -> float | dict[Any, float]:
    """Return values for sides and groups as users get them: a number, or a dict by side, group, or both.

    Examples
    --------
    >>> by_part({("yes", None): 0.008, ("no", None): 0.3}), by_part({("all", None): 0.01})
    ({'yes': 0.008, 'no': 0.3}, 0.01)
    """
    sides, groups = ({part[place] for part in values} for place in (0, 1))
    if groups != {None} and sides != {"all"}:
        return dict(values)
    if groups != {None}:
        return {group: value for (_, group), value in values.items()}
    return as_given({side: value for (side, _), value in values.items()})

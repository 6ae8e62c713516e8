"""Parts: groups of rows that share a limit, and the test whether their losses keep it."""

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
    """The group and the cluster of each row, known before any voter is asked.

    Attributes
    ----------
    groups : ndarray of int, shape (n_rows,), or None
        Group numbers. The limits apply to each group separately.
    clusters : ndarray of int, shape (n_rows,), or None
        Cluster numbers. Rows of one cluster are dependent, and count as one observation.
    names : tuple
        Names of the groups; a group may have no row here.

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
        """Check the labels that a user gave for ``n_rows`` rows; None for no groups or no clusters."""
        names, group_of = _numbered(groups, n_rows, "groups")
        return cls(group_of, _numbered(clusters, n_rows, "clusters")[1], names)

    def take(self, rows: IntArray) -> RowLabels:
        """Return the labels of some rows."""
        groups, clusters = (
            None if labels is None else labels[rows] for labels in (self.groups, self.clusters)
        )
        return RowLabels(groups, clusters, self.names)

    def split(
        self, n_rows: int, learning_share: float, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Split rows at random into learning and certification rows; clusters stay together.

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
    """Return all labels and the number of each row's label. Raises InvalidInputError if one is missing."""
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
            f"{name} must have one label for each of the {n_rows:,} rows, got shape {given.shape}: give a "
            "row of labels"
        )
    names, numbers = np.unique(given, return_inverse=True)
    if any(str(label) in MISSING for label in names.tolist()):
        raise InvalidInputError(
            f"{name} must have a label for every row, got missing ones: use a label such as 'unknown'"
        )
    return tuple(names.tolist()), numbers.astype(np.int64)


class Judged(NamedTuple):
    """The test result of one part.

    Attributes
    ----------
    side : {"all", "yes", "no"}
        The full vote of its rows.
    group : object or None
        The group of its rows; None if there are no groups.
    limit : float
        The largest mean loss that is allowed.
    n_observations : int
        Number of rows, or of clusters of rows.
    mean_loss : float
        Their mean loss; for disagreement, the share of rows whose answer differs from the full vote.
    bound : float
        Upper bound on the mean loss of new rows.
    """

    side: str
    group: Any
    limit: float
    n_observations: int
    mean_loss: float
    bound: float

    @property
    def is_kept(self) -> bool:
        """Whether the upper bound is within the limit."""
        return self.bound <= self.limit

    def times(self, unit: float) -> Judged:
        """Return the result in units in which a loss of 1 is ``unit``."""
        return self._replace(
            limit=self.limit * unit, mean_loss=self.mean_loss * unit, bound=self.bound * unit
        )


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that share a limit.

    Attributes
    ----------
    side : {"all", "yes", "no"}
        All rows, or those with this full vote.
    group : object or None
        The group of its rows; None if there are no groups.
    limit : float
        The largest mean loss that is allowed.
    rows : ndarray of int
        The numbers of its rows.
    clusters : ndarray of int or None
        The cluster number of each of these rows, from 0; None without clusters.
    may_gain : bool
        Whether losses may be negative.
    by_truth : bool
        Whether sides are by true class instead of full vote.
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
        """Return how many observations are needed to certify this part if none of them has a loss."""
        return rows_needed(self.limit, confidence, may_gain=self.may_gain)

    def judge(
        self, losses: BoolArray | FloatArray, confidence: float, most: float = 1.0, times: float = 1.0
    ) -> Judged:
        """Return the test result of this part, given the losses of all rows.

        Boolean losses are counted (Clopper-Pearson), unless rows are in clusters; other losses, of at most
        ``most``, are bounded by betting. The choice does not depend on the values of the losses. To forecast
        the result of more rows, each row counts ``times`` times.
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
        """Return a description of its rows for messages."""
        whose = "true" if self.by_truth else "full"
        side = "" if self.side == "all" else f' whose {whose} answer is "{self.side}"'
        group = "" if self.group is None else f" of group {self.group!r}"
        return f"{'rows' if self.clusters is None else 'clusters with rows'}{group}{side}"


@dataclass(frozen=True, eq=False)
class Parts:
    """All parts of some rows; every part must keep its limit."""

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
        """Divide rows by group, and by class if each class has its own limit.

        Parameters
        ----------
        limits : Limits
            One limit for all rows, or one for rows with a full vote of "yes" and one for "no".
        full_yes : ndarray of bool, shape (n_rows,)
            Which rows are of class "yes"; only used if limits differ by class.
        labels : RowLabels, optional
            Groups and clusters of the rows.
        may_gain, by_truth : bool
            Whether losses may be negative, and whether classes are true classes.
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
        """Divide rows for limits on these losses, given the full votes."""
        is_yes, by_truth = losses.in_class_yes(full), losses.truth is not None
        return cls.of(limits, is_yes, labels, may_gain=losses.may_gain, by_truth=by_truth)

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def judge(
        self, losses: BoolArray | FloatArray, confidence: float, most: float = 1.0, times: float = 1.0
    ) -> tuple[Judged, ...]:
        """Return the test result of each part, each at the full confidence."""
        return tuple(part.judge(losses, confidence, most, times) for part in self.parts)

    def too_few(self, confidence: float, times: float = 1.0) -> Part | None:
        """Return the first part with fewer than ``times`` the rows needed to certify it without a loss."""
        for part in self.parts:
            if part.n_observations < times * part.needed(confidence):
                return part
        return None


def bounds_by_side(
    losses: BoolArray, full_yes: BoolArray, labels: RowLabels, confidence: float, n_rungs: int
) -> dict[str, float]:
    """Return simultaneous bounds on the mean loss of "yes" and "no", valid whichever rung was chosen.

    The choice depends on the same rows, so the confidence of each bound is corrected for all ``n_rungs``
    candidates.
    """
    sides = Parts.of(Limits.for_each(1.0), full_yes, RowLabels(clusters=labels.clusters))
    judged = sides.judge(losses, confidence_for_all(confidence, n_rungs))
    return {part.side: part.bound for part in judged}


def confidence_for_all(confidence: float, n_rungs: int) -> float:
    """Return the confidence at which the bounds of both answers hold jointly for this many strategies."""
    return 1 - (1 - confidence) / (2 * n_rungs)


def by_part(values: Mapping[tuple[str, Any], float]) -> float | dict[Any, float]:
    """Return values for sides and groups in user form: a number, or a dict by side, group, or both.

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

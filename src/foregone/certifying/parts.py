"""Parts: the rows that have a limit in common, and whether the losses on them keep it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.certifying.bounds import betting_bound, clopper_pearson_bound, rows_needed
from foregone.checks import FloatArray, IntArray
from foregone.errors import InvalidInputError
from foregone.strategy.limits import Limits

__all__ = ["Judged", "Part", "Parts", "check_labels_of_rows"]

BoolArray = npt.NDArray[np.bool_]


class Judged(NamedTuple):
    """What the observations of a part say.

    Attributes
    ----------
    part : str
        Whose they are.
    limit : float
        The largest mean loss that is allowed.
    n_observations : int
        How many there are: rows, or clusters of rows.
    mean_loss : float
        Their mean; of rows, the share that was answered differently from everyone.
    bound : float
        Upper bound on the mean loss of new ones.
    """

    part: str
    limit: float
    n_observations: int
    mean_loss: float
    bound: float

    @property
    def is_kept(self) -> bool:
        """Whether the limit is kept, as far as these observations can tell."""
        return self.bound <= self.limit


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that have a limit in common.

    Attributes
    ----------
    name : str
        "all", or what its rows have in common.
    limit : float
        The largest mean loss that is allowed.
    rows : ndarray of int
        Which rows.
    clusters : ndarray of int or None
        The number of the cluster that each of these rows is in, from 0 on; None if every row is alone.
    """

    name: str
    limit: float
    rows: IntArray
    clusters: IntArray | None = None

    @property
    def n_observations(self) -> int:
        """Number of rows, or of clusters."""
        return len(self.rows) if self.clusters is None else int(self.clusters.max(initial=-1)) + 1

    def losses(self, wrong: BoolArray) -> FloatArray:
        """Return the loss of each observation: of a cluster, the mean over its rows."""
        lost = wrong[self.rows].astype(np.float64)
        if self.clusters is None:
            return lost
        sizes = np.bincount(self.clusters, minlength=self.n_observations)
        return np.asarray(np.bincount(self.clusters, lost, self.n_observations) / sizes)

    def judge(self, wrong: BoolArray, confidence: float) -> Judged:
        """Return what the rows say, given which of all rows were answered wrongly.

        Rows are counted (Clopper and Pearson), clusters are bet on: which of the two does not depend on what
        they show.
        """
        losses = self.losses(wrong)
        if self.clusters is None:
            bound = clopper_pearson_bound(int(losses.sum()), len(losses), confidence)
        else:
            bound = betting_bound(losses, confidence)
        return Judged(self.name, self.limit, len(losses), float(losses.mean()) if len(losses) else 0.0, bound)


@dataclass(frozen=True, eq=False)
class Parts:
    """All parts of some rows; every one of them has to keep its limit."""

    parts: tuple[Part, ...]

    @classmethod
    def of(
        cls,
        limits: Limits,
        full_yes: BoolArray,
        groups: Sequence[Any] | None = None,
        clusters: Sequence[Any] | None = None,
    ) -> Parts:
        """Divide rows by the answers that have limits of their own, and by group.

        Parameters
        ----------
        limits : Limits
            One for all rows, or one for rows that everyone together answers with "yes" and one for "no".
        full_yes : ndarray of bool, shape (n_rows,)
            What everyone together answers; only looked at if limits differ by answer.
        groups : sequence of shape (n_rows,), optional
            A label for each row that was fixed before any row was looked at: each group has to keep the
            limits by itself.
        clusters : sequence of shape (n_rows,), optional
            A label for each row: rows with the same one depend on each other, and count as one observation.
        """
        n_rows = len(full_yes)
        of_group = [("", np.arange(n_rows))]
        if groups is not None:
            labels, numbers = np.unique(check_labels_of_rows(groups, n_rows, "groups"), return_inverse=True)
            of_group = [
                (f"group {label!r}", np.flatnonzero(numbers == place))
                for place, label in enumerate(labels.tolist())
            ]
        cluster_of = None if clusters is None else check_labels_of_rows(clusters, n_rows, "clusters")
        found = []
        for group, rows in of_group:
            for side, limit in limits:
                own = rows if side == "all" else rows[full_yes[rows] == (side == "yes")]
                name = group if group and side == "all" else f"{side}{group and ' in '}{group}"
                numbers = None if cluster_of is None else np.unique(cluster_of[own], return_inverse=True)[1]
                found.append(Part(name, limit, own, numbers))
        return cls(tuple(found))

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def judge(self, wrong: BoolArray, confidence: float) -> tuple[Judged, ...]:
        """Return what the rows of each part say, each at the full confidence."""
        return tuple(part.judge(wrong, confidence) for part in self.parts)

    def too_few(self, confidence: float) -> Part | None:
        """Return the first part that no loss at all could certify, because it has too few rows; or None."""
        for part in self.parts:
            needed = rows_needed(part.limit, confidence) if part.limit > 0 else np.inf
            if part.n_observations < needed:
                return part
        return None


def check_labels_of_rows(labels: Any, n_rows: int, name: str) -> npt.NDArray[Any]:
    """Return a label for each row, or say why they are none; a missing one would be in no group."""
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
    missing = given.dtype.kind == "f" and np.isnan(given).any()
    if missing or any(label in ("None", "nan", "NaT", "<NA>") for label in np.unique(given).tolist()):
        raise InvalidInputError(f"{name} has missing labels: give every row one, such as 'unknown'")
    return given

"""Data of a MonitorDisplay: evidence by rows, votes and answers at calibration and now. No drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._system.shown import shown
from foregone.checks import FloatArray
from foregone.monitoring import Alarm, Moment, Monitor

__all__ = ["EvidenceCurve", "VoteSpread", "evidence_curves", "join_rare_classes", "spreads_of"]

LONGEST = 16  # characters of a label


@dataclass(frozen=True)
class EvidenceCurve:
    """Evidence of one kind over time, from the start until now or until its alarm.

    Attributes
    ----------
    kind : {"spread", "disagreement"}
        As in `foregone.monitoring.Alarm`.
    times : tuple of int
        Number of rows seen; if rows were only audited, number of updates of the evidence.
    values : tuple of float
        The evidence from each time on.
    threshold : float
        The evidence at which an alarm is raised.
    alarm : Alarm or None
        The alarm that ends the curve, if there was one.
    """

    kind: str
    times: tuple[int, ...]
    values: tuple[float, ...]
    threshold: float
    alarm: Alarm | None


def evidence_curves(monitor: Monitor) -> list[EvidenceCurve]:
    """Return the evidence curves: no spread without calibration rows, no disagreement without audits.

    Before any row was seen, both start with evidence 1.
    """
    state = monitor.state
    watched = {"spread": monitor.reference is not None, "disagreement": state.n_audited > 0}
    curves = []
    for kind, threshold in monitor.thresholds.items():
        if any(watched.values()) and not watched[kind]:
            continue
        alarm = next((one for one in state.alarms if one.kind == kind), None)
        moments = [Moment(0, 1.0, 1.0), *state.history]
        seen = [getattr(moment, kind) for moment in moments]
        values = seen[: next((place for place, value in enumerate(seen) if value >= threshold), len(seen))]
        by_rows = [moment.n_rows for moment in moments[: len(values)]]
        times = by_rows if state.n_rows > 0 else list(range(len(values)))
        if alarm is not None:
            values.append(alarm.evidence)
            times.append(alarm.time if state.n_rows > 0 else len(times))
        elif state.n_rows > times[-1]:
            values.append(values[-1])
            times.append(state.n_rows)
        curves.append(EvidenceCurve(kind, tuple(times), tuple(values), threshold, alarm))
    return curves


@dataclass(frozen=True, eq=False)
class VoteSpread:
    """Votes asked about some rows, and their answers.

    Attributes
    ----------
    name : str
        Name of the rows in the legend.
    stopped : ndarray of shape (n_voters + 1,)
        Entry i: share of rows that stopped after at most i votes.
    answered : ndarray of shape (n_classes,)
        Share of rows answered with each class.
    mean_asked : float
        Mean votes asked.

    Examples
    --------
    >>> spread = VoteSpread.of("some rows", np.array([[0, 3, 0], [0, 0, 1]]))
    >>> spread.stopped.tolist(), spread.answered.tolist(), spread.mean_asked
    ([0.0, 0.75, 1.0], [0.75, 0.25], 1.25)
    """

    name: str
    stopped: FloatArray
    answered: FloatArray
    mean_asked: float

    @classmethod
    def of(cls, name: str, table: npt.NDArray[Any]) -> VoteSpread:
        """Create a spread from a table of rows by class and number of votes asked; it must not be empty."""
        shares = table / table.sum()
        asked = shares.sum(axis=0)
        return cls(name, np.cumsum(asked), shares.sum(axis=1), float(asked @ np.arange(len(asked))))


def spreads_of(monitor: Monitor, *, all_rows: bool) -> list[VoteSpread]:
    """Return the spreads of calibration rows, of recent rows and, with ``all_rows``, of all rows seen.

    Tables without rows are left out; without a reference, the list is empty.
    """
    if monitor.reference is None:
        return []
    state = monitor.state
    tables = {"calibration rows": monitor.reference.counts, "recent rows": state.recent}
    if all_rows:
        tables["all rows"] = state.stops
    return [VoteSpread.of(name, table) for name, table in tables.items() if table.sum() > 0]


def join_rare_classes(
    classes: Sequence[Any], spreads: Sequence[VoteSpread], most: int = 8
) -> tuple[list[str], list[FloatArray]]:
    """Return at most ``most`` printable labels, and for each spread the shares answered with them.

    The most frequent classes keep their order; the others are joined in the last entry.
    """
    names = [_short(label) for label in classes]
    if len(names) <= most:
        return names, [spread.answered for spread in spreads]
    largest = np.max([spread.answered for spread in spreads], axis=0)
    kept = np.sort(np.argsort(-largest, kind="stable")[: most - 1])
    joined = [np.append(spread.answered[kept], np.delete(spread.answered, kept).sum()) for spread in spreads]
    return [*(names[place] for place in kept), f"{len(names) - most + 1:,} others"], joined


def _short(label: Any) -> str:
    """Return a label that matplotlib can show literally: printable, short, and not a formula."""
    text = shown(str(label))
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return text.replace("$", r"\$")

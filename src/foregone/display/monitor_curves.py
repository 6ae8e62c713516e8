"""What a MonitorDisplay draws: evidence by rows, votes and answers then and now. Computing, no drawing."""

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
    """The evidence of one kind, from the start until now or until its alarm.

    Attributes
    ----------
    kind : {"spread", "disagreement"}
        As in `foregone.monitoring.Alarm`.
    times : tuple of int
        Rows seen; where rows were only audited, how often the evidence was looked at.
    values : tuple of float
        The evidence from then on.
    threshold : float
        The evidence at which an alarm is given.
    alarm : Alarm or None
        The alarm that ends the curve, if one was given.
    """

    kind: str
    times: tuple[int, ...]
    values: tuple[float, ...]
    threshold: float
    alarm: Alarm | None


def evidence_curves(monitor: Monitor) -> list[EvidenceCurve]:
    """Return the evidence of what is watched: no spread without calibration rows, nothing without audits.

    Before anything was seen there are both, with the evidence 1 at the start.
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
    """When some rows stopped, and with which answers.

    Attributes
    ----------
    name : str
        Which rows, as the legend says it.
    stopped : ndarray of shape (n_voters + 1,)
        Entry i: the share of rows that stopped after at most i votes.
    answered : ndarray of shape (n_classes,)
        The share of rows answered with each class.
    mean_asked : float
        Votes asked on average.

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
        """Return that of a table of rows by class and number of votes asked, which must have some."""
        shares = table / table.sum()
        asked = shares.sum(axis=0)
        return cls(name, np.cumsum(asked), shares.sum(axis=1), float(asked @ np.arange(len(asked))))


def spreads_of(monitor: Monitor, *, all_rows: bool) -> list[VoteSpread]:
    """Return the spreads of calibration rows, of recent rows and, if wanted, of all rows that were seen.

    Tables without rows are left out; without a reference, all of them are.
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
    """Return labels fit to be shown, at most so many, and by spread the shares answered with each.

    The most frequent classes of any spread keep their place, the others are joined in the last entry.
    """
    names = [_short(label) for label in classes]
    if len(names) <= most:
        return names, [spread.answered for spread in spreads]
    largest = np.max([spread.answered for spread in spreads], axis=0)
    kept = np.sort(np.argsort(-largest, kind="stable")[: most - 1])
    joined = [np.append(spread.answered[kept], np.delete(spread.answered, kept).sum()) for spread in spreads]
    return [*(names[place] for place in kept), f"{len(names) - most + 1:,} others"], joined


def _short(label: Any) -> str:
    """Return a label as matplotlib shows it as it is: harmless, not too long, and never a formula."""
    text = shown(str(label))
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return text.replace("$", r"\$")

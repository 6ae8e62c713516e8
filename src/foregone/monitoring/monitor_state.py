"""MonitorState: everything a monitor has seen, in constant memory; states can be saved, loaded and added."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from foregone.checks import FloatArray, IntArray
from foregone.errors import InvalidInputError
from foregone.monitoring.evidence import LARGEST_LOG, Capital
from foregone.monitoring.stops import read_table
from foregone.strategy.base import SavedAsJson
from foregone.strategy.json_file import Fields, is_finite_number

__all__ = ["Alarm", "AlarmKind", "Moment", "MonitorState"]

AlarmKind = Literal["spread", "disagreement"]
KINDS: tuple[AlarmKind, ...] = get_args(AlarmKind)
HALF_LIVES = {"recent": 3_000, "latest": 300}  # rows after which a row counts half there
MOST_MOMENTS = 256  # entries of the history


@dataclass(frozen=True)
class Alarm:
    """An alarm of a monitor: what changed, and what to do.

    Attributes
    ----------
    kind : {"spread", "disagreement"}
        Votes are distributed differently than on the calibration rows; or answers lose more than promised.
    what : str
        What changed: votes are "closer" or "clearer", a "class" is more frequent, or the "disagreement",
        "accuracy" loss or "cost" is too high.
    time : int
        Number of rows seen before the alarm.
    evidence, threshold : float
        The evidence at the alarm, and the threshold that raises one.
    sentence : str
        What changed, in words.
    advice : str
        What to do.
    """

    kind: AlarmKind
    what: str
    time: int
    evidence: float
    threshold: float
    sentence: str
    advice: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}"


@dataclass(frozen=True)
class Moment:
    """The evidence of each kind after a number of rows."""

    n_rows: int
    spread: float
    disagreement: float


@dataclass(frozen=True, eq=False, repr=False)
class MonitorState(SavedAsJson):
    """Everything that a `Monitor` has seen, in constant memory.

    The states of several workers can be added in any order: ``sum(states)`` has the evidence of all their
    rows. The sum has no alarms, because each worker's alarm had its own probability of being false; a monitor
    that is given the sum tests its evidence again. The size does not depend on the number of rows.

    Attributes
    ----------
    watched : str
        Identifies the promise, calibration rows and settings; only states with the same value can be added.
    n_rows, n_audited : int
        Rows seen, and rows with a full vote.
    stops, recent, latest : ndarray of shape (n_classes, n_voters + 1)
        Rows by answer and number of votes asked: all rows; recent rows, weighted with a half-life of 3,000
        rows; and the latest rows, with a half-life of 300.
    audits : ndarray
        Audited rows by outcome, see `foregone.monitoring.bets.AuditBets`.
    capital : dict
        The capital of the bets of each kind of alarm.
    alarms : tuple of Alarm
        At most one of each kind, in order of time.
    history : tuple of Moment
        The evidence at up to 256 times.

    Examples
    --------
    >>> state = MonitorState.start("example", (2, 4), 4, {"spread": 3, "disagreement": 2})
    >>> (state + state).n_rows, sum([state, state]).watched
    (0, 'example')
    """

    KIND: ClassVar[str] = "monitor"

    watched: str
    n_rows: int
    n_audited: int
    stops: IntArray
    recent: FloatArray
    latest: FloatArray
    audits: IntArray
    capital: dict[AlarmKind, Capital]
    alarms: tuple[Alarm, ...] = ()
    history: tuple[Moment, ...] = field(default=())

    @classmethod
    def start(
        cls, watched: str, shape: tuple[int, int], n_cells: int, n_bets: dict[AlarmKind, int]
    ) -> MonitorState:
        """Return the state before the first row."""
        capital = {kind: Capital.start(n_bets[kind]) for kind in KINDS}
        return cls(
            watched,
            0,
            0,
            np.zeros(shape, np.int64),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(n_cells, np.int64),
            capital,
        )

    def with_stops(self, counts: IntArray, spread: Capital) -> MonitorState:
        """Return the state after more rows, given a table of their stops and the new capital of the bets."""
        n_rows = int(counts.sum())

        def forgetting(old: FloatArray, half_life: int) -> FloatArray:
            kept = 0.5 ** (n_rows / half_life)
            # All rows of a block get the same weight; in total, as if they came one by one.
            weight = (1 - kept) / (max(n_rows, 1) * -math.expm1(-math.log(2) / half_life))
            return np.asarray(old * kept + counts * weight)

        return replace(
            self,
            n_rows=self.n_rows + n_rows,
            stops=self.stops + counts,
            recent=forgetting(self.recent, HALF_LIVES["recent"]),
            latest=forgetting(self.latest, HALF_LIVES["latest"]),
            capital={**self.capital, "spread": spread},
        )

    def remember(self, moment: Moment) -> MonitorState:
        """Return the state with one more entry in its history, which is thinned out when it is full."""
        history = (*self.history, moment)
        if len(history) > MOST_MOMENTS:
            history = (*history[:-1:2], history[-1])
        return replace(self, history=history)

    def __add__(self, other: object) -> MonitorState:
        if other == 0:  # where sum() begins
            return self
        if not isinstance(other, MonitorState):
            return NotImplemented
        if other.watched != self.watched:
            raise InvalidInputError(
                "these states belong to monitors with different promises, calibration rows or settings: add "
                "only states of one classifier with the same settings"
            )
        return MonitorState(
            self.watched,
            self.n_rows + other.n_rows,
            self.n_audited + other.n_audited,
            self.stops + other.stops,
            self.recent + other.recent,
            self.latest + other.latest,
            self.audits + other.audits,
            {kind: self.capital[kind] + other.capital[kind] for kind in KINDS},
        )

    __radd__ = __add__

    def __repr__(self) -> str:
        return (
            f"<MonitorState of {self.n_rows:,} rows, {self.n_audited:,} audited, {len(self.alarms)} alarms>"
        )

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        return {
            "watched": self.watched,
            "n_rows": self.n_rows,
            "n_audited": self.n_audited,
            "shape": list(self.stops.shape),
            "stops": [[int(c), int(i), int(self.stops[c, i])] for c, i in np.argwhere(self.stops)],
            **{
                name: [[int(c), int(i), float(table[c, i])] for c, i in np.argwhere(table)]
                for name, table in (("recent", self.recent), ("latest", self.latest))
            },
            "audits": self.audits.tolist(),
            "capital": {
                kind: {"running": one.running.tolist(), "reserve": one.reserve, "n_rows": one.n_rows}
                for kind, one in self.capital.items()
            },
            "alarms": [vars(alarm) for alarm in self.alarms],
            "history": [[moment.n_rows, moment.spread, moment.disagreement] for moment in self.history],
        }

    @classmethod
    def _from_fields(cls, fields: Fields) -> MonitorState:
        rows, columns = (int(length) for length in fields.whole_numbers("shape", 2))
        if rows < 0 or columns < 0:
            raise fields.error("shape", "must be two numbers of at least 0")
        fields.memory.take(40 * rows * columns, "a table of stops")
        stops = read_table(fields, "stops", (rows, columns))
        audits = fields.whole_numbers("audits")
        if (audits < 0).any() or (stops % 1).any():
            raise fields.error("audits", "and stops must be integers of at least 0")
        n_rows = fields.whole("n_rows", 0)
        if int(stops.sum()) not in (0, n_rows):
            raise fields.error("stops", f"must be of {n_rows:,} rows")
        n_audited = fields.whole("n_audited", 0)
        if rows and (len(audits) < 2 * rows or audits[: 2 * rows].sum() != n_audited):
            raise fields.error("audits", f"must be of {n_audited:,} rows")
        section = fields.section("capital")
        history = [_moment(fields, entry) for entry in fields.rows("history", 3)]
        if len(history) > MOST_MOMENTS:
            raise fields.error("history", f"is longer than {MOST_MOMENTS}")
        return cls(
            fields.text("watched"),
            n_rows,
            n_audited,
            stops.astype(np.int64),
            read_table(fields, "recent", (rows, columns)),
            read_table(fields, "latest", (rows, columns)),
            audits,
            {kind: _capital(section.section(kind)) for kind in KINDS},
            tuple(_alarm(one) for one in fields.sections("alarms")),
            tuple(history),
        )


def _capital(fields: Fields) -> Capital:
    running = fields.numbers("running")
    if (np.abs(running) > LARGEST_LOG).any():
        raise fields.error("running", f"must be from {-LARGEST_LOG:g} to {LARGEST_LOG:g}")
    reserve = fields.number("reserve", -LARGEST_LOG, 0)
    return Capital(running, reserve, fields.whole("n_rows", 0))


def _alarm(fields: Fields) -> Alarm:
    kind: Any = fields.text("kind")
    if kind not in KINDS:
        raise fields.error("kind", f"must be one of {', '.join(KINDS)}")
    what, sentence, advice = (fields.text(key) for key in ("what", "sentence", "advice"))
    evidence, threshold = fields.number("evidence", 0), fields.number("threshold", 0)
    return Alarm(kind, what, fields.whole("time", 0), evidence, threshold, sentence, advice)


def _moment(fields: Fields, entry: list[Any]) -> Moment:
    n_rows, spread, disagreement = entry
    if type(n_rows) is not int or not all(is_finite_number(one) and one >= 0 for one in entry):
        raise fields.error("history", "must hold numbers of rows and evidence of at least 0")
    return Moment(n_rows, float(spread), float(disagreement))

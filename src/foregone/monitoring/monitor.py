"""Monitor: watch rows in production, and raise an alarm when they differ from the calibration rows."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import ndarray

from foregone._kernels.row_sample import count_stops
from foregone.certifying import Promise
from foregone.checks import IntArray, check_share
from foregone.errors import InvalidInputError
from foregone.kinds import strategy_of
from foregone.monitoring.audit_rows import AuditRows, take_rows
from foregone.monitoring.evidence import RunningEvidence
from foregone.monitoring.monitor_state import KINDS, Alarm, AlarmKind, Moment, MonitorState
from foregone.monitoring.monitor_words import metrics_text
from foregone.monitoring.stops import Stops, add_stops
from foregone.monitoring.watched import Watched

__all__ = ["Monitor", "MonitorWarning"]

PENDING = 1024  # rows that are buffered before their evidence is updated
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
LEAST_FACTOR = 1.02  # by which the number of rows grows between two entries of the history


class MonitorWarning(UserWarning):
    """Rows are no longer like the calibration rows, or answers lose more than promised."""


class Monitor:
    """Monitor a classifier's promise in production, without labels.

    It tests two things. *Spread*: after how many votes rows stop, and with which answer, compared with the
    calibration rows. *Disagreement*: a small share of rows, chosen by a hash of their values, also gets a
    full vote, and the share of early answers that differ is compared with the promised limit. Each test has
    evidence that grows when rows change, and raises an alarm when it reaches a threshold. If nothing changes,
    the probability of any alarm, from both tests together and however long you watch, is at most
    ``false_alarm``. If the promise is an average over random orders, the disagreement in the orders used
    may exceed the limit from the start; then an alarm reports that.

    Create one with `EarlyStoppingClassifier.monitor`, and call its `predict` instead of the classifier's. If
    something else predicts, report its answers with `update` and `audited`.

    Parameters
    ----------
    promise : Promise, fitted classifier or solution
        The promise to watch, such as ``classifier.promise_``, or an object that has one. With a classifier,
        the monitor can also predict.
    reference : Stops, optional
        Where calibration rows stopped; without it, spread is not tested.
    classes : sequence, optional
        The labels, in the order of their numbers; by default False and True.
    audit : float, default=0.01
        Share of rows for which `predict` also asks all voters; 0 for none.
    false_alarm : float, default=0.01
        Probability of ever raising an alarm if nothing has changed.
    on_alarm : callable, optional
        Called with each `Alarm`, once for each kind.
    costs : array-like of shape (n_classes, n_classes), optional
        The cost matrix, if the promise is about costs.

    Attributes
    ----------
    watched : Watched
        The promise, the reference and the bets that are tested.
    alarm : Alarm or None
        The first alarm, if any.
    alarms : tuple of Alarm
        The first alarm of each kind.
    state : MonitorState
        Everything seen so far. Save it with ``monitor.state.save(path)``; resume with
        ``monitor.state = MonitorState.load(path)``; combine several workers with
        ``monitor.state = sum(states)``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from foregone import early_stop
    >>> X, y = make_classification(30_000, class_sep=1.5, random_state=0)
    >>> forest = RandomForestClassifier(101, random_state=0).fit(X[:2000], y[:2000])
    >>> classifier = early_stop(forest, X[2000:10_000], max_disagreement=0.01, random_state=0)
    >>> monitor = classifier.monitor(audit=0.01, false_alarm=0.01)
    >>> labels = monitor.predict(X[10_000:])              # the same as classifier.predict
    >>> monitor.alarm is None
    True
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")               # it warns once
    ...     labels = monitor.predict(0.3 * X[10_000:])    # every row is nearer to the middle
    >>> monitor.alarm.kind, monitor.alarm.what
    ('spread', 'closer')
    """

    def __init__(
        self,
        promise: Any,
        *,
        reference: Stops | None = None,
        classes: Sequence[Any] | None = None,
        audit: float = 0.01,
        false_alarm: float = 0.01,
        on_alarm: Callable[[Alarm], object] | None = None,
        costs: Any = None,
    ) -> None:
        self.watched: Watched = Watched.of(promise, reference, classes, false_alarm, costs)
        self._classifier = promise if hasattr(promise, "predict_with_votes") else None
        self._yes_from = (
            None if isinstance(promise, Promise) else getattr(strategy_of(promise), "yes_from", None)
        )
        self.audit: float = check_share(audit, "audit")
        if on_alarm is not None and not callable(on_alarm):
            raise InvalidInputError(f"on_alarm must be a function that takes an Alarm, got {on_alarm!r}")
        self.on_alarm = on_alarm
        self._lock = threading.RLock()
        self._state = self.watched.start()
        # The evidence of each kind at its last update.
        self._values: dict[AlarmKind, float] = dict.fromkeys(KINDS, 1.0)
        # Rows not yet in the evidence: single ones, with their values as bytes, and a table of all others.
        self._pending: list[tuple[int, int, bytes]] = []
        self._counted, self._n_counted = np.zeros_like(self._state.stops), 0
        self._most_pending = max(PENDING, self._counted.size // 8)  # large tables are slow to process
        self._rows = AuditRows(self.audit)
        self._one_row = None
        if self._classifier is not None:
            self._one_row, self._one_label = self._classifier._one_row, self._classifier._one_label
            self._answer_one = self._classifier._answer_one

    # Predicting ------------------------------------------------------------------------------

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the same as the classifier's `predict`, and record the answers.

        Single rows are buffered, and counted and audited a thousand at a time, or when you read the state or
        an alarm. This is faster than processing each row.
        """
        # As in the classifier's predict, a single row of this shape takes a fast path.
        if type(X) is ndarray and X.shape == self._one_row and (X.dtype is FLOAT64 or X.dtype is FLOAT32):
            answer, asked, _ = self._answer_one(X)
            pending = self._pending
            pending.append((answer, asked, X.tobytes()))  # thread-safe
            if len(pending) >= self._most_pending:
                self._flush()
            label: npt.NDArray[Any] = self._one_label[answer].copy()
            return label
        return self.predict_with_votes(X)[0]

    def predict_with_votes(self, X: Any) -> tuple[npt.NDArray[Any], Any, Any]:
        """Return the same as the classifier's `predict_with_votes`, and record the answers."""
        classifier = self._of_classifier()
        rows = classifier._check_rows(X)
        answers, asked, came_to = classifier._ask_checked(rows, "run", early=True)
        chosen = self._rows.choose(rows)
        with self._lock:
            if self.reference is not None:
                count_stops(asked, answers, self._counted)  # always inside the table here
            self._count(len(asked))
        if len(chosen):
            self._ask_everyone(take_rows(rows, chosen), answers[chosen])
        return classifier._labels(answers), asked, came_to

    def _of_classifier(self) -> Any:
        if self._classifier is None:
            raise InvalidInputError(
                "this monitor has no classifier to predict with: create it with classifier.monitor(), or "
                "report answers with update() and audited()"
            )
        return self._classifier

    def _ask_everyone(self, rows: Any, early: IntArray) -> None:
        full = self._of_classifier()._ask_checked(rows, "run", early=False)[0]
        with self._lock:
            self._audited(np.asarray(early, np.int64), np.asarray(full, np.int64), None)

    # Being told ------------------------------------------------------------------------------

    def update(
        self, asked: npt.ArrayLike, yes: npt.ArrayLike | None = None, *, labels: npt.ArrayLike | None = None
    ) -> Monitor:
        """Record rows that were answered by something other than this monitor's `predict`.

        Parameters
        ----------
        asked : array-like of shape (n_rows,)
            Number of voters asked about each row.
        yes : array-like of shape (n_rows,), optional
            Number of yes votes among them; for votes between two answers, from which the strategy gives the
            answer.
        labels : array-like of shape (n_rows,), optional
            The labels answered; use them instead of ``yes``.
        """
        if self.reference is None:
            raise InvalidInputError(
                "this monitor has no calibration rows to compare with: create it with "
                "reference=Stops.count(...)"
            )
        asked = np.atleast_1d(np.asarray(asked))
        if (yes is None) == (labels is None):
            found = "neither" if yes is None else "both"
            raise InvalidInputError(f"pass the answers as either yes or labels, got {found}")
        if labels is not None:
            answers = self.watched.numbers_of(labels, "labels")
        else:
            answers = self._answers(asked, np.atleast_1d(np.asarray(yes)))
        with self._lock:
            add_stops(asked, answers, self._counted)
            self._count(len(asked))
        return self

    def audited(
        self, early: npt.ArrayLike, full: npt.ArrayLike, truth: npt.ArrayLike | None = None
    ) -> Monitor:
        """Record rows that also got a full vote; they must be chosen independently of their answers.

        Parameters
        ----------
        early, full : array-like of shape (n_rows,)
            The labels of the early answers, and of the full votes.
        truth : array-like of shape (n_rows,), optional
            The true labels, to also test a promise about accuracy or costs.
        """
        given = [self.watched.numbers_of(early, "early"), self.watched.numbers_of(full, "full")]
        known = None if truth is None else self.watched.numbers_of(truth, "truth")
        if any(len(one) != len(given[0]) for one in (*given, *(() if known is None else (known,)))):
            lengths = ", ".join(str(len(one)) for one in (*given, *(() if known is None else (known,))))
            raise InvalidInputError(
                f"early, full and truth must have one label for each audited row, got {lengths}"
            )
        with self._lock:
            self._audited(given[0], given[1], known)
        return self

    def _answers(self, asked: npt.NDArray[Any], yes: npt.NDArray[Any]) -> IntArray:
        """Return the answers, given votes asked and yes votes."""
        if self._yes_from is None:
            raise InvalidInputError(
                "yes gives the answer only for counted votes between two classes, in a monitor created from "
                "a classifier or a solution: pass labels instead"
            )
        if asked.shape != yes.shape or asked.dtype.kind not in "biu" or yes.dtype.kind not in "biu":
            raise InvalidInputError(
                f"asked and yes must be integers, one for each row, got {asked.dtype} of shape {asked.shape} "
                f"and {yes.dtype} of shape {yes.shape}"
            )
        n_voters = len(self._yes_from) - 1
        if ((asked < 0) | (asked > n_voters) | (yes < 0) | (yes > asked)).any():
            raise InvalidInputError(
                f"asked must be from 0 to {n_voters}, the number of voters, and yes from 0 to asked"
            )
        return np.asarray(yes >= self._yes_from[asked], np.int64)

    # Looking ---------------------------------------------------------------------------------

    def _count(self, n_rows: int) -> None:
        """Count rows that are not yet in the evidence."""
        self._n_counted += n_rows
        if self._n_counted >= self._most_pending:
            self._flush()

    def _flush(self) -> None:
        """Update the evidence with all rows counted so far."""
        if not (self._pending or self._n_counted):
            return
        with self._lock:
            pending = self._pending[:]
            del self._pending[: len(pending)]  # rows that other threads added meanwhile stay
            counts, n_rows = self._counted, self._n_counted + len(pending)
            early = np.array([answer for answer, _, _ in pending], np.int64)
            spread = self.watched.spread
            if spread is not None:
                if pending:
                    add_stops(np.array([asked for _, asked, _ in pending]), early, counts)
                capital = self.evidence_of("spread").after(spread.cells(counts), n_rows).capital
                self._state = self._state.with_stops(counts, capital)
                self._counted = np.zeros_like(counts)
            else:
                self._state = replace(self._state, n_rows=self._state.n_rows + n_rows)
            self._n_counted = 0
            self._look("spread")
            if self.audit > 0 and pending:
                rows = _rows_of([values for _, _, values in pending], self._of_classifier().n_features_in_)
                chosen = self._rows.choose(rows)
                if len(chosen):
                    self._ask_everyone(rows[chosen], early[chosen])

    def _audited(self, early: IntArray, full: IntArray, truth: IntArray | None) -> None:
        """Add audited rows, and update their evidence."""
        self._flush()
        state, cells = self._state, self.watched.audits.cells(early, full, truth)
        capital = self.evidence_of("disagreement").after(cells, len(early)).capital
        self._state = replace(
            state,
            n_audited=state.n_audited + len(early),
            audits=state.audits + cells,
            capital={**state.capital, "disagreement": capital},
        )
        self._look("disagreement")

    def _look(self, *kinds: AlarmKind) -> None:
        """Raise an alarm for each kind whose evidence has reached its threshold, and record the evidence."""
        state, values = self._state, self._values
        new = []
        for kind in kinds:
            evidence = self.evidence_of(kind)
            values[kind] = evidence.value
            if values[kind] >= self.watched.thresholds[kind] and all(
                old.kind != kind for old in state.alarms
            ):
                new.append(self.watched.alarm(state, kind, evidence))
        last = state.history[-1] if state.history else None
        if new or last is None or state.n_rows >= LEAST_FACTOR * last.n_rows:
            state = state.remember(Moment(state.n_rows, values["spread"], values["disagreement"]))
            self._state = replace(state, alarms=(*state.alarms, *new))
        for alarm in new:
            if self.on_alarm is not None:
                self.on_alarm(alarm)
            warnings.warn(str(alarm), MonitorWarning, stacklevel=4)

    def evidence_of(self, kind: AlarmKind) -> RunningEvidence:
        """Return the evidence of a kind, with its bets."""
        return self.watched.evidence(self._state, kind)

    @property
    def promise(self) -> Promise:
        """The promise that is watched."""
        return self.watched.promise

    @property
    def reference(self) -> Stops | None:
        """Where calibration rows stopped, if known."""
        return self.watched.reference

    @property
    def classes(self) -> list[Any]:
        """The labels, in the order of their numbers."""
        return self.watched.classes

    @property
    def false_alarm(self) -> float:
        """Probability of ever raising an alarm if nothing has changed."""
        return self.watched.false_alarm

    @property
    def thresholds(self) -> dict[AlarmKind, float]:
        """The evidence at which an alarm of each kind is raised."""
        return dict(self.watched.thresholds)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The first alarm of each kind, in order of time."""
        return self.state.alarms

    @property
    def alarm(self) -> Alarm | None:
        """The first alarm, or None."""
        return next(iter(self.alarms), None)

    @property
    def state(self) -> MonitorState:
        """Everything seen so far."""
        self._flush()
        return self._state

    @state.setter
    def state(self, state: MonitorState) -> None:
        shapes = [(one.stops.shape, one.audits.shape) for one in (state, self._state)]
        sizes = [
            {kind: len(capital.running) for kind, capital in one.capital.items()}
            for one in (state, self._state)
        ]
        if state.watched != self._state.watched or shapes[0] != shapes[1] or sizes[0] != sizes[1]:
            raise InvalidInputError(
                "this state belongs to a monitor with another promise, calibration rows or settings: create "
                "the monitor with the same ones, or start without a state"
            )
        with self._lock:
            self._pending.clear()
            self._n_counted = 0
            self._counted = np.zeros_like(state.stops)
            self._state = state
            self._look(*KINDS)

    # Showing ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values, for logging."""
        state = self.state
        disagreements = int(state.audits[1 : 2 * len(self.classes) : 2].sum())
        alarm = self.alarm
        return {
            "rows": state.n_rows,
            "mean_votes_asked": _mean_asked(state.stops),
            "recent_mean_votes_asked": _mean_asked(state.recent),
            "expected_votes_asked": None if self.reference is None else self.reference.mean_asked,
            "answers": dict(zip(map(str, self.classes), state.stops.sum(axis=1).tolist(), strict=False)),
            "audited": state.n_audited,
            "audited_disagreements": disagreements,
            "evidence": {kind: self.evidence_of(kind).value for kind in KINDS},
            "threshold": self.thresholds,
            "alarm": None if alarm is None else vars(alarm),
            "alarms": [vars(one) for one in self.alarms],
            "false_alarm": self.false_alarm,
            "promise": str(self.promise),
        }

    def metrics(self) -> str:
        """Return all figures in the text format of Prometheus."""
        return metrics_text(self.to_dict())

    def __repr__(self) -> str:
        found = self.alarm
        said = "no alarm" if found is None else f"alarm: {found.what}"
        return f"<Monitor of {self.state.n_rows:,} rows, {self.state.n_audited:,} audited, {said}>"

    def __getstate__(self) -> dict[str, Any]:
        self._flush()
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def _rows_of(kept: list[bytes], n_features: int) -> npt.NDArray[Any]:
    """Return rows that were buffered as bytes of float32 or float64; a mixture becomes float64."""
    joined = bytearray().join(kept)
    for dtype in (FLOAT32, FLOAT64):
        if len(joined) == len(kept) * n_features * dtype.itemsize:
            return np.frombuffer(joined, dtype).reshape(-1, n_features)
    narrow = FLOAT32.itemsize * n_features
    return np.array([np.frombuffer(row, FLOAT32 if len(row) == narrow else FLOAT64) for row in kept], FLOAT64)


def _mean_asked(table: npt.NDArray[Any]) -> float | None:
    total = table.sum()
    return float(table.sum(axis=0) @ np.arange(table.shape[1]) / total) if total else None

"""Watched: what a monitor tests, and its thresholds; fixed before the first row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.certifying import Promise
from foregone.checks import IntArray, check_share
from foregone.errors import InvalidInputError
from foregone.kinds import promise_of, strategy_of
from foregone.monitoring.bets import AuditBets, SpreadBets
from foregone.monitoring.evidence import RunningEvidence
from foregone.monitoring.monitor_state import Alarm, AlarmKind, MonitorState
from foregone.monitoring.monitor_words import advice_for, sentence_for
from foregone.monitoring.stops import Stops

__all__ = ["Watched"]


@dataclass(frozen=True, eq=False)
class Watched:
    """A promise, the calibration rows to compare with, and the bets that something changes.

    Attributes
    ----------
    promise : Promise
        The promise that is watched.
    reference : Stops or None
        Where calibration rows stopped.
    classes : list
        The labels, in the order of their numbers.
    false_alarm : float
        Probability of ever raising an alarm if nothing has changed.
    spread : SpreadBets or None
        Bets that rows stop differently from the calibration rows; None without a reference.
    audits : AuditBets
        Bets that audited rows lose more than promised.
    thresholds : dict
        The evidence at which an alarm of each kind is raised.
    """

    promise: Promise
    reference: Stops | None
    classes: list[Any]
    false_alarm: float
    spread: SpreadBets | None
    audits: AuditBets
    thresholds: dict[AlarmKind, float]

    @classmethod
    def of(
        cls,
        promise: Any,
        reference: Stops | None,
        classes: Sequence[Any] | None,
        false_alarm: float,
        costs: Any,
    ) -> Watched:
        """Check the arguments of a user, and choose the bets."""
        promise = _promise_of(promise)
        labels = list(_classes_of(classes, promise, reference))
        false_alarm = check_share(false_alarm, "false_alarm")
        if not 0 < false_alarm < 1:
            raise InvalidInputError(f"false_alarm must be above 0 and below 1, got {false_alarm!r}")
        # A half for each kind of alarm; of that, a half for the randomness of the calibration rows.
        quarter = false_alarm / 4
        bounded = promise.loss in ("accuracy", "cost")
        audits = AuditBets.against(
            promise, labels, costs=costs, reference=reference, failure=quarter if bounded else 0.0
        )
        return cls(
            promise,
            reference,
            labels,
            false_alarm,
            None if reference is None else SpreadBets.against(reference, quarter),
            audits,
            {"spread": 1 / quarter, "disagreement": 1 / quarter if bounded else 1 / (2 * quarter)},
        )

    def start(self) -> MonitorState:
        """Return the state before the first row; its ``watched`` is equal for equal settings."""
        settings = {
            "promise": _told(self.promise),
            "false_alarm": self.false_alarm,
            "classes": [str(label) for label in self.classes],
            "reference": None if self.reference is None else self.reference.to_fields(),
            "audits": None if self.audits.costs is None else self.audits.costs.tolist(),
        }
        name = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]
        shape = (0, 0) if self.reference is None else self.reference.counts.shape
        n_bets: dict[AlarmKind, int] = {
            "spread": 0 if self.spread is None else len(self.spread.bets),
            "disagreement": len(self.audits.bets),
        }
        return MonitorState.start(name, shape, self.audits.log_payoffs.shape[1], n_bets)

    def evidence(self, state: MonitorState, kind: AlarmKind) -> RunningEvidence:
        """Return the evidence of a kind in a state, with its bets."""
        bets: Any = self.spread if kind == "spread" else self.audits
        capital = state.capital[kind]
        if bets is None:
            return RunningEvidence(np.empty((0, 0)), np.empty(0), capital)
        return RunningEvidence(bets.log_payoffs, bets.weights, capital)

    def alarm(self, state: MonitorState, kind: AlarmKind, evidence: RunningEvidence) -> Alarm:
        """Return an alarm that names the bet with the most capital."""
        bets = self.audits.bets if self.spread is None or kind == "disagreement" else self.spread.bets
        best = bets[int(evidence.log_worths.argmax())]
        sentence = sentence_for(best, state, self.reference, self.classes, self.audits)
        threshold = self.thresholds[kind]
        return Alarm(kind, best.what, state.n_rows, evidence.value, threshold, sentence, advice_for(kind))

    def numbers_of(self, labels: npt.ArrayLike, name: str) -> IntArray:
        """Return the class numbers of labels."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        given = np.atleast_1d(np.asarray(labels)).tolist()
        try:
            return np.array([numbers[label] for label in given], np.int64)
        except (KeyError, TypeError):
            unknown = next(label for label in given if not _is_known(label, numbers))
            raise InvalidInputError(
                f"{name} has {unknown!r}, which is not one of the classes {self.classes}"
            ) from None


def _promise_of(given: Any) -> Promise:
    if isinstance(given, Promise):
        return given
    strategy_of(given)  # raises if there is none
    found = promise_of(given)
    if found is None:
        raise InvalidInputError(
            "a strategy alone has no promise to watch: pass a solution, a fitted classifier or a promise, "
            "such as classifier.promise_"
        )
    return found if hasattr(given, "promise_") else found.labelled([False, True])


def _told(promise: Promise) -> list[Any]:
    """Return the fields that identify a promise, independent of its wording."""
    limit = promise.limit
    limits = [[str(label), one] for label, one in limit.items()] if isinstance(limit, dict) else limit
    return [promise.about, promise.loss, limits, promise.confidence, promise.n_rows]


def _classes_of(classes: Sequence[Any] | None, promise: Promise, reference: Stops | None) -> Sequence[Any]:
    if classes is None:
        n_classes = 2 if reference is None else reference.n_classes
        classes = [False, True] if n_classes == 2 else list(range(n_classes))
    if reference is not None and len(classes) != reference.n_classes:
        raise InvalidInputError(
            f"classes must have {reference.n_classes} labels, one for each class of the reference, got "
            f"{len(classes)}"
        )
    if isinstance(promise.limit, dict) and not set(promise.limit) <= set(classes):
        raise InvalidInputError(
            f"classes must contain all labels that the promise has limits for, {list(promise.limit)}, got "
            f"{list(classes)}"
        )
    return classes


def _is_known(label: Any, numbers: dict[Any, int]) -> bool:
    try:
        return label in numbers
    except TypeError:
        return False

"""Bets of a monitor: that votes are closer, clearer or for another class, or that too many answers differ.

A cell is one possible observation of a row, and a bet pays a factor for each cell. The distribution at
calibration is known only from some rows, so a bet is against every probability consistent with them: its mean
factor is at most 1 for all of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.certifying import Promise, check_costs, clopper_pearson_bound
from foregone.checks import FloatArray, IntArray
from foregone.monitoring.evidence import LARGEST_LOG, RunningEvidence
from foregone.monitoring.stops import Stops

__all__ = ["AuditBets", "SpreadBets", "Wager", "What"]

What = Literal["closer", "clearer", "class", "disagreement", "accuracy", "cost"]

# By which factors the odds of an event may have grown; changes in between are also detected.
SPREAD_ODDS = np.array([1.1, 1.25, 1.5, 2.0, 4.0, 16.0])
AUDIT_ODDS = np.array([1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0])
STAKES = 0.98 * 2.0 ** -np.arange(10.0)  # shares of the largest stake that cannot lose everything
LEVELS = 256  # steps of a cost from 0 to the largest


@dataclass(frozen=True)
class Wager:
    """The event that a bet is on.

    Attributes
    ----------
    what : str
        "closer", "clearer": rows that ask at least, or at most, ``at`` voters are more frequent; "class":
        rows answered with class ``at`` are more frequent; "disagreement", "accuracy", "cost": the loss is
        above the limit.
    at : int or None
        The number of voters, or of the class; None for a limit on all rows.
    bound : float
        The probability, or the mean loss, to bet against.
    """

    what: What
    at: int | None
    bound: float


def asked_steps(n_voters: int) -> list[int]:
    """Return the numbers of votes that separate the cells: fixed beforehand, denser for few votes.

    Examples
    --------
    >>> asked_steps(101)
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]
    """
    steps = [2**k * part // 2 for k in range(1, 2 + n_voters.bit_length()) for part in (2, 3)]
    return [1, *(step for step in steps if 1 < step <= n_voters)]


@dataclass(frozen=True, eq=False)
class SpreadBets:
    """Bets that rows stop at other numbers of votes, or with other answers, than the calibration rows.

    Cells are intervals of the number of votes asked, and the classes answered. Every row is in one of each.
    """

    bets: list[Wager]
    log_payoffs: FloatArray
    weights: FloatArray
    steps: IntArray

    @classmethod
    def against(cls, reference: Stops, failure: float) -> SpreadBets:
        """Return bets against all distributions consistent with the reference.

        ``failure`` is the probability, over the reference, that the true one is not among these.
        """
        steps = asked_steps(reference.n_voters)
        # Rows that ask fewer voters than the first step, then from the first to before the second, and so on.
        cells = np.add.reduceat(reference.asked, [0, *steps])
        n_steps, n_classes, n_rows = len(steps), reference.n_classes, reference.n_rows
        events: list[tuple[What, int | None, npt.NDArray[np.bool_]]] = []
        for place, step in enumerate(steps):
            at_least = np.arange(n_steps + 1) > place
            events.append(("closer", step, at_least))
            events.append(("clearer", step - 1, ~at_least))
        sure = 1 - failure / (len(events) + n_classes)
        found: list[tuple[Wager, FloatArray]] = []
        for what, at, inside in events:
            bound = clopper_pearson_bound(int(cells[inside].sum()), n_rows, sure)
            row = np.concatenate([inside, np.zeros(n_classes)])
            found.extend(
                _on_event(Wager(what, at, bound), row, np.arange(n_steps + 1 + n_classes) <= n_steps)
            )
        for number, answered in enumerate(reference.answered.tolist()):
            bound = clopper_pearson_bound(answered, n_rows, sure)
            row = np.arange(n_steps + 1 + n_classes) == n_steps + 1 + number
            among = np.arange(n_steps + 1 + n_classes) > n_steps
            found.extend(_on_event(Wager("class", number, bound), row.astype(float), among))
        bets = [bet for bet, _ in found]
        payoffs = np.array([row for _, row in found]).reshape(len(bets), n_steps + 1 + n_classes)
        return cls(bets, payoffs, _equal_by_kind(bets), np.array([0, *steps]))

    def start(self) -> RunningEvidence:
        """Return the evidence before the first row."""
        return RunningEvidence.start(self.log_payoffs, self.weights)

    def cells(self, counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the number, or the share, of rows in each cell, given a table of stops."""
        by_asked = np.add.reduceat(counts.sum(axis=0), self.steps)
        return np.concatenate([by_asked, counts.sum(axis=1)])


@dataclass(frozen=True, eq=False)
class AuditBets:
    """Bets that answers of audited rows lose more than promised.

    For each class of the full answer there are two cells: rows that agree with it and rows that differ. If
    accuracy or costs are limited, cells for each true class and each step of the loss follow.
    """

    bets: list[Wager]
    log_payoffs: FloatArray
    weights: FloatArray
    losses: FloatArray | None  # the loss of each step, as a share of the largest loss
    costs: FloatArray | None

    @classmethod
    def against(
        cls,
        promise: Promise,
        classes: Sequence[Any],
        *,
        costs: Any = None,
        reference: Stops | None = None,
        failure: float = 0.0,
    ) -> AuditBets:
        """Return bets against a promise.

        A promise about accuracy or costs can be checked only with true labels. So there is another bet, which
        needs no labels: that more answers differ than in the reference. Its bound is too low with probability
        at most ``failure``, over the reference.
        """
        n_classes = len(classes)
        is_loss = promise.loss in ("accuracy", "cost")
        matrix, unit = None, 1.0
        if is_loss:
            checked = check_costs(1 - np.eye(n_classes) if costs is None else costs, n_classes)
            matrix, unit = checked.matrix, checked.unit
        losses = None
        if is_loss:
            losses = np.array([-1.0, 0.0, 1.0]) if costs is None else np.arange(-LEVELS, LEVELS + 1) / LEVELS
        n_cells = 2 * n_classes + (0 if losses is None else n_classes * len(losses))
        places = np.arange(n_cells)
        found: list[tuple[Wager, FloatArray]] = []

        def on_differing(number: int | None, bound: float) -> None:
            among = places < 2 * n_classes
            if number is not None:
                among = places // 2 == number
            row = (among & (places % 2 == 1)).astype(float)
            found.extend(_on_event(Wager("disagreement", number, bound), row, among, AUDIT_ODDS))

        if promise.confidence == 1:  # answers always agree, whatever the limit
            on_differing(None, 0.0)
        elif promise.loss.startswith("disagreement"):
            for number, limit in _by_number(promise.limit, classes):
                on_differing(number, limit)
        elif losses is not None:
            for number, limit in _by_number(promise.limit, classes):
                among = (places >= 2 * n_classes) & (
                    True if number is None else (places - 2 * n_classes) // len(losses) == number
                )
                loss = np.where(among, losses[(places - 2 * n_classes) % len(losses)], 0.0)
                found.extend(_on_mean(Wager(_loss_kind(promise), number, limit / unit), loss, among))
            if reference is not None and reference.n_differing is not None and failure > 0:
                on_differing(
                    None, clopper_pearson_bound(reference.n_differing, reference.n_rows, 1 - failure)
                )
        bets = [bet for bet, _ in found]
        payoffs = np.array([row for _, row in found]).reshape(len(bets), n_cells)
        return cls(bets, payoffs, _equal_by_kind(bets), losses, matrix)

    def start(self) -> RunningEvidence:
        """Return the evidence before the first audited row."""
        return RunningEvidence.start(self.log_payoffs, self.weights)

    def cells(self, early: IntArray, full: IntArray, truth: IntArray | None) -> IntArray:
        """Return the number of audited rows in each cell, given the numbers of classes."""
        n_cells = self.log_payoffs.shape[1]
        counts = np.bincount(2 * full + (early != full), minlength=n_cells)
        if truth is None or self.losses is None or self.costs is None:
            return counts
        lost = self.costs[truth, early] - self.costs[truth, full]
        # Rounded down, so that no bet gains from rounding.
        step = np.floor((lost + 1) * (len(self.losses) // 2) + 1e-9).astype(np.int64)
        n_classes = len(self.costs)
        return counts + np.bincount(2 * n_classes + truth * len(self.losses) + step, minlength=n_cells)


def _by_number(limit: float | dict[Any, float], classes: Sequence[Any]) -> list[tuple[int | None, float]]:
    """Return limits by the number of the class; None as number for one limit for all rows."""
    if not isinstance(limit, dict):
        return [(None, limit)]
    return [(list(classes).index(label), each) for label, each in limit.items()]


def _loss_kind(promise: Promise) -> What:
    return "cost" if promise.loss == "cost" else "accuracy"


def _on_event(
    bet: Wager, inside: FloatArray, among: npt.NDArray[np.bool_], odds: FloatArray = SPREAD_ODDS
) -> list[tuple[Wager, FloatArray]]:
    """Return one bet for each odds factor that an event is more probable than the bound.

    A row in the event pays ``alternative / bound``, any other row ``(1 - alternative) / (1 - bound)``: on
    average at most 1 for every probability up to the bound. Cells outside ``among`` pay 1.
    """
    if bet.bound >= 1:
        return []
    if bet.bound <= 0:  # a single row contradicts it
        return [(bet, LARGEST_LOG * inside)]
    alternatives = odds * bet.bound / (1 - bet.bound + odds * bet.bound)
    outside = np.asarray(among, np.float64) - inside
    return [
        (bet, math.log(one / bet.bound) * inside + math.log((1 - one) / (1 - bet.bound)) * outside)
        for one in alternatives.tolist()
    ]


def _on_mean(bet: Wager, loss: FloatArray, among: npt.NDArray[np.bool_]) -> list[tuple[Wager, FloatArray]]:
    """Return one bet for each stake that a mean loss between -1 and 1 is above the bound.

    A row pays ``1 + stake * (loss - bound)``: on average at most 1 for every mean up to the bound.
    """
    if bet.bound >= 1:
        return []
    stakes = STAKES / (1 + bet.bound)
    return [(bet, np.where(among, np.log1p(stake * (loss - bet.bound)), 0.0)) for stake in stakes.tolist()]


def _equal_by_kind(bets: list[Wager]) -> FloatArray:
    """Return weights that give every kind of bet the same capital."""
    kinds = [bet.what for bet in bets]
    return np.array([1 / (len(set(kinds)) * kinds.count(kind)) for kind in kinds])

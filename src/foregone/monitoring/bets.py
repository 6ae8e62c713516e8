"""What a monitor bets on: that votes are closer, clearer or for another class; that too many answers differ.

Cells are what can be observed of a row, bets pay a factor for each. "As calibrated" is not known exactly, but
from some calibration rows: a bet is against every probability that they leave plausible, so that its mean
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

# How much larger the odds of an event may have become, besides everything in between.
SPREAD_ODDS = np.array([1.1, 1.25, 1.5, 2.0, 4.0, 16.0])
AUDIT_ODDS = np.array([1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0])
STAKES = 0.98 * 2.0 ** -np.arange(10.0)  # shares of the largest that cannot ruin
LEVELS = 256  # steps of a cost between none and the largest


@dataclass(frozen=True)
class Wager:
    """What a bet is on.

    Attributes
    ----------
    what : str
        "closer" and "clearer": rows that ask at least, or at most, so many voters have become more frequent;
        "class": rows answered with a class have; "disagreement", "accuracy", "cost": these are above a limit.
    at : int or None
        So many voters, or the number of the class; of limits by class that of the class, otherwise None.
    bound : float
        The probability, or the mean loss, that is bet against.
    """

    what: What
    at: int | None
    bound: float


def asked_steps(n_voters: int) -> list[int]:
    """Return the numbers of votes at which rows are told apart: fixed beforehand, denser where there are few.

    Examples
    --------
    >>> asked_steps(101)
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]
    """
    steps = [2**k * part // 2 for k in range(1, 2 + n_voters.bit_length()) for part in (2, 3)]
    return [1, *(step for step in steps if 1 < step <= n_voters)]


@dataclass(frozen=True, eq=False)
class SpreadBets:
    """Bets that rows stop elsewhere than the calibration rows did.

    Cells are the numbers of votes asked, between steps, and the classes that are answered: every row is in
    one of either.
    """

    bets: list[Wager]
    log_payoffs: FloatArray
    weights: FloatArray
    steps: IntArray

    @classmethod
    def against(cls, reference: Stops, failure: float) -> SpreadBets:
        """Return bets against all distributions that the reference leaves plausible.

        ``failure`` is the probability, over the reference, that the true one is not among these.
        """
        steps = asked_steps(reference.n_voters)
        # Rows that ask fewer than the first step, at least it but fewer than the second, and so on.
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
        """Return how many rows, or which share of them, are in each cell, of a table of stops."""
        by_asked = np.add.reduceat(counts.sum(axis=0), self.steps)
        return np.concatenate([by_asked, counts.sum(axis=1)])


@dataclass(frozen=True, eq=False)
class AuditBets:
    """Bets that answers of audited rows lose more than was promised.

    Cells are pairs for each class of the full answer, rows that agree with it and rows that differ; behind
    them, where accuracy or costs are limited, for each true class how much a row loses, in steps.
    """

    bets: list[Wager]
    log_payoffs: FloatArray
    weights: FloatArray
    losses: FloatArray | None  # what each step stands for, as a share of the largest loss
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
        """Return bets against what is promised.

        Where a loss of accuracy or of costs is promised, which takes true labels to see, it is also bet that
        more answers differ than in the reference, which takes none; with a probability of at most
        ``failure``, over the reference, its bound is too low.
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

        if promise.confidence == 1:  # it always agrees, whatever limit was asked for
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
        """Return how many audited rows are in each cell, given the numbers of classes."""
        n_cells = self.log_payoffs.shape[1]
        counts = np.bincount(2 * full + (early != full), minlength=n_cells)
        if truth is None or self.losses is None or self.costs is None:
            return counts
        lost = self.costs[truth, early] - self.costs[truth, full]
        # Rounded down, so that no bet gains by it.
        step = np.floor((lost + 1) * (len(self.losses) // 2) + 1e-9).astype(np.int64)
        n_classes = len(self.costs)
        return counts + np.bincount(2 * n_classes + truth * len(self.losses) + step, minlength=n_cells)


def _by_number(limit: float | dict[Any, float], classes: Sequence[Any]) -> list[tuple[int | None, float]]:
    """Return limits by the number of the class; one limit for all rows has none."""
    if not isinstance(limit, dict):
        return [(None, limit)]
    return [(list(classes).index(label), each) for label, each in limit.items()]


def _loss_kind(promise: Promise) -> What:
    return "cost" if promise.loss == "cost" else "accuracy"


def _on_event(
    bet: Wager, inside: FloatArray, among: npt.NDArray[np.bool_], odds: FloatArray = SPREAD_ODDS
) -> list[tuple[Wager, FloatArray]]:
    """Return bets, one for each of some odds, that an event is more probable than the bound.

    A row pays ``alternative / bound`` if it is in the event and ``(1 - alternative) / (1 - bound)`` if it is
    not: on average at most 1 for every probability up to the bound. Cells that are not ``among`` those
    looked at pay 1.
    """
    if bet.bound >= 1:
        return []
    if bet.bound <= 0:  # a single row is a contradiction
        return [(bet, LARGEST_LOG * inside)]
    alternatives = odds * bet.bound / (1 - bet.bound + odds * bet.bound)
    outside = np.asarray(among, np.float64) - inside
    return [
        (bet, math.log(one / bet.bound) * inside + math.log((1 - one) / (1 - bet.bound)) * outside)
        for one in alternatives.tolist()
    ]


def _on_mean(bet: Wager, loss: FloatArray, among: npt.NDArray[np.bool_]) -> list[tuple[Wager, FloatArray]]:
    """Return bets, one for each of some stakes, that a mean loss from -1 to 1 is above the bound.

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

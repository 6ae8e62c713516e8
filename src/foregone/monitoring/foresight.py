"""Foresight: how many rows a monitor would need to detect given changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from foregone.checks import FloatArray
from foregone.monitoring.evidence import RunningEvidence
from foregone.monitoring.monitor import Monitor
from foregone.monitoring.stops import Stops

__all__ = ["Foresight", "foresee"]

TIMES = (2.0, 5.0)  # of the limit
REPLACED = (0.1, 0.25, 0.5)  # shares of rows
CLOSEST = 0.1  # share of the calibration rows with the closest votes
STEP = 1.01  # factor between the numbers of rows tried
MOST_ROWS = 10**12


@dataclass(frozen=True)
class Foresight:
    """Number of rows until a monitor raises an alarm, if rows have changed from the first one on.

    These are estimates with every count at its mean. By chance an alarm comes earlier or later, and it comes
    somewhat later if the change starts after many rows.

    Attributes
    ----------
    false_alarm : float
        Probability that the monitor ever raises an alarm if nothing changes.
    limits : dict of int or None to float
        Limit on the disagreement of audited rows: under None for all rows, or by the number of the class. For
        a promise about accuracy or costs, the largest disagreement consistent with the calibration rows.
    disagreement : dict of float to int or None
        Factor by which the disagreement exceeds the limit -> *audited* rows until the alarm, None for never.
        With a limit of 0, the only key is 1: one row that differs.
    closer : dict of float to int or None
        Share of rows whose votes become as close as on the closest tenth of the calibration rows (those that
        ask most voters) -> rows until the alarm. None for never: the change cannot be detected.
    why_no_disagreement, why_no_closer : str or None
        The reason if a dict is empty.

    Examples
    --------
    >>> from foregone.certifying import Promise
    >>> from foregone.monitoring import Monitor, Stops
    >>> promise = Promise("classifier", "disagreement", 0.001, 0.95, 0.0008, 16_000)
    >>> stops = Stops.count([3] * 900 + [9] * 100, [0] * 1000, n_voters=11, n_classes=2)
    >>> found = foresee(Monitor(promise, reference=stops))
    >>> found.disagreement, found.closer
    ({2.0: 18886, 5.0: 1796}, {0.1: 879, 0.25: 93, 0.5: 26})
    """

    false_alarm: float
    limits: dict[int | None, float]
    disagreement: dict[float, int | None]
    closer: dict[float, int | None]
    why_no_disagreement: str | None = None
    why_no_closer: str | None = None


def foresee(monitor: Monitor) -> Foresight:
    """Estimate how many rows a monitor needs to detect more disagreement, or closer votes."""
    audits, reference, thresholds = monitor.watched.audits, monitor.reference, monitor.thresholds
    limits = {bet.at: bet.bound for bet in audits.bets if bet.what == "disagreement"}
    disagreement: dict[float, int | None] = {}
    why_not = None if limits else _why_not_audited(monitor)
    if limits and not any(limits.values()):
        disagreement = {1.0: 1}
    elif limits:
        disagreement = {
            times: _rows_until(
                audits.start(), _audited(monitor, limits, times), monitor.thresholds["disagreement"]
            )
            for times in TIMES
        }
    bets, closer, no_rows = monitor.watched.spread, {}, None
    if bets is None or reference is None or reference.n_rows == 0:
        no_rows = "there are no calibration rows to compare rows in use with"
    else:
        usual, closest = reference.counts / reference.n_rows, _closest(reference)
        for share in REPLACED:
            mixed = bets.cells((1 - share) * usual + share * closest)
            closer[share] = _rows_until(bets.start(), mixed, thresholds["spread"])
    return Foresight(monitor.false_alarm, limits, disagreement, closer, why_not, no_rows)


def _why_not_audited(monitor: Monitor) -> str:
    if monitor.promise.loss in ("accuracy", "cost"):
        return "without labels, audits need the disagreement on the calibration rows, which is unknown"
    if monitor.promise.loss.startswith("values"):
        return "the promise is about the values of disagreements, which audits do not measure"
    return "a limit of 1 allows every answer to differ"


def _audited(monitor: Monitor, limits: dict[int | None, float], times: float) -> FloatArray:
    """Return the expected share of audited rows in each cell, at ``times`` the limits."""
    n_classes, reference = len(monitor.classes), monitor.reference
    answered = np.full(n_classes, 1 / n_classes)
    if reference is not None and reference.n_rows > 0:
        answered = reference.answered / reference.n_rows
    allowed = np.array([limits.get(number, limits.get(None, 0.0)) for number in range(n_classes)])
    differing = np.minimum(times * allowed, 1.0)
    shares = np.zeros(monitor.watched.audits.log_payoffs.shape[1])
    shares[0 : 2 * n_classes : 2] = answered * (1 - differing)
    shares[1 : 2 * n_classes : 2] = answered * differing
    return shares


def _closest(reference: Stops) -> FloatArray:
    """Return the distribution of stops of the closest tenth of the rows; ties count partially."""
    at_least = np.cumsum(reference.asked[::-1])[::-1]  # rows that ask i voters or more
    beyond = at_least - reference.asked
    needed = np.clip(CLOSEST * reference.n_rows - beyond, 0, reference.asked)
    kept = needed / np.maximum(reference.asked, 1)
    return np.asarray(reference.counts * kept / needed.sum())


def _rows_until(evidence: RunningEvidence, shares: FloatArray, threshold: float) -> int | None:
    """Return how many rows, with these shares in each cell, raise the evidence to a threshold.

    None if no bet gains on average, or 10**12 rows are not enough.
    """
    gains = evidence.log_payoffs @ shares
    if gains.max(initial=0.0) <= 0:
        return None
    n_rows = 1
    while replace(evidence, capital=evidence.capital.after(n_rows * gains, n_rows)).value < threshold:
        n_rows = max(n_rows + 1, math.ceil(STEP * n_rows))
        if n_rows > MOST_ROWS:
            return None
    return n_rows

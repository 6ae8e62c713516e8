"""The methods that can be replayed, by the names they have on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from foregone import rules
from foregone.errors import InvalidInputError
from foregone.replaying.yes_no import YesNoCalibration
from foregone.solving import solve
from foregone.solving.problem import check_confidence, check_max_disagreement
from foregone.strategy import StoppingStrategy

__all__ = ["METHOD_NAMES", "USUAL_METHODS", "Method", "choose_methods"]


@dataclass(frozen=True)
class Method:
    """A way to stop.

    Attributes
    ----------
    name : str
        Its name on the command line, without what follows a colon.
    label : str
        Its name in tables.
    limit : float or None
        The allowed disagreement, if it knows of one.
    at_limit : callable
        ``at_limit(calibration, limit)`` gives the strategy; what knows of no limit ignores it.
    is_ours, is_calibrated : bool
        Whether it is an optimum, and whether the calibration items matter to it.
    """

    name: str
    label: str
    limit: float | None
    at_limit: Callable[[YesNoCalibration, float], StoppingStrategy]
    is_ours: bool = False
    is_calibrated: bool = False

    @property
    def is_tunable(self) -> bool:
        """Whether it is for a mean disagreement, which its limit can be tuned to."""
        return self.is_ours and self.name.startswith("minimean")

    def strategy(self, calibration: YesNoCalibration) -> StoppingStrategy:
        """Return the strategy that these calibration items lead to."""
        return self.at_limit(calibration, 0.0 if self.limit is None else self.limit)


def _minimean(calibration: YesNoCalibration, limit: float, confidence: float) -> StoppingStrategy:
    return solve("minimean", calibration.averaged, limit).strategy


def _confident(calibration: YesNoCalibration, limit: float, confidence: float) -> StoppingStrategy:
    return solve("minimean", calibration.observed, limit, confidence=confidence).strategy


def _fitted(calibration: YesNoCalibration, limit: float, confidence: float) -> StoppingStrategy:
    return solve("minimean", calibration.fitted, limit).strategy


def _minimixed(calibration: YesNoCalibration, limit: float, confidence: float) -> StoppingStrategy:
    return solve("minimixed", calibration.averaged, limit).strategy


def _minimax(calibration: YesNoCalibration, limit: float, confidence: float) -> StoppingStrategy:
    return solve("minimax", calibration.n_voters, limit).strategy


# By name: the label, and how to solve.
OURS = {
    "minimean": ("minimean", _minimean),
    "minimean-confident": ("minimean, {confidence:g} %", _confident),
    "minimean-fitted": ("minimean, fitted", _fitted),
    "minimixed": ("minimixed", _minimixed),
    "minimax": ("minimax", _minimax),
}
UNCALIBRATED = {"minimax"}
LIMITED_RULES: dict[str, tuple[str, Callable[[int, float], StoppingStrategy]]] = {
    "e-process": ("e-process", rules.e_process),
    "ibep": ("IBEP", rules.ibep),
    "schwing": ("Schwing", rules.schwing),
}
# By name: the label, the rule, and what follows the colon unless something else does.
OTHER_RULES: dict[str, tuple[str, Callable[[int, Any], StoppingStrategy], float | int]] = {
    "adaptive-consistency": ("Adaptive-Consistency {:g}", rules.adaptive_consistency, 0.95),
    "esc": ("ESC, window {:g}", rules.esc, 5),
    "lead": ("lead of {:g}", rules.lead, 3),
}
CURTAILMENT = "curtailment"
METHOD_NAMES = (*OURS, *LIMITED_RULES, *OTHER_RULES, CURTAILMENT)
USUAL_METHODS = (
    "minimean",
    "minimean-confident",
    "minimean-fitted",
    "minimixed",
    "minimax",
    "adaptive-consistency:0.95",
    "esc:5",
    "lead:3",
    "e-process",
    CURTAILMENT,
)


def choose_methods(
    names: Iterable[str] = USUAL_METHODS, limits: Iterable[float] = (0.01,), confidence: float = 0.95
) -> tuple[Method, ...]:
    """Return the methods of these names: one for each limit of those that know of limits.

    After a colon a name may have what it is to be used with: ``esc:8``, ``lead:5``,
    ``adaptive-consistency:0.99``, or a limit of its own, ``e-process:0.05``.

    Examples
    --------
    >>> [method.label for method in choose_methods(["minimean", "lead:5", "esc"], [0.01, 0.001])]
    ['minimean', 'minimean', 'lead of 5', 'ESC, window 5']
    """
    confidence = check_confidence(confidence)
    allowed = [check_max_disagreement(limit) for limit in limits]
    chosen: dict[tuple[str, float | None], Method] = {}
    for given in names:
        for method in _named(given.strip(), allowed, confidence):
            chosen.setdefault((method.label, method.limit), method)
    return tuple(chosen.values())


def _named(given: str, limits: list[float], confidence: float) -> list[Method]:
    name, colon, after = given.partition(":")
    if name not in METHOD_NAMES or (name == CURTAILMENT and colon):
        raise InvalidInputError(f"no method {given!r}: choose from {', '.join(METHOD_NAMES)}")
    value = _number(given, after) if colon else None
    if name in OTHER_RULES:
        label, rule, usual = OTHER_RULES[name]
        used = usual if value is None else value
        return [Method(name, label.format(used), None, partial(_by_rule, rule, used))]
    if name == CURTAILMENT:
        return [Method(name, name, None, lambda calibration, _: rules.curtailment(calibration.n_voters))]
    if value is not None:
        limits = [check_max_disagreement(value)]
    if name in LIMITED_RULES:
        label, limited = LIMITED_RULES[name]
        return [Method(name, label, limit, partial(_at_limit, limited)) for limit in limits]
    label, solver = OURS[name]
    return [
        Method(
            name,
            label.format(confidence=100 * confidence),
            limit,
            partial(solver, confidence=confidence),
            is_ours=True,
            is_calibrated=name not in UNCALIBRATED,
        )
        for limit in limits
    ]


def _by_rule(
    rule: Callable[[int, Any], StoppingStrategy], value: float, calibration: YesNoCalibration, limit: float
) -> StoppingStrategy:
    return rule(calibration.n_voters, value)


def _at_limit(
    rule: Callable[[int, float], StoppingStrategy], calibration: YesNoCalibration, limit: float
) -> StoppingStrategy:
    return rule(calibration.n_voters, limit)


def _number(given: str, after: str) -> float:
    try:
        return float(after)
    except ValueError:
        raise InvalidInputError(f"{given!r}: {after!r} is no number; write one, as in esc:5") from None

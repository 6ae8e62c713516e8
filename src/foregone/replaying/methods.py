"""The methods that can be replayed, by the names they have on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from foregone import rules
from foregone.checks import check_confidence, check_max_disagreement
from foregone.errors import InvalidInputError
from foregone.plurality import rules as plurality_rules
from foregone.plurality import solve_plurality
from foregone.replaying.many_answers import PluralityCalibration
from foregone.replaying.two_answers import YesNoCalibration
from foregone.solving import solve

__all__ = ["METHOD_NAMES", "PLURALITY", "USUAL_METHODS", "YES_NO", "Catalogue", "Method", "choose_methods"]


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
    is_ours, is_calibrated, is_tunable : bool
        Whether it is an optimum, whether the calibration items matter to it, and whether it is for a mean
        disagreement, which its limit can be tuned to.
    """

    name: str
    label: str
    limit: float | None
    at_limit: Callable[[Any, float], Any]
    is_ours: bool = False
    is_calibrated: bool = False
    is_tunable: bool = False

    def strategy(self, calibration: Any) -> Any:
        """Return the strategy that these calibration items lead to."""
        return self.at_limit(calibration, 0.0 if self.limit is None else self.limit)


CURTAILMENT = "curtailment"
Solver = Callable[..., Any]  # from calibration, limit and confidence to a strategy
Rule = Callable[[Any, Any], Any]  # from calibration and parameter, or limit, to a strategy


@dataclass(frozen=True)
class Catalogue:
    """The methods for one kind of votes, by name.

    Attributes
    ----------
    ours : dict
        The label, and how to solve.
    limited : dict
        Rules that know of a limit: the label, and the rule.
    others : dict
        Other rules: the label, the rule, and what follows the colon unless something else does.
    curtailment : callable
        From the calibration to the strategy.
    usual : tuple of str
        What is chosen unless something else is.
    tunable : tuple of str
        Those of ours that are solved at many limits, to be set beside rules without one.
    """

    ours: dict[str, tuple[str, Solver]]
    limited: dict[str, tuple[str, Rule]]
    others: dict[str, tuple[str, Rule, float | int]]
    curtailment: Callable[[Any], Any]
    usual: tuple[str, ...]
    tunable: tuple[str, ...]
    uncalibrated: tuple[str, ...] = field(default=("minimax",))

    @property
    def names(self) -> tuple[str, ...]:
        """All names, without what may follow a colon."""
        return (*self.ours, *self.limited, *self.others, CURTAILMENT)

    def choose(
        self, names: Iterable[str], limits: Iterable[float] = (0.01,), confidence: float = 0.95
    ) -> tuple[Method, ...]:
        """Return the methods of these names: one for each limit of those that know of limits."""
        confidence = check_confidence(confidence)
        allowed = [check_max_disagreement(limit) for limit in limits]
        chosen: dict[tuple[str, float | None], Method] = {}
        for given in names:
            for method in self._named(given.strip(), allowed, confidence):
                chosen.setdefault((method.label, method.limit), method)
        return tuple(chosen.values())

    def _named(self, given: str, limits: list[float], confidence: float) -> list[Method]:
        name, colon, after = given.partition(":")
        if name not in self.names or (name == CURTAILMENT and colon):
            raise InvalidInputError(f"no method {given!r}: choose from {', '.join(self.names)}")
        value = _number(given, after) if colon else None
        if name in self.others:
            label, rule, usual = self.others[name]
            used = usual if value is None else value
            return [Method(name, label.format(used), None, lambda calibration, _: rule(calibration, used))]
        if name == CURTAILMENT:
            return [Method(name, name, None, lambda calibration, _: self.curtailment(calibration))]
        if value is not None:
            limits = [check_max_disagreement(value)]
        if name in self.limited:
            label, rule = self.limited[name]
            return [Method(name, label, limit, rule) for limit in limits]
        label, solver = self.ours[name]
        return [
            Method(
                name,
                label.format(confidence=100 * confidence),
                limit,
                partial(solver, confidence=confidence),
                is_ours=True,
                is_calibrated=name not in self.uncalibrated,
                is_tunable=name in self.tunable,
            )
            for limit in limits
        ]


def _number(given: str, after: str) -> float:
    try:
        return float(after)
    except ValueError:
        raise InvalidInputError(f"{given!r}: {after!r} is no number; write one, as in esc:5") from None


# Two answers -----------------------------------------------------------------------------------


def _minimean(calibration: YesNoCalibration, limit: float, confidence: float) -> Any:
    return solve("minimean", calibration.averaged, limit).strategy


def _confident(calibration: YesNoCalibration, limit: float, confidence: float) -> Any:
    return solve("minimean", calibration.observed, limit, confidence=confidence).strategy


def _fitted(calibration: YesNoCalibration, limit: float, confidence: float) -> Any:
    return solve("minimean", calibration.fitted, limit).strategy


def _minimixed(calibration: YesNoCalibration, limit: float, confidence: float) -> Any:
    return solve("minimixed", calibration.averaged, limit).strategy


def _minimax(calibration: YesNoCalibration, limit: float, confidence: float) -> Any:
    return solve("minimax", calibration.n_voters, limit).strategy


def _of_size(rule: Callable[[int, Any], Any]) -> Rule:
    return lambda calibration, value: rule(calibration.n_voters, value)


YES_NO = Catalogue(
    ours={
        "minimean": ("minimean", _minimean),
        "minimean-confident": ("minimean, {confidence:g} %", _confident),
        "minimean-fitted": ("minimean, fitted", _fitted),
        "minimixed": ("minimixed", _minimixed),
        "minimax": ("minimax", _minimax),
    },
    limited={
        "e-process": ("e-process", _of_size(rules.e_process)),
        "ibep": ("IBEP", _of_size(rules.ibep)),
        "schwing": ("Schwing", _of_size(rules.schwing)),
    },
    others={
        "adaptive-consistency": ("Adaptive-Consistency {:g}", _of_size(rules.adaptive_consistency), 0.95),
        "esc": ("ESC, window {:g}", _of_size(rules.esc), 5),
        "lead": ("lead of {:g}", _of_size(rules.lead), 3),
    },
    curtailment=lambda calibration: rules.curtailment(calibration.n_voters),
    usual=(
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
    ),
    tunable=("minimean", "minimean-confident", "minimean-fitted"),
)
METHOD_NAMES, USUAL_METHODS = YES_NO.names, YES_NO.usual


def choose_methods(
    names: Iterable[str] = USUAL_METHODS, limits: Iterable[float] = (0.01,), confidence: float = 0.95
) -> tuple[Method, ...]:
    """Return the methods of these names for two answers: one for each limit of those that know of limits.

    After a colon a name may have what it is to be used with: ``esc:8``, ``lead:5``,
    ``adaptive-consistency:0.99``, or a limit of its own, ``e-process:0.05``. Those for many answers are
    chosen likewise, by ``PLURALITY.choose``.

    Examples
    --------
    >>> [method.label for method in choose_methods(["minimean", "lead:5", "esc"], [0.01, 0.001])]
    ['minimean', 'minimean', 'lead of 5', 'ESC, window 5']
    """
    return YES_NO.choose(names, limits, confidence)


# Many answers ----------------------------------------------------------------------------------


def _solved(given: Any, calibration: PluralityCalibration, limit: float, **how: Any) -> Any:
    n_voters, n_classes = calibration.n_voters, calibration.n_classes
    return solve_plurality(given, limit, n_voters=n_voters, n_classes=n_classes, **how).strategy


def _mean_of_many(calibration: PluralityCalibration, limit: float, confidence: float) -> Any:
    return _solved(calibration.averaged, calibration, limit, confidence=None)


def _smoothed_mean_of_many(calibration: PluralityCalibration, limit: float, confidence: float) -> Any:
    return _solved(calibration.smoothed, calibration, limit, confidence=None)


def _confident_of_many(calibration: PluralityCalibration, limit: float, confidence: float) -> Any:
    return _solved(calibration.observed, calibration, limit, confidence=confidence)


def _minimixed_of_many(calibration: PluralityCalibration, limit: float, confidence: float) -> Any:
    return _solved(calibration.averaged, calibration, limit, criterion="minimixed")


def _minimax_of_many(calibration: PluralityCalibration, limit: float, confidence: float) -> Any:
    return _solved(None, calibration, limit, criterion="minimax")


def _of_any(rule: Callable[..., Any], **how: Any) -> Rule:
    return lambda calibration, value: rule(
        calibration.n_voters, value, n_classes=calibration.n_classes, **how
    )


PLURALITY = Catalogue(
    ours={
        "minimean": ("minimean", _mean_of_many),
        "minimean-smoothed": ("minimean, smoothed", _smoothed_mean_of_many),
        "minimean-confident": ("minimean, {confidence:g} %", _confident_of_many),
        "minimixed": ("minimixed", _minimixed_of_many),
        "minimax": ("minimax", _minimax_of_many),
    },
    limited={},
    others={
        "adaptive-consistency": (
            "Adaptive-Consistency {:g}",
            _of_any(plurality_rules.adaptive_consistency),
            0.95,
        ),
        "dirichlet": (
            "Adaptive-Consistency (Dirichlet) {:g}",
            _of_any(plurality_rules.adaptive_consistency, kind="dirichlet"),
            0.95,
        ),
        "esc": ("ESC, window {:g}", _of_any(plurality_rules.esc), 5),
        "lead": ("lead of {:g}", _of_any(plurality_rules.lead), 3),
    },
    curtailment=lambda calibration: plurality_rules.curtailment(calibration.n_voters, calibration.n_classes),
    usual=(
        "minimean",
        "minimean-smoothed",
        "minimean-confident",
        "adaptive-consistency:0.95",
        "dirichlet:0.95",
        "esc:5",
        "lead:3",
        CURTAILMENT,
    ),
    tunable=("minimean-smoothed",),
)

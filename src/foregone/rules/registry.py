"""The registry of rules by name, for any number of answers; used by compare, replay and displays.

A new rule is one function (one file here) and one entry in `RULES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from foregone import rules
from foregone.checks import check_confidence, check_max_disagreement
from foregone.errors import InvalidInputError
from foregone.kinds import AnySolution, CountingStrategy, solve
from foregone.plurality import PluralityStrategy, lattice_of
from foregone.plurality import rules as plurality_rules
from foregone.rules.methods import KnownVotes, Method, WhichVotes
from foregone.solving import Criterion
from foregone.strategy import StoppingStrategy

__all__ = [
    "REPLAYED",
    "RULES",
    "KnownVotes",
    "Method",
    "Rule",
    "baseline_methods",
    "choose_methods",
    "compared_rules",
    "rule_names",
]

# From what is known, the parameter or limit, and a confidence, to a strategy.
Maker = Callable[[KnownVotes, float, float], CountingStrategy]


@dataclass(frozen=True)
class Rule:
    """A stopping rule in the registry.

    Attributes
    ----------
    name : str
        Name on the command line.
    label : str
        Name in tables; braces stand for its parameter, or for the confidence in per cent.
    two, many : callable or None
        Functions that make the strategy for two answers, and for any number of answers.
    parameter : float or None
        Default parameter, which can be given after a colon; None if it has no parameter.
    takes_limit : bool
        Whether it has a limit on the disagreement, which can be given after a colon.
    short_label : str or None
        Name in narrow tables.
    is_ours, is_calibrated : bool
        Whether it is an optimum, and whether it depends on the known votes.
    is_tunable : bool
        Whether its limit is tuned to the disagreement of others in a replay; for many answers,
        `is_tunable_of_many`.
    takes_quota : bool
        Whether it supports quotas; other rules are only for a majority.
    most_voters, most_states : float
        Above these sizes it is slow, and compared only on request.
    """

    name: str
    label: str
    two: Maker | None = None
    many: Maker | None = None
    parameter: float | None = None
    takes_limit: bool = False
    short_label: str | None = None
    is_ours: bool = False
    is_calibrated: bool = False
    is_tunable: bool = False
    is_tunable_of_many: bool = False
    takes_quota: bool = False
    most_voters: float = math.inf
    most_states: float = math.inf

    def maker(self, *, many_answers: bool) -> Maker | None:
        """Return the function that makes the strategy; None if the rule does not support it."""
        return self.many if many_answers else self.two

    def methods(
        self, value: float | None, limits: Iterable[float], confidence: float, *, many_answers: bool
    ) -> list[Method]:
        """Return one method for each limit, or a single one if it takes none.

        ``value`` is the value after the colon: the parameter, or a separate limit.
        """
        make = self.maker(many_answers=many_answers)
        assert make is not None
        used = self.parameter if value is None else value
        limits_taken: list[float | None] = [None]
        if self.takes_limit:
            limits_taken = [*limits] if value is None else [check_max_disagreement(value)]

        def at_limit(known: KnownVotes, limit: float) -> CountingStrategy:
            if known.quota is not None and not self.takes_quota:
                able = [name for name, rule in RULES.items() if rule.takes_quota and rule.two]
                raise InvalidInputError(
                    f"{self.name} supports only majorities, got quota {known.quota}: choose from "
                    f"{', '.join(able)}"
                )
            return make(known, limit if used is None or self.takes_limit else used, confidence)

        label, short_label = (
            words.format(used, confidence=100 * confidence)
            for words in (self.label, self.short_label or self.label)
        )
        traits = {
            "is_ours": self.is_ours,
            "is_calibrated": self.is_calibrated,
            "is_tunable": self.is_tunable_of_many if many_answers else self.is_tunable,
        }
        return [
            Method(self.name, label, limit, at_limit, short_label=short_label, **traits)
            for limit in limits_taken
        ]


def _optimum(
    name: str,
    label: str,
    criterion: Criterion,
    votes: WhichVotes,
    *,
    with_confidence: bool = False,
    **traits: Any,
) -> Rule:
    """Return the entry of an optimum solved for the votes of this name, with any number of answers."""

    def make(known: KnownVotes, limit: float, confidence: float) -> CountingStrategy:
        sure = confidence if with_confidence else None
        quota: dict[str, Any] = {} if known.quota is None else {"quota": known.quota}
        solution: AnySolution = solve(criterion, getattr(known, votes), limit, confidence=sure, **quota)
        return solution.strategy

    usual = {"two": make, "many": make, "is_calibrated": True, "takes_quota": True}
    return Rule(name, label, takes_limit=True, is_ours=True, **{**usual, **traits})


def _two(rule: Callable[[int, Any], StoppingStrategy]) -> Maker:
    return lambda known, value, _: rule(known.n_voters, value)


def _many(rule: Callable[..., PluralityStrategy], **options: Any) -> Maker:
    return lambda known, value, _: rule(known.n_voters, value, n_classes=known.n_classes, **options)


def _from_past(rule: Callable[[Any, float], CountingStrategy]) -> Maker:
    return lambda known, limit, _: rule(known.averaged, limit)


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        _optimum("minimean", "minimean", "minimean", "averaged", is_tunable=True),
        _optimum(
            "minimean-confident",
            "minimean, {confidence:g} %",
            "minimean",
            "observed",
            with_confidence=True,
            is_tunable=True,
        ),
        _optimum("minimean-fitted", "minimean, fitted", "minimean", "expected", many=None, is_tunable=True),
        _optimum(
            "minimean-smoothed",
            "minimean, smoothed",
            "minimean",
            "expected",
            two=None,
            is_tunable_of_many=True,
        ),
        _optimum("minimixed", "minimixed", "minimixed", "averaged", most_states=3_000),
        _optimum("minimax", "minimax", "minimax", "assumed", is_calibrated=False, most_states=3_000),
        Rule("schwing", "Schwing", _two(rules.schwing), takes_limit=True),
        Rule("ibep", "IBEP", _two(rules.ibep), takes_limit=True),
        Rule("e-process", "e-process", _two(rules.e_process), takes_limit=True),
        Rule(
            "adaptive-consistency",
            "Adaptive-Consistency {:g}",
            _two(rules.adaptive_consistency),
            _many(plurality_rules.adaptive_consistency),
            parameter=0.95,
            short_label="Adaptive-C. {:g}",
        ),
        Rule(
            "dirichlet",
            "Adaptive-Consistency (Dirichlet) {:g}",
            many=_many(plurality_rules.adaptive_consistency, kind="dirichlet"),
            parameter=0.95,
            short_label="Dirichlet {:g}",
        ),
        Rule(
            "esc",
            "ESC, window {:g}",
            _two(rules.esc),
            _many(plurality_rules.esc),
            parameter=5,
            short_label="ESC of {:g}",
            most_voters=3_000,  # a tenth of all states are randomised, and each is stored separately
        ),
        Rule("lead", "lead of {:g}", _two(rules.lead), _many(plurality_rules.lead), parameter=3),
        Rule("quorum", "first to {:g}", _two(rules.quorum), _many(plurality_rules.quorum), parameter=5),
        Rule(
            "learned-prior",
            "learned prior",
            _from_past(rules.learned_prior),
            _from_past(plurality_rules.learned_prior),
            takes_limit=True,
            is_calibrated=True,
        ),
        Rule("cite", "CITE", _two(rules.cite), _many(plurality_rules.cite), takes_limit=True),
        Rule(
            "curtailment",
            "curtailment",
            lambda known, *_: rules.curtailment(known.n_voters, quota=known.quota),
            lambda known, *_: plurality_rules.curtailment(known.n_voters, known.n_classes),
            takes_quota=True,
        ),
    )
}

# Default rules in the order of the tables, for two answers and for many.
REPLAYED: dict[str, tuple[str, ...]] = {
    "two": (
        "minimean", "minimean-confident", "minimean-fitted", "minimixed", "minimax", "adaptive-consistency",
        "esc", "lead", "quorum", "learned-prior", "cite", "e-process", "curtailment",
    ),
    "many": (
        "minimean", "minimean-smoothed", "minimean-confident", "adaptive-consistency", "dirichlet", "esc",
        "lead", "quorum", "learned-prior", "cite", "curtailment",
    ),
}  # fmt: skip
COMPARED: dict[str, tuple[str, ...]] = {
    "two": (
        "minimean", "minimixed", "minimax", "curtailment", "schwing", "ibep", "e-process", "lead", "esc",
    ),
    "many": (
        "minimean", "minimixed", "minimax", "curtailment", "adaptive-consistency", "dirichlet", "lead", "esc",
    ),
}  # fmt: skip
BASELINES = ("schwing", "ibep", "e-process", "curtailment")


def rule_names(*, many_answers: bool = False) -> tuple[str, ...]:
    """Return the names of all rules for two answers, or for many."""
    return tuple(name for name, rule in RULES.items() if rule.maker(many_answers=many_answers) is not None)


def compared_rules(known: KnownVotes) -> tuple[str, ...]:
    """Return the names of the rules compared by default, without those that would take minutes."""
    n_states = lattice_of(known.n_voters, known.n_classes).n_states if known.many_answers else 0

    def is_quick(rule: Rule) -> bool:
        fits = known.quota is None or rule.takes_quota
        return fits and known.n_voters <= rule.most_voters and n_states <= rule.most_states

    return tuple(name for name in COMPARED["many" if known.many_answers else "two"] if is_quick(RULES[name]))


def baseline_methods(limit: float, *, has_quota: bool = False) -> tuple[Method, ...]:
    """Return the baseline rules for comparison with an optimum, at a limit; for two answers.

    With a quota other than a majority, only rules that support quotas.

    Examples
    --------
    >>> [method.label for method in baseline_methods(0.01)]
    ['Schwing', 'IBEP', 'e-process', 'curtailment']
    """
    names = [name for name in BASELINES if RULES[name].takes_quota or not has_quota]
    return choose_methods(names, [limit])


def choose_methods(
    names: Iterable[str | Method | CountingStrategy | Callable[..., CountingStrategy]] | None = None,
    limits: Iterable[float] = (0.01,),
    confidence: float = 0.95,
    *,
    many_answers: bool = False,
    has_quota: bool = False,
) -> tuple[Method, ...]:
    """Return the methods with these names: one for each limit if the rule has a limit, otherwise one.

    A name may have a parameter after a colon, such as ``esc:8``, ``lead:5``, ``adaptive-consistency:0.99``,
    or a separate limit, such as ``e-process:0.05``.

    Parameters
    ----------
    names : iterable of str, strategies, functions or methods, optional
        Names from `rule_names`; by default those of `REPLAYED`. A strategy, or a function that returns one,
        is a custom rule: see `Method.of`.
    limits : iterable of float
        Limits for the rules that have one.
    confidence : float, default 0.95
        Confidence for optima that keep their limit with a confidence.
    many_answers : bool, default False
        Whether voters may give any number of answers instead of two.
    has_quota : bool, default False
        Whether a quota other than a majority decides; the default is then only rules that support quotas.

    Examples
    --------
    >>> [method.label for method in choose_methods(["minimean", "lead:5", "esc"], [0.01, 0.001])]
    ['minimean', 'minimean', 'lead of 5', 'ESC, window 5']
    """
    confidence = check_confidence(confidence)
    allowed = [check_max_disagreement(limit) for limit in limits]
    chosen: dict[tuple[str, float | None], Method] = {}
    if names is None:
        replayed = REPLAYED["many" if many_answers else "two"]
        names = [name for name in replayed if RULES[name].takes_quota or not has_quota]
    for given in names:
        if isinstance(given, str):
            methods = _named(given.strip(), allowed, confidence, many_answers=many_answers)
        else:
            methods = [given if isinstance(given, Method) else Method.of(given)]
        for method in methods:
            chosen.setdefault((method.label, method.limit), method)
    return tuple(chosen.values())


def _named(given: str, limits: list[float], confidence: float, *, many_answers: bool) -> list[Method]:
    name, colon, after = given.partition(":")
    names, rule = rule_names(many_answers=many_answers), RULES.get(name)
    if rule is None or name not in names or (colon and rule.parameter is None and not rule.takes_limit):
        raise InvalidInputError(f"no rule {given!r}: choose from {', '.join(names)}")
    try:
        value = float(after) if colon else None
    except ValueError:
        raise InvalidInputError(f"{given!r}: expected a number after the colon, such as esc:5") from None
    return rule.methods(value, limits, confidence, many_answers=many_answers)

"""One registry of rules: by name, for two answers and for many, and open to rules of one's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from foregone import PluralityStrategy, ScoreStrategy, StoppingStrategy, VoteDistribution, rules, solve
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution, lattice_of
from foregone.plurality import rules as plurality_rules
from foregone.rules import registry
from foregone.rules.methods import KnownVotes, Method
from foregone.rules.registry import RULES, Rule, choose_methods, compared_rules, rule_names

TWO = KnownVotes.of(VoteDistribution.from_counts([9, 3, 1, 1, 2, 9]))
MANY = KnownVotes.of(CompositionDistribution.from_counts([[5], [4, 1], [3, 1, 1]], n_classes=3))


@pytest.mark.parametrize(
    ("known", "kind"), [(TWO, StoppingStrategy), (MANY, PluralityStrategy)], ids=["two", "many"]
)
def test_every_rule_makes_a_strategy_for_the_voters(known: KnownVotes, kind: type[Any]) -> None:
    names = rule_names(many_answers=known.many_answers)
    methods = choose_methods(names, [0.4], 0.5, many_answers=known.many_answers)
    assert [method.name for method in methods] == list(names)
    for method in methods:
        strategy = method.strategy(known)
        assert isinstance(strategy, kind)
        assert strategy.n_voters == 5
    if kind is PluralityStrategy:
        assert {method.strategy(known).n_classes for method in methods} == {3}  # type: ignore[union-attr]  # both kinds have it


def test_no_two_rules_have_one_label() -> None:
    for many in (False, True):
        methods = choose_methods(rule_names(many_answers=many), many_answers=many)
        assert len({method.label for method in methods}) == len(methods)
        assert len({method.short_label for method in methods}) == len(methods)


def test_what_is_chosen_by_default_is_registered() -> None:
    for chosen in (registry.REPLAYED, registry.COMPARED):
        for answers, names in chosen.items():
            assert {*names} <= {*rule_names(many_answers=answers == "many")}


def test_what_would_take_minutes_is_compared_only_when_asked_for() -> None:
    assert "esc" in compared_rules(TWO)
    assert "esc" not in compared_rules(KnownVotes.of(VoteDistribution.flat(3001)))
    assert "minimax" in compared_rules(MANY)
    large = KnownVotes.of(CompositionDistribution.flat(lattice_of(25)))
    assert compared_rules(large)[:2] == ("minimean", "curtailment")


def test_a_new_rule_is_one_function_and_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def majority_of_first(n_voters: int, first: float) -> StoppingStrategy:
        return StoppingStrategy.from_rows(n_voters, lambda asked: np.full(asked + 1, asked >= first))

    entry = Rule(
        "first", "first {:g}", lambda known, first, _: majority_of_first(known.n_voters, first), parameter=3
    )
    monkeypatch.setitem(RULES, entry.name, entry)
    usual, other = choose_methods(["first", "first:2"])
    assert (usual.label, other.label) == ("first 3", "first 2")
    assert other.strategy(TWO) == majority_of_first(5, 2)
    with pytest.raises(InvalidInputError, match="no rule 'first'"):
        choose_methods(["first"], many_answers=True)


def growing_lead(n_voters: int, **options: Any) -> Any:
    home: Any = plurality_rules if options else rules
    return home.lead(n_voters, math.isqrt(n_voters), **options)


def test_a_function_of_ones_own_goes_where_a_name_does() -> None:
    for known, expected in ((TWO, rules.lead(5, 2)), (MANY, plurality_rules.lead(5, 2, n_classes=3))):
        (_, method) = choose_methods(["curtailment", growing_lead], many_answers=known.many_answers)
        assert (method.label, method.limit, method.is_ours) == ("growing_lead", None, False)
        assert method.strategy(known) == expected
    assert Method.of(growing_lead, "mine").label == "mine"


def test_a_strategy_of_ones_own_goes_where_a_name_does() -> None:
    (method,) = choose_methods([rules.lead(5, 2)])
    assert method.strategy(TWO) == rules.lead(5, 2)


@pytest.mark.parametrize(
    ("rule", "known"),
    [
        (rules.lead(7, 2), TWO),
        (rules.lead(5, 2), MANY),
        (plurality_rules.lead(5, 2), TWO),
        (lambda n_voters: "nothing", TWO),
        (lambda n_voters: rules.lead(7), TWO),
    ],
)
def test_what_is_for_other_votes_is_refused(rule: Any, known: KnownVotes) -> None:
    with pytest.raises(InvalidInputError, match=r"for 5 voters and (two|many) answers, got"):
        Method.of(rule, "mine").strategy(known)


@pytest.mark.parametrize("rule", [None, 5, ScoreStrategy.ask_all(5)])
def test_what_is_no_rule_is_refused(rule: Any) -> None:
    with pytest.raises(InvalidInputError, match="a function that returns one, got"):
        choose_methods([rule])


def test_votes_that_were_observed_can_be_fitted_and_smoothed() -> None:
    yes = np.repeat(range(6), [9, 3, 1, 1, 2, 9])
    assert TWO.expected == VoteDistribution.fit_beta(yes, 5, 5)
    assert MANY.expected == MANY.averaged.smoothed(3)  # type: ignore[union-attr]  # of many answers
    assert TWO.observed is TWO.averaged
    with pytest.raises(InvalidInputError, match="nothing can be fitted"):
        _ = KnownVotes.of(VoteDistribution.flat(5)).expected


def test_among_equally_good_worst_cases_the_votes_known_decide() -> None:
    (method,) = choose_methods(["minimax"], [0.1])
    assert method.strategy(TWO) == solve("minimax", TWO.averaged, 0.1).strategy

"""What is of the wrong type is refused with a word on what to give, by every public function for votes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from foregone import (
    ScoreStrategy,
    StoppingStrategy,
    VoteDistribution,
    certify,
    evaluate,
    plan,
    rules,
    solve,
    solve_plurality,
)
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution, certify_plurality, evaluate_plurality
from foregone.plurality import rules as plurality_rules
from foregone.solving import solve as solve_votes
from foregone.solving.certificate import certify as certify_votes

SOLUTION = solve("minimean", 5, 0.1)
MANY = solve_plurality([[3, 1, 1], [5, 0, 0]], 0.05, n_voters=5, confidence=None)
SCORES = ScoreStrategy.ask_all(5)
EVALUATION = evaluate(SOLUTION.strategy)

NEVER_RIGHT: list[Any] = [
    "x", [], [[1, 2], [3]], {}, object(), math.nan, np.array([1.0, np.nan]), b"x", 1j, SOLUTION, MANY, SCORES
]  # fmt: skip
TAKERS: dict[str, Callable[[Any], object]] = {
    "evaluate": lambda thing: evaluate(None if any(thing is one for one in (SOLUTION, MANY)) else thing),
    "certify": lambda thing: certify(None if any(thing is one for one in (SOLUTION, MANY)) else thing),
    "limit to prove": lambda thing: certify(SOLUTION.strategy, max_disagreement=thing),
    "limit to prove of many answers": lambda thing: certify(MANY.strategy, max_disagreement=thing),
    "max_gap": lambda thing: certify(SOLUTION, max_gap=thing),
    "arithmetic": lambda thing: certify(SOLUTION, arithmetic=thing),
    "mean": EVALUATION.mean,
    "by_class": EVALUATION.by_class,
    "votes_asked": EVALUATION.votes_asked,
    "criterion": lambda thing: solve(thing, 5, 0.1),
    "votes": lambda thing: solve("minimean", thing, 0.1),
    "limit": lambda thing: solve("minimean", 5, thing),
    "limit by class": lambda thing: solve("minimean", 5, {"yes": thing, "no": 0.1}),
    "confidence": lambda thing: solve("minimixed", 5, 0.1, confidence=thing),
    "looks": lambda thing: solve("minimean", 5, 0.1, looks=thing),
    "answer": lambda thing: solve("minimean", 5, 0.1, answer=thing),
    "method": lambda thing: solve("minimean", 5, 0.1, method=thing),
    "plan": lambda thing: plan(thing, [0.1], confidence=None),
    "limits": lambda thing: plan(5, thing, confidence=None),
    "n_voters": VoteDistribution.flat,
    "counts": VoteDistribution.from_counts,
    "matrix": VoteDistribution.from_votes,
    "yes_counts": lambda thing: VoteDistribution.from_yes_counts(thing, 5),
    "from_rows": lambda thing: StoppingStrategy.from_rows(2, thing),
    "table": StoppingStrategy.from_table,
    "step": SOLUTION.strategy.stop_probabilities,
    "asked": lambda thing: SOLUTION.strategy.stop_probability(thing, 0),
    "yes": lambda thing: SOLUTION.strategy.answer(2, thing),
    "curtailment": rules.curtailment,
    "evaluate_plurality": evaluate_plurality,
    "certify_plurality": lambda thing: certify_plurality(None if thing is MANY else thing),
    "plurality mean": evaluate_plurality(MANY.strategy).mean,
    "answers": CompositionDistribution.from_answers,
    "compositions": lambda thing: solve_plurality(thing, 0.1, n_voters=5, confidence=None),
    "window": lambda thing: plurality_rules.esc(5, thing),
}  # fmt: skip


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_things_that_are_never_right_are_refused(take: Callable[[Any], object]) -> None:
    for thing in NEVER_RIGHT:
        with pytest.raises(InvalidInputError):
            take(thing)


@pytest.mark.parametrize("thing", [None, "x", 5, math.nan, [[1, 2], [3]], MANY.strategy.lattice])
def test_counts_that_are_none_are_refused(thing: Any) -> None:
    with pytest.raises(InvalidInputError, match="counts must be"):
        MANY.strategy.stop_probability(thing)


def test_counts_are_not_rounded() -> None:
    with pytest.raises(InvalidInputError, match="integers"):
        MANY.strategy.stop_probability([2.5, 1])


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: evaluate(MANY.strategy.lattice), "got Lattice: make a strategy with solve"),
        (lambda: evaluate(SCORES), "Call strategy.run(scores) on your own rows"),
        (lambda: evaluate_plurality(SOLUTION), "use foregone.evaluate, which takes every kind"),
        (lambda: certify(SOLUTION.strategy), "Give max_disagreement"),
        (lambda: certify(SCORES, max_disagreement=0.1), "Read strategy.certificate"),
        (lambda: certify(None, max_disagreement=0.1), "got NoneType"),
        (lambda: certify_votes(MANY), "use foregone.certify, which takes every kind"),
        (lambda: certify_plurality(SOLUTION), "use foregone.certify, which takes every kind"),
        (lambda: EVALUATION.mean(SOLUTION), "must be a VoteDistribution, got Solution"),
        (lambda: EVALUATION.votes_asked(MANY.distribution), "got CompositionDistribution"),
        (lambda: EVALUATION.mean(VoteDistribution.flat(6)), "as many voters as the strategy, got 6 and 5"),
        (lambda: solve_votes("minimean", MANY.distribution, 0.1), "for many answers use solve_plurality"),
        (lambda: solve("minimean", [3, 1, 2], 0.1), "make one with VoteDistribution.from_votes"),
        (lambda: StoppingStrategy.from_rows(2, [[1]]), "for a matrix use StoppingStrategy.from_table"),
    ],
)
def test_a_refusal_says_what_to_give(call: Callable[[], object], advice: str) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        call()
    assert advice in str(refusal.value)

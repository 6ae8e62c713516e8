"""Class budgets, confidence, looks, answers, quotas, values: the fast solver against the linear program."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foregone import Solution, VoteDistribution, certify, evaluate, solve
from foregone.solving import CRITERIA
from tests.strategies import vote_distributions


class Asked(NamedTuple):
    """What `solve` is asked."""

    criterion: str
    votes: VoteDistribution
    max_disagreement: float | dict[str, float]
    options: dict[str, Any]

    def solve(self, method: str = "dual") -> Solution:
        return solve(self.criterion, self.votes, self.max_disagreement, method=method, **self.options)


limits = st.one_of(
    st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.05, 0.5, 1.0]), st.floats(-6, 0).map(lambda x: float(10**x))
)


@st.composite
def observed_votes(draw: st.DrawFn, n_voters: int) -> VoteDistribution:
    """Votes of a few to many inputs; many n, and sometimes a whole class, were never seen."""
    largest = draw(st.sampled_from([1, 20, 10**5]))
    count = st.one_of(st.just(0), st.integers(0, largest))
    counts = np.array(draw(st.lists(count, min_size=n_voters + 1, max_size=n_voters + 1)))
    side = draw(st.sampled_from(["both", "both", "yes", "no"]))
    yes = 2 * np.arange(n_voters + 1) > n_voters
    counts[~yes if side == "yes" else yes & (side == "no")] = 0
    if not counts.any():
        counts[-1 if side == "yes" else 0] = largest
    return VoteDistribution.from_counts(counts)


@st.composite
def values(draw: st.DrawFn, n_voters: int) -> list[float]:
    """What a disagreement loses: anything, nothing at all, nothing on one side, or tiny beside large."""
    value = st.one_of(st.floats(1e-3, 1.0), st.sampled_from([0.0, 1e-12, 1e-6, 0.5, 1.0]))
    drawn = draw(st.lists(value, min_size=n_voters + 1, max_size=n_voters + 1))
    worth = draw(st.sampled_from([(1, 1), (1, 1), (0, 1), (1, 0), (0, 0)]))
    return [value * worth[2 * n > n_voters] for n, value in enumerate(drawn)]


@st.composite
def asked(draw: st.DrawFn, most_voters: int) -> Asked:
    """Anything that can be asked: every criterion, with any of what else can be promised."""
    n_voters, criterion = draw(st.integers(1, most_voters)), draw(st.sampled_from(CRITERIA))
    options: dict[str, Any] = {}
    votes = draw(st.one_of(observed_votes(n_voters), vote_distributions(n_voters)))
    if criterion == "minimean" and votes.n_observations is not None and draw(st.booleans()):
        options["confidence"] = draw(st.sampled_from([0.5, 0.95, 0.999]))
    if criterion != "minimax" and draw(st.booleans()):
        options["answer"] = "likeliest"
    if draw(st.booleans()):
        some = st.lists(st.integers(0, n_voters), min_size=1, max_size=4)
        options["looks"] = draw(st.one_of(st.integers(1, n_voters), some))
    if draw(st.booleans()):
        options["quota"] = draw(st.integers(0, n_voters))
    if draw(st.booleans()):
        options["values"] = draw(values(n_voters))
    limit = draw(st.one_of(limits, st.fixed_dictionaries({"yes": limits, "no": limits})))
    return Asked(criterion, votes, limit, options)


def check_both(problem: Asked) -> None:
    fast, slow = problem.solve(), problem.solve("linear_program")
    assert fast.expected_votes == pytest.approx(slow.expected_votes, rel=1e-7, abs=1e-7)
    assert slow.gap <= 1e-8
    check_limits(fast, 0.0)
    check_limits(slow, 1e-9)
    for solution in (fast, slow):
        check_looks(solution)
        assert certify(solution, max_gap=1e-8).optimality_is_proven
    assert certify(fast).holds


def check_limits(solution: Solution, tolerance: float) -> None:
    """The limits are kept under every distribution they are for: here, by the definition of the means."""
    limit, risk = solution.max_disagreement, solution.disagreement
    for side, most in limit.items() if isinstance(limit, dict) else [("all", limit)]:
        assert (risk[side] if isinstance(risk, dict) else risk) <= most * (1 + tolerance)
        yes = np.arange(solution.n_voters + 1) >= solution.quota
        lost = evaluate(solution.strategy).disagreement * (
            1.0 if solution.values is None else solution.values
        )
        among = {"all": yes | ~yes, "yes": yes, "no": ~yes}[side]
        if solution.criterion != "minimean":
            assert lost[among].max(initial=0.0) <= most * (1 + tolerance)
        elif solution.votes.probabilities[among].any():
            # What was observed is among the distributions that a confidence reckons with.
            weights = solution.votes.probabilities[among]
            mean = weights @ lost[among] / weights.sum()
            assert mean <= most * (1 + tolerance + 1e-14)


def check_looks(solution: Solution) -> None:
    """It stops only where it looks, in the states that it reaches."""
    stop, reached = solution.strategy.stop_probability, {0}
    for step in range(solution.n_voters):
        if solution.looks is not None and step not in solution.looks:
            assert all(stop(step, yes) == 0 for yes in reached)
        reached = {yes + more for yes in reached if stop(step, yes) < 1 for more in (0, 1)}


@pytest.mark.slow
@given(asked(most_voters=12))
@settings(max_examples=250)
def test_the_solvers_agree_and_the_fast_one_proves_itself(problem):
    check_both(problem)


MANY = [
    {},
    {"confidence": 0.95},
    {"looks": 7},
    {"answer": "likeliest"},
    {"confidence": 0.95, "answer": "likeliest"},
    {"confidence": 0.95, "looks": [3, 10, 12, 30], "answer": "likeliest"},
]


@pytest.mark.parametrize("options", MANY, ids=str)
@pytest.mark.parametrize("limit", [0.01, {"yes": 1e-3, "no": 0.05}, {"yes": 1e-4, "no": 0.0}], ids=str)
@pytest.mark.parametrize("n_voters", [31, 40])
def test_they_agree_for_more_voters(n_voters, limit, options):
    random = np.random.default_rng(n_voters)
    votes = VoteDistribution.from_counts(
        random.multinomial(2000, random.dirichlet(np.full(n_voters + 1, 0.3)))
    )
    check_both(Asked("minimean", votes, limit, options))


@pytest.mark.parametrize("criterion", ["minimax", "minimixed"])
@pytest.mark.parametrize("n_voters", [31, 40])
def test_they_agree_for_more_voters_in_the_worst_case(criterion, n_voters):
    votes = VoteDistribution.from_counts(np.arange(n_voters + 1) ** 2)
    check_both(Asked(criterion, votes, {"yes": 1e-3, "no": 0.05}, {"looks": 3}))
    check_both(Asked(criterion, votes, {"yes": 0.0, "no": 0.05}, {}))
    if criterion == "minimixed":
        check_both(Asked(criterion, votes, {"yes": 0.02, "no": 0.05}, {"answer": "likeliest"}))


AWKWARD = [
    # A class that is always answered wrongly, whose shares sum to one and a hair.
    Asked(
        "minimean",
        VoteDistribution.from_counts([0, 0, 0, 0, 100_000, 142, 3, 25, 8]),
        {"yes": 1.0, "no": 0.01},
        {"looks": [1], "answer": "likeliest"},
    ),
    # Nothing to prove but that the first look takes two votes.
    Asked("minimixed", VoteDistribution.flat(4), 1.0, {"looks": [2, 3]}),
    Asked("minimax", VoteDistribution.flat(5), {"yes": 1.0, "no": 1.0}, {"looks": [2]}),
    # HiGHS fails these with its presolve.
    Asked(
        "minimax",
        VoteDistribution.from_counts([0, 0, 27, 0, 0, 6, 32, 6, 0, 0, 45, 22]),
        {"yes": 0.5, "no": 1.0},
        {"looks": [3, 10]},
    ),
    Asked(
        "minimean",
        VoteDistribution.from_counts([29, 41, 11, 0, 0, 20, 43, 0, 0, 39, 0, 48, 0]),
        1e-9,
        {"confidence": 0.999, "answer": "likeliest"},
    ),
]


@pytest.mark.parametrize("problem", AWKWARD)
def test_they_agree_on_awkward_problems(problem):
    check_both(problem)


@pytest.mark.parametrize("method", ["dual", "linear_program"])
def test_a_class_that_was_never_seen_is_bounded_at_its_worst(method):
    votes = VoteDistribution.from_counts([5, 3, 1, 0, 0, 0])
    solution = solve("minimean", votes, {"yes": 0.1, "no": 0.2}, method=method)
    assert evaluate(solution.strategy).disagreement[3:].max() == pytest.approx(0.1, rel=1e-9)


@pytest.mark.parametrize("method", ["dual", "linear_program"])
def test_with_few_observations_a_mean_is_bounded_as_tightly_as_the_worst_case(method):
    one = VoteDistribution.from_counts([0, 0, 1, 0, 0, 0])
    mean = solve("minimean", one, 0.1, confidence=0.999, method=method)
    worst = solve("minimixed", one, 0.1, method=method)
    assert mean.expected_votes == pytest.approx(worst.expected_votes, rel=1e-3)


@given(asked(most_voters=9))
@settings(max_examples=60)
def test_looking_less_often_never_costs_less(problem):
    free = problem._replace(options={**problem.options, "looks": None})
    assert free.solve().expected_votes <= problem.solve().expected_votes * (1 + 1e-9) + 1e-12

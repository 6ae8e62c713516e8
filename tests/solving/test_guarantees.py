"""Confidence, budgets for each answer, looks and likeliest answers: what they promise, kept and certified."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom

from foregone import Solution, VoteDistribution, certify, evaluate, solve
from foregone.errors import InvalidInputError
from foregone.solving.budget import is_yes

SEEN = VoteDistribution.from_counts(
    np.random.default_rng(0).multinomial(2000, betabinom.pmf(range(22), 21, 0.3, 0.5))
)
EVEN = VoteDistribution.from_counts(
    np.random.default_rng(0).multinomial(2000, betabinom.pmf(range(21), 20, 0.3, 0.5))
)

counted_votes = st.integers(1, 12).flatmap(
    lambda n_voters: (
        st.lists(st.integers(0, 40), min_size=n_voters + 1, max_size=n_voters + 1)
        .filter(any)
        .map(VoteDistribution.from_counts)
    )
)
limits = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-9, 0.9))
class_limits = st.fixed_dictionaries({"yes": limits, "no": limits})


@pytest.mark.parametrize("votes", [SEEN, EVEN])
def test_confidence_lies_between_trusting_the_observations_and_trusting_nothing(votes):
    costs = [solve("minimean", votes, 1e-2).expected_votes]
    costs += [solve("minimean", votes, 1e-2, confidence=c).expected_votes for c in (0.5, 0.9, 0.999)]
    costs += [solve("minimixed", votes, 1e-2).expected_votes]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)


def test_with_many_observations_confidence_costs_next_to_nothing_and_with_few_it_is_minimixed():
    shares = np.rint(betabinom.pmf(range(22), 21, 0.3, 0.5) * 1000)
    trusting = solve("minimean", VoteDistribution.from_counts(shares), 1e-2).expected_votes
    many = solve("minimean", VoteDistribution.from_counts(shares * 1e9), 1e-2, confidence=0.95)
    assert many.expected_votes == pytest.approx(trusting, rel=1e-3)
    one = VoteDistribution.from_counts(np.eye(22)[21])
    assert solve("minimean", one, 1e-2, confidence=0.999).expected_votes == pytest.approx(
        solve("minimixed", one, 1e-2).expected_votes, rel=1e-2
    )


@pytest.mark.parametrize(("a", "b"), [(0.15, 0.15), (0.1, 1.2)])
def test_the_true_disagreement_keeps_the_limit_as_often_as_promised(a, b):
    truth = betabinom.pmf(np.arange(22), 21, a, b)
    true = VoteDistribution.from_counts(truth)
    random = np.random.default_rng(2)
    excess: dict[float | None, int] = {None: 0, 0.8: 0}
    for counts in random.multinomial(300, truth / truth.sum(), size=60):
        for confidence in excess:
            strategy = solve(
                "minimean", VoteDistribution.from_counts(counts), 1e-2, confidence=confidence
            ).strategy
            excess[confidence] += evaluate(strategy).mean(true).disagreement > 1e-2
    assert excess[0.8] <= 0.2 * 60
    assert excess[None] > 0.2 * 60  # what the paper's minimean does; or this test would show nothing


@given(counted_votes, class_limits, st.sampled_from(["minimean", "minimixed", "minimax"]))
@settings(max_examples=40)
def test_budgets_for_each_answer_hold_given_that_answer(votes, budget, criterion):
    solution = solve(criterion, votes, budget)
    disagreement, yes = evaluate(solution.strategy).disagreement, is_yes(votes.n_voters, solution.quota)
    for side, members in (("yes", yes), ("no", ~yes)):
        weights = votes.probabilities[members]
        if criterion == "minimean" and weights.any():
            risk = weights @ disagreement[members] / weights.sum()
        else:
            risk = disagreement[members].max()
        assert risk <= budget[side] + 1e-15
        assert solution.disagreement[side] == pytest.approx(risk, rel=1e-12)
    assert certify(solution).holds


@given(counted_votes, class_limits | limits, st.sampled_from([0.5, 0.95]))
@settings(max_examples=40)
def test_what_is_promised_with_a_confidence_is_certified(votes, budget, confidence):
    assert certify(solve("minimean", votes, budget, confidence=confidence)).holds


@given(counted_votes, limits, st.data())
@settings(max_examples=40)
def test_it_stops_only_at_the_looks_and_no_strategy_does_better(votes, limit, data):
    looks = data.draw(st.integers(1, 5) | st.sets(st.integers(0, votes.n_voters), min_size=1))
    criterion = data.draw(st.sampled_from(["minimean", "minimixed", "minimax"]))
    solution = solve(criterion, votes, limit, looks=looks)
    allowed = solution.looks or range(votes.n_voters + 1)
    for n in range(votes.n_voters + 1):
        point = VoteDistribution.from_counts(np.eye(votes.n_voters + 1)[n])
        asked = np.flatnonzero(evaluate(solution.strategy).votes_asked(point) > 1e-12)
        assert set(asked.tolist()) <= set(allowed)
    assert certify(solution).holds


@given(counted_votes, limits)
@settings(max_examples=40)
def test_the_likeliest_answer_never_costs_more_under_minimean(votes, limit):
    likeliest, majority = (
        solve("minimean", votes, limit, answer=answer) for answer in ("likeliest", "majority")
    )
    assert likeliest.expected_votes <= majority.expected_votes * (1 + 1e-9) + 1e-12
    assert certify(likeliest).holds


@given(counted_votes, class_limits | limits, st.data())
@settings(max_examples=40)
def test_likeliest_answers_are_bounded_for_every_input_where_the_criterion_says_so(votes, budget, data):
    kwargs = data.draw(st.sampled_from([{}, {"looks": 3}]))
    solution = solve("minimixed", votes, budget, answer="likeliest", **kwargs)
    disagreement, yes = evaluate(solution.strategy).disagreement, is_yes(votes.n_voters, solution.quota)
    worst = {"all": disagreement.max(), "yes": disagreement[yes].max(), "no": disagreement[~yes].max()}
    for side, limit in (budget if isinstance(budget, dict) else {"all": budget}).items():
        assert worst[side] <= limit
    assert certify(solution).holds
    assert certify(solve("minimean", votes, budget, answer="likeliest", confidence=0.9, **kwargs)).holds


def test_a_skewed_distribution_is_answered_sooner_by_the_likeliest():
    votes = VoteDistribution.from_counts(betabinom.pmf(range(22), 21, 1.2, 0.1))  # hardly ever no
    assert solve("minimean", votes, 0.2, answer="likeliest").expected_votes == 0
    assert solve("minimean", votes, 0.2).expected_votes > 0  # without votes the majority is no


def test_a_solution_with_everything_survives_its_file(tmp_path):
    solution = solve(
        "minimean", SEEN, {"yes": 1e-2, "no": 1e-3}, confidence=0.9, looks=[2, 5, 9], answer="likeliest"
    )
    solution.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert loaded.strategy == solution.strategy
    for name in ("max_disagreement", "disagreement", "expected_votes", "confidence", "looks", "answer"):
        assert getattr(loaded, name) == getattr(solution, name)
    assert certify(loaded).holds


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"confidence": 1.0}, "strictly between 0 and 1"),
        ({"confidence": "high"}, "confidence must be a number"),
        ({"max_disagreement": {"yes": 0.1}}, 'each of "yes" and "no"'),
        ({"max_disagreement": {"yes": 0.1, "no": 2}}, r"max_disagreement\['no'\]"),
        ({"looks": 0}, "at least 1"),
        ({"looks": [3, 99]}, "from 0 to 21"),
        ({"looks": []}, "looks must be"),
        ({"looks": "often"}, "looks must be"),
        ({"looks": 2.5}, "looks must be"),
        ({"answer": "no"}, "answer must be one of majority, likeliest"),
        ({"answer": "likeliest", "criterion": "minimax"}, "minimax.*which assumes none"),
    ],
)
def test_bad_input_is_told_what_is_wrong(kwargs, words):
    criterion, limit = kwargs.pop("criterion", "minimean"), kwargs.pop("max_disagreement", 1e-2)
    with pytest.raises(InvalidInputError, match=words):
        solve(criterion, SEEN, limit, **kwargs)


def test_confidence_needs_counted_votes_unless_every_input_is_bounded():
    with pytest.raises(InvalidInputError, match="counted from observed inputs"):
        solve("minimean", 21, 1e-2, confidence=0.95)
    assert solve("minimixed", 21, 1e-2, confidence=0.95).disagreement <= 1e-2

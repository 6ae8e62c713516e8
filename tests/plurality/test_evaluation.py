"""Evaluation: exact, as every order of the votes says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from foregone import evaluate, rules
from foregone.plurality import CompositionDistribution, evaluate_plurality
from foregone.plurality import rules as plurality_rules
from tests.plurality import slow
from tests.plurality.strategies import plurality_strategies


@settings(max_examples=30)
@given(plurality_strategies())
def test_votes_and_disagreement_are_those_of_every_order(strategy):
    evaluation = evaluate_plurality(strategy)
    for place, row in enumerate(strategy.lattice.compositions().tolist()):
        votes, wrong = slow.votes_and_disagreement(
            row, lambda seen: strategy.stop_probability(slow.sorted_counts(seen))
        )
        assert evaluation.expected_votes[place] == pytest.approx(float(votes), rel=1e-12)
        assert evaluation.disagreement[place] == pytest.approx(float(wrong), rel=1e-12, abs=1e-300)


def test_with_two_answers_and_an_odd_number_of_voters_it_is_the_evaluation_of_yes_and_no():
    two, plain = evaluate_plurality(plurality_rules.lead(11, n_classes=2)), evaluate(rules.lead(11))
    for place, (most, _) in enumerate(two.strategy.lattice.compositions().tolist()):
        assert two.expected_votes[place] == pytest.approx(plain.expected_votes[most])
        assert two.disagreement[place] == pytest.approx(plain.disagreement[most])


def test_means_and_worst_are_over_compositions():
    evaluation = evaluate_plurality(plurality_rules.lead(3, 1))
    seen = CompositionDistribution.from_counts([[2, 1, 0], [0, 3, 0], [0, 1, 2], [1, 1, 1]])
    assert evaluation.mean(seen) == pytest.approx((1.0, 0.5 * 1 / 3))
    assert evaluation.worst() == pytest.approx((1.0, 1 / 3))


@settings(max_examples=30)
@given(plurality_strategies())
def test_the_distribution_of_votes_asked_has_the_mean_that_is_evaluated(strategy):
    evaluation, flat = evaluate_plurality(strategy), CompositionDistribution.flat(strategy.lattice)
    asked = evaluation.votes_asked(flat)
    assert asked.sum() == pytest.approx(1)
    assert asked @ range(strategy.n_voters + 1) == pytest.approx(evaluation.mean(flat).expected_votes)


@settings(max_examples=30)
@given(plurality_strategies())
def test_it_stops_from_the_leads_that_are_told_and_only_there(strategy):
    flat = CompositionDistribution.flat(strategy.lattice)
    stops = {after.asked: after for after in evaluate_plurality(strategy).stops(flat)}
    top, second = strategy.lattice.top_two()
    stop, going = strategy.stop_probabilities(), {(): 1.0}  # the counts that can be reached
    for asked in range(1, strategy.n_voters + 1):
        here: dict[tuple[int, ...], float] = {}
        for counts in going:
            for place in range(min(len(counts) + 1, strategy.lattice.n_classes)):
                more = [*counts, 0]
                more[place] += 1
                state = tuple(sorted((count for count in more if count), reverse=True))
                here[state] = stop[strategy.lattice.number_of(state)]
        numbers = {state: strategy.lattice.number_of(state) for state in here}
        leads = {state: int(top[number] - second[number]) for state, number in numbers.items()}
        stopping = [leads[state] for state in here if here[state] > 0]
        assert (asked in stops) == bool(stopping)
        if stopping:
            assert stops[asked].may_stop_from == min(stopping)
            from_here = stops[asked].stops_from
            above = [lead for lead in set(leads.values()) if from_here is not None and lead >= from_here]
            assert all(here[state] == 1 for state in here if leads[state] in above)
            below = [leads[state] for state in here if leads[state] not in above]
            assert not below or any(here[state] < 1 for state in here if leads[state] == max(below))
        going = {state: 1.0 for state in here if here[state] < 1}


def test_the_worst_by_lead_is_over_the_full_votes_with_that_lead():
    by_lead = evaluate_plurality(plurality_rules.lead(3, 1)).worst_by_lead()
    assert list(by_lead) == [0, 1, 3]
    assert by_lead[1] == pytest.approx((1.0, 1 / 3))
    assert by_lead[0].disagreement == by_lead[3].disagreement == 0


def test_an_evaluation_is_shown_in_a_line():
    shown = repr(evaluate_plurality(plurality_rules.lead(3, 1)))
    assert shown == (
        "<PluralityEvaluation of <PluralityStrategy for 3 voters, any answers>: at most 1 expected votes and "
        "disagreement 0.333>"
    )

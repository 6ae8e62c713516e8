"""The usual rules, against their definitions."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import integrate, stats

from foregone import VoteDistribution
from foregone.errors import InvalidInputError
from foregone.plurality import CompositionDistribution, evaluate_plurality, lattice_of, rules
from tests.plurality import slow
from tests.rules.definitions import lead_evidence

N_VOTERS = 6


def is_decided(votes: tuple[int, ...], n_voters: int) -> bool:
    counts = [*slow.sorted_counts(votes), 0]
    return counts[0] - counts[1] >= n_voters - len(votes)


def esc_stops(votes: tuple[int, ...], window: int) -> float:
    last = votes[-window:]
    return float(
        is_decided(votes, N_VOTERS) or (len(votes) % window == 0 and len(set(last)) == 1)
    )  # earlier windows ended the poll earlier


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_esc_is_what_it_is_in_every_order_on_average(window):
    strategy = rules.esc(N_VOTERS, window)
    evaluation = evaluate_plurality(strategy)
    for place, row in enumerate(strategy.lattice.compositions().tolist()):
        votes, wrong = slow.votes_and_disagreement(row, lambda seen: esc_stops(seen, window))
        assert evaluation.expected_votes[place] == pytest.approx(float(votes))
        assert evaluation.disagreement[place] == pytest.approx(float(wrong))


def test_curtailment_is_never_wrong_and_a_lead_beyond_reach_is_curtailment():
    strategy = rules.curtailment(9, 4)
    evaluation = evaluate_plurality(strategy)
    assert evaluation.disagreement.max() == 0
    assert evaluation.expected_votes.max() == pytest.approx(9)
    assert rules.lead(9, 10, n_classes=4) == strategy == rules.adaptive_consistency(9, 1, n_classes=4)


def test_beta_weighs_the_first_two_answers():
    strategy = rules.adaptive_consistency(20, 0.9)
    for counts in ([3], [4], [5, 1], [5, 1, 1], [6, 2, 1], [7, 2], [4, 4]):
        first, second = (*counts, 0)[:2]
        sure = stats.beta.sf(0.5, first + 1, second + 1)
        assert strategy.stop_probability(counts) == float(sure >= 0.9)


@pytest.mark.parametrize("counts", [[3], [1, 1], [4, 1], [3, 2, 2], [5, 2, 1, 1], [7, 4, 3, 2]])
def test_dirichlet_weighs_all_answers(counts):
    others = counts[1:] or [0]
    sure, _ = integrate.quad(
        lambda x: stats.gamma.pdf(x, counts[0] + 1) * np.prod([stats.gamma.cdf(x, c + 1) for c in others]),
        0,
        80,
        epsabs=1e-12,
        limit=200,
    )
    at = {"kind": "dirichlet", "n_classes": 5}
    assert rules.adaptive_consistency(20, sure - 1e-7, **at).stop_probability(counts) == 1
    assert rules.adaptive_consistency(20, sure + 1e-7, **at).stop_probability(counts) == 0


def test_at_least_one_voter_is_asked_even_at_threshold_zero():
    for kind in ("beta", "dirichlet"):
        evaluation = evaluate_plurality(rules.adaptive_consistency(7, 0, kind=kind))
        assert evaluation.expected_votes == pytest.approx(np.ones(lattice_of(7).n_compositions))


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_the_first_answer_with_k_votes_ends_the_poll(k):
    strategy = rules.quorum(N_VOTERS, k)
    evaluation = evaluate_plurality(strategy)

    def stops(votes):
        return float(max(slow.sorted_counts(votes), default=0) >= k or is_decided(votes, N_VOTERS))

    for place, row in enumerate(strategy.lattice.compositions().tolist()):
        votes, wrong = slow.votes_and_disagreement(row, stops)
        assert evaluation.expected_votes[place] == pytest.approx(float(votes))
        assert evaluation.disagreement[place] == pytest.approx(float(wrong))


@pytest.mark.parametrize("limit", [0.001, 0.05, 0.3])
def test_cite_stops_when_the_evidence_against_every_other_answer_is_enough(limit):
    strategy = rules.cite(25, limit, n_classes=4)
    for counts in ([1], [4], [9], [14], [6, 1], [9, 2, 2], [12, 1, 1, 1], [12, 3], [10, 9, 1], [5, 5]):
        evidence = [lead_evidence(counts[0], other) for other in (*counts[1:], 0)]
        decided = counts[0] - (*counts, 0)[1] >= 25 - sum(counts)
        assert strategy.stop_probability(counts) == float(min(evidence) >= 1 / limit or decided)


def test_cite_without_a_level_is_curtailment_and_asks_a_voter_at_any_level():
    assert rules.cite(9, 0, n_classes=4) == rules.curtailment(9, 4)
    assert evaluate_plurality(rules.cite(7, 1)).expected_votes == pytest.approx(
        np.ones(lattice_of(7).n_compositions)
    )


PAST = [[6], [5, 1], [5, 1], [4, 1, 1], [3, 2, 1], [3, 3], [2, 2, 1, 1]]


def posteriors(past: list[list[int]]) -> dict[tuple[int, int, int], float]:
    """How likely the leader wins, by votes asked and the first two counts: every order of every past vote."""
    right: Counter[tuple[int, int, int]] = Counter()
    total: Counter[tuple[int, int, int]] = Counter()
    for row in past:
        full = [answer for answer, times in enumerate(row) for _ in range(times)]
        for order in itertools.permutations(full):
            for asked in range(1, len(order) + 1):
                seen = Counter(order[:asked])  # of tied leaders, the one cast first
                (leader, first), (_, second) = [*seen.most_common(2), (None, 0)][:2]
                total[asked, first, second] += 1
                right[asked, first, second] += row[leader] == max(row)
    return {state: right[state] / total[state] for state in total}


@pytest.mark.parametrize("limit", [0.01, 0.08, 0.17, 0.3, 0.6])
def test_a_learned_prior_stops_where_the_leader_won_in_enough_of_the_past_orders(limit):
    strategy = rules.learned_prior(CompositionDistribution.from_counts(PAST), limit)
    known = posteriors(PAST)
    for length in range(1, N_VOTERS):
        for counts in lattice_of(length).compositions().tolist():
            state = (length, *[*counts, 0][:2])
            sure = known.get(state, 0.0) >= 1 - limit
            assert strategy.stop_probability(counts) == float(
                sure or state[1] - state[2] >= N_VOTERS - length
            ), counts


def test_on_the_votes_it_learned_from_a_learned_prior_keeps_the_limit():
    past = CompositionDistribution.from_counts(PAST, n_classes=4)
    for limit in (0.0, 0.02, 0.1, 0.25):
        strategy = rules.learned_prior(past, limit)
        assert strategy.n_classes == 4
        assert evaluate_plurality(strategy).mean(past).disagreement <= limit + 1e-12


def test_bad_parameters_are_refused_with_the_reason():
    with pytest.raises(InvalidInputError, match="k must be an integer"):
        rules.lead(5, 0)
    with pytest.raises(InvalidInputError, match="k must be an integer"):
        rules.quorum(5, 0)
    with pytest.raises(InvalidInputError, match="max_disagreement"):
        rules.cite(5, 1.5)
    with pytest.raises(InvalidInputError, match="votes must be a CompositionDistribution"):
        rules.learned_prior(VoteDistribution.flat(5), 0.1)
    with pytest.raises(InvalidInputError, match="window must be"):
        rules.esc(5, 1.5)
    with pytest.raises(InvalidInputError, match="threshold must be"):
        rules.adaptive_consistency(5, 1.2)
    with pytest.raises(InvalidInputError, match="got 'gamma'"):
        rules.adaptive_consistency(5, kind="gamma")

"""The usual rules, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from foregone.errors import InvalidInputError
from foregone.plurality import evaluate_plurality, lattice_of, rules
from tests.plurality import slow

N_VOTERS = 6


def is_decided(votes: tuple[int, ...], n_voters: int) -> bool:
    counts = [*slow.sorted_counts(votes), 0]
    return counts[0] - counts[1] >= n_voters - len(votes)


def esc_stops(votes: tuple[int, ...], window: int) -> float:
    last = votes[-window:]
    return float(
        is_decided(votes, N_VOTERS) or (len(votes) % window == 0 and len(set(last)) == 1)
    )  # earlier windows ended the poll earlier


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


def test_bad_parameters_are_refused_with_the_reason():
    with pytest.raises(InvalidInputError, match="k must be a whole number"):
        rules.lead(5, 0)
    with pytest.raises(InvalidInputError, match="window must be"):
        rules.esc(5, 1.5)
    with pytest.raises(InvalidInputError, match="threshold must be"):
        rules.adaptive_consistency(5, 1.2)
    with pytest.raises(InvalidInputError, match="kind must be beta or dirichlet, not 'gamma'"):
        rules.adaptive_consistency(5, kind="gamma")

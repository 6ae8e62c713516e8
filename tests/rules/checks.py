"""Checks every rule's test makes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from foregone import StoppingStrategy, VoteDistribution, evaluate

# No decimal here is where a rule's probability lies for so few voters, so no state is a matter of rounding.
LIMITS = [1e-6, 0.001, 0.01, 0.049, 0.11, 0.23, 0.41, 0.49, 0.51, 0.83, 1.0]
FEW_VOTERS = range(1, 16)


def check_state_by_state(
    strategy: StoppingStrategy, stops: Callable[[int, int, int, Fraction], bool], limit: float
) -> None:
    """Compare every state, reachable or not, with the exact definition."""
    exact = Fraction(limit)
    for asked in range(strategy.n_voters):
        for yes in range(asked + 1):
            expected = stops(strategy.n_voters, asked, yes, exact)
            assert strategy.stop_probability(asked, yes) == expected, (asked, yes)


def check_asks_no_fewer(careful: StoppingStrategy, bold: StoppingStrategy) -> None:
    """Check that the careful one asks at least as many votes, whatever the full vote."""
    slack = 1e-12 * careful.n_voters
    assert (evaluate(careful).expected_votes >= evaluate(bold).expected_votes - slack).all()
    for asked in range(careful.n_voters):
        assert (careful.stop_probabilities(asked) <= bold.stop_probabilities(asked)).all()


def flat_mean_votes(strategy: StoppingStrategy) -> float:
    return evaluate(strategy).mean(VoteDistribution.flat(strategy.n_voters)).expected_votes

from fractions import Fraction
from math import comb

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foregone import VoteDistribution
from foregone.solving.problem import likeliest_answers
from foregone.strategy.thresholds import answers_for, majority
from tests.strategies import vote_distributions


def chances(votes: VoteDistribution, asked: int, yes: int) -> tuple[Fraction, Fraction]:
    """Return the exact chance of the state and a full vote of no, and of the state and yes."""
    N, total = votes.n_voters, [Fraction(0), Fraction(0)]
    for n, p in enumerate(votes.probabilities.tolist()):
        ways = comb(n, yes) * comb(N - n, asked - yes)
        total[2 * n > N] += Fraction(p) * Fraction(ways, comb(N, asked))
    return total[0], total[1]


@given(st.integers(1, 7).flatmap(vote_distributions))
def test_the_likeliest_answer_is_the_likelier_full_vote_in_every_state(votes):
    thresholds = likeliest_answers(votes)
    plain = answers_for(votes.n_voters, majority(votes.n_voters))
    for asked in range(votes.n_voters + 1):
        for yes in range(asked + 1):
            no_chance, yes_chance = chances(votes, asked, yes)
            if abs(yes_chance - no_chance) > (yes_chance + no_chance) / 10**9:
                assert (yes >= thresholds[asked]) == (yes_chance > no_chance)
        if not any(sum(chances(votes, asked, yes)) for yes in range(asked + 1)):
            assert thresholds[asked] == plain[asked]


def test_flat_votes_make_the_majority_the_likeliest():
    for n_voters in (1, 2, 7, 10):
        np.testing.assert_array_equal(
            likeliest_answers(VoteDistribution.flat(n_voters)), answers_for(n_voters, majority(n_voters))
        )

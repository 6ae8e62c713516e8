"""What each rule says, in exact rational numbers, word for word and as slow as it likes.

Independent of the code under test: it shares neither formulas nor numbers with it.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial


def is_decided(n_voters: int, asked: int, yes: int) -> bool:
    """Whether every way the rest may vote gives the same answer."""
    return len({2 * (yes + more) > n_voters for more in range(n_voters - asked + 1)}) == 1


def likelihood(n_voters: int, n_yes: int, asked: int, yes: int) -> Fraction:
    """Return the chance that the first ``asked`` votes hold ``yes``, if ``n_yes`` of all say yes."""
    return Fraction(comb(n_yes, yes) * comb(n_voters - n_yes, asked - yes), comb(n_voters, asked))


def beta_function(a: int, b: int) -> Fraction:
    return Fraction(factorial(a - 1) * factorial(b - 1), factorial(a + b - 1))


def schwing_chances(asked: int, yes: int) -> tuple[Fraction, Fraction]:
    """Return the chances that an inclination with a uniform prior is below, and above, one half."""
    a, b = yes + 1, asked - yes + 1

    def beta_below_half(a: int, b: int) -> Fraction:  # integral of x^(a-1) (1-x)^(b-1), term by term
        return sum(
            Fraction((-1) ** k * comb(b - 1, k), (a + k) * 2 ** (a + k)) for k in range(b)
        ) / beta_function(a, b)

    return beta_below_half(a, b), beta_below_half(b, a)


def ibep_chances(n_voters: int, asked: int, yes: int) -> tuple[Fraction, Fraction]:
    """Return the chances that the full vote is no, and yes: the rest is beta-binomial."""
    a, b, rest = yes + 1, asked - yes + 1, n_voters - asked
    chances = [Fraction(0), Fraction(0)]
    for more in range(rest + 1):
        chance = comb(rest, more) * beta_function(more + a, rest - more + b) / beta_function(a, b)
        chances[2 * (yes + more) > n_voters] += chance
    return chances[0], chances[1]


def evidence(n_voters: int, asked: int, yes: int) -> tuple[Fraction | None, Fraction | None]:
    """Return the e-values against "the full vote is no" and "is yes"; None where infinite."""
    middle = n_voters // 2

    def ratio(full_votes: range, closest: int) -> Fraction | None:
        mean = sum(likelihood(n_voters, n, asked, yes) for n in full_votes) / len(full_votes)
        against = likelihood(n_voters, closest, asked, yes)
        return mean / against if against else None

    return ratio(range(middle + 1, n_voters + 1), middle), ratio(range(middle + 1), middle + 1)


def curtailment_stops(n_voters: int, asked: int, yes: int, limit: Fraction) -> bool:
    return is_decided(n_voters, asked, yes)


def schwing_stops(n_voters: int, asked: int, yes: int, limit: Fraction) -> bool:
    return is_decided(n_voters, asked, yes) or min(schwing_chances(asked, yes)) < limit


def ibep_stops(n_voters: int, asked: int, yes: int, limit: Fraction) -> bool:
    return min(ibep_chances(n_voters, asked, yes)) <= limit


def e_process_stops(n_voters: int, asked: int, yes: int, limit: Fraction) -> bool:
    return any(value is None or limit * value >= 1 for value in evidence(n_voters, asked, yes))


def lead_stops(n_voters: int, asked: int, yes: int, k: int) -> bool:
    return abs(yes - (asked - yes)) >= k or is_decided(n_voters, asked, yes)


def quorum_stops(n_voters: int, asked: int, yes: int, k: int) -> bool:
    return yes >= k or asked - yes >= k or is_decided(n_voters, asked, yes)


def lead_evidence(ahead: int, behind: int) -> Fraction:
    """Return the mean likelihood over p uniform from 1/2 to 1, term by term, by that of a fair coin."""
    total = Fraction(0)
    for k in range(behind + 1):  # p^ahead (1 - p)^behind, the second power multiplied out
        power = ahead + k + 1
        total += (-1) ** k * comb(behind, k) * (1 - Fraction(1, 2**power)) / power
    return 2 * total * 2 ** (ahead + behind)


def cite_stops(n_voters: int, asked: int, yes: int, limit: Fraction) -> bool:
    first, second = max(yes, asked - yes), min(yes, asked - yes)
    return limit * lead_evidence(first, second) >= 1 or is_decided(n_voters, asked, yes)


def learned_prior_stops(past: list[int], asked: int, yes: int, limit: Fraction) -> bool:
    """Weigh every past vote, ``past[n]`` of which had n yes, by the chance of the votes asked."""
    n_voters = len(past) - 1
    weights = [times * likelihood(n_voters, n, asked, yes) for n, times in enumerate(past)]
    answer = 2 * yes > asked
    right = sum(weight for n, weight in enumerate(weights) if (2 * n > n_voters) == answer)
    is_sure = sum(weights) > 0 and right >= (1 - limit) * sum(weights)
    return asked > 0 and (is_sure or is_decided(n_voters, asked, yes))

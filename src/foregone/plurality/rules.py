"""The usual rules for votes among any number of answers; each returns a PluralityStrategy.

As in `foregone.rules`, besides its own condition every rule stops as soon as the voters not yet asked cannot
change the answer; and at least one voter is always asked.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import betaincc, gammainc, gammaln

from foregone._kernels import plurality_rules as kernels
from foregone.checks import FloatArray, check_share, check_whole
from foregone.errors import InvalidInputError
from foregone.plurality.lattice import Lattice, is_decided, lattice_of
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["adaptive_consistency", "curtailment", "esc", "lead"]

_STEP = 0.04  # of the logarithm in which is integrated: the error is far below 1e-9 up to thousands of votes
_LEAST_DENSITY = 1e-18


def curtailment(n_voters: int, n_classes: int | None = None) -> PluralityStrategy:
    """Stop as soon as no other answer can overtake the leader, not even by all the votes to come.

    It never disagrees with the full vote, and no rule that never disagrees asks fewer votes.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    n_classes : int, optional
        How many different answers there can be; any number by default.

    Examples
    --------
    >>> strategy = curtailment(9)
    >>> strategy.stop_probability([4, 1]), strategy.stop_probability([4, 1, 1])
    (0.0, 1.0)
    """
    lattice = lattice_of(n_voters, n_classes)
    return PluralityStrategy.from_probabilities(lattice, is_decided(lattice))


def lead(n_voters: int, k: int = 3, *, n_classes: int | None = None) -> PluralityStrategy:
    """Stop when the leader is ``k`` votes ahead of the next answer, or the rest cannot change the answer.

    As with two answers (`foregone.rules.lead`) it knows nothing of a limit and guarantees nothing.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    k : int, default 3
        The lead to stop at, at least 1.
    n_classes : int, optional
        How many different answers there can be; any number by default.

    Examples
    --------
    >>> strategy = lead(40)
    >>> strategy.stop_probability([4, 1, 1]), strategy.stop_probability([4, 2])
    (1.0, 0.0)
    """
    lattice, k = lattice_of(n_voters, n_classes), check_whole(k, "k")
    top, second = lattice.top_two()
    return PluralityStrategy.from_probabilities(lattice, (top - second >= k) | is_decided(lattice))


def esc(n_voters: int, window: int = 5, *, n_classes: int | None = None) -> PluralityStrategy:
    """Stop at the end of a window of votes that are all alike, or when the rest cannot change the answer.

    Early-stopping self-consistency of Li and others (ICLR 2024), see `foregone.rules.esc`, for any number of
    answers. Whether a window was unanimous depends on the order of the votes. But given their counts every
    order is equally likely, whatever the full vote; so, averaged over orders, the rule is the randomised
    strategy that is returned, for every full vote.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    window : int, default 5
        Votes in a window, at least 1. The last window may be cut short by the number of voters.
    n_classes : int, optional
        How many different answers there can be; any number by default.

    Examples
    --------
    >>> strategy = esc(40)
    >>> strategy.stop_probability([5]), strategy.stop_probability([4, 1])
    (1.0, 0.0)
    >>> round(strategy.stop_probability([8, 1, 1]), 3)  # as often as both others were among the first five
    0.286
    """
    lattice, window = lattice_of(n_voters, n_classes), check_whole(window, "window")
    stop = np.zeros(lattice.n_states)
    window = min(window, lattice.n_voters + 1)  # a longer one never ends, and may not fit a machine's word
    kernels.fill_esc(*lattice.edges, window, is_decided(lattice), stop)
    return PluralityStrategy.from_probabilities(lattice, stop)


def adaptive_consistency(
    n_voters: int,
    threshold: float = 0.95,
    *,
    kind: Literal["beta", "dirichlet"] = "beta",
    n_classes: int | None = None,
) -> PluralityStrategy:
    """Stop when the leading answer is the likeliest one with probability at least ``threshold``.

    From Aggarwal, Madaan, Yang and Mausam, "Let's sample step by step: adaptive-consistency for efficient
    reasoning and coding with LLMs" (EMNLP 2023). The threshold is no bound on the disagreement.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    threshold : float, default 0.95
        From 0, which stops after the first vote, to 1, which is `curtailment`.
    kind : {"beta", "dirichlet"}
        ``"beta"``: the leader against the next answer alone, a share of their votes being uniform beforehand;
        ``"dirichlet"``: against all answers so far, all shares being equally likely beforehand (and against
        one that nobody gave, where there is only one).
    n_classes : int, optional
        How many different answers there can be; any number by default.

    Examples
    --------
    >>> beta = adaptive_consistency(40)
    >>> beta.stop_probability([4]), beta.stop_probability([3]), beta.stop_probability([6, 1, 1])
    (1.0, 0.0, 1.0)
    >>> adaptive_consistency(40, kind="dirichlet").stop_probability([6, 1, 1])
    0.0
    """
    lattice, sure = lattice_of(n_voters, n_classes), check_share(threshold, "threshold")
    stop = is_decided(lattice)
    if sure < 1:
        if kind == "beta":
            stop |= _beta(lattice) >= sure
        elif kind == "dirichlet":
            stop |= _dirichlet(lattice) >= sure
        else:
            raise InvalidInputError(f"kind must be beta or dirichlet, not {kind!r}")
    stop[0] = False
    return PluralityStrategy.from_probabilities(lattice, stop)


def _beta(lattice: Lattice) -> FloatArray:
    """Return how likely the leader is the likelier of the first two."""
    votes = np.arange(lattice.n_voters + 1.0)
    chance: FloatArray = betaincc(votes[:, None] + 1, votes[None, :] + 1, 0.5)
    top, second = lattice.top_two()
    return np.asarray(chance[top, second])


def _dirichlet(lattice: Lattice) -> FloatArray:
    """Return how likely the leader is the likeliest of all answers so far."""
    n_voters = lattice.n_voters
    x = np.exp(np.arange(-45.0, np.log(n_voters + 60 + 12 * np.sqrt(n_voters)), _STEP))
    votes = np.arange(n_voters + 1.0)[:, None]
    density = np.exp((votes + 1) * np.log(x) - x - gammaln(votes + 1)) * _STEP
    matters = density > _LEAST_DENSITY
    chance = np.zeros(lattice.n_states)
    kernels.fill_dirichlet(
        *lattice.edges,
        density,
        gammainc(votes + 1, x),
        np.argmax(matters, axis=1),
        len(x) - np.argmax(matters[:, ::-1], axis=1),
        chance,
    )
    return chance

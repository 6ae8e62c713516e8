"""Common stopping rules for votes among any number of answers; each returns a PluralityStrategy.

As in `foregone.rules`, every rule also stops as soon as the voters not yet asked cannot change the answer,
and always asks at least one voter.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import scipy  # whose parts are loaded when first used, and take a while

from foregone._kernels import plurality_rules as kernels
from foregone.checks import FloatArray, check_max_disagreement, check_share, check_whole
from foregone.errors import InvalidInputError
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import Lattice, is_decided, lattice_of
from foregone.plurality.mode_evidence import log_evidence
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["adaptive_consistency", "cite", "curtailment", "esc", "lead", "learned_prior", "quorum"]

_STEP = 0.04  # step of the logarithm in the integral: the error is far below 1e-9 up to thousands of votes
_LEAST_DENSITY = 1e-18


def curtailment(n_voters: int, n_classes: int | None = None) -> PluralityStrategy:
    """Stop as soon as no other answer can overtake the leader, even with all remaining votes.

    It never disagrees with the full vote, and no rule that never disagrees asks fewer votes.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    n_classes : int, optional
        The largest possible number of different answers; by default any number.

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

    As for two answers (`foregone.rules.lead`), it uses no limit and guarantees nothing.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    k : int, default 3
        The lead to stop at, at least 1.
    n_classes : int, optional
        The largest possible number of different answers; by default any number.

    Examples
    --------
    >>> strategy = lead(40)
    >>> strategy.stop_probability([4, 1, 1]), strategy.stop_probability([4, 2])
    (1.0, 0.0)
    """
    lattice, k = lattice_of(n_voters, n_classes), check_whole(k, "k")
    top, second = lattice.top_two()
    return PluralityStrategy.from_probabilities(lattice, (top - second >= k) | is_decided(lattice))


def quorum(n_voters: int, k: int = 5, *, n_classes: int | None = None) -> PluralityStrategy:
    """Stop when one answer has ``k`` votes, or the rest cannot change the answer.

    First to k, as for two answers (`foregone.rules.quorum`). It guarantees nothing.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    k : int, default 5
        The votes to stop at, at least 1.
    n_classes : int, optional
        The largest possible number of different answers; by default any number.

    Examples
    --------
    >>> strategy = quorum(40, 4)
    >>> strategy.stop_probability([4, 3, 3]), strategy.stop_probability([3, 3, 3])
    (1.0, 0.0)
    """
    lattice, k = lattice_of(n_voters, n_classes), check_whole(k, "k")
    top, _ = lattice.top_two()
    return PluralityStrategy.from_probabilities(lattice, (top >= k) | is_decided(lattice))


def esc(n_voters: int, window: int = 5, *, n_classes: int | None = None) -> PluralityStrategy:
    """Stop after a window of unanimous votes, or when the rest cannot change the answer.

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
        The largest possible number of different answers; by default any number.

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
    """Stop when the leader is the most probable answer with probability at least ``threshold``.

    From Aggarwal, Madaan, Yang and Mausam, "Let's sample step by step: adaptive-consistency for efficient
    reasoning and coding with LLMs" (EMNLP 2023). The threshold is not a bound on the disagreement.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    threshold : float, default 0.95
        From 0, which stops after the first vote, to 1, which is `curtailment`.
    kind : {"beta", "dirichlet"}
        ``"beta"``: the leader against the next answer alone, with a uniform prior on their shares;
        ``"dirichlet"``: against all answers so far, with a uniform prior on all shares (and against one that
        nobody gave, if there is only one).
    n_classes : int, optional
        The largest possible number of different answers; by default any number.

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
            raise InvalidInputError(f'kind must be "beta" or "dirichlet", got {kind!r}')
    stop[0] = False
    return PluralityStrategy.from_probabilities(lattice, stop)


def cite(n_voters: int, max_disagreement: float, *, n_classes: int | None = None) -> PluralityStrategy:
    """Stop when the evidence that the leader is the mode reaches ``1 / max_disagreement``.

    After CITE of Ota, Iwase, Ichihara, Komiyama and Imaizumi (2026, arXiv 2605.05873), see
    `foregone.rules.cite`: an intersection-union test. The leader is the mode if it is more frequent than
    every other answer, so it stops when each of these e-values is large enough: those of
    `foregone.plurality.mode_evidence.log_evidence`, which are smallest against the next answer. An answer
    that nobody gave yet is one with no votes, so the set of answers need not be known.

    It is about the answer that independent voters give most often, not about the full vote. CITE guarantees
    that an answer named in advance is certified wrongly with probability at most ``max_disagreement``. Here
    the leader is certified. Of K answers, K - 1 can be certified wrongly, so the probability is at most K - 1
    times as large.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        The level alpha, from 0 (which is `curtailment`) to 1.
    n_classes : int, optional
        The largest possible number of different answers; by default any number.

    Examples
    --------
    >>> strategy = cite(40, 0.05)
    >>> strategy.stop_probability([7]), strategy.stop_probability([6]), strategy.stop_probability([9, 1, 1])
    (1.0, 0.0, 0.0)
    """
    lattice, limit = lattice_of(n_voters, n_classes), check_max_disagreement(max_disagreement)
    stop = is_decided(lattice)
    if limit > 0:
        votes = np.arange(lattice.n_voters + 1)
        stop |= log_evidence(votes[:, None], votes)[lattice.top_two()] >= -math.log(limit)
    stop[0] = False
    return PluralityStrategy.from_probabilities(lattice, stop)


def learned_prior(votes: CompositionDistribution, max_disagreement: float) -> PluralityStrategy:
    """Stop when the leader wins the full vote with probability at least ``1 - max_disagreement``.

    After Huang, Ma and Zhou (ICML 2026, arXiv 2602.05395), see `foregone.rules.learned_prior`: the
    probability is the one given the votes asked and the counts of the first two answers, all others taken
    together, if full votes are distributed as ``votes``. This follows their description with three counts
    ("L = 3"), not their code; votes are drawn without replacement from a full vote, not independently.

    If new votes are distributed as ``votes``, the mean disagreement is at most ``max_disagreement``. Nothing
    is guaranteed if they are a sample.

    Parameters
    ----------
    votes : CompositionDistribution
        The distribution of past votes, and the number of answers.
    max_disagreement : float
        From 0 to 1, one minus the threshold of the posterior probability.

    Examples
    --------
    >>> past = CompositionDistribution.from_counts([[9], [8, 1], [7, 2], [6, 2, 1], [4, 3, 2]])
    >>> strategy = learned_prior(past, 0.1)
    >>> strategy.stop_probability([3]), strategy.stop_probability([2, 1])
    (1.0, 0.0)
    """
    if not isinstance(votes, CompositionDistribution):
        raise InvalidInputError(
            f"votes must be a CompositionDistribution, got {type(votes).__name__}: make one with "
            "CompositionDistribution.from_answers"
        )
    lattice = lattice_of(votes.n_voters, votes.n_classes)
    limit = check_max_disagreement(max_disagreement)
    stop = is_decided(lattice)
    if limit > 0:
        weights = votes.weights_on(lattice)
        top, second = lattice.top_two()
        # States with the same votes asked, first and second count are treated alike.
        seen = (lattice.votes_so_far().astype(np.int64), top, second)
        alike = np.ravel_multi_index(seen, (lattice.n_voters + 1,) * 3)
        reach, wrong = (
            np.bincount(alike, chances)[alike]
            for chances in (lattice.pull_back(weights), lattice.pull_back_wrong(weights))
        )
        stop |= (reach > 0) & (wrong <= limit * reach)
    stop[0] = False
    return PluralityStrategy.from_probabilities(lattice, stop)


def _beta(lattice: Lattice) -> FloatArray:
    """Return the probability that the leader is the more frequent of the first two answers."""
    votes = np.arange(lattice.n_voters + 1.0)
    chance: FloatArray = scipy.special.betaincc(votes[:, None] + 1, votes[None, :] + 1, 0.5)
    top, second = lattice.top_two()
    return np.asarray(chance[top, second])


def _dirichlet(lattice: Lattice) -> FloatArray:
    """Return the probability that the leader is the most frequent of all answers so far."""
    n_voters = lattice.n_voters
    x = np.exp(np.arange(-45.0, np.log(n_voters + 60 + 12 * np.sqrt(n_voters)), _STEP))
    votes = np.arange(n_voters + 1.0)[:, None]
    density = np.exp((votes + 1) * np.log(x) - x - scipy.special.gammaln(votes + 1)) * _STEP
    matters = density > _LEAST_DENSITY
    chance = np.zeros(lattice.n_states)
    kernels.fill_dirichlet(
        *lattice.edges,
        density,
        scipy.special.gammainc(votes + 1, x),
        np.argmax(matters, axis=1),
        len(x) - np.argmax(matters[:, ::-1], axis=1),
        chance,
    )
    return chance

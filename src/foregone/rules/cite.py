"""CITE: stop when the leader is certified, at any time, to be the more likely answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from foregone.checks import check_max_disagreement, check_n_voters
from foregone.plurality.mode_evidence import log_evidence
from foregone.rules.curtailment import curtailment, is_decided
from foregone.strategy import StoppingStrategy

__all__ = ["cite"]


def cite(n_voters: int, max_disagreement: float) -> StoppingStrategy:
    """Stop when the evidence that the leader is the more likely answer reaches ``1 / max_disagreement``.

    After "certification by intersection-union testing with e-processes" of Ota, Iwase, Ichihara, Komiyama and
    Imaizumi, "CITE: anytime-valid statistical inference in LLM self-consistency" (2026, arXiv 2605.05873).
    The implementation follows the abstract, not the authors' code: it uses the e-value of the leader against
    the other answer from `foregone.plurality.mode_evidence.log_evidence`.

    It is about a voter's probability of an answer, not about the full vote. If votes are independent, such as
    samples of a model, then with probability at most ``max_disagreement`` it ever stops with the less likely
    answer before all voters were asked or the vote is decided. CITE certifies an answer named beforehand;
    between two answers it can certify the leader, because only one of them can be certified wrongly.
    `foregone.evaluate` computes its exact disagreement with the full vote.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        The level alpha, from 0 (which is `curtailment`) to 1 (which stops before the first vote).

    Returns
    -------
    StoppingStrategy
        Deterministic. It also stops when the remaining voters cannot change the answer.

    Examples
    --------
    >>> from foregone import VoteDistribution, evaluate
    >>> evaluation = evaluate(cite(101, 0.05))
    >>> round(evaluation.mean(VoteDistribution.flat(101)).expected_votes, 1)
    38.6
    >>> round(evaluation.worst().disagreement, 3)
    0.013
    """
    n_voters, limit = check_n_voters(n_voters), check_max_disagreement(max_disagreement)
    if limit == 0:
        return curtailment(n_voters)
    enough = -math.log(limit)

    def row(asked: int) -> Any:
        yes = np.arange(asked + 1)
        evidence = log_evidence(np.maximum(yes, asked - yes), np.minimum(yes, asked - yes))
        return (evidence >= enough) | is_decided(n_voters, asked)

    return StoppingStrategy.from_rows(n_voters, row)

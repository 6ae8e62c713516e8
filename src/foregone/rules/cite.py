"""CITE: stop when the leader is certified to be the likelier answer, at any time."""

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
    """Stop when the evidence that the leader is the likelier answer reaches ``1 / max_disagreement``.

    After "certification by intersection-union testing with e-processes" of Ota, Iwase, Ichihara, Komiyama and
    Imaizumi, "CITE: anytime-valid statistical inference in LLM self-consistency" (2026, arXiv 2605.05873).
    This follows the abstract, not their code: what is implemented is the e-value of
    `foregone.plurality.mode_evidence.log_evidence` of the leader against the other answer.

    It is about a voter's inclination, not about the full vote. If the votes are independent, as samples of a
    model are, it ever stops with the unlikelier answer, before everyone is asked or the vote is decided, with
    probability at most ``max_disagreement``. CITE certifies an answer named beforehand; between two answers
    the leader may be taken, because only one of them can be certified wrongly. `foregone.evaluate` gives
    its disagreement with the full vote exactly.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    max_disagreement : float
        The level alpha, from 0 (which is `curtailment`) to 1 (which stops before the first vote).

    Returns
    -------
    StoppingStrategy
        Deterministic. It also stops when the rest cannot change the answer.

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

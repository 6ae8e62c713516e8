"""SolvedLimit: the strategy for one limit, what it costs and risks; the same for every kind of vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foregone.strategy.evaluation import Evaluation
from foregone.strategy.limits import Limits, MaxDisagreement

__all__ = ["ClassFigures", "SolvedLimit"]


@dataclass(frozen=True)
class ClassFigures:
    """The inputs that everyone together gives to one class; None for what is not known.

    Attributes
    ----------
    expected_votes : float or None
        Voters asked on average.
    disagreement : float or None
        Share of these inputs whose answer differs; None also where there is no such input.
    at_most : float or None
        Upper bound on that share.
    worst : float or None
        Probability to differ for the hardest input of the class.
    """

    expected_votes: float | None = None
    disagreement: float | None = None
    at_most: float | None = None
    worst: float | None = None


@dataclass(frozen=True, eq=False)
class SolvedLimit:
    """The strategy for a limit, and what it costs and risks.

    Attributes
    ----------
    limits : Limits
        The limit, or one for each answer.
    strategy : StoppingStrategy, PluralityStrategy or ScoreStrategy
        When to stop; of scores, as learned and not yet certified.
    expected_votes : float
        Voters asked on average.
    disagreement : float
        Share of inputs whose answer differs from that of everyone: expected over random orders, or, of
        scores, measured on the rows of the learning half, each with thresholds it had no part in.
    guaranteed : float or dict
        What the limit is for, and at most the limit; of scores the limit itself, once it is certified.
    by_class : tuple of ClassFigures
        In the order of the classes; of two, no and yes. Empty where the votes do not tell classes apart.
    worst : float or None
        Probability to differ for the hardest input; None where it is not known.
    by_yes : Evaluation or None
        Votes and disagreement for every number of yes votes; only for votes between two answers.
    gap : float or None
        How far ``expected_votes`` may be above the optimum, as a share; None where no optimum is known.
    reason : str or None
        Of scores: why no early stop is likely to be certified, so that it stops only where the answer is
        certain.
    accuracy_loss : float or None
        How far the accuracy falls below that of everyone, gains set off; None where the truth is not known.
    accuracy_loss_by_class : tuple of (float or None)
        The same of the inputs that are truly of each class, None for a class without inputs; empty where the
        truth is not known.
    full_accuracy : float or None
        The share of inputs that everyone together answers rightly; None where the truth is not known.
    """

    limits: Limits
    strategy: Any
    expected_votes: float
    disagreement: float
    guaranteed: MaxDisagreement
    by_class: tuple[ClassFigures, ...] = ()
    worst: float | None = None
    by_yes: Evaluation | None = None
    gap: float | None = None
    reason: str | None = None
    accuracy_loss: float | None = None
    accuracy_loss_by_class: tuple[float | None, ...] = ()
    full_accuracy: float | None = None

    @property
    def limit(self) -> float:
        """The limit as a number: the larger one if there are two."""
        return self.limits.loosest

    @property
    def each_class(self) -> bool:
        """Whether every class has this limit, or all inputs together."""
        return self.limits.by_answer

    @property
    def at_most(self) -> float:
        """What is guaranteed, as a number: the larger one if there are two."""
        return max(self.guaranteed.values()) if isinstance(self.guaranteed, dict) else self.guaranteed

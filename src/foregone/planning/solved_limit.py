"""SolvedLimit: the strategy for one limit with its costs and risks, the same for every kind of vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foregone.strategy.evaluation import Evaluation
from foregone.strategy.limits import Limits, MaxDisagreement

__all__ = ["ClassFigures", "SolvedLimit"]


@dataclass(frozen=True)
class ClassFigures:
    """Figures for the inputs whose full vote is one class; None for unknown figures.

    Attributes
    ----------
    expected_votes : float or None
        Mean voters asked.
    disagreement : float or None
        Share of these inputs whose answer differs; None also if there are no such inputs.
    at_most : float or None
        Upper bound on that share.
    worst : float or None
        Probability that the answer differs for the hardest input of the class.
    """

    expected_votes: float | None = None
    disagreement: float | None = None
    at_most: float | None = None
    worst: float | None = None


@dataclass(frozen=True, eq=False)
class SolvedLimit:
    """The strategy for a limit, with its costs and risks.

    Attributes
    ----------
    limits : Limits
        The limit, or one for each answer.
    strategy : StoppingStrategy, PluralityStrategy or ScoreStrategy
        When to stop; for scores, as learned and not yet certified.
    expected_votes : float
        Mean voters asked.
    disagreement : float
        Share of inputs whose answer differs from the full vote: expected over random orders or, for scores,
        cross-validated on the learning half of the rows.
    guaranteed : float or dict
        The quantity that the limit bounds, so at most the limit; for scores the limit itself, which holds
        once it is certified.
    by_class : tuple of ClassFigures
        In the order of the classes; of two, no and yes. Empty if the votes do not distinguish classes.
    worst : float or None
        Probability that the answer differs for the hardest input; None if unknown.
    by_yes : Evaluation or None
        Votes and disagreement for every number of yes votes; only for votes between two answers.
    gap : float or None
        Upper bound on the relative gap between ``expected_votes`` and the optimum; None if no bound is known.
    reason : str or None
        For scores: why early stopping is unlikely to be certified, so that the strategy stops only when the
        answer is certain.
    accuracy_loss : float or None
        Accuracy of the full vote minus that of the early answers; None if the true answers are unknown.
    accuracy_loss_by_class : tuple of (float or None)
        The same for the inputs of each true class, None for a class without inputs; empty if the true answers
        are unknown.
    full_accuracy : float or None
        Accuracy of the full vote; None if the true answers are unknown.
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
        """The guarantee as a number: the larger one if there are two."""
        return max(self.guaranteed.values()) if isinstance(self.guaranteed, dict) else self.guaranteed

"""The terms of a plan and the meaning of its limits, the same for every kind of vote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

from foregone.kinds import AnyDistribution, KindOfVote
from foregone.planning.solved_limit import SolvedLimit
from foregone.solving import Answer
from foregone.strategy.limits import Criterion, Limits, traits_of

__all__ = ["PlanTerms", "Planned"]


@dataclass(frozen=True, kw_only=True)
class PlanTerms:
    """The terms of a plan, and the meaning of its limits.

    Attributes
    ----------
    kind : {"votes", "answers", "scores"}
        Votes between two answers, votes among many, or scores.
    n_voters : int
        Number of voters.
    n_steps : int
        Maximum number of steps. A step asks one voter, or a round of voters, one for each class. Looks are
        numbers of steps.
    votes : VoteDistribution, CompositionDistribution or None
        Distribution of the full votes; None for scores.
    criterion, confidence, looks, answer
        As in `foregone.solve`; ``confidence`` is None if it does not apply.
    solver_call : str
        Python call that solves for a limit, with placeholders for ``limit`` and ``options``.
    notes : tuple of str
        Remarks, such as why there is no confidence.
    is_estimated : bool
        Whether figures are estimates from the learning inputs, and not certified.
    full : {"the full vote", "the full sum"}
        What an early answer is compared with; scores that are not votes have a full sum.
    loss : {"disagreement", "accuracy"}
        The quantity that is limited.
    quota : int or None
        Smallest number of yes votes for which the full vote is yes; None for a majority, and if votes are not
        between two answers.
    """

    kind: KindOfVote
    n_voters: int
    n_steps: int
    votes: AnyDistribution | None
    criterion: Criterion
    solver_call: str
    confidence: float | None = None
    looks: tuple[int, ...] | None = None
    answer: Answer = "majority"
    notes: tuple[str, ...] = ()
    is_estimated: bool = False
    full: Literal["the full vote", "the full sum"] = "the full vote"
    loss: Literal["disagreement", "accuracy"] = "disagreement"
    quota: int | None = None

    @property
    def bounds_the_mean(self) -> bool:
        """Whether the limit bounds the mean over inputs; otherwise it bounds every single input."""
        return traits_of(self.criterion).bounds_the_mean

    @property
    def n_observations(self) -> int | None:
        """Number of observed inputs; None for scores, or if the votes were assumed."""
        return None if self.votes is None else self.votes.n_observations


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned(PlanTerms):
    """The terms of a plan, and functions that solve its limits.

    Attributes
    ----------
    classes : tuple
        Keys of figures by class: "no" and "yes", or many labels; empty if classes are unknown.
    solve : callable
        Computes the strategy for a limit, and its figures.
    has_class_limits : bool
        Whether each class can have a separate limit.
    priced_by : {"guaranteed", "limit"}
        Which disagreements count as avoided: those a row guarantees, or those its limit allows.
    solve_disagreement : callable or None
        For limits on accuracy: computes the strategy for the same limit on disagreement, to compare.
    """

    classes: tuple[Any, ...]
    solve: Callable[[Limits], SolvedLimit]
    has_class_limits: bool = True
    priced_by: Literal["guaranteed", "limit"] = "guaranteed"
    solve_disagreement: Callable[[Limits], SolvedLimit] | None = None

    def terms(self) -> dict[str, Any]:
        """Return the terms alone, by name."""
        return {field.name: getattr(self, field.name) for field in fields(PlanTerms)}

"""What is planned for, and what its limits mean: the same for every kind of vote."""

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
    """What is planned for, and what its limits mean.

    Attributes
    ----------
    kind : {"votes", "answers", "scores"}
        Votes between two answers, votes among many, or scores.
    n_voters : int
        Number of voters.
    n_steps : int
        How often someone is asked at most: each voter, or a round of voters, one for each class. Looks are
        numbers of steps.
    votes : VoteDistribution, CompositionDistribution or None
        How the full votes are distributed; None for scores.
    criterion, confidence, looks, answer
        As in `foregone.solve`; ``confidence`` is None where it has no meaning.
    solver_call : str
        The call that solves for a limit in Python, with places for ``limit`` and ``options``.
    notes : tuple of str
        What else should be known, such as why there is no confidence.
    is_estimated : bool
        Whether figures are estimates from the inputs that strategies are learned from, and certify nothing.
    full : {"the full vote", "the full sum"}
        What an early answer is compared with: the sum, unless what is added up are votes.
    loss : {"disagreement", "accuracy"}
        What is limited.
    quota : int or None
        The fewest yes votes with which the full vote is yes; None for a majority, and where votes are not
        counted between two answers.
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
        """Whether the limit is for the mean over inputs; otherwise it is for every single one."""
        return traits_of(self.criterion).bounds_the_mean

    @property
    def n_observations(self) -> int | None:
        """How many observed inputs stand behind the votes; None where they were assumed, or for scores."""
        return None if self.votes is None else self.votes.n_observations


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned(PlanTerms):
    """What is planned for, and how its limits are solved.

    Attributes
    ----------
    classes : tuple
        What figures by class are keyed by: "no" and "yes", or many labels; empty if classes are not known.
    solve : callable
        Finds the strategy for a limit, and its figures.
    has_class_limits : bool
        Whether each class can have a limit of its own.
    priced_by : {"guaranteed", "limit"}
        Which disagreements count as avoided: those a row guarantees, or those its limit allows.
    solve_disagreement : callable or None
        Of limits on accuracy: finds the strategy for the same limit on disagreement, to compare.
    """

    classes: tuple[Any, ...]
    solve: Callable[[Limits], SolvedLimit]
    has_class_limits: bool = True
    priced_by: Literal["guaranteed", "limit"] = "guaranteed"
    solve_disagreement: Callable[[Limits], SolvedLimit] | None = None

    def terms(self) -> dict[str, Any]:
        """Return the terms alone, by name."""
        return {field.name: getattr(self, field.name) for field in fields(PlanTerms)}

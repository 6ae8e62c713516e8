"""Problem: a criterion, the votes and what is allowed, checked once at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from foregone.errors import InvalidInputError
from foregone.evaluation import Evaluation, Figures
from foregone.votes import VoteDistribution, check_n_voters

__all__ = ["CRITERIA", "Criterion", "Problem", "check_max_disagreement"]

Criterion = Literal["minimax", "minimean", "minimixed"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)


@dataclass(frozen=True)
class Problem:
    """What is to be solved.

    | criterion | minimise | subject to |
    |---|---|---|
    | minimax | max over n of E[votes asked given n] | max over n of disagreement(n) <= max_disagreement |
    | minimean | mean over `votes` of the same | mean over `votes` of disagreement <= max_disagreement |
    | minimixed | mean over `votes` of the same | max over n of disagreement(n) <= max_disagreement |
    """

    criterion: Criterion
    votes: VoteDistribution
    max_disagreement: float

    @classmethod
    def check(cls, criterion: Any, votes_or_n_voters: Any, max_disagreement: Any) -> Problem:
        """Make a problem from what a user gave, or say what is wrong with it."""
        if criterion not in CRITERIA:
            raise InvalidInputError(f"criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}")
        if isinstance(votes_or_n_voters, VoteDistribution):
            votes = votes_or_n_voters
        else:
            votes = VoteDistribution.flat(check_n_voters(votes_or_n_voters))
        return cls(cast(Criterion, criterion), votes, check_max_disagreement(max_disagreement))

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.votes.n_voters

    @property
    def bounds_the_mean(self) -> bool:
        """Whether the mean disagreement is bounded (otherwise the worst is)."""
        return self.criterion == "minimean"

    @property
    def minimises_the_worst(self) -> bool:
        """Whether the worst expected votes are minimised (otherwise the mean is)."""
        return self.criterion == "minimax"

    def figures(self, evaluation: Evaluation) -> Figures:
        """Return what this problem minimises and bounds, of an evaluated strategy."""
        mean, worst = evaluation.mean(self.votes), evaluation.worst()
        return Figures(
            worst.expected_votes if self.minimises_the_worst else mean.expected_votes,
            mean.disagreement if self.bounds_the_mean else worst.disagreement,
        )


def check_max_disagreement(value: Any) -> float:
    """Return ``value`` as a float from 0 to 1, or say why it is none."""
    try:
        if isinstance(value, bool | np.bool_ | str):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"max_disagreement must be a number from 0 to 1, not {value!r}") from None
    if not 0 <= number <= 1:  # also True for NaN
        raise InvalidInputError(f"max_disagreement must be a number from 0 to 1, not {value!r}")
    return number

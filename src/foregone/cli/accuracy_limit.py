"""AccuracyLimit: a limit on the loss of accuracy, or on the rise of costs, of votes with true labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foregone.certifying.losses import CheckedCosts, check_costs
from foregone.checks import FloatArray
from foregone.cli.number_lists import parse_costs, parse_limits
from foregone.cli.output import rate
from foregone.errors import InvalidInputError
from foregone.labelled_votes import LabelledVotes
from foregone.solving import MaxDisagreement, Solution
from foregone.strategy.limits import Limits

__all__ = ["LABELLED_VOTES", "AccuracyLimit", "check_one_limit", "parse_cost_limit"]

LABELLED_VOTES = (
    "counted votes are labelled by three columns in --votes, n and how many of the inputs with n yes votes "
    "are truly no and truly yes"
)


def check_one_limit(
    max_disagreement: str | None,
    max_accuracy_loss: str | None,
    *,
    costs: Any,
    values: Any,
    labels: Any,
    scores: Any,
    confidence: Any,
) -> None:
    """Raise InvalidInputError unless there is one limit, and nothing that has no meaning beside it."""
    if max_disagreement is None and max_accuracy_loss is None:
        raise InvalidInputError(
            "say how much may be lost: --max-disagreement RATE or, with true labels, --max-accuracy-loss RATE"
        )
    if max_accuracy_loss is None:
        if costs is not None:
            raise InvalidInputError("--costs need --max-accuracy-loss, the largest rise of the mean cost")
        if labels is not None:
            raise InvalidInputError("--labels are for a limit on accuracy: give --max-accuracy-loss")
        return
    if max_disagreement is not None:
        raise InvalidInputError("give --max-disagreement or --max-accuracy-loss, not both")
    if values is not None:
        raise InvalidInputError(
            "--max-accuracy-loss computes the values from labels: leave out --values, or give the limit on "
            "their loss with --max-disagreement"
        )
    if scores is not None and labels is None:
        raise InvalidInputError("--max-accuracy-loss needs the true class of each row: give --labels FILE")
    if scores is None and labels is not None:
        raise InvalidInputError(f"{LABELLED_VOTES}: leave out --labels")
    if scores is None and confidence is not None:
        raise InvalidInputError(
            "--max-accuracy-loss takes the labels in the file as they are: what a disagreement loses is "
            "estimated from them, so no confidence can be had here. Leave out --confidence; "
            "EarlyStoppingClassifier certifies such a limit on rows of its own"
        )


@dataclass(frozen=True, eq=False)
class AccuracyLimit:
    """What `foregone.solve` is to be asked for, such that the accuracy falls by at most so much.

    Attributes
    ----------
    labelled : LabelledVotes
        The votes and what is true.
    limits : float or dict
        On the loss; of costs, in their unit.
    values : ndarray of float
        What a disagreement loses for each number of yes votes.
    costs : CheckedCosts or None
        Of answers.
    quota : int or None
        The fewest yes votes with which the full vote is yes; None for a majority.
    """

    labelled: LabelledVotes
    limits: MaxDisagreement
    values: FloatArray
    costs: CheckedCosts | None
    quota: int | None

    @classmethod
    def of(
        cls, labelled: LabelledVotes | None, limit: str, costs: str | None, quota: int | None
    ) -> AccuracyLimit:
        """Read the limit, by itself or one for each true class, and the costs.

        Raises InvalidInputError if one of them is not valid, or nothing is known of what is true.
        """
        if labelled is None:
            raise InvalidInputError(
                f"--max-accuracy-loss needs votes whose true answers are known: {LABELLED_VOTES}"
            )
        if costs is not None:
            checked = check_costs(parse_costs(costs), 2)
            share = min(parse_cost_limit(limit) / checked.unit, 1.0)
            return cls(labelled, share, labelled.values(checked, quota=quota), checked, quota)
        given = Limits.of(parse_limits(limit, "--max-accuracy-loss"))
        if not given.by_answer:
            return cls(labelled, given.given, labelled.values(quota=quota), None, quota)
        scaled, values = labelled.by_class(given, quota=quota)
        return cls(labelled, scaled.given, values, None, quota)

    def fields(self, solution: Solution) -> dict[str, Any]:
        """Return what is lost, ready for JSON."""
        lost = self._losses(solution)
        by_class = {side: lost.get(side) for side in ("no", "yes")}
        if self.costs is not None:
            return {"cost_rise": lost["all"], "cost_rise_by_class": by_class}
        accuracy = self.labelled.accuracy(quota=self.quota)
        return {"full_accuracy": accuracy, "accuracy_loss": lost["all"], "accuracy_loss_by_class": by_class}

    def in_words(self, solution: Solution) -> str:
        """Say what is lost on these inputs."""
        lost = self._losses(solution)
        by_class = " and ".join(
            f"{self._moved(lost[side])} on those that are truly {side}"
            for side in ("no", "yes")
            if side in lost
        )
        what = "the mean cost" if self.costs is not None else "the accuracy"
        full = ""
        if self.costs is None:
            accuracy = self.labelled.accuracy(quota=self.quota)
            full = f" The full vote is right on {100 * accuracy:.4g} % of them."
        return f"On these inputs {what} {self._moved(lost['all'])}: it {by_class}.{full}"

    def _moved(self, loss: float) -> str:
        """Say how far the accuracy falls, or the cost rises."""
        is_up = (loss > 0) == (self.costs is not None)
        return f"{'rises' if is_up else 'falls'} by {rate(abs(loss))}"

    def _losses(self, solution: Solution) -> dict[str, float]:
        unit = 1.0 if self.costs is None else self.costs.unit
        lost = self.labelled.losses(solution.evaluation.disagreement, self.costs, quota=self.quota)
        return {side: loss * unit for side, loss in lost.items()}


def parse_cost_limit(text: str) -> float:
    """Return the largest allowed rise of the mean cost, in the unit of the costs."""
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        raise InvalidInputError(
            f"--max-accuracy-loss: {text!r} is no number of at least 0; with --costs, write the largest "
            "allowed rise of the mean cost"
        )
    return limit

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
    "label counted votes with three columns in --votes: n, and how many of the inputs with n yes votes are "
    "truly no and truly yes"
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
    """Raise InvalidInputError unless there is exactly one limit and all other options fit it."""
    if max_disagreement is None and max_accuracy_loss is None:
        raise InvalidInputError(
            "a limit is missing: give --max-disagreement RATE or, with true labels, --max-accuracy-loss RATE"
        )
    if max_accuracy_loss is None:
        if costs is not None:
            raise InvalidInputError(
                "--costs needs --max-accuracy-loss, the largest allowed rise of the mean cost"
            )
        if labels is not None:
            raise InvalidInputError("--labels needs a limit on accuracy: give --max-accuracy-loss RATE")
        return
    if max_disagreement is not None:
        raise InvalidInputError("give --max-disagreement or --max-accuracy-loss, not both")
    if values is not None:
        raise InvalidInputError(
            "--max-accuracy-loss computes the values from the labels: omit --values, or limit their loss "
            "with --max-disagreement"
        )
    if scores is not None and labels is None:
        raise InvalidInputError("--max-accuracy-loss needs the true class of each row: give --labels FILE")
    if scores is None and labels is not None:
        raise InvalidInputError(f"--labels needs --scores: omit --labels, and {LABELLED_VOTES}")
    if scores is None and confidence is not None:
        raise InvalidInputError(
            "--confidence is not available with --max-accuracy-loss on counted votes, because the loss of a "
            "disagreement is itself estimated from the labels in the file: omit --confidence. "
            "EarlyStoppingClassifier certifies such a limit on separate rows"
        )


@dataclass(frozen=True, eq=False)
class AccuracyLimit:
    """A limit on the loss of accuracy, as the limits and values that `foregone.solve` takes.

    Attributes
    ----------
    labelled : LabelledVotes
        The votes and the true answers.
    limits : float or dict
        On the loss; for costs, divided by `CheckedCosts.unit`.
    values : ndarray of float
        The loss of a disagreement for each number of yes votes.
    costs : CheckedCosts or None
        The cost of each answer for each true class.
    quota : int or None
        The fewest yes votes that make the full vote yes; None for a majority.
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
        """Read the limit, or one for each true class, and the costs.

        Raises InvalidInputError if one of them is not valid, or if there are no true labels.
        """
        if labelled is None:
            raise InvalidInputError(f"--max-accuracy-loss needs true labels: {LABELLED_VOTES}")
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
        """Return the losses, ready for JSON."""
        lost = self._losses(solution)
        by_class = {side: lost.get(side) for side in ("no", "yes")}
        if self.costs is not None:
            return {"cost_rise": lost["all"], "cost_rise_by_class": by_class}
        accuracy = self.labelled.accuracy(quota=self.quota)
        return {"full_accuracy": accuracy, "accuracy_loss": lost["all"], "accuracy_loss_by_class": by_class}

    def in_words(self, solution: Solution) -> str:
        """Describe the losses on these inputs."""
        lost = self._losses(solution)
        by_class = "; ".join(
            f"truly {side}: {self._moved(lost[side])}" for side in ("no", "yes") if side in lost
        )
        what = "the mean cost" if self.costs is not None else "the accuracy"
        full = ""
        if self.costs is None:
            accuracy = self.labelled.accuracy(quota=self.quota)
            full = f" The accuracy of the full vote is {100 * accuracy:.4g} %."
        return f"On these inputs {what} {self._moved(lost['all'])} ({by_class}).{full}"

    def _moved(self, loss: float) -> str:
        """Describe how far the accuracy or the cost moves."""
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
            "--max-accuracy-loss: with --costs, expected a number of at least 0, the largest allowed rise of "
            f"the mean cost, got {text!r}"
        )
    return limit

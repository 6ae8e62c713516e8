"""Plan: what each limit costs and risks, and the one that is recommended."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from foregone.planning import recommendation as words
from foregone.solving import Answer, Criterion, MaxDisagreement, Solution
from foregone.strategy.evaluation import evaluate
from foregone.votes import VoteDistribution

__all__ = ["Plan", "PlanRow", "Reason"]

Reason = Literal["price", "observations", "end"]


@dataclass(frozen=True)
class PlanRow:
    """What the optimal strategy within one limit costs and risks.

    Attributes
    ----------
    max_disagreement : float or dict
        The limit; in ``Plan.class_budgets`` one for each of "yes" and "no".
    expected_votes : float
        Votes asked, on average over the votes planned for.
    speed_up : float
        Number of voters divided by ``expected_votes``; infinite if nobody is asked.
    guaranteed : float or dict
        What the limit is for, and at most the limit: of minimean the mean disagreement or, with a confidence,
        the largest mean to be reckoned with; of the others the worst.
    disagreement, worst_disagreement : float
        Mean over the same votes, and the largest for any number of yes votes.
    by_class : dict
        Mean disagreement given that the full vote is "yes", and given that it is "no"; None for a class that
        the votes rule out.
    worst_by_class : dict
        The largest for any number of yes votes of that class.
    price : float or None
        What it costs to avoid one disagreement (of those ``guaranteed`` counts) by taking this limit and not
        the next looser one, in full votes; None where there is no looser one.
    """

    max_disagreement: MaxDisagreement
    expected_votes: float
    speed_up: float
    guaranteed: MaxDisagreement
    disagreement: float
    worst_disagreement: float
    by_class: dict[str, float | None]
    worst_by_class: dict[str, float]
    price: float | None = None

    @classmethod
    def of(cls, solution: Solution, looser: PlanRow | None = None) -> PlanRow:
        """Take the figures from a solution; the price from the row with the next looser limit."""
        evaluation, votes = evaluate(solution.strategy), solution.votes
        mean = evaluation.mean(votes)
        row = cls(
            max_disagreement=solution.max_disagreement,
            expected_votes=mean.expected_votes,
            speed_up=votes.n_voters / mean.expected_votes if mean.expected_votes > 0 else math.inf,
            guaranteed=solution.disagreement,
            disagreement=mean.disagreement,
            worst_disagreement=evaluation.worst().disagreement,
            by_class={
                side: None if math.isnan(risk) else risk
                for side, (_, risk) in evaluation.by_class(votes).items()
            },
            worst_by_class={side: risk for side, (_, risk) in evaluation.worst_by_class().items()},
        )
        return row if looser is None else replace(row, price=_price(looser, row) / votes.n_voters)

    @property
    def limit(self) -> float:
        """The limit as a number: the larger one if there are two."""
        return _number(self.max_disagreement)

    def losing_classes(self) -> list[str]:
        """Return the classes that the limit does not protect: unseen, or far beyond it on average."""
        if isinstance(self.max_disagreement, dict):
            return []
        allowed = words.allowed_by_class(self.max_disagreement)
        return [
            side
            for side, risk in self.by_class.items()
            if (self.worst_by_class[side] if risk is None else risk) > allowed
        ]

    def record(self) -> dict[str, float | None]:
        """Return the figures under flat names; None for what does not exist or is infinite."""
        figures: dict[str, float | None] = {
            **_flat("max_disagreement", self.max_disagreement),
            "expected_votes": self.expected_votes,
            "speed_up": self.speed_up,
            **_flat("guaranteed", self.guaranteed),
            "disagreement": self.disagreement,
            "worst_disagreement": self.worst_disagreement,
            **{f"disagreement_{side}": risk for side, risk in self.by_class.items()},
            **{f"worst_disagreement_{side}": risk for side, risk in self.worst_by_class.items()},
            "price": self.price,
        }
        return {
            name: None if value is None or math.isinf(value) else value for name, value in figures.items()
        }


def _flat(name: str, value: MaxDisagreement) -> dict[str, float]:
    if not isinstance(value, dict):
        return {name: value}
    return {f"{name}_{side}": of_it for side, of_it in value.items()}


def _number(value: MaxDisagreement) -> float:
    return max(value.values()) if isinstance(value, dict) else value


def _price(looser: PlanRow, row: PlanRow) -> float:
    """Return the votes that each disagreement avoided costs; nothing if there are none to pay."""
    votes = row.expected_votes - looser.expected_votes
    avoided = _number(looser.guaranteed) - _number(row.guaranteed)
    if votes <= 0:
        return 0.0
    return votes / avoided if avoided > 0 else math.inf


@dataclass(frozen=True)
class Plan:
    """The trade-off between votes and disagreement, and a recommendation. Made by `foregone.plan`.

    Attributes
    ----------
    rows : tuple of PlanRow
        One for each limit tried, the loosest first.
    chosen : PlanRow
        The row that the rule of `foregone.plan` leads to.
    class_budgets : PlanRow or None
        If a class loses there: what it takes to keep that limit for each class by itself.
    reason : {"price", "observations", "end"}
        Why no tighter limit was chosen: avoiding a disagreement would cost too much; so few observed inputs
        cannot tell; or there was no tighter one.
    votes, criterion, confidence, looks, answer, worth
        What it was made for. ``confidence`` is None where it has no meaning.
    notes : tuple of str
        What else should be known, such as why there is no confidence.
    labels : tuple of two, or None
        Names for "no" and "yes".
    """

    rows: tuple[PlanRow, ...]
    chosen: PlanRow
    class_budgets: PlanRow | None
    reason: Reason
    votes: VoteDistribution
    criterion: Criterion
    confidence: float | None = None
    looks: tuple[int, ...] | None = None
    answer: Answer = "majority"
    worth: float = 25.0
    notes: tuple[str, ...] = ()
    labels: tuple[Any, Any] | None = None

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.votes.n_voters

    @property
    def recommended(self) -> PlanRow:
        """What the recommendation comes to: the chosen row, or that with a limit for each class."""
        return self.chosen if self.class_budgets is None else self.class_budgets

    @property
    def max_disagreement(self) -> float | dict[Any, float]:
        """The recommended limit, as `foregone.solve` or, keyed by label, a classifier takes it."""
        limit = self.recommended.max_disagreement
        if not isinstance(limit, dict) or self.labels is None:
            return limit
        return dict(zip(self.labels, (limit["no"], limit["yes"]), strict=True))

    @property
    def recommendation(self) -> str:
        """What to do, in words: one paragraph a line."""
        return "\n".join([*self.advise(), f"The call: {words.python_call(self)}"])

    def advise(self) -> list[str]:
        """Return the paragraphs of the recommendation, without the call that it ends in."""
        return words.recommend(self)

    def records(self) -> list[dict[str, float | None]]:
        """Return the rows as dictionaries of plain numbers, ready for a data frame or a CSV file."""
        return [row.record() for row in self.rows]

    def __repr__(self) -> str:
        loosest, tightest = self.rows[0].limit, self.rows[-1].limit
        tried = f"limits from {loosest:g} to {tightest:g}" if len(self.rows) > 1 else f"limit of {loosest:g}"
        sure = "" if self.confidence is None else f" at {self.confidence:g} confidence"
        return (
            f"<Plan for {words.number_of_voters(self.n_voters)}, {self.criterion}{sure}: "
            f"{len(self.rows)} {tried}, recommended {self.max_disagreement}>"
        )

"""Plan: the costs and risks of each limit, and the recommended one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from foregone.certifying import Promise
from foregone.planning import recommendation as words
from foregone.planning.plan_terms import Planned, PlanTerms
from foregone.planning.solved_limit import SolvedLimit
from foregone.strategy.limits import Limits, MaxDisagreement

__all__ = ["Plan", "PlanRow", "Reason"]

Reason = Literal["price", "observations", "uncertified", "end"]


@dataclass(frozen=True)
class PlanRow:
    """Costs and risks of the strategy for one limit.

    Attributes
    ----------
    max_disagreement, max_accuracy_loss : float, dict or None
        The limit; in ``Plan.class_budgets`` one for each of "yes" and "no". One of the two is None: limits
        are on the disagreement with the full vote or, if the true answers are known, on the loss of accuracy.
    expected_votes : float
        Votes asked, on average over the planned votes. For scores, and for many answers with a confidence, an
        estimate from the learning inputs, at the boldness that the remaining inputs can just certify.
    speed_up : float
        Number of voters divided by ``expected_votes``; infinite if no voter is asked.
    guaranteed : float or dict
        The quantity that the limit bounds, so at most the limit. For minimean it is the mean disagreement or,
        with a confidence, the worst-case mean over all distributions consistent with the data; for other
        criteria the worst disagreement. If figures are estimates, it is the limit itself, which holds only
        once it is certified.
    disagreement : float
        Mean over the same votes or rows.
    worst_disagreement : float or None
        The largest for any full vote; unknown for scores.
    by_class : dict
        Mean disagreement by the answer of the full vote: "no" or "yes", or one of many labels; None for an
        answer that never occurs. Empty if many answers were not distinguished.
    worst_by_class : dict
        The largest for any full vote for that class; only for votes between two answers.
    price : float or None
        Costs, in full votes, of avoiding one disagreement (or one error, for limits on accuracy) by using
        this limit instead of the next looser one. Counts the disagreements in ``guaranteed`` or, for
        estimates, those that the limit allows. None for the loosest limit.
    reason : str or None
        For estimates: why early stopping is unlikely to be certified, so that the strategy stops only when
        the answer is certain, or asks all voters.
    accuracy_loss : float or None
        Accuracy of the full vote minus that of the early answers; exact over random orders. None if the true
        answers are unknown.
    accuracy_loss_by_class : dict
        The same for the inputs that are truly "no" and truly "yes", or have one of many labels; None for a
        class without inputs. Empty if the true answers are unknown.
    """

    max_disagreement: MaxDisagreement | None
    expected_votes: float
    speed_up: float
    guaranteed: MaxDisagreement
    disagreement: float
    worst_disagreement: float | None
    by_class: dict[Any, float | None]
    worst_by_class: dict[Any, float]
    price: float | None = None
    reason: str | None = None
    accuracy_loss: float | None = None
    accuracy_loss_by_class: dict[Any, float | None] = field(default_factory=dict)
    max_accuracy_loss: MaxDisagreement | None = None

    @classmethod
    def of(cls, solved: SolvedLimit, planned: Planned, looser: PlanRow | None = None) -> PlanRow:
        """Create a row from a solved limit; the row of the next looser limit gives the price."""
        votes, by_class = solved.expected_votes, dict(zip(planned.classes, solved.by_class, strict=True))
        in_accuracy = planned.loss == "accuracy"
        row = cls(
            max_disagreement=None if in_accuracy else solved.limits.given,
            max_accuracy_loss=solved.limits.given if in_accuracy else None,
            expected_votes=votes,
            speed_up=planned.n_voters / votes if votes > 0 else math.inf,
            guaranteed=solved.guaranteed,
            disagreement=solved.disagreement,
            worst_disagreement=solved.worst,
            by_class={key: figures.disagreement for key, figures in by_class.items()},
            worst_by_class={
                key: figures.worst for key, figures in by_class.items() if figures.worst is not None
            },
            reason=solved.reason,
            accuracy_loss=solved.accuracy_loss,
            accuracy_loss_by_class=dict(zip(planned.classes, solved.accuracy_loss_by_class, strict=False)),
        )
        if looser is None or row.reason is not None:
            return row
        avoided = getattr(looser, planned.priced_by) - getattr(row, planned.priced_by)
        return replace(row, price=_price(votes - looser.expected_votes, avoided) / planned.n_voters)

    @property
    def limits(self) -> Limits:
        """The limit, or one for each answer."""
        return Limits.of(self.max_disagreement if self.in_disagreement else self.max_accuracy_loss)

    @property
    def in_disagreement(self) -> bool:
        """Whether the limit is on the disagreement, not on the loss of accuracy."""
        return self.max_accuracy_loss is None

    @property
    def limit(self) -> float:
        """The limit as a number: the larger one if there are two."""
        return self.limits.loosest

    def losing_classes(self) -> dict[Any, float | None]:
        """Return the classes that the limit does not protect, and their mean disagreement or loss.

        The value is None for a class that was never seen and whose worst input is far beyond the limit.
        """
        if self.limits.by_answer or self.reason is not None:
            return {}
        allowed = words.allowed_by_class(self.limit)
        if not self.in_disagreement:
            lost = self.accuracy_loss_by_class.items()
            return {key: loss for key, loss in lost if loss is not None and loss > allowed}
        return {
            key: risk
            for key, risk in self.by_class.items()
            if (self.worst_by_class.get(key, 0.0) if risk is None else risk) > allowed
        }

    def record(self) -> dict[str, float | None]:
        """Return the figures as a flat dictionary; missing or infinite ones are None."""
        figures: dict[str, float | None] = {
            **_flat("max_disagreement" if self.in_disagreement else "max_accuracy_loss", self.limits.given),
            "expected_votes": self.expected_votes,
            "speed_up": self.speed_up,
            **_flat("guaranteed", self.guaranteed),
            "disagreement": self.disagreement,
            "worst_disagreement": self.worst_disagreement,
            **{f"disagreement_{key}": risk for key, risk in self.by_class.items()},
            **{f"worst_disagreement_{key}": risk for key, risk in self.worst_by_class.items()},
            **({} if self.accuracy_loss is None else {"accuracy_loss": self.accuracy_loss}),
            **{f"accuracy_loss_{key}": loss for key, loss in self.accuracy_loss_by_class.items()},
            "price": self.price,
        }
        return {
            name: None if value is None or math.isinf(value) else value for name, value in figures.items()
        }


def _flat(name: str, value: MaxDisagreement) -> dict[str, float]:
    if not isinstance(value, dict):
        return {name: value}
    return {f"{name}_{side}": of_it for side, of_it in value.items()}


def _price(votes: float, avoided: float) -> float:
    """Return the votes per disagreement avoided; 0 if there are no additional votes."""
    if votes <= 0:
        return 0.0
    return votes / avoided if avoided > 0 else math.inf


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(PlanTerms):
    """Trade-off between votes and disagreement or accuracy, with a recommendation; made by `foregone.plan`.

    Attributes
    ----------
    rows : tuple of PlanRow
        One row per limit, the loosest first.
    chosen : PlanRow
        The row chosen as described in `foregone.plan`.
    class_budgets : PlanRow or None
        If the chosen limit does not protect a class: the row that keeps that limit for each class. None also
        if this is impossible, because there are many classes or too few rows.
    reason : {"price", "observations", "uncertified", "end"}
        Why no tighter limit was chosen: each disagreement avoided costs too much; too few inputs were
        observed; too few rows to certify it; or there was none.
    kind, n_voters, n_steps, votes, criterion, confidence, looks, answer, quota, worth
        The arguments of the plan. ``kind`` is "votes", "answers" or "scores"; scores have no ``votes``.
        ``confidence`` is None if it does not apply, ``quota`` for a majority.
    loss : {"disagreement", "accuracy"}
        The quantity that is limited: the accuracy if there are labels.
    full_accuracy : float or None
        Accuracy of the full vote; None without labels.
    votes_in_disagreement : float or None
        For limits on accuracy: the expected votes if the chosen limit were on the disagreement.
    notes : tuple of str
        Remarks, such as why there is no confidence.
    full : {"the full vote", "the full sum"}
        What an early answer is compared with; scores that are not votes have a full sum.
    labels : tuple or None
        Names of the classes; two labels stand for "no" and "yes".
    """

    rows: tuple[PlanRow, ...]
    chosen: PlanRow
    class_budgets: PlanRow | None
    reason: Reason
    worth: float
    labels: tuple[Any, ...] | None
    full_accuracy: float | None = None
    votes_in_disagreement: float | None = None

    @property
    def recommended(self) -> PlanRow:
        """The recommended row: the chosen one, or the one with a limit for each class."""
        return self.chosen if self.class_budgets is None else self.class_budgets

    @property
    def limit(self) -> float | dict[Any, float]:
        """The recommended limit, as an argument for a solver or, with labels as keys, a classifier."""
        limits = self.recommended.limits
        return limits.given if self.labels is None else limits.labelled(self.labels)

    @property
    def max_disagreement(self) -> float | dict[Any, float] | None:
        """The recommended limit if it is on the disagreement; None if it is on the loss of accuracy."""
        return self.limit if self.loss == "disagreement" else None

    @property
    def max_accuracy_loss(self) -> float | dict[Any, float] | None:
        """The recommended limit if it is on the loss of accuracy; None if it is on the disagreement."""
        return self.limit if self.loss == "accuracy" else None

    @property
    def promise(self) -> Promise | None:
        """The guarantee at the chosen limit; None for estimates, which guarantee nothing."""
        if self.is_estimated:
            return None
        row, n_seen = self.chosen, self.n_observations or 0
        return Promise.over_orders(
            self.criterion, row.limits.given, self.confidence, row.guaranteed, n_seen, loss=self.loss
        )

    @property
    def call(self) -> str:
        """Python code for the recommendation."""
        return words.python_call(self)

    @property
    def recommendation(self) -> str:
        """The recommendation in words, one paragraph per line."""
        last = [f"The call: {self.call}"] if self.recommended.reason is None else []
        return "\n".join([*self.advise(), *last])

    def advise(self) -> list[str]:
        """Return the paragraphs of the recommendation, without the call at its end."""
        return words.recommend(self)

    def records(self) -> list[dict[str, float | None]]:
        """Return the rows as dictionaries of plain numbers, for a data frame or a CSV file."""
        return [row.record() for row in self.rows]

    def __repr__(self) -> str:
        loosest, tightest = self.rows[0].limit, self.rows[-1].limit
        tried = f"limits from {loosest:g} to {tightest:g}" if len(self.rows) > 1 else f"limit of {loosest:g}"
        sure = "" if self.confidence is None else f" at {self.confidence:g} confidence"
        of_what = " on the loss of accuracy" if self.loss == "accuracy" else ""
        return (
            f"<Plan for {words.number_of_voters(self.n_voters)}, {self.criterion}{sure}: "
            f"{len(self.rows)} {tried}{of_what}, recommended {self.limit}>"
        )

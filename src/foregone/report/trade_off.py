"""TradeOff: a solution for every limit of the slider, and the plan made of them, for every kind of vote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone import rules
from foregone.certifying import LossKind, Promise, RowLosses
from foregone.classifier.calibration_scores import first_order, known_bounds, scores_of
from foregone.classifier.deciding import Decider, Labels
from foregone.classifier.summed_scores import answers_of
from foregone.kinds import evaluate
from foregone.labelled_votes import LabelledVotes
from foregone.monitoring import Stops
from foregone.planning import ACCURACY_LIMITS, Plan, SolvedLimit, make_plan, planned
from foregone.planning import LIMITS as PLANNED
from foregone.plurality import ClassVotes
from foregone.plurality import rules as plurality_rules
from foregone.report.kind_texts import Texts, texts_of
from foregone.report.reported_model import ReportedModel
from foregone.scores import ScoreRows
from foregone.scores import rules as score_rules
from foregone.scores.paths import full_answers
from foregone.strategy.limits import Limits
from foregone.votes import VoteDistribution

__all__ = ["LIMITS", "TradeOff", "positions_for", "trade_off"]

# From the strictest to the loosest, six per decade, including all that plan() tries.
LIMITS = (*(float(f"{digits}e{power}") for power in range(-5, -1) for digits in (1, 1.5, 2, 3, 5, 7)), 0.1)
TRIED: dict[LossKind, tuple[float, ...]] = {"disagreement": PLANNED, "accuracy": ACCURACY_LIMITS}

ClassNumbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TradeOff:
    """What every limit costs and risks, and the recommended limit.

    Attributes
    ----------
    points : tuple of SolvedLimit
        One for each position of the slider: first limits over all rows, then, if possible, limits for each
        class.
    plan : Plan
        The plan that recommends a limit.
    texts : Texts
        Texts for this kind of vote.
    shares : list of float
        Share of the rows in each class, by the full vote.
    full : ndarray of int, shape (n_rows,)
        Class number of the full vote, or full sum, for each row.
    right : ndarray of int, shape (n_rows,)
        Class number that counts as agreement.
    deployed : Decider
        The decider that `foregone.early_stop` makes from the recommended limit and these rows.
    why_curtailed : str or None
        Why it stops only once the answer is certain, if it does.
    exact_votes : float or None
        Voters asked on average if the answer may never differ; None if unknown.
    """

    points: tuple[SolvedLimit, ...]
    plan: Plan
    texts: Texts
    shares: list[float]
    full: ClassNumbers
    right: ClassNumbers
    deployed: Decider
    why_curtailed: str | None = None
    exact_votes: float | None = None

    @property
    def promise(self) -> Promise:
        """The promise of the recommended classifier, with limits by label."""
        return self.deployed.promise.labelled(self.deployed.ensemble.classes.tolist())

    @property
    def stops(self) -> Stops | None:
        """Where calibration rows stop: the ``stops_`` of the recommended classifier."""
        return self.deployed.attributes().get("stops_")

    @property
    def deployed_votes(self) -> float:
        """Voters that the recommended classifier asks on average: its ``expected_votes_``."""
        return float(self.deployed.attributes()["expected_votes_"])

    @property
    def confidence(self) -> float | None:
        """The confidence of the limits; None if it has no meaning."""
        return self.plan.confidence

    @property
    def loss(self) -> LossKind:
        """What limits are on: the disagreement or, with labels, the accuracy loss."""
        return self.plan.loss

    @property
    def limits(self) -> tuple[float, ...]:
        """The positions of the slider."""
        return positions_for(self.loss)

    @property
    def accuracy_loss(self) -> float | None:
        """The accuracy loss of the recommended classifier on these rows; None without limits on it."""
        return self.deployed.attributes().get("calibration_accuracy_loss_")

    @property
    def votes(self) -> VoteDistribution | None:
        """The distribution of yes votes; only for votes between two classes."""
        return self.plan.votes if isinstance(self.plan.votes, VoteDistribution) else None

    @property
    def recommended(self) -> SolvedLimit:
        """The recommended point."""
        return next(point for point in self.points if point.limits == self.plan.recommended.limits)

    @property
    def has_class_limits(self) -> bool:
        """Whether each class can have its own limit."""
        return any(point.each_class for point in self.points)

    def differing(self, answers: npt.NDArray[Any]) -> int:
        """Return how many of these answers, given as class numbers, do not agree."""
        return int(np.count_nonzero(answers != self.right))


def positions_for(loss: LossKind) -> tuple[float, ...]:
    """Return the limits of the slider, from the strictest to the loosest that a plan tries."""
    return tuple(limit for limit in LIMITS if min(TRIED[loss]) <= limit <= max(TRIED[loss]))


def trade_off(
    model: ReportedModel, own: Labels | None, worth: float, advance: Callable[[], None]
) -> TradeOff:
    """Ask all voters about every row and solve for every limit.

    Parameters
    ----------
    model : ReportedModel
        Voters, rows and settings.
    own : ndarray or None
        The model's own predictions. As in a classifier, scores are compared with them, or with the full sum
        if there are none; counted votes are compared with the full vote.
    worth : float
        As in `foregone.plan`.
    advance : callable
        Called after each limit.
    """
    tally = _tally(model, own)
    found = planned(tally.votes, labels=model.labels, quota=model.quota, **model.settings)
    tried = positions_for(found.loss)
    positions = [Limits.of(limit) for limit in tried]
    if found.has_class_limits and found.bounds_the_mean:
        positions += [Limits.for_each(limit) for limit in tried]
    solved: dict[Limits, SolvedLimit] = {}
    for limits in positions:
        solved[limits] = found.solve(limits)
        advance()
    points = tuple(solved.values())
    plan = make_plan(found, solved.__getitem__, TRIED[found.loss], worth=worth, labels=model.labels)
    deployed, why = model.calibrate(plan.limit, found.loss, own)
    return TradeOff(
        points=points,
        plan=plan,
        texts=texts_of(model, found, points),
        shares=(np.bincount(tally.full, minlength=len(model.labels)) / model.n_rows).tolist(),
        full=tally.full,
        right=tally.right,
        deployed=deployed,
        why_curtailed=why,
        exact_votes=tally.exact_votes,
    )


class _Tally(NamedTuple):
    """The full vote: as `foregone.plan` takes it, by row, and what it takes to never differ."""

    votes: VoteDistribution | LabelledVotes | ClassVotes | ScoreRows
    full: ClassNumbers
    right: ClassNumbers
    exact_votes: float | None = None


def _tally(model: ReportedModel, own: Labels | None) -> _Tally:
    """Ask all voters: the only place where the report tells votes, answers and scores apart."""
    n_voters, n_classes, quota = model.n_voters, len(model.labels), model.quota
    truth = model.known_truth if model.order != "per_row" else None  # the only order without such limits
    if model.adds_up:
        scores, order = scores_of(model.ensemble, model.rows), first_order(model.ensemble, model.seed)
        # Votes are compared with the full vote, as in a classifier.
        held_against = None if model.voting == "hard" else own
        rows = ScoreRows(
            scores,
            start=model.ensemble.start,
            order="optimized" if model.order == "optimized" else order,
            answers=None if held_against is None else answers_of(held_against, model.ensemble.classes),
            random_state=model.seed,
            bounds=known_bounds(model.ensemble, scores),
            drops_classes=model.drops_classes,
            labels=None if truth is None else RowLosses("accuracy", truth),
        )
        full, right = full_answers(scores, order, rows.start), rows.right(order)
        certain = None
        if rows.bounds is not None:
            curtailed = score_rules.curtailment(
                rows.bounds, order=order, start=rows.start, drops_classes=rows.drops_classes
            )
            certain = float(curtailed.run(scores)[1].mean())
        return _Tally(rows, full.astype(np.intp), right.astype(np.intp), certain)
    counts = model.votes()
    if quota is not None:
        votes = VoteDistribution.from_yes_counts(counts, n_voters)
        full = (counts >= quota).astype(np.intp)
        exact = evaluate(rules.curtailment(n_voters, quota=quota)).mean(votes)
        known = votes if truth is None else LabelledVotes.from_yes_counts(counts, truth, n_voters)
        return _Tally(known, full, full, exact.expected_votes)
    answers = ClassVotes(counts)
    decided = evaluate(plurality_rules.curtailment(n_voters, n_classes)).mean(answers.distribution)
    return _Tally(answers, answers.full, answers.full, decided.expected_votes)

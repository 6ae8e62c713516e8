"""TradeOff: every limit of the slider solved, and the plan made of them; the same for every kind of vote."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone import rules
from foregone.classifier.calibration_scores import known_bounds, scores_of
from foregone.classifier.deciding import Labels
from foregone.kinds import evaluate
from foregone.planning import Plan, SolvedLimit, make_plan, planned
from foregone.plurality import ClassVotes
from foregone.plurality import rules as plurality_rules
from foregone.report.kind_texts import Texts, texts_of
from foregone.report.reported_model import ReportedModel
from foregone.scores import CannotCertifyWarning, ScoreRows, solve_scores
from foregone.scores import rules as score_rules
from foregone.scores.paths import full_answers
from foregone.strategy.limits import Limits
from foregone.votes import VoteDistribution

__all__ = ["LIMITS", "TradeOff", "trade_off"]

# From the strictest to the loosest, six a decade; those that plan() tries are among them.
LIMITS = (*(float(f"{digits}e{power}") for power in range(-5, -1) for digits in (1, 1.5, 2, 3, 5, 7)), 0.1)

ClassNumbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TradeOff:
    """What every limit costs and risks, and the one that is recommended.

    Attributes
    ----------
    points : tuple of SolvedLimit
        One for each position of the slider: first over all rows, then, where that is possible, for each
        class.
    plan : Plan
        The recommendation.
    texts : Texts
        What has to be said of this kind.
    shares : list of float
        Share of the rows that everyone together gives to each class.
    full : ndarray of int, shape (n_rows,)
        Number of the class that everyone together gives each row.
    right : ndarray of int, shape (n_rows,)
        Number of the class that counts as agreement.
    strategy : object
        For the recommended limit; of scores, certified by the rows that the plan has not looked at.
    exact_votes : float or None
        Voters asked on average if the answer may never differ; None where it is not known.
    """

    points: tuple[SolvedLimit, ...]
    plan: Plan
    texts: Texts
    shares: list[float]
    full: ClassNumbers
    right: ClassNumbers
    strategy: Any
    exact_votes: float | None = None

    @property
    def advice(self) -> tuple[str, ...]:
        """The recommendation in words, one paragraph each."""
        return tuple(self.plan.advise())

    @property
    def confidence(self) -> float | None:
        """With which the limit holds; None where it has no meaning."""
        return self.plan.confidence

    @property
    def votes(self) -> VoteDistribution | None:
        """How many voters say yes; only for votes between two classes."""
        return self.plan.votes if isinstance(self.plan.votes, VoteDistribution) else None

    @property
    def recommended(self) -> SolvedLimit:
        """The recommended point."""
        return next(point for point in self.points if point.limits == self.plan.recommended.limits)

    @property
    def has_class_limits(self) -> bool:
        """Whether the limit can be kept for each class."""
        return any(point.each_class for point in self.points)

    def differing(self, answers: npt.NDArray[Any]) -> int:
        """Return how many rows are answered in a way that does not agree, given class numbers."""
        return int(np.count_nonzero(answers != self.right))


def trade_off(
    model: ReportedModel, own: Labels | None, worth: float, advance: Callable[[], None]
) -> TradeOff:
    """Ask everyone about every row and solve for every limit.

    Parameters
    ----------
    model : ReportedModel
        Voters, rows and settings.
    own : ndarray or None
        The model's own predictions. Scores agree with them, or with the full sum where there are none, as in
        a classifier; counted votes agree with the full vote.
    worth : float
        As in `foregone.plan`.
    advance : callable
        Called after each limit.
    """
    tally = _tally(model, own)
    found = planned(tally.votes, labels=model.labels, **model.settings)
    positions = [Limits.of(limit) for limit in LIMITS]
    if found.has_class_limits and found.bounds_the_mean:
        positions += [Limits.for_each(limit) for limit in LIMITS]
    solved: dict[Limits, SolvedLimit] = {}
    for limits in positions:
        solved[limits] = found.solve(limits)
        advance()
    points = tuple(solved.values())
    plan = make_plan(found, solved.__getitem__, worth=worth, labels=model.labels)
    strategy = _final(tally.votes, plan, solved[plan.recommended.limits])
    return TradeOff(
        points=points,
        plan=plan,
        texts=texts_of(model, found, points, strategy),
        shares=(np.bincount(tally.full, minlength=len(model.labels)) / model.n_rows).tolist(),
        full=tally.full,
        right=tally.right,
        strategy=strategy,
        exact_votes=tally.exact_votes,
    )


def _final(votes: Any, plan: Plan, recommended: SolvedLimit) -> Any:
    """Return the strategy for what is recommended; of scores, the rows not looked at so far certify it."""
    if not isinstance(votes, ScoreRows):
        return recommended.strategy
    limits, added = recommended.limits.given, votes.added_up
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CannotCertifyWarning)  # the strategy has the reason
        return solve_scores(
            votes.scores, limits, confidence=plan.confidence or 0.95, looks=plan.looks, **added
        )


class _Tally(NamedTuple):
    """What everyone together says: as `foregone.plan` takes it, by row, and what it takes to be sure."""

    votes: VoteDistribution | ClassVotes | ScoreRows
    full: ClassNumbers
    right: ClassNumbers
    exact_votes: float | None = None


def _tally(model: ReportedModel, own: Labels | None) -> _Tally:
    """Ask everyone: the one place where the page tells votes, answers and scores apart."""
    n_voters, n_classes = model.n_voters, len(model.labels)
    if model.voting == "soft":
        before = model.classifier.strategy_
        scores = scores_of(model.ensemble, model.rows)
        rows = ScoreRows(
            scores,
            start=before.start,
            order="optimized" if model.order == "optimized" else before.order,
            answers=None if own is None else np.asarray(own == model.ensemble.classes[1], np.bool_),
            random_state=model.seed,
            bounds=known_bounds(model.ensemble, scores),
        )
        says_yes, is_yes = full_answers(scores, before.order, rows.start), rows.right(before.order)
        certain = None
        if rows.bounds is not None:
            curtailed = score_rules.curtailment(rows.bounds, order=before.order, start=rows.start)
            certain = float(curtailed.run(scores)[1].mean())
        return _Tally(rows, says_yes.astype(np.intp), is_yes.astype(np.intp), certain)
    counts = model.votes()
    if n_classes == 2:
        votes = VoteDistribution.from_yes_counts(counts, n_voters)
        full = (2 * counts > n_voters).astype(np.intp)
        exact = evaluate(rules.curtailment(n_voters)).mean(votes)
        return _Tally(votes, full, full, exact.expected_votes)
    answers = ClassVotes(counts)
    decided = evaluate(plurality_rules.curtailment(n_voters, n_classes)).mean(answers.distribution)
    return _Tally(answers, answers.full, answers.full, decided.expected_votes)

"""The trade-off of scores that are added up: for each limit, thresholds learned and certified on the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone.classifier.calibration_scores import BLOCK_SCORES, full_answers, scores_of
from foregone.errors import InvalidInputError, SolverError
from foregone.planning.scores import ScorePlan, ScorePlanRow, plan_scores
from foregone.report.facts import Labels, Subject
from foregone.report.points import ClassFigures, Point, Texts, TradeOff, solve_points
from foregone.scores import ScoreStrategy, solve_scores

__all__ = ["trade_off_of_scores"]

SIDES = ("no", "yes")


def trade_off_of_scores(
    subject: Subject, own: Labels | None, worth: float, advance: Callable[[], None]
) -> TradeOff:
    """Take every voter's score of every row and certify every limit; parameters as in `trade_off_of_votes`.

    The limit is about agreeing with ``own``, or with the full sum where there is none, as in a classifier.

    Raises
    ------
    InvalidInputError
        If there are more than two classes, or settings that are for votes.
    """
    if len(subject.labels) != 2:
        raise InvalidInputError(
            f"{subject.name} adds up scores for {len(subject.labels)} classes, and the report covers scores "
            'of two classes. If it is a forest, a bag or a committee, count votes: voting="hard"'
        )
    confidence, looks = subject.settings["confidence"], subject.settings["looks"]
    if subject.settings["criterion"] != "minimean" or confidence is None:
        raise InvalidInputError(
            f"{subject.name} adds up scores, whose limit is a mean over rows, certified at a confidence: use "
            "criterion minimean and a confidence such as 0.95. If it is a forest, a bag or a committee, "
            'voting="hard" counts votes, which take any criterion'
        )
    scores, before = scores_of(subject.ensemble, subject.rows), subject.classifier.strategy_
    settings = {
        "confidence": confidence,
        "looks": looks,
        "order": "optimized" if subject.order == "optimized" else before.order,
        "start": before.start,
        "random_state": subject.seed,
    }
    full = full_answers(scores, before)
    says_yes = full if own is None else np.asarray(own == subject.ensemble.classes[1], np.bool_)

    def point(limit: float, each_class: bool) -> Point:
        allowed: Any = {"yes": limit, "no": limit} if each_class else limit
        try:
            strategy = solve_scores(scores, allowed, answers=says_yes, on_failure="raise", **settings)
        except SolverError as error:
            strategy = ScoreStrategy.ask_all(
                subject.n_voters, order=before.order, start=before.start, reason=str(error)
            )
        return _point(strategy, limit, each_class, scores, says_yes)

    points = solve_points(point, (False, True), advance)
    no, yes = subject.labels
    made = plan_scores(scores, labels=(no, yes), worth=worth, **settings)
    made = _with_figures_of(made, points)
    voters = subject.voters
    return TradeOff(
        points=points,
        plan=made,
        advice=tuple(made.recommendation.splitlines()),
        confidence=confidence,
        full=full.astype(np.intp),
        right=says_yes[:, None] == np.array([False, True]),
        texts=Texts(
            full="the full sum",
            mean="measured",
            computed="For each limit, when to stop was learned on a random half of the calibration rows; the "
            "numbers below were measured on the other half, which certifies them. In the table by class, "
            f"{voters} asked are means over all calibration rows.",
            promise=(
                f"With {100 * confidence:g} % confidence over the draw of the {subject.n_rows:,} calibration "
                "rows, the early answer differs from the full sum of the scores on at most the allowed "
                "share of rows like them. That share is a mean: close sums, or one class, may take most of "
                f"it. With fewer rows more {voters} are asked, and with too few no early stop can be "
                "certified.",
                "Certified, not proven optimal: the thresholds are the ones that asked fewest in learning "
                "and passed an exact binomial test on rows that they were not learned from. Another "
                "random_state splits the rows differently and leads to slightly different numbers.",
            ),
            own_heading="The full sum and the model's own predict",
            own_meaning=f"The scores of all {voters} are added up in one order, as the model does in its own "
            "order and precision.",
            own_differs="This is rounding, where the sum is next to a tie. The limit is about the model's "
            "own predict, and counts such rows as different.",
            no_margins="Scores have no number of yes votes, so disagreement is not shown by margin.",
            no_exact=f"How many {voters} it takes never to differ is not known for scores.",
            in_random_order=False,
        ),
    )


def _point(
    strategy: ScoreStrategy,
    limit: float,
    each_class: bool,
    scores: npt.NDArray[np.float64],
    says_yes: npt.NDArray[np.bool_],
) -> Point:
    certificate, n_voters = strategy.certificate, strategy.n_voters
    if certificate is None or certificate.wrong_by_class is None or certificate.bound_by_class is None:
        nobody_differs = (ClassFigures(float(n_voters), 0.0, 0.0),) * 2
        return Point(
            limit, each_class, strategy, float(n_voters), 0.0, 0.0, nobody_differs, reason=strategy.reason
        )
    size = max(1, BLOCK_SCORES // n_voters)
    asked = np.concatenate([strategy.run(scores[at : at + size])[1] for at in range(0, len(scores), size)])
    pairs, bounds, bound = certificate.wrong_by_class, certificate.bound_by_class, certificate.bound
    by_class = []
    for side, rows in zip(SIDES, (~says_yes, says_yes), strict=True):
        wrong, tried = pairs[side]
        by_class.append(
            ClassFigures(
                float(asked[rows].mean()) if rows.any() else None,
                wrong / tried if tried else None,
                bounds[side],
            )
        )
    return Point(
        limit=limit,
        each_class=each_class,
        strategy=strategy,
        expected_votes=certificate.mean_asked,
        disagreement=sum(wrong for wrong, _ in pairs.values()) / sum(tried for _, tried in pairs.values()),
        at_most=max(bound.values()) if isinstance(bound, dict) else bound,
        by_class=tuple(by_class),
    )


def _with_figures_of(made: ScorePlan, points: tuple[Point, ...]) -> ScorePlan:
    """Return a plan with the figures of the points, which count rounding as a classifier does."""
    known = {(point.limit, point.each_class): point for point in points}

    def row(planned: ScorePlanRow) -> ScorePlanRow:
        point = known[planned.limit, isinstance(planned.max_disagreement, dict)]
        return replace(
            planned,
            expected_votes=point.expected_votes,
            speed_up=made.n_voters / point.expected_votes,
            disagreement=point.disagreement,
            by_class={
                side: figures.disagreement for side, figures in zip(SIDES, point.by_class, strict=True)
            },
            reason=point.reason,
        )

    rows = tuple(row(planned) for planned in made.rows)
    budgets = None if made.class_budgets is None else row(made.class_budgets)
    return replace(made, rows=rows, chosen=rows[made.rows.index(made.chosen)], class_budgets=budgets)

"""plan_scores(): what each limit costs where scores are added up, and which one to take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy.typing as npt

from foregone.errors import SolverError
from foregone.planning import LIMITS, WORTH, check_tried_limits, check_worth
from foregone.planning.recommendation import allowed_by_class, losing, losing_class, one_in
from foregone.scores import solve_scores
from foregone.scores.paths import check_scores
from foregone.solving import MaxDisagreement

__all__ = ["ScorePlan", "ScorePlanRow", "plan_scores"]


@dataclass(frozen=True)
class ScorePlanRow:
    """What stopping within one limit costs, and what the rows it was certified on show.

    Attributes
    ----------
    max_disagreement : float or dict
        The limit; in ``ScorePlan.class_budgets`` one for each of "yes" and "no".
    expected_votes : float
        Voters asked, on average over those rows.
    speed_up : float
        Number of voters divided by ``expected_votes``.
    disagreement : float
        Share of those rows that were answered differently.
    by_class : dict
        The same given that the full sum says "yes", and "no"; None where there is no such row.
    price : float or None
        What it costs to avoid one disagreement by taking this limit and not the next looser one, in full
        votes; None where there is no looser one.
    reason : str or None
        Why everyone is asked, if nothing else could be certified.
    """

    max_disagreement: MaxDisagreement
    expected_votes: float
    speed_up: float
    disagreement: float
    by_class: dict[str, float | None]
    price: float | None = None
    reason: str | None = None

    @property
    def limit(self) -> float:
        """The limit as a number: the larger one if there are two."""
        limit = self.max_disagreement
        return max(limit.values()) if isinstance(limit, dict) else limit

    def losing_classes(self) -> dict[str, float]:
        """Return the classes that are answered differently far more often than all rows, and how often."""
        if isinstance(self.max_disagreement, dict) or self.reason is not None:
            return {}
        allowed = allowed_by_class(self.max_disagreement)
        shares = self.by_class.items()
        return {side: share for side, share in shares if share is not None and share > allowed}

    def record(self) -> dict[str, float | None]:
        """Return the figures under flat names, limits by class as two."""
        limit = self.max_disagreement
        limits = limit if isinstance(limit, dict) else {"": limit}
        return {
            **{f"max_disagreement{side and '_' + side}": value for side, value in limits.items()},
            "expected_votes": self.expected_votes,
            "speed_up": self.speed_up,
            "disagreement": self.disagreement,
            **{f"disagreement_{side}": share for side, share in self.by_class.items()},
            "price": self.price,
        }


@dataclass(frozen=True)
class ScorePlan:
    """The trade-off between voters asked and disagreement where scores are added up. Made by `plan_scores`.

    Attributes
    ----------
    rows : tuple of ScorePlanRow
        One for each limit tried, the loosest first.
    chosen : ScorePlanRow
        The row that the rule of `plan_scores` leads to.
    class_budgets : ScorePlanRow or None
        If a class loses there: what it takes to keep that limit for each class by itself.
    n_voters : int
        Number of voters.
    confidence : float
        With which every limit is kept.
    worth : float
        What avoiding one disagreement was taken to be worth, in full votes.
    labels : tuple of two, or None
        Names for "no" and "yes".
    """

    rows: tuple[ScorePlanRow, ...]
    chosen: ScorePlanRow
    class_budgets: ScorePlanRow | None
    n_voters: int
    confidence: float
    worth: float
    labels: tuple[Any, Any] | None = None

    @property
    def recommended(self) -> ScorePlanRow:
        """What the recommendation comes to: the chosen row, or that with a limit for each class."""
        return self.chosen if self.class_budgets is None else self.class_budgets

    @property
    def max_disagreement(self) -> float | dict[Any, float]:
        """The recommended limit, as `solve_scores` or, keyed by label, a classifier takes it."""
        limit = self.recommended.max_disagreement
        if not isinstance(limit, dict) or self.labels is None:
            return limit
        return dict(zip(self.labels, (limit["no"], limit["yes"]), strict=True))

    @property
    def recommendation(self) -> str:
        """What to do, in words: one paragraph a line."""
        return "\n".join(filter(None, [self._first(), self._why_no_tighter(), self._losing()]))

    def records(self) -> list[dict[str, float | None]]:
        """Return the rows as dictionaries of plain numbers, ready for a data frame or a CSV file."""
        return [row.record() for row in self.rows]

    def __repr__(self) -> str:
        tried = f"{len(self.rows)} limits from {self.rows[0].limit:g} to {self.rows[-1].limit:g}"
        return (
            f"<ScorePlan for {self.n_voters} voters at {self.confidence:g} confidence: {tried}, "
            f"recommended {self.max_disagreement}>"
        )

    def _first(self) -> str:
        row = self.chosen
        if row.reason is not None:
            return f"Nothing could be certified, so everyone is asked: {row.reason}."
        return (
            f"Take a limit of {row.limit:g}: {one_in(row.limit)} may be answered otherwise than by everyone, "
            f"on average over rows, with {100 * self.confidence:g} % confidence. It takes "
            f"{row.expected_votes:.1f} of {self.n_voters} voters on average, {row.speed_up:.1f} times fewer."
        )

    def _why_no_tighter(self) -> str:
        place = self.rows.index(self.chosen)
        if self.chosen.reason is not None or place + 1 == len(self.rows):
            return ""
        tighter = self.rows[place + 1]
        if tighter.reason is not None:
            return f"No tighter: for {tighter.limit:g}, {tighter.reason}."
        more = tighter.expected_votes - self.chosen.expected_votes
        return (
            f"No tighter, because {tighter.limit:g} takes {more:.1f} voters more: for each disagreement "
            f"avoided, {tighter.price:,.0f} full votes (all voters asked about one input), and it is taken "
            f"to be worth {self.worth:g}."
        )

    def _losing(self) -> str:
        row, budgets = self.chosen, self.class_budgets
        names = dict(zip(("no", "yes"), self.labels or ("no", "yes"), strict=True))
        said = [losing_class(names[side], share, row.limit) for side, share in row.losing_classes().items()]
        if not said:
            return ""
        return losing(said, row.expected_votes, None if budgets is None else budgets.expected_votes)


def plan_scores(
    scores: npt.ArrayLike,
    limits: Iterable[float] | None = None,
    *,
    confidence: float = 0.95,
    order: Literal["given", "random", "optimized"] | npt.ArrayLike = "given",
    looks: int | Iterable[int] | None = None,
    start: float = 0.0,
    worth: float = WORTH,
    labels: tuple[Any, Any] | None = None,
    random_state: int | None = 0,
) -> ScorePlan:
    """Lay out what each limit costs where scores are added up, and recommend one.

    The rule: begin with the loosest limit and tighten as long as each disagreement that is avoided costs at
    most ``worth`` full votes and the rows can certify the limit. If a class then loses, with a disagreement
    of more than ten times the limit (or more than a half), each class is given the limit for itself, if the
    rows can certify that.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_voters)
        Scores of single voters, as in `foregone.solve_scores`.
    limits : iterable of float, optional
        Limits to try, from 0 to 1; by default 0.1, 0.03, 0.01 and so on to 0.00001.
    confidence, order, looks, start, random_state
        As in `foregone.solve_scores`.
    worth : float, default=25
        What it is worth to avoid one disagreement, in full votes.
    labels : tuple of two, optional
        Names for "no" and "yes" in what is recommended.

    Examples
    --------
    >>> import numpy as np
    >>> from foregone.planning.scores import plan_scores
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(rng.normal(size=(8000, 1)), 1, size=(8000, 50))
    >>> plan_scores(scores, [0.1, 0.01, 0.0001], worth=100)
    <ScorePlan for 50 voters at 0.95 confidence: 3 limits from 0.1 to 0.0001, recommended 0.01>
    """
    matrix = check_scores(scores, "scores")
    n_voters = matrix.shape[1]

    def row(limit: MaxDisagreement, looser: ScorePlanRow | None = None) -> ScorePlanRow:
        try:
            strategy = solve_scores(
                matrix, limit, confidence=confidence, order=order, looks=looks, start=start,
                random_state=random_state, on_failure="raise",
            )  # fmt: skip
        except SolverError as error:
            return ScorePlanRow(limit, float(n_voters), 1.0, 0.0, {"yes": 0.0, "no": 0.0}, None, str(error))
        certificate = strategy.certificate
        assert certificate is not None
        assert certificate.wrong_by_class is not None
        pairs = certificate.wrong_by_class
        price = None
        if looser is not None:
            more = max(certificate.mean_asked - looser.expected_votes, 0.0)
            price = more / (looser.limit - _number(limit)) / n_voters
        return ScorePlanRow(
            max_disagreement=limit,
            expected_votes=certificate.mean_asked,
            speed_up=n_voters / certificate.mean_asked,
            disagreement=sum(wrong for wrong, _ in pairs.values()) / sum(rows for _, rows in pairs.values()),
            by_class={side: wrong / rows if rows else None for side, (wrong, rows) in pairs.items()},
            price=price,
        )

    tried, worth = check_tried_limits(LIMITS if limits is None else limits), check_worth(worth)
    rows: list[ScorePlanRow] = []
    for limit in tried:
        rows.append(row(limit, rows[-1] if rows else None))
    chosen = _choose(rows, worth)
    budgets = None
    if chosen.losing_classes():
        each = row({"yes": chosen.limit, "no": chosen.limit})
        budgets = each if each.reason is None else None
    return ScorePlan(tuple(rows), chosen, budgets, n_voters, float(confidence), worth, labels)


def _number(limit: MaxDisagreement) -> float:
    return max(limit.values()) if isinstance(limit, dict) else limit


def _choose(rows: list[ScorePlanRow], worth: float) -> ScorePlanRow:
    for chosen, tighter in pairwise(rows):
        if tighter.reason is not None or (tighter.price is not None and tighter.price > worth):
            return chosen
    return rows[-1]

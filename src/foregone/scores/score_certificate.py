"""ScoreCertificate: evidence from held-out rows about a strategy's disagreement, or loss.

Proof and discussion are in docs/theory.md, "Scores".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, get_args

from foregone.certifying import Judged, LossKind, Promise, clopper_pearson_bound
from foregone.certifying.parts import by_part, confidence_for_all
from foregone.checks import check_confidence
from foregone.errors import InvalidInputError
from foregone.strategy.json_file import Fields, is_finite_number
from foregone.strategy.limits import Limits, MaxDisagreement, by_side

__all__ = ["ScoreCertificate"]

RowCounts = int | dict[str, int]
MOST_RUNGS = 115  # for certificates of older versions, which do not store the number of tries


@dataclass(frozen=True)
class ScoreCertificate:
    """Evidence that a strategy keeps its limit: its results on rows that were not used to learn it.

    With a probability of at least ``confidence`` over the draw of the rows, the disagreement with the full
    sum on new rows of the same distribution is at most ``max_disagreement``. With a limit for each answer, or
    with groups, all limits hold at once. That is the promise; ``bound`` is the bound it is based on. The same
    holds for a loss of accuracy or of costs, if that is what is limited.

    Attributes
    ----------
    max_disagreement : float or dict
        The limit on the ``loss``, or one for rows whose full sum says "yes" and one for "no"; for accuracy,
        one for rows that are truly "yes" and one for "no".
    confidence : float
        Strictly between 0 and 1.
    n_learned : int
        Number of rows that the order and the thresholds were learned from.
    n_certified : int or dict
        Number of rows it was then tested on; with a limit for each answer, the rows of each.
    n_wrong : int or dict
        How many of them it answered differently from the full sum; with accuracy and costs this is
        reported, but not limited.
    mean_asked : float
        Mean number of voters asked, over the rows it was tested on.
    wrong_by_class : dict or None
        For full sums of "yes" and of "no", a pair: how many rows were answered differently, and how many
        there were. Also available with a single limit.
    parts : tuple of Judged
        With groups or clusters, and for accuracy and costs: the result for each group and answer that has a
        limit, with costs in their own unit. If few rows lose, the mean loss ignores gains instead of
        offsetting them against losses.
    in_clusters : bool
        Whether dependent rows were counted as one observation.
    class_bounds : dict or None
        For "yes" and "no", the value of `bound_by_class`.
    loss : {"disagreement", "accuracy", "cost"}
        What is limited.

    Examples
    --------
    >>> certificate = ScoreCertificate(0.002, 0.95, 5000, 5000, 3, 12.5)
    >>> round(certificate.bound, 6), certificate.is_kept
    (0.00155, True)
    """

    max_disagreement: MaxDisagreement
    confidence: float
    n_learned: int
    n_certified: RowCounts
    n_wrong: RowCounts
    mean_asked: float
    wrong_by_class: dict[str, tuple[int, int]] | None = None
    parts: tuple[Judged, ...] = ()
    in_clusters: bool = False
    class_bounds: dict[str, float] | None = None
    loss: LossKind = "disagreement"

    @property
    def judged(self) -> tuple[Judged, ...]:
        """The result for each part that has a limit."""
        if self.parts:
            return self.parts
        n_wrong, n_rows = by_side(self.n_wrong), by_side(self.n_certified)
        return tuple(
            Judged(
                side,
                None,
                limit,
                n_rows[side],
                n_wrong[side] / max(n_rows[side], 1),
                clopper_pearson_bound(n_wrong[side], n_rows[side], self.confidence),
            )
            for side, limit in Limits.of(self.max_disagreement)
        )

    @property
    def bound(self) -> Any:
        """Upper bound on the loss, or one for each answer, group, or both; at most the limit."""
        return by_part({(part.side, part.group): part.bound for part in self.judged})

    @property
    def bound_by_class(self) -> dict[str, float] | None:
        """Upper bounds on the disagreement by answer of the full sum, at ``confidence``; None if unknown.

        With a limit for each answer, it is that limit. Otherwise it is an upper bound at a higher confidence,
        chosen such that the bounds of both answers hold for every strategy that could have been selected,
        because the selection depends on the same rows.
        """
        if self.class_bounds is not None:
            return self.class_bounds
        if isinstance(self.max_disagreement, dict):
            return self.max_disagreement
        if self.wrong_by_class is None:
            return None
        sure = confidence_for_all(self.confidence, MOST_RUNGS)
        return {side: clopper_pearson_bound(*pair, sure) for side, pair in self.wrong_by_class.items()}

    @property
    def is_kept(self) -> bool:
        """Whether every bound is within its limit."""
        return all(part.is_kept for part in self.judged)

    @property
    def promise(self) -> Promise:
        """The guarantee, with limits by "yes" and "no"."""
        n_rows = sum(by_side(self.n_certified).values())
        return Promise.certified(
            self.judged, self.confidence, n_rows, loss=self.loss, in_clusters=self.in_clusters
        )

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of the certificate's object in a strategy file."""
        fields: dict[str, Any] = {
            "max_disagreement": self.max_disagreement,
            "confidence": self.confidence,
            "n_learned": self.n_learned,
            "n_certified": self.n_certified,
            "n_wrong": self.n_wrong,
            "mean_asked": self.mean_asked,
        }
        if self.wrong_by_class is not None:
            fields["wrong_by_class"] = {side: list(pair) for side, pair in self.wrong_by_class.items()}
        if self.parts:
            fields["parts"] = [list(part) for part in self.parts]
            fields["in_clusters"] = int(self.in_clusters)
        if self.class_bounds is not None:
            fields["class_bounds"] = self.class_bounds
        if self.loss != "disagreement":
            fields["loss"] = self.loss
        return fields

    @classmethod
    def from_fields(cls, fields: Fields, n_voters: int) -> ScoreCertificate:
        """Check the fields of a certificate and return it."""
        loss: Any = fields.text("loss") if "loss" in fields else "disagreement"
        if loss not in get_args(LossKind):
            raise fields.error("loss", f"must be one of {', '.join(get_args(LossKind))}")
        if loss == "cost":
            limits = Limits((("all", fields.number("max_disagreement", 0)),))
        else:
            limits = Limits.from_field(fields)
        try:
            confidence = check_confidence(fields.number("confidence", 0, 1))
        except InvalidInputError as error:
            raise fields.error("max_disagreement/confidence", f"is not valid: {error}") from None
        certificate = cls(
            limits.given,
            confidence,
            fields.whole("n_learned", 0),
            _counts(fields, "n_certified", limits),
            _counts(fields, "n_wrong", limits),
            fields.number("mean_asked", 0, n_voters),
            _pairs(fields, "wrong_by_class"),
            _parts(fields, "parts", limits, loss) if "parts" in fields or loss != "disagreement" else (),
            "in_clusters" in fields and bool(fields.whole("in_clusters", 0, 1)),
            _shares(fields, "class_bounds") if "class_bounds" in fields else None,
            loss,
        )
        if not certificate.is_kept:
            key = "n_wrong" if loss == "disagreement" else "parts"
            raise fields.error(key, "is too large: the certificate breaks its own limit")
        return certificate


def _counts(fields: Fields, key: str, limits: Limits) -> RowCounts:
    if not limits.by_answer:
        return fields.whole(key, 0)
    section = fields.section(key)
    return {side: section.whole(side, 0) for side, _ in limits}


def _pairs(fields: Fields, key: str) -> dict[str, tuple[int, int]] | None:
    if key not in fields:
        return None
    section, pairs = fields.section(key), {}
    for side in ("yes", "no"):
        n_wrong, n_rows = section.whole_numbers(side, 2).tolist()
        if not 0 <= n_wrong <= n_rows:
            raise section.error(side, "must hold two counts: the wrong rows, and all rows")
        pairs[side] = (n_wrong, n_rows)
    return pairs


def _shares(fields: Fields, key: str) -> dict[str, float]:
    section = fields.section(key)
    return {side: section.number(side, 0, 1) for side in ("yes", "no")}


def _parts(fields: Fields, key: str, limits: Limits, loss: LossKind) -> tuple[Judged, ...]:
    found = []
    least, most = {"disagreement": (0.0, 1.0), "accuracy": (-1.0, 1.0), "cost": (-math.inf, math.inf)}[loss]
    for side, group, *numbers in fields.rows(key, len(Judged._fields)):
        limit, n_observations, mean_loss, bound = numbers
        known = isinstance(group, str | int | float | None) and (side, limit) in list(limits)
        finite = is_finite_number(mean_loss) and is_finite_number(bound)
        fits = finite and least <= mean_loss <= most and 0 <= bound <= most
        if not (known and fits and type(n_observations) is int and n_observations >= 0):
            raise fields.error(key, "must hold a side, a group, a limit, a number of rows, and two shares")
        found.append(Judged(side, group, *numbers))
    if {part.side for part in found} != {side for side, _ in limits}:
        raise fields.error(key, "must hold one result for every limit")
    return tuple(found)

"""ScoreCertificate: what rows that a strategy was not learned from say about its disagreement.

Proof and discussion are in docs/theory.md, "Scores".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.special import betainccinv

from foregone.checks import check_confidence
from foregone.errors import InvalidInputError
from foregone.strategy.json_file import Fields
from foregone.strategy.limits import Limits, MaxDisagreement, as_given, by_side

__all__ = ["ScoreCertificate", "upper_bound"]

RowCounts = int | dict[str, int]


def upper_bound(n_wrong: int, n_rows: int, confidence: float) -> float:
    """Return Clopper and Pearson's upper bound for a probability.

    It is the largest p at which ``n_wrong`` or fewer of ``n_rows`` independent rows are wrong with a
    probability of at least ``1 - confidence``; so it lies below the true probability in at most that share
    of samples, whatever that probability is.

    Examples
    --------
    >>> round(upper_bound(0, 1497, 0.95), 6), upper_bound(0, 0, 0.95)
    (0.001999, 1.0)
    """
    if n_wrong >= n_rows:
        return 1.0
    # A few last bits for the quantile's own rounding.
    return min(1.0, float(betainccinv(n_wrong + 1, n_rows - n_wrong, 1 - confidence)) * (1 + 1e-12))


@dataclass(frozen=True)
class ScoreCertificate:
    """Why a strategy keeps its limit: it was tried on rows that had no part in learning it.

    With a probability of at least ``confidence`` over the draw of the rows, the disagreement with the full
    sum on new rows of the same distribution is at most ``max_disagreement``; with a limit for each answer,
    both are kept at once. That is the promise; ``bound`` is what it was judged by.

    Attributes
    ----------
    max_disagreement : float or dict
        The limit, or one for rows whose full sum says "yes" and one for "no".
    confidence : float
        Strictly between 0 and 1.
    n_learned : int
        Rows that the order and the thresholds were learned from.
    n_certified : int or dict
        Rows it was then tried on; with a limit for each answer, those of each.
    n_wrong : int or dict
        How many of them it answered differently from the full sum.
    mean_asked : float
        Voters asked, on average over the rows it was tried on.
    wrong_by_class : dict or None
        For "yes" and "no", what the full sum says, a pair: how many were answered differently, of how many.
        Known for one limit, too.

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

    @property
    def bound(self) -> MaxDisagreement:
        """Exact upper bound on the disagreement, or one for each answer; at most the limit."""
        n_wrong, n_rows = by_side(self.n_wrong), by_side(self.n_certified)
        return as_given({side: upper_bound(n_wrong[side], n_rows[side], self.confidence) for side in n_rows})

    @property
    def bound_by_class(self) -> dict[str, float] | None:
        """Upper bound for each answer, as far as known; with one limit for all, only that is promised."""
        if self.wrong_by_class is None:
            return self.bound if isinstance(self.bound, dict) else None
        return {
            side: upper_bound(n_wrong, n_rows, self.confidence)
            for side, (n_wrong, n_rows) in self.wrong_by_class.items()
        }

    @property
    def is_kept(self) -> bool:
        """Whether every bound is within its limit."""
        limits = by_side(self.max_disagreement)
        return all(bound <= limits[side] for side, bound in by_side(self.bound).items())

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
        return fields

    @classmethod
    def from_fields(cls, fields: Fields, n_voters: int) -> ScoreCertificate:
        """Check the fields of a certificate and make it."""
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
        )
        if not certificate.is_kept:
            raise fields.error("n_wrong", "is too large: the certificate does not keep its own limit")
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
            raise section.error(side, "must hold how many were wrong, of how many")
        pairs[side] = (n_wrong, n_rows)
    return pairs

"""ScoreStrategy: thresholds on a running score or lead, with voters asked in a fixed order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from foregone.checks import FloatArray, IntArray, as_numbers, check_n_voters, check_order
from foregone.errors import InvalidInputError
from foregone.scores.class_scores import ClassScores
from foregone.scores.paths import (
    Answers,
    Scores,
    Start,
    blocks,
    check_scores,
    check_start,
    look_steps,
    paths_given,
    paths_of,
)
from foregone.scores.score_certificate import ScoreCertificate
from foregone.strategy.base import Strategy
from foregone.strategy.json_file import Fields, is_finite_number

__all__ = ["ScoreStrategy"]

NEVER = {"-inf": -np.inf, "inf": np.inf}  # written to files for thresholds that are never reached


@dataclass(frozen=True, eq=False, repr=False)
class ScoreStrategy(Strategy):
    """When to stop adding up scores: a fixed order of the voters, and thresholds for each step.

    For two classes, the running score is ``start`` plus the scores of the voters asked so far; the answer of
    the full sum is yes if it is above 0, otherwise no. After ``asked`` voters the strategy stops with "no" if
    the running score is at most ``lower[asked]``, else with "yes" if it is at least ``upper[asked]``, else it
    goes on.

    For more classes, every class has a running score, and the lead is the difference of the largest and the
    second largest. The strategy stops with the leading class (the first of several) if the lead is at least
    ``upper[asked]``. If each class has separate voters, as in boosted models, it drops every class that
    trails the leader by its ``upper[asked]`` or more: a dropped class cannot win, and its voters are asked no
    more. A step then asks one voter of each remaining class, and the strategy stops when only one remains.

    When all voters have been asked, it stops with the answer of the full sum. Made by `solve_scores`, by a
    function of `foregone.scores.rules`, or by `from_thresholds`.

    Attributes
    ----------
    order : ndarray of int, shape (n_steps,)
        The voters in the order asked, each once; if classes have separate voters, the rounds of one voter per
        class.
    start : float or ndarray of float, shape (n_classes,)
        The score before the first voter: a boosted ensemble's baseline, 0 for a forest. One number for two
        classes, one per class for more.
    lower, upper : ndarray of float, shape (n_steps + 1,)
        Per step. If classes have separate voters, ``upper`` has the shape (n_steps + 1, n_classes), and at
        least one voter of each class is asked. Invariants: ``lower[i] <= upper[i]``; no NaN; ``-inf`` and
        ``inf`` at steps where it cannot stop; the last of each is 0. For many classes, ``lower`` is ``-inf``
        throughout.
    certificate : ScoreCertificate or None
        The evidence that its disagreement is within a limit; None if nothing is promised.
    reason : str or None
        If `solve_scores` could not certify an early stop: why it only curtails (stops where the voters not
        yet asked cannot change the answer) or asks everyone.
    drops_classes : bool
        Whether each class has separate voters.

    Examples
    --------
    >>> strategy = ScoreStrategy.from_thresholds([-9, -2, -1, 0], [9, 2, 1, 0], order=[2, 0, 1])
    >>> strategy.run([[0.5, 1, 2.5], [-1, -2, 0.5], [0.2, 0.3, 0.4]])
    (array([ True, False,  True]), array([1, 3, 3]))
    >>> strategy.decide(asked=1, running=2.5), strategy.decide(asked=1, running=-0.5)
    (True, None)

    Three classes:

    >>> strategy = ScoreStrategy.from_thresholds(None, [9, 0.8, 0], start=[0, 0, 0])
    >>> strategy.run([[[0.1, 0.9, 0.0], [0.5, 0.5, 0.0]], [[0.4, 0.3, 0.3], [0.0, 0.0, 1.0]]])
    (array([1, 2]), array([1, 2]))
    """

    KIND: ClassVar[str] = "scores"

    order: IntArray
    start: Start
    lower: FloatArray
    upper: FloatArray
    certificate: ScoreCertificate | None = None
    reason: str | None = None
    drops_classes: bool = False

    # Making one ------------------------------------------------------------------------------

    @classmethod
    def from_thresholds(
        cls,
        lower: npt.ArrayLike | None,
        upper: npt.ArrayLike,
        *,
        order: npt.ArrayLike | None = None,
        start: float | npt.ArrayLike = 0.0,
        certificate: ScoreCertificate | None = None,
        drops_classes: bool = False,
    ) -> ScoreStrategy:
        """Make a strategy from thresholds for every step, from no voter asked to all.

        Parameters
        ----------
        lower, upper : array-like of float, shape (n_steps + 1,)
            As in the attributes of the same name; ``lower`` is None for more than two classes.
        order : array-like of int, shape (n_voters,), optional
            The voters in the order asked; by default in the order of the columns.
        start : float or array-like of float, default 0.0
            The score before the first voter; for more than two classes, one per class.
        certificate : ScoreCertificate, optional
            The evidence about its disagreement.
        drops_classes : bool
            Whether each class has separate voters; only for more than two classes.
        """
        first = check_start(start)
        n_classes = None if isinstance(first, float) else len(first)
        low, high = _check_thresholds(lower, upper, n_classes, drops_classes=drops_classes)
        if drops_classes and isinstance(first, float):
            raise InvalidInputError(
                "drops_classes needs more than two classes: pass start with one number per class"
            )
        n_steps = len(low) - 1
        given = np.arange(n_steps) if order is None else order
        return cls(check_order(given, n_steps), first, low, high, certificate, None, drops_classes)

    @classmethod
    def ask_all(
        cls,
        n_voters: int,
        *,
        order: npt.ArrayLike | None = None,
        start: float | npt.ArrayLike = 0.0,
        reason: str | None = None,
        drops_classes: bool = False,
    ) -> ScoreStrategy:
        """Return the strategy that asks everyone, with an optional ``reason``.

        If classes have separate voters, ``n_voters`` is the number per class.
        """
        low = np.append(np.full(check_n_voters(n_voters), -np.inf), 0.0)
        high = np.repeat(-low[:, None], np.size(start), axis=1) if drops_classes else -low
        everyone = cls.from_thresholds(
            None if np.ndim(start) else low, high, order=order, start=start, drops_classes=drops_classes
        )
        return replace(everyone, reason=reason)

    # Reading it ------------------------------------------------------------------------------

    @property
    def n_voters(self) -> int:
        """Number of voters in the ensemble."""
        return len(self.order) * (self.n_classes if self.drops_classes else 1)

    @property
    def n_steps(self) -> int:
        """The largest number of steps: the number of voters, or per class if classes have separate voters."""
        return len(self.order)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2 if isinstance(self.start, float) else len(self.start)

    @property
    def adds_by_class(self) -> bool:
        """Whether every class has a sum, with thresholds on the lead; otherwise two classes share one sum."""
        return not isinstance(self.start, float)

    @property
    def looks(self) -> IntArray:
        """The steps after which it may stop."""
        return look_steps(self.lower, self.upper)

    @property
    def stops_in_words(self) -> str:
        """When a strategy stops that has a ``reason``, in words."""
        if len(self.looks) == 1:
            return "every voter will be asked"
        return "it stops only where the voters not yet asked cannot change the answer"

    def decide(self, asked: int, running: float | npt.ArrayLike) -> bool | int | None:
        """Return the answer after ``asked`` steps at this running score, or None to go on.

        For many classes, ``running`` holds one score per class, ``-inf`` for dropped ones, and the answer is
        the number of a class.
        """
        if not 0 <= asked <= self.n_steps:
            raise InvalidInputError(f"asked must be between 0 and {self.n_steps}, got {asked}")
        numbers = as_numbers(running, "the running score").astype(np.float64)
        is_out = (numbers == -np.inf) & self.drops_classes
        if not (np.isfinite(numbers) | is_out).all() or np.all(is_out):
            raise InvalidInputError(f"the running score must be finite, got {running!r}")
        if numbers.shape != np.shape(self.start):
            raise InvalidInputError(
                f"the running score must have the shape of start, {np.shape(self.start)}, got {numbers.shape}"
            )
        if self.adds_by_class:
            leader = int(numbers.argmax())
            others = np.arange(len(numbers)) != leader
            if asked == self.n_steps:
                return leader
            if self.drops_classes and asked == 0:
                return None
            trails = numbers[leader] - numbers >= self.upper[asked]
            return leader if trails[others].all() else None
        if numbers <= self.lower[asked]:
            return False
        return True if numbers >= self.upper[asked] else None

    def run(self, scores: npt.ArrayLike | ClassScores) -> tuple[Answers, IntArray]:
        """Simulate asking voters one by one, on rows whose scores are all known.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_voters), or (n_rows, n_voters, n_classes)
            One column per voter, in the voters' own numbering; for many classes, one score per class.

        Returns
        -------
        answers : ndarray of bool or of int, shape (n_rows,)
            True for yes; for many classes, the number of a class.
        asked : ndarray of int, shape (n_rows,)
            Number of voters asked about each row; if classes have separate voters, those of all classes.
        """
        known = self._checked(scores, "scores")
        answers: Answers = np.empty(len(known), np.int64 if self.adds_by_class else np.bool_)
        asked = np.empty(len(known), np.int64)
        for rows in blocks(known.shape):
            paths = paths_of(known[rows], self.order, self.start, drops_classes=self.drops_classes)
            answers[rows], asked[rows] = paths.follow(self.lower, self.upper)
        return answers, asked

    def run_paths(self, paths: npt.ArrayLike) -> tuple[Answers, IntArray]:
        """Simulate the same from running scores: column k is the score after k + 1 voters."""
        known = self._checked(paths, "paths")
        followed = paths_given(known, self.start, drops_classes=self.drops_classes)
        return followed.follow(self.lower, self.upper)

    def _checked(self, scores: Any, what: str) -> Scores:
        known = check_scores(scores, what, self.n_steps)
        of_classes = known.shape[2] if isinstance(known, ClassScores) else None
        if of_classes != (self.n_classes if self.adds_by_class else None):
            wanted = f"for each of {self.n_classes} classes" if self.adds_by_class else "one number a voter"
            raise InvalidInputError(f"{what} must be {wanted}, got shape {known.shape}")
        return known

    def _digest(self) -> bytes:
        parts = (
            self.order,
            np.atleast_1d(self.start) + 0.0,
            self.lower + 0.0,
            self.upper + 0.0,
        )  # -0.0 is 0.0
        kind = b"drops" if self.drops_classes else b""
        return hashlib.sha256(kind + b"".join(part.tobytes() for part in parts)).digest()

    def __repr__(self) -> str:
        if self.certificate is not None:
            loss = self.certificate.loss
            what = "" if loss == "disagreement" else f"{loss} "
            note = f", {what}within {self.certificate.max_disagreement} at {self.certificate.confidence:.0%}"
        elif len(self.looks) == 1:
            note = ", asks everyone"
        else:
            note = ", no guarantee" if self.reason is None else ", curtails"
        classes = f", {self.n_classes} classes" if self.adds_by_class else ""
        return f"<ScoreStrategy for {self.n_voters} voters{classes}{note}>"

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a strategy file; infinite thresholds are written as texts."""
        start = self.start
        return {
            "n_voters": self.n_voters,
            "order": self.order.tolist(),
            "start": start if isinstance(start, float) else start.tolist(),
            "lower": None if self.adds_by_class else _to_json(self.lower),
            "upper": [_to_json(line) for line in self.upper] if self.drops_classes else _to_json(self.upper),
            "certificate": None if self.certificate is None else self.certificate.to_fields(),
            "reason": self.reason,
            **({"drops_classes": int(self.drops_classes)} if self.adds_by_class else {}),
        }

    @classmethod
    def _from_fields(cls, fields: Fields) -> ScoreStrategy:
        n_voters = n_steps = fields.whole("n_voters", 1)
        drops = "drops_classes" in fields and bool(fields.whole("drops_classes", 0, 1))
        if drops:
            n_steps = len(fields.entries("order"))
            if n_steps * len(fields.entries("start")) != n_voters:
                raise fields.error("n_voters", "must be the number of classes times the length of the order")
        try:
            order = check_order(fields.whole_numbers("order", n_steps), n_steps)
        except InvalidInputError as error:
            raise fields.error("order", f"is not valid: {error}") from None
        by_class = isinstance(fields.entry("start"), list)
        lower = None if by_class else _from_json(fields, "lower", n_steps + 1)
        try:
            start: Start = check_start(fields.numbers("start")) if by_class else fields.number("start")
        except InvalidInputError as error:
            raise fields.error("start", f"is not valid: {error}") from None
        n_classes = None if isinstance(start, float) else len(start)
        upper = _lines_from_json(fields, "upper", n_steps + 1, n_classes) if drops else None
        if upper is None:
            upper = _from_json(fields, "upper", n_steps + 1)
        try:
            low, high = _check_thresholds(lower, upper, n_classes, drops_classes=drops)
        except InvalidInputError as error:
            raise fields.error("lower/upper", f"is not valid: {error}") from None
        certificate = None
        if "certificate" in fields:
            certificate = ScoreCertificate.from_fields(fields.section("certificate"), n_voters)
        reason = fields.text("reason") if "reason" in fields else None
        return cls(order, start, low, high, certificate, reason, drops)


def _check_thresholds(
    lower: npt.ArrayLike | None, upper: npt.ArrayLike, n_classes: int | None, *, drops_classes: bool
) -> tuple[FloatArray, FloatArray]:
    """Return copies of the thresholds. Raises InvalidInputError if they are not valid.

    ``n_classes`` is None for two classes that share one sum.
    """
    high: FloatArray = as_numbers(upper, "upper").astype(np.float64)
    of_leads = n_classes is not None
    if of_leads != (lower is None):
        raise InvalidInputError(
            "lower must be None for more than two classes, because thresholds are on the lead"
            if of_leads
            else "lower must be given for two classes (it is None only if start has one number per class)"
        )
    if of_leads and drops_classes and (high.ndim != 2 or high.shape[1] != n_classes or len(high) < 2):
        raise InvalidInputError(
            f"upper must have n_steps + 1 rows with one number for each of {n_classes} classes"
        )
    low: FloatArray = (
        np.append(np.full(max(len(high) - 1, 0), -np.inf), 0.0)
        if lower is None
        else as_numbers(lower, "lower").astype(np.float64)
    )
    if low.ndim != 1 or (not drops_classes and low.shape != high.shape) or len(low) < 2:
        raise InvalidInputError("lower and upper must be two rows of n_voters + 1 numbers each")
    tightest = high.min(axis=1) if drops_classes else high  # NaN, where there is one
    broken = np.flatnonzero(~((low <= tightest) & (low < np.inf) & (tightest > -np.inf)))  # also True for NaN
    if len(broken):
        step = broken[0]
        raise InvalidInputError(
            f"the thresholds of step {step} must have lower <= upper, lower below inf and upper above -inf, "
            f"got lower={low[step]} and upper={high[step]}"
        )
    if low[-1] != 0 or (high[-1] != 0).any():
        raise InvalidInputError(
            "lower and upper of the last step must be 0, because after all voters the answer is that of the "
            "full sum"
        )
    if of_leads:
        low[-1] = -np.inf
    return low, high


def _to_json(thresholds: FloatArray) -> list[float | str]:
    return [value if np.isfinite(value) else f"{value}" for value in thresholds.tolist()]


def _lines_from_json(fields: Fields, key: str, length: int, n_classes: int | None) -> FloatArray:
    lines = fields.rows(key, n_classes or 0)
    if len(lines) != length:
        raise fields.error(key, f"must hold {length} entries, found {len(lines)}")
    return np.array([_thresholds_in(fields, key, line) for line in lines])


def _from_json(fields: Fields, key: str, length: int) -> FloatArray:
    return _thresholds_in(fields, key, fields.entries(key, length))


def _thresholds_in(fields: Fields, key: str, values: list[Any]) -> FloatArray:
    if not all(is_finite_number(value) or (isinstance(value, str) and value in NEVER) for value in values):
        raise fields.error(key, 'must hold only finite numbers, "inf" and "-inf"')
    return np.array([NEVER[value] if isinstance(value, str) else value for value in values], dtype=np.float64)

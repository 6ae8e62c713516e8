"""ScoreStrategy: thresholds on a running score or a lead, voters asked in one fixed order."""

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

NEVER = {"-inf": -np.inf, "inf": np.inf}  # how a file says that a threshold is never reached


@dataclass(frozen=True, eq=False, repr=False)
class ScoreStrategy(Strategy):
    """When to stop adding up scores: voters are asked in one order, and thresholds guard each step.

    Of two classes, the running score is ``start`` plus the scores of the voters asked so far; the full sum
    says yes if it is above 0, otherwise no. After ``asked`` voters the strategy stops with "no" if the
    running score is at most ``lower[asked]``, else with "yes" if it is at least ``upper[asked]``, else it
    goes on.

    Of more classes, every class has a running score, and the lead is that of the largest over the second
    largest. The strategy stops with the class that leads if the lead is at least ``upper[asked]``; of several
    that lead, with the first. Where each class has voters of its own, as boosted trees are, it drops
    every class that trails the leader by its ``upper[asked]`` or more: such a class is out, whatever comes,
    and its voters are asked no more. Then a step asks one voter of each class that is left, and the strategy
    stops when only one is.

    When everyone has been asked it stops with the answer of the full sum. Made by `solve_scores`, by a
    function of `foregone.scores.rules`, or by `from_thresholds`.

    Attributes
    ----------
    order : ndarray of int, shape (n_steps,)
        The voters in the order in which they are asked, or the rounds of voters, one a class; each stands
        there once.
    start : float or ndarray of float, shape (n_classes,)
        The score before the first voter: a boosted ensemble's baseline, 0 for a forest. One number for two
        classes, one for each class if there are more.
    lower, upper : ndarray of float, shape (n_steps + 1,)
        Per step; where each class has voters of its own, ``upper`` has the shape (n_steps + 1, n_classes),
        and at least one of each is asked. Invariants: ``lower[i] <= upper[i]``, none is NaN; where it does
        not look they are infinite, ``-inf`` and ``inf``; the last of each is 0. Of many classes, ``lower`` is
        ``-inf`` throughout.
    certificate : ScoreCertificate or None
        Why its disagreement is within a limit; None if nothing is promised.
    reason : str or None
        Why it only curtails (stops where the voters not yet asked cannot change the answer) or asks everyone,
        when `solve_scores` could not do better.
    drops_classes : bool
        Whether each class has voters of its own.

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
        """From thresholds for every step, from nobody asked to everyone.

        Parameters
        ----------
        lower, upper : array-like of float, shape (n_steps + 1,)
            As in the attributes of the same name; ``lower`` is None for more than two classes.
        order : array-like of int, shape (n_voters,), optional
            The voters in the order asked; by default that of the columns.
        start : float or array-like of float, default 0.0
            The score before the first voter; for more than two classes, that of each.
        certificate : ScoreCertificate, optional
            What is known about its disagreement.
        drops_classes : bool
            Whether each class has voters of its own; for more than two classes.
        """
        first = check_start(start)
        n_classes = None if isinstance(first, float) else len(first)
        low, high = _check_thresholds(lower, upper, n_classes, drops_classes=drops_classes)
        if drops_classes and isinstance(first, float):
            raise InvalidInputError(
                "drops_classes is for more than two classes, whose start is one number each"
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
        """Return the strategy that asks everyone, with the reason why.

        Where each class has voters of its own, ``n_voters`` is how many a class has.
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
        """How often someone is asked at most: as many voters as there are, or as a class has of its own."""
        return len(self.order)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2 if isinstance(self.start, float) else len(self.start)

    @property
    def adds_by_class(self) -> bool:
        """Whether every class has a sum, and thresholds are on the lead; otherwise two have one sum."""
        return not isinstance(self.start, float)

    @property
    def looks(self) -> IntArray:
        """The steps after which it may stop."""
        return look_steps(self.lower, self.upper)

    @property
    def stops_in_words(self) -> str:
        """What a strategy does that has a ``reason`` to do no better."""
        if len(self.looks) == 1:
            return "every voter will be asked"
        return "it stops only where the voters not yet asked cannot change the answer"

    def decide(self, asked: int, running: float | npt.ArrayLike) -> bool | int | None:
        """Return the answer after ``asked`` steps at this running score, or None to go on.

        Of many classes, ``running`` are their scores, and the answer is the number of a class; those that are
        out have ``-inf``.
        """
        if not 0 <= asked <= self.n_steps:
            raise InvalidInputError(f"step {asked} is impossible: need 0 <= asked <= {self.n_steps}")
        numbers = as_numbers(running, "the running score").astype(np.float64)
        is_out = (numbers == -np.inf) & self.drops_classes
        if not (np.isfinite(numbers) | is_out).all() or np.all(is_out):
            raise InvalidInputError(f"the running score must be finite, got {running!r}")
        if numbers.shape != np.shape(self.start):
            raise InvalidInputError(
                f"the running score must have the shape {np.shape(self.start)}, as the start has, not "
                f"{numbers.shape}"
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
        """Answer rows whose scores are all known, as if voters were asked one by one.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_voters), or (n_rows, n_voters, n_classes)
            One column per voter, in the voters' own numbering; of many classes, one score for each.

        Returns
        -------
        answers : ndarray of bool or of int, shape (n_rows,)
            True for yes; of many classes, their numbers.
        asked : ndarray of int, shape (n_rows,)
            How many voters each row took; where each class has its own, those of all classes.
        """
        known = self._checked(scores, "scores")
        answers: Answers = np.empty(len(known), np.int64 if self.adds_by_class else np.bool_)
        asked = np.empty(len(known), np.int64)
        for rows in blocks(known.shape):
            paths = paths_of(known[rows], self.order, self.start, drops_classes=self.drops_classes)
            answers[rows], asked[rows] = paths.follow(self.lower, self.upper)
        return answers, asked

    def run_paths(self, paths: npt.ArrayLike) -> tuple[Answers, IntArray]:
        """Answer rows whose running scores are known: column k is the score after k + 1 voters."""
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
            note = ", nothing promised" if self.reason is None else ", curtails"
        classes = f", {self.n_classes} classes" if self.adds_by_class else ""
        return f"<ScoreStrategy for {self.n_voters} voters{classes}{note}>"

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a strategy file; thresholds never reached are written as texts."""
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
                raise fields.error("n_voters", "must be as many for each class as there are in the order")
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

    ``n_classes`` is None for two classes with one sum.
    """
    high: FloatArray = as_numbers(upper, "upper").astype(np.float64)
    of_leads = n_classes is not None
    if of_leads != (lower is None):
        raise InvalidInputError(
            "lower must be None for more than two classes: thresholds are on the lead, which is never below 0"
            if of_leads
            else "lower is missing: only where start has a number for each class, it is None"
        )
    if of_leads and drops_classes and (high.ndim != 2 or high.shape[1] != n_classes or len(high) < 2):
        raise InvalidInputError(
            f"upper must have n_steps + 1 rows with a number for each of {n_classes} classes"
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
            f"step {step} needs lower <= upper, lower not inf and upper not -inf, "
            f"got lower={low[step]} and upper={high[step]}"
        )
    if low[-1] != 0 or (high[-1] != 0).any():
        raise InvalidInputError(
            "lower and upper of the last step must be 0: when everyone was asked, the answer is that of the "
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

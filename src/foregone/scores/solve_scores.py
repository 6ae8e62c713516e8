"""solve_scores: learn thresholds on one half of the rows, certify them on the other.

Why the result keeps its limit is proved in docs/theory.md, "Scores".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.checks import BoolArray, FloatArray, IntArray, check_confidence, check_looks
from foregone.errors import InvalidInputError, SolverError
from foregone.scores.families import Learned, Thresholds
from foregone.scores.paths import check_order, check_scores, check_start, foretelling_order, running_scores
from foregone.scores.score_certificate import ScoreCertificate, upper_bound
from foregone.scores.score_strategy import ScoreStrategy
from foregone.scores.trial import Choice, Trial, choose
from foregone.strategy.limits import Limits, MaxDisagreement

__all__ = ["CannotCertifyWarning", "solve_scores"]

ORDERS = ("given", "random", "optimized")
NEAR = (-0.4, -0.3, -0.2, -0.15, -0.12, -0.1, -0.08, -0.06, -0.05, -0.04, -0.03, -0.02, -0.01)


class CannotCertifyWarning(UserWarning):
    """The rows cannot vouch for any early stop, so everyone is asked."""


def solve_scores(
    paths: npt.ArrayLike,
    max_disagreement: MaxDisagreement,
    *,
    confidence: float = 0.95,
    order: Literal["given", "random", "optimized"] | npt.ArrayLike | None = None,
    looks: int | Iterable[int] | None = None,
    start: float = 0.0,
    answers: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    on_failure: Literal["ask_all", "raise"] = "ask_all",
) -> ScoreStrategy:
    """Learn when to stop adding up scores, with a limit on the disagreement that holds for new rows.

    Voters are asked in one fixed order and their scores added up; the full sum says yes if it is above 0.
    On a random half of the rows thresholds on the running score are learned, from careful to bold; on the
    other half they are tried in that order, and the last one is taken whose disagreement is, by an exact
    binomial bound, within the limit. With a probability of at least ``confidence`` over the draw of the rows
    (and whatever their distribution) the disagreement on new rows of that distribution is then at most
    ``max_disagreement``. At least one voter is always asked.

    Parameters
    ----------
    paths : array-like of shape (n_rows, n_voters)
        With ``order=None``: running scores, column k the score after k + 1 voters in the order asked,
        ``start`` included. With any other order: scores of single voters, which are added up here. The rows
        must not be those that the voters were trained on.
    max_disagreement : float or dict
        The largest allowed probability to answer differently from the full sum, or one for rows whose full
        sum says ``"yes"`` and one for ``"no"``, which are both kept at once (1 for no limit).
    confidence : float, default 0.95
        Strictly between 0 and 1.
    order : None, "given", "random", "optimized" or array-like of int, optional
        None: ``paths`` are running scores. Otherwise they are scores of single voters, asked in the order of
        the columns, in one drawn at random, in the better of the columns' and a learned one (both judged on
        the learning half), or in this one.
    looks : int or iterable of int, optional
        A number k to stop only after every k voters, or the numbers of voters after which it may stop.
    start : float, default 0.0
        The score before the first voter.
    answers : array-like of bool, shape (n_rows,), optional
        What each row is to be answered with, True for yes. By default what its full sum says; the two may
        differ where the sum is 0 but for rounding, and then all that is promised is about these.
    random_state : int, Generator or None
        Draws the halves, and a random order. None draws anew each time.
    on_failure : {"ask_all", "raise"}
        What to do when the rows cannot vouch for any early stop: return the strategy that asks everyone,
        with the ``reason``, and warn (`CannotCertifyWarning`), or raise SolverError.

    Returns
    -------
    ScoreStrategy
        With its ``certificate``, or, if it asks everyone, with the ``reason``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(rng.normal(size=(8000, 1)), 1, size=(8000, 50))
    >>> strategy = solve_scores(scores, 0.01, order="given", random_state=0)
    >>> strategy.certificate.bound <= 0.01, strategy.certificate.mean_asked < 25
    (True, True)
    """
    limits, confidence = Limits.of(max_disagreement), check_confidence(confidence)
    if on_failure not in ("ask_all", "raise"):
        raise InvalidInputError(f'on_failure must be "ask_all" or "raise", not {on_failure!r}')
    matrix, start = check_scores(paths, "paths"), check_start(start)
    n_rows, n_voters = matrix.shape
    steps = _steps(looks, n_voters)
    given_answers = _check_answers(answers, n_rows)
    rng = _generator(random_state)
    halves = rng.permutation(n_rows)
    learning, certifying = np.sort(halves[: n_rows // 2]), np.sort(halves[n_rows // 2 :])

    def added_up(voters: IntArray, rows: IntArray) -> Trial:
        part = matrix[rows]
        running = np.asfortranarray(part) if order is None else running_scores(part, voters, start)
        final_yes = running[:, -1] > 0 if given_answers is None else given_answers[rows]
        return Trial(running, limits, confidence, np.asarray(final_yes))

    orders = _orders(order, matrix, learning, start, rng)
    learn, certify = added_up(orders[0], learning), added_up(orders[0], certifying)
    reason = _hopeless(learn, certify, steps)
    if reason is None:
        trials = [learn] + [added_up(voters, learning) for voters in orders[1:]]
        choices = [choose(trial, steps) for trial in trials]
        best = min(range(len(orders)), key=lambda place: choices[place].mean_asked)
        voters, certify = orders[best], added_up(orders[best], certifying)
        found: tuple[Thresholds, ScoreCertificate] | None = None
        for thresholds in _careful_to_bold(trials[best], steps, choices[best]):
            certificate = certify.judge([certify.outcome(thresholds)], len(learning))
            if not certificate.is_kept:
                reason = _too_often_wrong(certificate)
                break
            found = thresholds, certificate
        if found is not None:
            return ScoreStrategy(voters, start, *found[0], found[1])
    assert reason is not None
    if on_failure == "raise":
        raise SolverError(f"no early stop can be certified: {reason}")
    warnings.warn(f"every voter will be asked: {reason}", CannotCertifyWarning, stacklevel=2)
    return ScoreStrategy.ask_all(n_voters, order=orders[0], start=start, reason=reason)


def _careful_to_bold(learn: Trial, steps: IntArray, choice: Choice) -> Iterator[Thresholds]:
    """Yield thresholds in a sequence fixed by the learning half alone: coarse, but fine near its guess."""
    learned = Learned(learn.running, steps, learn.limit)
    near = [choice.boldness + offset for offset in NEAR] + np.arange(choice.boldness, 1.0, 0.01).tolist()
    for boldness in [0.0, *(place for place in near if place > 0), 1.0]:
        yield learned.thresholds(choice.shape, boldness)


def _steps(looks: Any, n_voters: int) -> IntArray:
    """Return the numbers of voters, but for none and all, after which it may stop."""
    given = check_looks(looks, n_voters)
    steps = np.arange(n_voters) if given is None else np.array(given, dtype=np.int64)
    return np.asarray(steps[(steps > 0) & (steps < n_voters)], dtype=np.int64)


def _check_answers(answers: Any, n_rows: int) -> BoolArray | None:
    if answers is None:
        return None
    given = np.asarray(answers)
    if given.dtype != np.bool_ or given.shape != (n_rows,):
        raise InvalidInputError(
            f"answers must hold True or False for each of the {n_rows} rows, got {given.dtype} of shape "
            f"{given.shape}"
        )
    return given


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state must be a whole number, a numpy Generator or None, not {random_state!r}"
        ) from error


def _orders(
    order: Any, scores: FloatArray, learning: IntArray, start: float, rng: np.random.Generator
) -> list[IntArray]:
    """Return the order, or those from which the learning half shall choose."""
    n_voters = scores.shape[1]
    given = np.arange(n_voters, dtype=np.int64)
    if order is None:
        return [given]
    if not isinstance(order, str):
        return [check_order(order, n_voters)]
    if order == "given":
        return [given]
    if order == "random":
        return [rng.permutation(n_voters).astype(np.int64)]
    if order == "optimized":
        return [given, foretelling_order(scores[learning], start)] if len(learning) else [given]
    raise InvalidInputError(
        f"order must be None, one of {', '.join(ORDERS)}, or a row of voters, not {order!r}"
    )


def _hopeless(learn: Trial, certify: Trial, steps: IntArray) -> str | None:
    """Return why no early stop could be certified or learned, or None."""
    if len(steps) == 0:
        return "there is no look before the last voter: give more looks"
    for side, limit in certify.limits:
        rows = certify.n_rows[side]
        whose = "" if side == "all" else f' whose full sum says "{side}"'
        if limit == 0:
            return "a limit of 0 cannot be certified from any number of rows: allow some disagreement"
        if upper_bound(0, rows, certify.confidence) > limit:
            needed = math.ceil(math.log(1 - certify.confidence) / math.log1p(-limit))
            return (
                f"{rows:,} rows{whose} are in the certifying half, and at least {needed:,} are needed for a "
                f"limit of {limit:g} at a confidence of {certify.confidence:g}, twice that in all, better "
                "several times as many: give more rows, allow more disagreement, or lower the confidence"
            )
    for side in ("yes", "no"):
        if np.count_nonzero(learn.final_yes == (side == "yes")) < 2:
            return (
                f'hardly any row of the learning half has a full sum that says "{side}", so nothing can be '
                "learned about telling them apart: give rows of both answers"
            )
    return None


def _too_often_wrong(certificate: ScoreCertificate) -> str:
    return (
        f"even the most careful thresholds were wrong on {certificate.n_wrong} of {certificate.n_certified} "
        f"rows, an upper bound of {certificate.bound} for a limit of {certificate.max_disagreement}: give "
        "more rows or allow more disagreement"
    )

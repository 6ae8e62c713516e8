"""solve_scores: learn thresholds on one half of the rows, certify them on the other.

The proof of the guarantee is in docs/theory.md, "Certifying what is used".
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from foregone.certifying import Judged, LossKind, RowLabels, RowLosses, climb
from foregone.certifying.parts import bounds_by_side
from foregone.checks import FloatArray, IntArray, check_choice, check_confidence
from foregone.errors import SolverError
from foregone.scores.class_scores import ClassScores
from foregone.scores.families import Thresholds, steps_before_all
from foregone.scores.paths import Answers
from foregone.scores.score_certificate import ScoreCertificate
from foregone.scores.score_rows import ScoreRows
from foregone.scores.score_strategy import ScoreStrategy
from foregone.scores.trial import Choice, Trial, TrialOutcome, choose
from foregone.strategy.limits import Limits, MaxDisagreement, as_given

__all__ = ["CannotCertifyWarning", "ScoreEstimate", "estimate_scores", "solve_scores"]

NEAR = (-0.4, -0.3, -0.2, -0.15, -0.12, -0.1, -0.08, -0.06, -0.05, -0.04, -0.03, -0.02, -0.01)
STRIDE = 0.1  # far from the guess


class CannotCertifyWarning(UserWarning):
    """There are too few rows to certify an early stop, so it stops only where the answer is certain."""


def solve_scores(
    paths: npt.ArrayLike | ClassScores,
    max_disagreement: MaxDisagreement | Limits,
    *,
    confidence: float = 0.95,
    order: Literal["given", "random", "optimized"] | npt.ArrayLike | None = None,
    looks: int | Iterable[int] | None = None,
    start: float | npt.ArrayLike = 0.0,
    answers: npt.ArrayLike | None = None,
    bounds: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | RowLabels | None = None,
    clusters: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    on_failure: Literal["curtail", "raise"] = "curtail",
    drops_classes: bool = False,
    labels: npt.ArrayLike | RowLosses | None = None,
    costs: npt.ArrayLike | None = None,
) -> ScoreStrategy:
    """Learn when to stop adding up scores, with a certified limit on the disagreement on new rows.

    If you pass the true answers of the rows as ``labels``, the limit is on the loss of accuracy, or of costs,
    instead. Disagreements are close calls, where the full sum is wrong nearly as often, so the same limit
    asks far fewer voters.

    Voters are asked in one fixed order and their scores added up; the answer of the full sum is yes if it is
    above 0. For more than two classes, each has a sum, the largest is the answer (the first of several), and
    thresholds are on the lead of the largest over the second.

    A random half of the rows is used to learn thresholds on the running score or lead, from careful to bold.
    The other half tests them in that order, and the last one is selected before the first whose disagreement,
    or loss, has an exact upper bound above the limit. With a probability of at least ``confidence`` over the
    draw of the rows, whatever their distribution, it is then at most ``max_disagreement`` on new rows of that
    distribution. With ``bounds`` it also stops wherever the voters not yet asked cannot change the answer
    (curtailment), and if nothing can be certified it stops only there. At least one voter is always asked.

    Parameters
    ----------
    paths : array-like of shape (n_rows, n_voters) or (n_rows, n_voters, n_classes), or ClassScores
        With ``order=None``: running scores; column k is the score after k + 1 voters in the order asked,
        including ``start``. With any other order: scores of single voters, which are added up here. For more
        than two classes, one score per class. Do not use rows that the voters were trained on.
    max_disagreement : float or dict
        The largest allowed probability that the answer differs from the full sum's. For two classes, also one
        limit for rows whose full sum says ``"yes"`` and one for ``"no"``, which hold at once (1 for no
        limit). With ``labels``, the largest allowed loss of accuracy: how far the share of correct answers
        may fall below that of the full sum, over all rows or over those that are truly ``"yes"`` and
        ``"no"``. With ``costs``, the largest allowed increase of the mean cost, in the unit of the costs.
    confidence : float, default 0.95
        Strictly between 0 and 1.
    order : None, "given", "random", "optimized" or array-like of int, optional
        None: ``paths`` are running scores. Otherwise they are scores of single voters. "given": asked in the
        order of the columns; "random": in a random order; "optimized": in the better of the columns' order
        and a learned one, judged on the learning half. Or the order itself.
    looks : int or iterable of int, optional
        A number k to stop only after every k voters, or the numbers of voters after which it may stop; if
        classes have separate voters, these are voters per class.
    start : float or array-like of float, shape (n_classes,), default 0.0
        The score before the first voter.
    answers : array-like of bool or int, shape (n_rows,), optional
        The answer that each row should get: True for yes, or the number of a class. By default the answer of
        its full sum. The two may differ if the sum is 0 up to rounding; the guarantee is about the given
        answers.
    bounds : array-like of shape (2, n_voters) or (2, n_voters, n_classes), optional
        The smallest and the largest score that each voter can give to any row, in the order of the columns;
        for a tree, its smallest and its largest leaf. Without them only the full sum is certain.
    groups : array-like of shape (n_rows,) or RowLabels, optional
        A label for each row, chosen before looking at the results: every group keeps the limit. A
        `foregone.certifying.RowLabels` can also hold clusters.
    clusters : array-like of shape (n_rows,), optional
        A label for each row, such as a patient: rows with the same label are dependent, stay in the same
        half and count as one observation. The limit then applies to the mean, over clusters, of the share of
        rows that differ.
    random_state : int, Generator or None
        Seeds the split and a random order. None uses a new seed each time. Trying several seeds and taking
        the best invalidates the guarantee.
    on_failure : {"curtail", "raise"}
        What to do if the rows cannot certify any early stop. "curtail": warn (`CannotCertifyWarning`) and
        return the strategy that stops only where the answer is certain (without ``bounds`` it asks everyone),
        with the ``reason``; a limit of 0 asks for exactly that, so there is no warning. "raise": raise
        SolverError.
    drops_classes : bool
        Whether each of many classes has separate voters, such as boosted trees with one per class and round.
        A class that trails the leader by the threshold is then dropped and its voters are asked no more,
        which saves most of them. Each voter of a class counts as one.
    labels : array-like of bool or int, shape (n_rows,), optional
        The true answers of the rows: True for yes, or the number of a class.
    costs : array-like of shape (n_classes, n_classes), optional
        The costs of answers, ``costs[truth, answer]``; for two classes, no comes first. Needs ``labels``.

    Returns
    -------
    ScoreStrategy
        With its ``certificate``, or, if it only curtails, with the ``reason``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(rng.normal(size=(8000, 1)), 1, size=(8000, 50)).clip(-3, 3)
    >>> limits = np.array([[-3.0] * 50, [3.0] * 50])
    >>> strategy = solve_scores(scores, 0.01, order="given", bounds=limits, random_state=0)
    >>> strategy.certificate.bound <= 0.01, strategy.certificate.mean_asked < 25
    (True, True)
    >>> print(strategy.certificate.promise)  # doctest: +NORMALIZE_WHITESPACE
    With 95 % confidence, this classifier disagrees with its full vote on at most 0.01 of new rows,
    if they are like the 4,000 it was certified on.

    Scores of three classes:

    >>> truth = rng.integers(3, size=(6000, 1))
    >>> scores = rng.normal(0.5 * (truth == [0, 1, 2])[:, None], 1, size=(6000, 50, 3))
    >>> solve_scores(scores, 0.01, order="given", random_state=0).certificate.mean_asked < 45
    True

    With the truth, the limit is on accuracy:

    >>> labels = truth[:, 0]
    >>> strategy = solve_scores(scores, 0.01, order="given", random_state=0, labels=labels)
    >>> strategy.certificate.mean_asked < 40
    True
    >>> print(strategy.certificate.promise)  # doctest: +NORMALIZE_WHITESPACE
    With 95 % confidence, the accuracy of this classifier on new rows is at most 0.01 below that of its full
    vote, if they are like the 4,800 it was certified on.
    """
    confidence = check_confidence(confidence)
    check_choice(on_failure, "on_failure", ("curtail", "raise"))
    rows = ScoreRows(
        paths,  # type: ignore[arg-type]  # it checks
        start=start,  # type: ignore[arg-type]  # it checks
        order=order,
        answers=answers,
        random_state=random_state,
        bounds=bounds,
        groups=groups,
        clusters=clusters,
        drops_classes=drops_classes,
        labels=labels,
        costs=costs,
    )
    limits = rows.limits(max_disagreement)
    steps = steps_before_all(looks, rows.n_steps)
    learning, certifying = rows.halves
    hopeful, reason = _hopeful(rows, limits, steps, confidence, rows.halves[1])
    voters, certify = rows.orders[0], rows.trial(certifying, limits, rows.orders[0], steps)
    if hopeful:
        some, voters, learn, choice = _best_choice(hopeful, limits, steps, confidence)
        certify = some.trial(certifying, limits, voters, steps)
        learned, boldnesses = learn.learn(steps), _careful_to_bold(choice)
        climbed = climb(
            (learned.thresholds(choice.shape, boldness) for boldness in boldnesses),
            lambda thresholds: certify.outcome(thresholds).losses,
            certify.parts,
            confidence,
        )
        if climbed.rung is not None:
            certificate = _certificate(
                limits, confidence, certify, climbed.rung, climbed.judged, len(learning), len(boldnesses)
            )
            return ScoreStrategy(voters, rows.start, *climbed.rung, certificate, None, drops_classes)
        reason = _too_often_wrong(certify, climbed.failed)
    curtailed = ScoreStrategy(voters, rows.start, *certify.certain, None, reason, drops_classes)
    if limits.loosest == 0:
        return curtailed
    if on_failure == "raise":
        raise SolverError(f"no early stop can be certified: {reason}")
    warnings.warn(
        f"no early stop can be certified, so {curtailed.stops_in_words}: {reason}",
        CannotCertifyWarning,
        stacklevel=2,
    )
    return curtailed


@dataclass(frozen=True, eq=False)
class ScoreEstimate:
    """Estimated cost and risk of a limit, from the learning half alone: nothing is guaranteed.

    Attributes
    ----------
    strategy : ScoreStrategy
        Learned, at the boldness that as many rows would just certify; not certified.
    outcome : TrialOutcome
        The results on the learning half, each row with thresholds learned without it.
    final : ndarray of bool or int
        The answers that these rows should get.
    losses : RowLosses
        What they lose by other answers: accuracy or costs if labels are known, whatever is limited.
    """

    strategy: ScoreStrategy
    outcome: TrialOutcome
    final: Answers
    losses: RowLosses

    @property
    def accuracy_losses(self) -> FloatArray | None:
        """The loss of accuracy of each row, -1, 0 or 1; None without labels."""
        if self.losses.truth is None:
            return None
        accuracy = RowLosses("accuracy", self.losses.truth)
        return np.asarray(accuracy.of(self.outcome.answers, self.final), np.float64)


def estimate_scores(
    rows: ScoreRows,
    limits: Limits,
    confidence: float,
    looks: int | Iterable[int] | None = None,
    loss: LossKind | None = None,
) -> ScoreEstimate:
    """Estimate the cost of a limit, without using the rows that will certify it.

    So you can compare estimates for many limits, choose one, and certify it by `solve_scores` with the same
    rows and ``random_state``. The limit is on ``loss``, by default the loss of the rows: with labels,
    disagreement can still be limited. Limits on costs are shares of their unit, see `ScoreRows.limits`.
    """
    known = rows.losses
    rows = rows if loss is None else rows.losing(loss)
    limits = rows.limits(limits)
    steps = steps_before_all(looks, rows.n_steps)
    voters = rows.orders[0]
    learn = rows.learning_trial(limits, voters, steps)
    thresholds, outcome = learn.certain, learn.outcome(learn.certain)
    hopeful, reason = _hopeful(rows, limits, steps, confidence)
    if hopeful:
        _, voters, learn, choice = _best_choice(hopeful, limits, steps, confidence)
        if choice.outcome is None:
            reason = "even the most careful thresholds lost too much on the learning half"
        else:
            learned = learn.learn(steps)
            thresholds, outcome = learned.thresholds(choice.shape, choice.boldness), choice.outcome
    strategy = ScoreStrategy(voters, rows.start, *thresholds, None, reason, rows.drops_classes)
    return ScoreEstimate(strategy, outcome, learn.final, known.take(rows.halves[0]))


def _hopeful(
    rows: ScoreRows,
    limits: Limits,
    steps: IntArray,
    confidence: float,
    certifying: IntArray | None = None,
) -> tuple[list[ScoreRows], str | None]:
    """Return the ways to count losses with which the rows could certify a stop, or the reason if no way can.

    If the certification rows must not be used yet, the learning rows stand in for them.
    """
    found, reason, voters = [], None, rows.orders[0]
    for some in rows.with_and_without_gains():
        learn = some.learning_trial(limits, voters, steps)
        certify = learn if certifying is None else some.trial(certifying, limits, voters, steps)
        why = _hopeless(learn, certify, steps, confidence)
        if why is None:
            found.append(some)
        else:
            reason = why
    return found, None if found else reason


def _best_choice(
    hopeful: Sequence[ScoreRows], limits: Limits, steps: IntArray, confidence: float
) -> tuple[ScoreRows, IntArray, Trial, Choice]:
    """Return the way to count losses and the order with which the learning half asks fewest voters."""
    tried = []
    for rows in hopeful:
        for voters in rows.orders:
            learn = rows.learning_trial(limits, voters, steps)
            tried.append((rows, voters, learn, choose(learn, steps, confidence)))
    return min(tried, key=lambda found: found[3].mean_asked)


def _careful_to_bold(choice: Choice) -> list[float]:
    """Return the sequence of boldness to try, fixed by the learning half: coarse, but fine near its guess."""
    far = np.arange(0.0, max(choice.boldness + NEAR[0], STRIDE), STRIDE).tolist()
    near = [choice.boldness + offset for offset in NEAR] + np.arange(choice.boldness, 1.0, 0.01).tolist()
    return [*far, *(place for place in near if place > far[-1]), 1.0]


def _certificate(
    limits: Limits,
    confidence: float,
    certify: Trial,
    thresholds: Thresholds,
    judged: tuple[Judged, ...],
    n_learned: int,
    n_rungs: int,
) -> ScoreCertificate:
    """Return the certificate of thresholds that keep their limits on rows they were not learned from."""
    wrong, asked, *_ = certify.outcome(thresholds)
    losses, final = certify.losses, certify.final

    def count(rows: Any) -> tuple[int, int]:
        return int(np.count_nonzero(wrong[rows])), int(np.count_nonzero(rows))

    limited = {"all": count(np.ones_like(wrong))}
    if limits.by_answer:
        is_yes = losses.in_class_yes(final)
        limited = {"yes": count(is_yes), "no": count(~is_yes)}
    class_bounds: dict[str, float] | None = None
    if final.dtype == np.bool_:
        class_bounds = {str(side): limit for side, limit in limits}
        if losses.truth is not None or not limits.by_answer:
            class_bounds = bounds_by_side(wrong, final, certify.labels, confidence, n_rungs)
    unit = _unit(losses)
    return ScoreCertificate(
        as_given({side: limit * unit for side, limit in limits}),
        confidence,
        n_learned,
        as_given({side: n_rows for side, (_, n_rows) in limited.items()}),
        as_given({side: n_wrong for side, (n_wrong, _) in limited.items()}),
        float(asked.mean()),
        None if class_bounds is None else {"yes": count(final), "no": count(~final)},
        tuple(part.times(unit) for part in judged) if certify.labels or losses.truth is not None else (),
        certify.labels.clusters is not None,
        class_bounds,
        losses.kind,
    )


def _unit(losses: RowLosses) -> float:
    """Return a loss of 1 in the user's unit."""
    return 1.0 if losses.costs is None else losses.costs.unit


def _hopeless(learn: Trial, certify: Trial, steps: IntArray, confidence: float) -> str | None:
    """Return why no early stop could be certified or learned, or None.

    ``certify`` are the certification rows, or, if these must not be used yet, the learning rows.
    """
    if len(steps) == 0:
        return "looks has no step before the last voter: add more looks"
    unit, nothing_lost = _unit(certify.losses), certify.losses.of(certify.final, certify.final)
    has, in_all = "the certification half has {}", "twice that"
    if certify.losses.truth is not None:
        has, in_all = "{} are left for certification", "a quarter more"
    if certify is learn:
        has = "the learning half has {}, and about as many will certify"
        has = has if certify.times == 1 else "about {} will certify"
    for part, judged in zip(certify.parts, certify.judge(nothing_lost, confidence), strict=True):
        if part.limit == 0:
            return f"no number of rows can certify a limit of 0: {_allow(certify.losses, 'some')}"
        if not judged.is_kept:
            n_rows = f"{round(certify.times * part.n_observations):,} {part}"
            return (
                f"{has.format(n_rows)}, but at least {part.needed(confidence):,} are needed for a limit of "
                f"{part.limit * unit:g} at a confidence of {confidence:g}. Give more rows ({in_all} in all, "
                f"better several times as many), {_allow(certify.losses, 'more')}, or lower the confidence"
            )
    if learn.final.dtype != np.bool_:
        if len(learn.final) - np.bincount(learn.final).max(initial=0) < 2:
            return (
                "nearly all learning rows have the same class as answer of the full sum, so no thresholds "
                "can be learned: give rows of several classes"
            )
        return None
    for side in ("yes", "no"):
        if np.count_nonzero(learn.final == (side == "yes")) < 2:
            return (
                f'hardly any learning row has a full sum that says "{side}", so no thresholds can be '
                "learned: give rows of both answers"
            )
    return None


def _allow(losses: RowLosses, how_much: str) -> str:
    """Return a suggestion to loosen the limit."""
    if losses.kind == "disagreement":
        return f"allow {how_much} disagreement"
    return f"allow a larger loss of {'accuracy' if losses.kind == 'accuracy' else 'costs'}"


def _too_often_wrong(certify: Trial, judged: tuple[Judged, ...]) -> str:
    part, found = next(pair for pair in zip(certify.parts, judged, strict=True) if not pair[1].is_kept)
    lost = found.times(_unit(certify.losses))
    lose = certify.losses.truth is not None
    did, of = ("had a mean loss of", "on") if lose else ("were wrong on a share of", "of")
    return (
        f"even the most careful thresholds {did} {lost.mean_loss:.3g} {of} {lost.n_observations:,} {part}. "
        f"The upper bound of {lost.bound:.3g} exceeds the limit of {lost.limit:g}: give more rows or "
        f"{_allow(certify.losses, 'more')}"
    )

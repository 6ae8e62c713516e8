"""Certify counted votes: learn a ladder and an order on some rows, and test them on the others.

Each rung runs as `predict` will run it, in the order in use. For losses of accuracy or costs, the mean over
random orders is computed instead, which varies far less from row to row. Proofs: docs/theory.md, "Certifying
what is used" and "Limits in accuracy".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone.certifying import Judged, Parts, Promise, RowLabels, RowLosses, climb
from foregone.certifying.parts import bounds_by_side
from foregone.certifying.promise import About
from foregone.checks import BoolArray, FloatArray, IntArray
from foregone.classifier.deciding import Terms
from foregone.classifier.two_or_many import ManyClassVotes, Solved, TwoClassVotes
from foregone.errors import SolverError
from foregone.forest.schedule import FixedOrder, Order
from foregone.monitoring.audit_rows import take_rows
from foregone.scores.orders import greedy_order, weighted_covariance
from foregone.solving.labelled_program import BOLD, CAREFUL, LEARNING_SHARE
from foregone.strategy import evaluate
from foregone.strategy.limits import Limits

__all__ = [
    "ENOUGH",
    "Decided",
    "Run",
    "Tried",
    "VotedRows",
    "Way",
    "certify_votes",
    "over_orders",
    "rows_to_certify",
    "ways_in_order",
    "why_nothing_is_learned",
    "why_too_few",
]

# With fewer rows than this times the fewest that can certify anything, certification asks more voters than
# the promise over orders does.
ENOUGH = 1.6
FEWEST_LEARNING = 10  # rows, for any limit
NEAR, STRIDE = 3.0, 6  # within this factor of the guess every rung is tested; below, one in STRIDE
SHARES_NEAR = (0.75, 0.25)  # of rows near the decision, for which orders are learned: `weighted_covariance`


class VotedRows(NamedTuple):
    """Rows with their full votes, and their labels known beforehand.

    Attributes
    ----------
    rows : array or frame
        In the form that the ensemble takes.
    counts : ndarray
        Votes of all voters.
    full : ndarray of int, shape (n_rows,)
        Class numbers of the full votes.
    labels : RowLabels
        Groups and clusters.
    said : ndarray or None
        The vote of each voter; None for trees, which are fast to ask again.
    losses : RowLosses
        The loss of answers that differ from the full vote.
    """

    rows: Any
    counts: Any
    full: IntArray
    labels: RowLabels
    said: npt.NDArray[Any] | None = None
    losses: RowLosses = RowLosses()

    def take(self, numbers: IntArray) -> VotedRows:
        """Return some of the rows."""
        return VotedRows(
            take_rows(self.rows, numbers),
            self.counts[numbers],
            self.full[numbers],
            self.labels.take(numbers),
            None if self.said is None else self.said[numbers],
            self.losses.take(numbers),
        )

    def with_and_without_gains(self) -> list[VotedRows]:
        """Return these rows and, if gains are possible, also the rows without gains."""
        return [self._replace(losses=losses) for losses in self.losses.with_and_without_gains()]

    def parts(self, limits: Limits) -> Parts:
        """Divide the rows into parts that share a limit."""
        return Parts.losing(limits, self.losses, self.full, self.labels)

    def promise(self, judged: tuple[Judged, ...], confidence: float, **about: Any) -> Promise:
        """Return the promise that these rows give for a strategy that was not learned from them."""
        return Promise.certified(
            judged,
            confidence,
            len(self.full),
            loss=self.losses.kind,
            unit=1.0 if self.losses.costs is None else self.losses.costs.unit,
            in_clusters=self.labels.clusters is not None,
            **about,
        )

    def split(self, seed: int) -> tuple[VotedRows, VotedRows]:
        """Split the rows at random into learning and certification rows."""
        learning, certifying = self.halves(seed)
        return self.take(learning), self.take(certifying)

    def halves(self, seed: int) -> tuple[IntArray, IntArray]:
        """Return the numbers of the learning rows, and of the certification rows."""
        return self.labels.split(len(self.full), LEARNING_SHARE, np.random.default_rng(seed))


class Decided(NamedTuple):
    """The result of certification: when to stop, the order of the voters, and the promise.

    Attributes
    ----------
    solved : Solved
        The strategy, its solution, and the mean number of voters asked.
    runs_in : "shared", "dealt", "per_row" or FixedOrder
        The order of the voters.
    promise : Promise
        The guarantee.
    by_class : dict
        Bounds on the disagreement of "yes" and "no"; empty for many classes.
    """

    solved: Solved
    runs_in: Order
    promise: Promise
    by_class: dict[str, float]


# Runs rows with a strategy in an order, as `predict` will; returns the class numbers and the voters asked.
Run = Callable[[VotedRows, Any, Order], tuple[IntArray, IntArray]]


class Tried(NamedTuple):
    """The outcome of rows with a strategy: the loss of each, the largest possible loss, and voters asked."""

    losses: BoolArray | FloatArray
    most: float
    mean_asked: float
    wrong: BoolArray | None = None  # rows that differ from the full vote; None for means over orders


Way = Callable[[VotedRows, Any], Tried]


def in_order(order: Order, run: Run) -> Way:
    """Return a function that runs rows in the order in use."""

    def outcome(rows: VotedRows, strategy: Any) -> Tried:
        answers, asked = run(rows, strategy, order)
        losses = rows.losses.of(answers, rows.full)
        return Tried(losses, 1.0, float(asked.mean()), np.asarray(answers != rows.full))

    return outcome


def over_orders(rows: VotedRows, strategy: Any) -> Tried:
    """Return the exact mean loss of rows of two classes over all orders of the voters.

    The loss of a row is its probability of disagreement with the full vote, times the loss of the other
    answer. It varies less from row to row than the loss in one order, so far fewer rows certify it.
    """
    figures = evaluate(strategy)
    losses = rows.losses.if_differs(rows.full) * figures.disagreement[rows.counts]
    most = float(figures.disagreement.max())
    return Tried(losses, most, float(figures.expected_votes[rows.counts].mean()))


def certify_votes(
    counting: TwoClassVotes | ManyClassVotes,
    ensemble: Any,
    terms: Terms,
    learning: VotedRows,
    certifying: VotedRows,
    ways: Sequence[tuple[Order, Way]],
) -> Decided:
    """Return the boldest strategy that keeps its limits, and the order in which it was certified.

    Parameters
    ----------
    counting, ensemble, terms
        How votes are counted, the voters, and the limits.
    learning, certifying : VotedRows
        Rows that the ladder and the order are learned from, and rows that they are tested on.
    ways : sequence of (order, way)
        The candidates: the order in which rows run, and how their losses are computed.

    Raises
    ------
    SolverError
        If not even the most careful strategy keeps its limits.
    """
    limits, confidence = Limits.of(terms["max_disagreement"]), terms["confidence"]
    assert confidence is not None
    step = counting.step(ensemble.n_voters)
    boldness = np.geomspace(CAREFUL, BOLD, round(math.log(BOLD / CAREFUL, step)) + 1)
    rung = counting.ladder(learning, ensemble.n_voters, terms, boldness)
    times = len(certifying.full) / max(len(learning.full), 1)
    guesses = [
        (_guess(rung, len(boldness), rows, terms, way, times), order, way, rows.losses.sets_off)
        for order, way in ways
        for rows in learning.with_and_without_gains()
    ]
    (_, guess), order, way, sets_off = min(guesses, key=lambda found: found[0][0])
    if not sets_off:
        certifying = certifying._replace(losses=certifying.losses.without_gains())
    fine = round(math.log(NEAR, step))
    near = max(0, guess - fine)
    # The variance of losses is hard to forecast from few rows, so bolder rungs may pass too.
    last = len(boldness) if terms["loss"] != "disagreement" else min(len(boldness), guess + fine + 1)
    tried = [*range(0, near, STRIDE), *range(near, last)]
    outcome = cache(lambda number: way(certifying, rung(number).strategy))
    found = climb(
        tried,
        lambda number: outcome(number).losses,
        certifying.parts(limits),
        confidence,
        lambda number: outcome(number).most,
    )
    if found.rung is None:
        raise SolverError(f"no early stop can be certified: {_too_often_wrong(found.failed)}")
    best = outcome(found.rung)
    about: About = "orders" if way is over_orders else "classifier"
    solved = rung(found.rung)._replace(expected_votes=best.mean_asked)
    by_class: dict[str, float] = {}
    if limits.by_answer and terms["loss"] == "disagreement":
        by_class = {str(side): limit for side, limit in limits}
    elif isinstance(counting, TwoClassVotes) and best.wrong is not None:
        sure = confidence, len(tried)
        by_class = bounds_by_side(best.wrong, certifying.full == 1, certifying.labels, *sure)
    elif isinstance(counting, TwoClassVotes):
        votes = counting.votes(np.concatenate([learning.counts, certifying.counts]), ensemble.n_voters)
        by_class = counting.risk_by_side(solved.strategy, votes, terms)
    return Decided(solved, order, certifying.promise(found.judged, confidence, about=about), by_class)


def ways_in_order(ensemble: Any, learning: VotedRows, run: Run) -> Iterator[tuple[Order, Way]]:
    """Yield the candidate orders for the learning rows, each with a function that runs rows in it."""
    yield "shared", in_order("shared", run)
    if ensemble.n_voters > 2:
        said = ensemble.vote_matrix(learning.rows) if learning.said is None else learning.said
        for share_near in SHARES_NEAR:
            order = FixedOrder(learned_order(said, len(ensemble.classes), share_near))
            yield order, in_order(order, run)


def _guess(
    rung: Callable[[int], Solved],
    n_rungs: int,
    learning: VotedRows,
    terms: Terms,
    way: Way,
    times: float,
) -> tuple[float, int]:
    """Return the boldest rung that will probably pass, and the number of voters that it asks.

    It is found by bisection, as if losses increased along the ladder; the guarantee does not depend on this.
    For accuracy and costs, the variance between rows matters: the bound is forecast for ``times`` as many
    rows.
    """
    parts = learning.parts(Limits.of(terms["max_disagreement"]))
    foresees, confidence = terms["loss"] != "disagreement", terms["confidence"] or 0.5
    kept, too_bold, mean_asked = -1, n_rungs, math.inf
    while too_bold - kept > 1:
        number = (kept + too_bold) // 2
        tried = way(learning, rung(number).strategy)
        judged = parts.judge(tried.losses, confidence, tried.most, times if foresees else 1.0)
        if all(part.is_kept if foresees else part.mean_loss <= part.limit for part in judged):
            kept, mean_asked = number, tried.mean_asked
        else:
            too_bold = number
    return mean_asked, max(kept, 0)


def learned_order(said: npt.NDArray[Any], n_classes: int, share_near: float) -> IntArray:
    """Return the order in which the votes so far predict the full vote best.

    Parameters
    ----------
    said : ndarray of shape (n_rows, n_voters)
        The class number of each vote.
    n_classes : int
        Number of classes.
    share_near : float
        The share of rows near the decision; the other rows have less weight.
    """
    counts = np.stack([np.count_nonzero(said == number, axis=1) for number in range(n_classes)], axis=1)
    second, first = np.partition(counts, -2, axis=1)[:, -2:].T
    own = ((said == number).astype(np.float64) for number in range(1 if n_classes == 2 else 0, n_classes))
    return greedy_order(weighted_covariance(own, (first - second).astype(np.float64), share_near))


# Enough rows ---------------------------------------------------------------------------------


def why_nothing_is_learned(learning: VotedRows) -> str | None:
    """Return why there are too few rows to learn from; None if there are enough."""
    if len(learning.full) >= FEWEST_LEARNING:
        return None
    return (
        f"{len(learning.full)} rows are left to learn from, but at least {FEWEST_LEARNING} are needed. Give "
        f"at least {round(FEWEST_LEARNING / LEARNING_SHARE)} calibration rows in all"
    )


def why_too_few(learning: VotedRows, certifying: VotedRows, terms: Terms, *, enough: float) -> str | None:
    """Return why there are too few rows to certify; None if there are enough.

    This depends only on the numbers of rows: those of each class and group, if each must keep the limit.
    """
    assert terms["confidence"] is not None
    if why := why_nothing_is_learned(learning):
        return why
    certifying = certifying.with_and_without_gains()[-1]  # without, fewer are enough
    part = certifying.parts(Limits.of(terms["max_disagreement"])).too_few(terms["confidence"], enough)
    if part is None:
        return None
    needed = math.ceil(enough * part.needed(terms["confidence"]))
    return (
        f"{part.n_observations:,} {part} are left for certification, but at least {needed:,} are needed for "
        f"a limit of {part.limit:g} at a confidence of {terms['confidence']:g}. Give more calibration rows "
        "(a quarter more in all), raise the limit, or lower the confidence"
    )


def rows_to_certify(certifying: VotedRows, terms: Terms) -> int | None:
    """Return how many calibration rows like these certify the classifier; None if no number does."""
    confidence, most = terms["confidence"], FEWEST_LEARNING / LEARNING_SHARE
    if confidence is None:
        return None
    for part in certifying.parts(Limits.of(terms["max_disagreement"])):
        share = part.n_observations / max(len(certifying.full), 1)
        needed = ENOUGH * part.needed(confidence)
        if part.limit == 0 or (needed and not share):
            return None
        most = max(most, needed / share / (1 - LEARNING_SHARE) if needed else 0.0)
    return math.ceil(most)


def _too_often_wrong(failed: tuple[Judged, ...]) -> str:
    part = next(part for part in failed if not part.is_kept)
    return (
        f"the most careful strategy has a mean loss of {part.mean_loss:.2g} on {part.n_observations:,} "
        f"certification rows, with an upper bound of {part.bound:.2g}, above the limit of {part.limit:g}. "
        "Give more calibration rows, or raise the limit"
    )

"""Voters of any kind: fitted classifiers, called through their methods for the rows still undecided.

`Members` holds the classifiers and how each is called. `Voters` counts votes of yes and no, `PluralityVoters`
counts votes for many classes, `ScoreVoters` adds up scores. Each is the counterpart of a packed forest, and
runs in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from foregone._kernels.class_sums import fill_leads
from foregone._kernels.forest_random import stop_draw
from foregone._kernels.forest_run import LOWER, START, UPPER, YES_FROM
from foregone.checks import FloatArray, IntArray
from foregone.classifier.deciding import Labels
from foregone.errors import InvalidInputError
from foregone.forest import PluralityOutcome, ScoreOutcome
from foregone.forest.link import Link
from foregone.forest.packed import Outcome
from foregone.forest.plurality_schedule import PluralitySchedule
from foregone.forest.schedule import Order, Schedule, VoteSchedule, bits_of_rows, dealt_orders, random_order
from foregone.monitoring.audit_rows import take_rows
from foregone.plurality import PluralityStrategy
from foregone.scores import ClassScores, ScoreStrategy
from foregone.scores.paths import Scores, Start
from foregone.strategy import StoppingStrategy

__all__ = ["Members", "PluralityVoters", "ScoreVoters", "Voters"]

RowNumbers: TypeAlias = npt.NDArray[np.intp]
MemberColumns: TypeAlias = npt.NDArray[np.intp] | slice
Orders: TypeAlias = tuple[IntArray, IntArray | None]
Asking: TypeAlias = Callable[[int, RowNumbers], npt.NDArray[Any]]

NEVER = np.iinfo(np.int64).max
ROUNDING = 1e-6  # by how much a probability may be below 0 or above 1


class Members:
    """Fitted classifiers, the columns that each gets, and the meaning of their labels.

    Parameters
    ----------
    members : sequence of fitted classifiers
        Each has a ``predict``.
    classes : ndarray of shape (n_classes,)
        The labels; with two classes, those for no and yes.
    labels : array-like of shape (n_classes,)
        The label that a member predicts for each of ``classes``. Members inside an ensemble predict numbers.
    columns : sequence of ndarray or slice, optional
        The columns that each member gets, of an array; by default X as it is, which may be a frame.
    """

    def __init__(
        self,
        members: Sequence[Any],
        classes: Labels,
        labels: npt.ArrayLike,
        columns: Sequence[MemberColumns] | None = None,
    ) -> None:
        self.members: list[Any] = list(members)
        self.classes = classes
        self.labels: npt.NDArray[Any] = np.asarray(labels)
        self.columns: list[MemberColumns] | None = None if columns is None else list(columns)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, voter: int) -> Any:
        return self.members[voter]

    def kinds(self) -> str:
        """Return the names of the members' types."""
        return ", ".join(sorted({type(member).__name__ for member in self.members}))

    def named(self, voter: int) -> str:
        """Return a member's number and the name of its type, for errors."""
        return f"voter {voter} ({type(self.members[voter]).__name__})"

    def predictions(self, voter: int, X: Any) -> Labels:
        """Return the predictions of one member for every row of X, in its own labels."""
        said = np.asarray(self.members[voter].predict(self._given(voter, X)))
        if said.shape != (X.shape[0],):
            raise InvalidInputError(
                f"{self.named(voter)} must predict one label for each of {X.shape[0]} rows, got predictions "
                f"of shape {said.shape}"
            )
        return said

    def says_yes(self, voter: int, X: Any) -> npt.NDArray[np.bool_]:
        """Return whether one member votes yes, the second of two classes, for every row of X."""
        return np.asarray(self.predictions(voter, X) == self.labels[1], np.bool_)

    def class_numbers(self, voter: int, X: Any) -> npt.NDArray[np.intp]:
        """Return the class number of one member's vote, for every row of X."""
        said = self.predictions(voter, X)
        numbers = np.searchsorted(self.labels, said).clip(max=len(self.labels) - 1)
        strange = self.labels[numbers] != said
        if strange.any():
            raise InvalidInputError(
                f"{self.named(voter)} must predict one of the classes {self.classes.tolist()}, got "
                f"{said[strange][0]!r}"
            )
        return np.asarray(numbers, np.intp)

    def probabilities(self, voter: int, X: Any) -> FloatArray:
        """Return one member's probability of each class, for every row of X."""
        member = self.members[voter]
        shares = np.asarray(member.predict_proba(self._given(voter, X)), np.float64)
        known = np.asarray(member.classes_)
        if shares.shape != (X.shape[0], len(known)):
            raise InvalidInputError(
                f"{self.named(voter)} must return probabilities of {len(known)} classes for each of "
                f"{X.shape[0]} rows, got shape {shares.shape}"
            )
        if np.array_equal(known, self.labels):
            return shares
        # A member of a bag knows only the classes that it has seen.
        told = np.zeros((len(shares), len(self.labels)))
        told[:, np.searchsorted(self.labels, known)] = shares
        return told

    def _given(self, voter: int, X: Any) -> Any:
        return X if self.columns is None else X[:, self.columns[voter]]

    def refuse_values(self, X: Any) -> None:
        """Let a member raise its error for NaN or infinity, even if no voter will be asked about these rows.

        Only a member knows whether it can handle them: a pipeline may start with imputation.
        """
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            doubtful = ~np.isfinite(X).all(axis=1)
            if doubtful.any():
                self.predictions(0, X[doubtful])


class _OfMembers:
    """Base class of voters: attributes of the members."""

    def __init__(self, members: Members) -> None:
        self.members = members

    def __repr__(self) -> str:
        return f"<{self.n_voters} voters: {self.members.kinds()}>"

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.members)

    @property
    def n_steps(self) -> int:
        """The largest number of votes."""
        return len(self.members)

    @property
    def classes(self) -> Labels:
        """The labels; with two classes, those for no and yes."""
        return self.members.classes

    @property
    def columns(self) -> list[MemberColumns] | None:
        """The columns that each voter gets; None if all voters get all columns."""
        return self.members.columns

    def refuse_values(self, X: Any) -> None:
        """Let a voter raise its error for NaN or infinity."""
        self.members.refuse_values(X)


# Yes and no --------------------------------------------------------------------------------------


class Voters(_OfMembers):
    """Fitted two-class classifiers that vote; the counterpart of `PackedForest` for any models.

    Orders and draws come from the same generator as those of a packed forest, so that equal votes give equal
    outcomes, vote for vote.
    """

    def votes(self, X: Any, *, n_threads: int | None = None) -> npt.NDArray[np.int32]:
        """Return the number of yes votes among all voters, for each row."""
        counts: npt.NDArray[np.int32] = self.vote_matrix(X).sum(axis=1, dtype=np.int32)
        return counts

    def vote_matrix(self, X: Any) -> npt.NDArray[np.bool_]:
        """Return every voter's vote on every row, shape (n_rows, n_voters)."""
        return np.stack([self.members.says_yes(voter, X) for voter in range(self.n_voters)], axis=1)

    def run(
        self,
        X: Any,
        strategy: StoppingStrategy | None,
        *,
        seed: int,
        order: Order = "shared",
        n_threads: int | None = None,
        said: npt.NDArray[np.bool_] | None = None,
    ) -> Outcome:
        """Ask voters until the strategy stops, for each row, as `PackedForest.run` does.

        ``n_threads`` is ignored; voters use their own settings. With ``said``, the `vote_matrix` of the rows,
        no voter is asked again.
        """
        ask = _asking(self.members.says_yes, X, said)
        schedule = Schedule.make(np.arange(self.n_voters + 1), None, strategy, seed, order)
        n_rows = X.shape[0]
        asked, yes = np.zeros((2, n_rows), np.int32)
        orders = _orders(schedule, X)
        undecided = np.arange(n_rows)
        for step in range(self.n_voters + 1):
            undecided = _keep_undecided(schedule, step, X, undecided, yes)
            if len(undecided) == 0:
                break
            asked[undecided] = step + 1
            for rows, votes in _next_said(ask, undecided, orders, step):
                yes[rows] += votes
        return yes >= schedule.steps[asked, YES_FROM], asked, yes


def _keep_undecided(
    schedule: Schedule, step: int, X: Any, undecided: RowNumbers, yes: npt.NDArray[np.int32]
) -> RowNumbers:
    """Return the rows that continue after ``step`` votes."""
    lower, upper, first = schedule.steps[step, [LOWER, UPPER, START]]
    undecided = undecided[(yes[undecided] > lower) & (yes[undecided] < upper)]
    for exception in range(first, schedule.steps[step + 1, START]):
        n_yes, chance = schedule.exceptions[exception]
        there = undecided[yes[undecided] == n_yes]
        if len(there):
            stops = _draws(schedule, X, there, step) < chance
            undecided = np.setdiff1d(undecided, there[stops], assume_unique=True)
    return undecided


# Votes for many classes --------------------------------------------------------------------------


class PluralityVoters(_OfMembers):
    """Fitted classifiers that vote for one of many classes; the counterpart of `PluralityForest`.

    Equal votes give equal outcomes.
    """

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def votes(self, X: Any, *, n_threads: int | None = None) -> npt.NDArray[np.int32]:
        """Return the number of votes for each class among all voters, shape (n_rows, n_classes)."""
        said = self.vote_matrix(X)
        counts = [np.count_nonzero(said == number, axis=1) for number in range(self.n_classes)]
        return np.stack(counts, axis=1).astype(np.int32)

    def vote_matrix(self, X: Any) -> npt.NDArray[np.intp]:
        """Return the class number of every vote, shape (n_rows, n_voters)."""
        return np.stack([self.members.class_numbers(voter, X) for voter in range(self.n_voters)], axis=1)

    def run(
        self,
        X: Any,
        strategy: PluralityStrategy | None,
        *,
        seed: int,
        order: Order = "shared",
        n_threads: int | None = None,
        said: npt.NDArray[np.intp] | None = None,
    ) -> PluralityOutcome:
        """Ask voters until the strategy stops, for each row, as `PluralityForest.run` does.

        ``n_threads`` and ``said`` are as in `Voters.run`.
        """
        ask = _asking(self.members.class_numbers, X, said)
        n_rows = X.shape[0]
        if strategy is None:
            full = self.votes(X)
            asked = np.full(n_rows, self.n_voters, np.int32)
            return PluralityOutcome(full.argmax(axis=1).astype(np.int32), asked, full.max(axis=1))
        schedule = PluralitySchedule.make(np.arange(self.n_voters + 1), self.n_classes, strategy, seed, order)
        orders = _orders(schedule, X)
        counts = np.zeros((n_rows, self.n_classes), np.int64)
        first_cast = np.full((n_rows, self.n_classes), NEVER)
        asked = np.zeros(n_rows, np.int32)
        undecided = np.arange(n_rows)
        for step in range(1, self.n_voters + 1):
            for rows, votes in _next_said(ask, undecided, orders, step - 1):
                counts[rows, votes] += 1
                first_cast[rows, votes] = np.minimum(first_cast[rows, votes], step)
            asked[undecided] = step
            undecided = undecided[~_stops(schedule, step, X, undecided, counts[undecided])]
            if len(undecided) == 0:
                break
        votes = counts.max(axis=1)
        first_cast[asked == self.n_voters] = 0  # then the first class leads, as in the full vote
        leaders = np.where(counts == votes[:, None], first_cast, NEVER).argmin(axis=1)
        return PluralityOutcome(leaders.astype(np.int32), asked, votes.astype(np.int32))


def _stops(
    schedule: PluralitySchedule, step: int, X: Any, rows: RowNumbers, counts: IntArray
) -> npt.NDArray[np.bool_]:
    """Return which of the rows stop after ``step`` votes."""
    strategy = schedule.strategy
    states = strategy.lattice.numbers_of(counts)
    stops = strategy.stops[states]
    by_chance = np.flatnonzero(np.isin(states, strategy.states))
    if len(by_chance):
        chances = strategy.probabilities[np.searchsorted(strategy.states, states[by_chance])]
        stops[by_chance] = _draws(schedule, X, rows[by_chance], step) < np.ceil(chances * 2.0**53)
    return stops


# Scores ------------------------------------------------------------------------------------------


class ScoreVoters(_OfMembers):
    """Fitted classifiers whose scores are added up; the counterpart of `ScoredForest`.

    With two classes, the score of a voter is its weight times (its probability of yes minus one half) or, for
    weighted votes, its weight with the sign of its vote; the full sum says yes if it is above 0. With more
    classes, a voter adds its weight times the probability to each class, or its weight to the class that it
    votes for; the largest sum wins, in a tie the first class. Sums are computed in float64, voter by voter.

    Parameters
    ----------
    members : Members
        The classifiers, and how to call them.
    weights : sequence of float, optional
        One weight for each voter, with a sum above 0; by default 1.
    averages : bool
        Whether voters are asked for probabilities instead of votes.
    tells : {"mean", "logistic"} or None
        How full sums become the ensemble's own probabilities: sums are means of the voters' probabilities, or
        log odds. None if the ensemble has no probabilities.
    in_order : bool
        Whether voters are best asked in the given order, as in a boosted ensemble.
    against_others : bool
        With more than two classes: whether a vote subtracts as much from the other classes, together, as it
        adds to its own, as in AdaBoost.
    adds_votes : bool
        Whether the score of a class is the number of voters for it.
    """

    drops_classes = False  # a voter is asked about all classes at once

    def __init__(
        self,
        members: Members,
        weights: npt.ArrayLike | None = None,
        *,
        averages: bool,
        tells: Literal["mean", "logistic"] | None = None,
        in_order: bool = False,
        against_others: bool = False,
        adds_votes: bool = False,
    ) -> None:
        super().__init__(members)
        given = np.ones(len(members)) if weights is None else weights
        self.weights: FloatArray = _check_weights(given, len(members))
        self.averages = averages
        self.in_order = in_order
        self.adds_votes = adds_votes
        n_classes = len(self.classes)
        self.start: Start = 0.0 if n_classes == 2 else np.zeros(n_classes)
        self._for_others = -1 / (n_classes - 1) if against_others else 0.0
        self.link: Link | None = None if tells is None else self.link_as(tells)
        for voter, member in enumerate(members.members):
            if averages and not hasattr(member, "predict_proba"):
                raise InvalidInputError(
                    f'{members.named(voter)} has no predict_proba to average: use voting="hard", which '
                    "counts votes"
                )

    def link_as(self, tells: Literal["mean", "logistic"]) -> Link:
        """Return the link that converts full sums to probabilities or shares of votes."""
        total = float(self.weights.sum())
        if self.adds_by_class:
            return Link("mean", 1 / total) if tells == "mean" else Link("softmax", -self._for_others / total)
        # Scores are from -1/2 to 1/2 where probabilities are averaged, else from -1 to 1.
        unit = 1.0 if self.averages else 0.5 if tells == "mean" else 2.0
        return Link(tells, unit / total)

    def __repr__(self) -> str:
        return f"<{self.n_voters} voters with scores: {self.members.kinds()}>"

    @property
    def adds_by_class(self) -> bool:
        """Whether every class has its own sum; two classes share one sum."""
        return not isinstance(self.start, float)

    def ask(self, voter: int, X: Any) -> FloatArray:
        """Return one voter's score on every row of X; with more than two classes, for each class."""
        weight = self.weights[voter]
        if self.averages:
            told = self.members.probabilities(voter, X)
            return np.asarray(weight * (told if self.adds_by_class else told[:, 1] - 0.5))
        if self.adds_by_class:
            is_for = self.members.class_numbers(voter, X)[:, None] == np.arange(len(self.classes))
            return np.asarray(np.where(is_for, weight, self._for_others * weight))
        return np.asarray(np.where(self.members.says_yes(voter, X), weight, -weight))

    @property
    def score_bounds(self) -> FloatArray:
        """The smallest and the largest possible score of each voter, shape (2, n_voters).

        With more than two classes, the shape is (2, n_voters, n_classes). Probabilities may be inexact by
        their rounding.
        """
        if not self.adds_by_class:
            largest = np.abs(self.weights) * (0.5 + ROUNDING if self.averages else 1.0)
            return np.array([-largest, largest])
        ends = (-ROUNDING, 1 + ROUNDING) if self.averages else (self._for_others, 1.0)
        each = np.sort(np.outer(ends, self.weights), axis=0)
        return np.repeat(each[:, :, None], len(self.classes), axis=2)

    def scores(self, X: Any) -> FloatArray:
        """Return every voter's score on every row, shape (n_rows, n_voters).

        With more than two classes it has a third axis for the classes.
        """
        scores = np.empty((X.shape[0], self.n_voters, *np.shape(self.start)))
        for voter in range(self.n_voters):
            scores[:, voter] = self.ask(voter, X)
        return scores

    def compact_scores(self, X: Any) -> Scores:
        """Return the scores in a compact form; with many classes as `ClassScores`."""
        if self.adds_votes:
            said = [self.members.class_numbers(voter, X) for voter in range(self.n_voters)]
            return ClassScores.of_votes(np.stack(said, axis=1).astype(np.uint16), len(self.classes))
        scores = self.scores(X)
        return ClassScores(None, scores) if self.adds_by_class else scores

    def full_scores(self, X: Any) -> FloatArray:
        """Return the sum of all scores, for each row."""
        return self.run(X, None).score

    def run(self, X: Any, strategy: ScoreStrategy | None, *, n_threads: int | None = None) -> ScoreOutcome:
        """Ask voters until the strategy stops, for each row, as `ScoredForest.run` does.

        ``n_threads`` is ignored; voters use their own settings. After a NaN score a row asks all voters, and
        its answer is no, or the first class.
        """
        if strategy is None:
            strategy = ScoreStrategy.ask_all(self.n_voters, start=self.start)
        elif strategy.n_voters != self.n_voters:
            raise InvalidInputError(
                f"the strategy must have as many voters as the ensemble, got {strategy.n_voters} and "
                f"{self.n_voters}: solve for {self.n_voters}"
            )
        n_rows, ask = X.shape[0], _asking(self.ask, X)
        answers: npt.NDArray[Any] = np.zeros(n_rows, np.int32 if self.adds_by_class else np.bool_)
        asked = np.zeros(n_rows, np.int32)
        score = np.tile(strategy.start, (n_rows, *[1] * np.ndim(strategy.start)))
        undecided = np.arange(n_rows)
        for step in range(self.n_voters + 1):
            stops = self._stops(strategy, step, score[undecided], undecided, answers)
            undecided = undecided[~stops]
            if len(undecided) == 0 or step == self.n_voters:
                break
            for rows, scores in _next_said(ask, undecided, (strategy.order[None], None), step):
                score[rows] += scores
            asked[undecided] = step + 1
        return ScoreOutcome(answers, asked, score)

    def _stops(
        self,
        strategy: ScoreStrategy,
        step: int,
        running: FloatArray,
        rows: RowNumbers,
        answers: npt.NDArray[Any],
    ) -> npt.NDArray[np.bool_]:
        """Return which rows stop after ``step`` voters, and store their answers."""
        if self.adds_by_class:
            leads, leaders = np.empty(len(rows)), np.empty(len(rows), np.uint16)
            fill_leads(running, leads, leaders)
            stops: npt.NDArray[np.bool_] = leads >= strategy.upper[step]
            answers[rows[stops]] = leaders[stops]
            return stops
        no, yes = running <= strategy.lower[step], running >= strategy.upper[step]
        answers[rows[yes & ~no]] = True
        return np.asarray(no | yes)


def _check_weights(weights: npt.ArrayLike, n_voters: int) -> FloatArray:
    given = np.asarray(weights, np.float64)
    if given.shape != (n_voters,) or not np.isfinite(given).all() or not given.sum() > 0:
        raise InvalidInputError(
            f"weights must be finite numbers, one for each of the {n_voters} voters, with a sum above 0, got "
            f"{given.tolist()}"
        )
    return given


# Orders and draws --------------------------------------------------------------------------------


def _orders(schedule: VoteSchedule, X: Any) -> Orders:
    """Return orders of the voters, and the index of each row's order; None if all rows have the first."""
    if len(schedule.roots) == 1 and not schedule.own_orders:
        return schedule.roots, None
    bits = _bits_of_rows(X, np.arange(X.shape[0]))
    if schedule.own_orders:
        own = [random_order(schedule.roots.shape[1], schedule.seed, row) for row in bits.tolist()]
        return np.array(own), np.arange(len(own))
    return schedule.roots, dealt_orders(schedule.seed, bits, len(schedule.roots))


def _asking(
    ask: Callable[[int, Any], npt.NDArray[Any]], X: Any, said: npt.NDArray[Any] | None = None
) -> Asking:
    """Return a function that asks a voter about some rows, given by index, or looks up its known votes."""
    if said is not None:
        return lambda voter, rows: said[rows, voter]
    return lambda voter, rows: ask(voter, X if len(rows) == X.shape[0] else take_rows(X, rows))


def _next_said(
    ask: Asking, undecided: RowNumbers, orders: Orders, step: int
) -> Iterator[tuple[RowNumbers, npt.NDArray[Any]]]:
    """Ask voter number ``step`` of each order; yield rows and their votes."""
    voters, order_of_row = orders
    if order_of_row is None:
        yield undecided, ask(int(voters[0, step]), undecided)
        return
    following = voters[order_of_row[undecided], step]
    for voter in np.unique(following):
        rows = undecided[following == voter]
        yield rows, ask(int(voter), rows)


def _draws(schedule: VoteSchedule, X: Any, rows: RowNumbers, step: int) -> IntArray:
    """Return the random draws of rows after ``step`` votes, for randomised stops."""
    return np.array([stop_draw(schedule.signed_seed, bits, step) for bits in _bits_of_rows(X, rows)])


def _bits_of_rows(X: Any, rows: RowNumbers) -> IntArray:
    """Return a 64-bit hash of the values of each row; values may be strings."""
    part = take_rows(X, rows)
    if hasattr(part, "toarray"):
        part = part.toarray()
    values = np.asarray(part)
    try:
        return bits_of_rows(values.astype(np.float64))
    except (TypeError, ValueError):
        digests = [hashlib.blake2b(repr(row).encode(), digest_size=8) for row in values.tolist()]
        return np.array([int.from_bytes(digest.digest(), "little", signed=True) for digest in digests])

"""Scores: checked, added up in the order in which voters are asked, and followed until a stop.

Each check raises InvalidInputError if its argument is not valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._kernels.class_sums import fill_gaps, fill_paths, follow_leads
from foregone.checks import BoolArray, FloatArray, IntArray, as_float, as_numbers
from foregone.errors import InvalidInputError
from foregone.scores.class_scores import ClassScores, as_class_scores

__all__ = [
    "Answers",
    "ClassPaths",
    "Paths",
    "Scores",
    "Start",
    "blocks",
    "check_scores",
    "check_start",
    "full_answers",
    "look_steps",
    "paths_given",
    "paths_of",
]

Scores = FloatArray | ClassScores  # of two classes, and of many
Start = float | FloatArray
Answers = npt.NDArray[Any]  # of bool, or the numbers of classes
Leaders = npt.NDArray[np.uint16]

BLOCK_SCORES = 2**22  # processed at once: 32 MB


def check_scores(scores: Any, what: str, n_voters: int | None = None) -> Scores:
    """Return finite scores: one row per input, one column per voter, and a third axis for many classes."""
    if isinstance(scores, ClassScores):
        return as_class_scores(scores, what, n_voters)
    matrix = as_numbers(scores, what)
    if matrix.ndim == 3:
        return as_class_scores(matrix, what, n_voters)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidInputError(
            f"{what} must be a matrix with one row per input and one column per voter (and a third axis for "
            f"more than two classes), got shape {matrix.shape}"
        )
    if n_voters is not None and matrix.shape[1] != n_voters:
        raise InvalidInputError(
            f"{what} must have one column for each of the {n_voters} voters, got {matrix.shape[1]} columns"
        )
    checked: FloatArray = matrix.astype(np.float64, copy=False)  # nobody writes into it
    _check_finite(checked, what)
    return checked


def _check_finite(matrix: FloatArray, what: str) -> None:
    if np.isfinite(matrix).all():
        return
    row, column = np.argwhere(~np.isfinite(matrix))[0]
    raise InvalidInputError(
        f"{what} must be finite: row {row}, column {column} is {matrix[row, column]}. "
        "Remove such rows, or fix the voter that returns no score"
    )


def check_start(start: Any, n_classes: int | None = None) -> Start:
    """Return the score before the first voter as a float; for many classes, one per class.

    If ``n_classes`` is given, a single number is used for all classes.
    """
    if n_classes is None and np.ndim(start) == 0:
        number = as_float(start)
        if not np.isfinite(number):
            raise InvalidInputError(
                f"start, the score before the first voter, must be a finite number, got {start!r}"
            )
        return number
    each = as_numbers(start, "start").astype(np.float64)
    if n_classes is not None and each.ndim == 0:
        each = np.full(n_classes, each)
    fits = each.ndim == 1 and len(each) >= 2 and n_classes in (None, len(each))
    if not fits or not np.isfinite(each).all():
        wanted = "one for each class" if n_classes is None else f"one for each of {n_classes} classes"
        raise InvalidInputError(f"start must be finite numbers, {wanted}, got {start!r}")
    return each


def blocks(shape: tuple[int, ...]) -> list[slice]:
    """Split the rows of scores of this shape into blocks, to limit memory use."""
    n_rows, *others = shape
    size = max(1, BLOCK_SCORES // math.prod(others))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def paths_of(scores: Scores, order: IntArray, start: Start, *, drops_classes: bool = False) -> Paths:
    """Return the running scores or leads of rows: ``start`` plus the scores so far, added one by one."""
    if isinstance(scores, ClassScores):
        return ClassPaths(scores, order, np.asarray(start), drops_classes=drops_classes)
    running = np.asfortranarray(scores[:, order])
    with np.errstate(over="ignore", invalid="ignore"):
        running[:, 0] += start
        for step in range(1, running.shape[1]):
            running[:, step] += running[:, step - 1]
    _check_finite(running, "the running scores")
    return Paths(running, start=float(start))


def paths_given(running: Scores, start: Start, *, drops_classes: bool = False) -> Paths:
    """Return the same, given running sums: column k holds the sum after k + 1 voters."""
    if isinstance(running, ClassScores):
        order = np.arange(running.shape[1])
        return ClassPaths(running, order, np.asarray(start), are_running=True, drops_classes=drops_classes)
    return Paths(np.asfortranarray(running), start=float(start))


def full_answers(scores: Scores, order: IntArray, start: Start) -> Answers:
    """Return the answers of the full sums, added one by one in order; a NaN sum means no."""
    if isinstance(scores, ClassScores):
        sums = np.tile(np.asarray(start, np.float64), (len(scores), 1))
        for voter in order:
            sums += scores.of_voter(voter)
        return np.asarray(sums.argmax(axis=1))
    total = np.full(len(scores), start)
    for voter in order:
        total += scores[:, voter]
    return np.asarray(total > 0)


def look_steps(lower: FloatArray, upper: FloatArray) -> IntArray:
    """Return the steps after which these thresholds may stop."""
    tightest = upper if upper.ndim == 1 else upper.min(axis=1)
    return np.flatnonzero((lower > -np.inf) | (tightest < np.inf)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Paths:
    """The running scores of rows: one number after each voter, with the corresponding answer.

    For two classes; `ClassPaths` is for more.

    Attributes
    ----------
    running : ndarray of float, shape (n_rows, n_voters)
        The running score after each voter. Stored by column, because it is read by column.
    start : float
        The score before the first voter.
    """

    running: FloatArray
    start: float = 0.0

    def __len__(self) -> int:
        return len(self.running)

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return int(self.running.shape[1])

    @property
    def final(self) -> Answers:
        """The answers of the full sums: whether they say yes."""
        return np.asarray(self.running[:, -1] > 0)

    def take(self, rows: IntArray) -> Paths:
        """Return the paths of some rows."""
        return Paths(np.asfortranarray(self.running[rows]), self.start)

    def is_upwards(self, step: int) -> BoolArray:
        """Whether a large number at this step predicts the answer: a final yes."""
        return self.final

    def follow(self, lower: FloatArray, upper: FloatArray) -> tuple[Answers, IntArray]:
        """Return the answers and the numbers of voters asked, for these thresholds.

        Rows are removed as they are answered, so the time is proportional to the voters asked.
        """
        answers = np.zeros(len(self), np.bool_)
        asked = np.zeros(len(self), dtype=np.int64)
        rows = np.arange(len(self))
        for step in look_steps(lower, upper):
            if len(rows) == 0:
                break
            numbers = self.running[rows, step - 1] if step else np.full(len(rows), self.start)
            no = numbers <= lower[step]
            stop = no | (numbers >= upper[step])
            stopped = rows[stop]
            answers[stopped] = ~no[stop]
            asked[stopped] = step
            rows = rows[~stop]
        return answers, asked


class ClassPaths(Paths):
    """The same for many classes: the number is the leader's lead over the second, the answer the leader.

    Parameters
    ----------
    scores : ClassScores
        Of single voters, or, with ``are_running``, running sums.
    order : ndarray of int
        The voters in the order asked.
    start : ndarray of float, shape (n_classes,)
        The scores before the first voter.
    drops_classes : bool
        Whether a class that trails the leader by its threshold is dropped, and its voters asked no more.
    """

    def __init__(
        self,
        scores: ClassScores,
        order: IntArray,
        start: FloatArray,
        *,
        are_running: bool = False,
        drops_classes: bool = False,
    ) -> None:
        self._scores, self._order, self._start = scores, order, start
        self._are_running = are_running
        self.drops_classes = drops_classes

    def __len__(self) -> int:
        return len(self._scores)

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self._order)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self._start)

    @cached_property
    def _leads(self) -> tuple[FloatArray, Leaders]:
        """Leads and leaders after each step, if no class is ever dropped."""
        shape = len(self), self.n_steps
        leads, leaders = np.empty(shape), np.empty(shape, np.uint16)
        fill_paths(*self._added_up, leads, leaders)
        _check_finite(leads, "the leads")
        return leads, leaders

    @property
    def running(self) -> FloatArray:
        """The lead after each voter, shape (n_rows, n_voters)."""
        return self._leads[0]

    @property
    def final(self) -> Answers:
        """The answers of the full sums: the numbers of the classes that lead."""
        return self._leads[1][:, -1].astype(np.int64)

    def take(self, rows: IntArray) -> ClassPaths:
        """Return the paths of some rows."""
        taken = ClassPaths(
            self._scores[rows],
            self._order,
            self._start,
            are_running=self._are_running,
            drops_classes=self.drops_classes,
        )
        leads, leaders = self._leads
        taken._leads = leads[rows], leaders[rows]
        return taken

    def is_upwards(self, step: int) -> BoolArray:
        """Whether a large number at this step predicts the answer: the final leader."""
        leaders = self._leads[1]
        return np.asarray(leaders[:, step - 1] == leaders[:, -1])

    def follow(self, lower: FloatArray, upper: FloatArray) -> tuple[Answers, IntArray]:
        """Return the answers and the numbers of voters asked; there are no lower thresholds."""
        answers, asked = np.empty((2, len(self)), np.int64)
        width = upper.shape[1] if upper.ndim == 2 else 1
        follow_leads(*self._added_up, np.ascontiguousarray(upper).ravel(), width, answers, asked)
        return answers, asked

    def gaps(self, steps: IntArray) -> FloatArray:
        """Return how far each class trails the leader after some steps, if no class is ever dropped.

        The shape is (n_rows, len(steps), n_classes).
        """
        gaps = np.empty((len(self), len(steps), len(self._start)))
        fill_gaps(*self._added_up, steps, gaps)
        return gaps

    @property
    def _added_up(self) -> tuple[Any, ...]:
        """The first arguments of all kernels."""
        return self._scores.lines, self._scores.table, self._are_running, self._order, self._start

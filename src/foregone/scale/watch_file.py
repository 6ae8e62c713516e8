"""watch_file(monitor, path): read answers from files into a monitor, in bounded memory."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foregone._system.atomic_file import PathLike
from foregone.checks import IntArray
from foregone.errors import InvalidInputError
from foregone.forest.tables import to_numbers
from foregone.monitoring import Monitor
from foregone.scale.columns import FULL_LABEL, LABEL, VOTES_ASKED, listed
from foregone.scale.input_files import InputFiles
from foregone.scale.model_file import NUMBERS, TEXTS

__all__ = ["watch_file"]

ASKED, YES = "asked", "yes"  # other accepted column names
ROWS_AT_A_TIME = 1024  # rows per update of a monitor


def watch_file(
    monitor: Monitor,
    path: PathLike,
    *,
    prefix: str = "",
    truth: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Read the answers in Parquet or CSV files into a monitor.

    Parameters
    ----------
    monitor : Monitor
        Monitor of the classifier that gave the answers, from `EarlyStoppingClassifier.monitor`.
    path : path
        A Parquet or CSV file (with a header line), or a folder of such files, as written by
        `foregone.scale.score_file`. It needs a column ``votes_asked`` or ``asked``, and a column ``label`` or
        ``yes`` (number of yes votes). Rows with a value in a column ``full_label`` (the label of the full
        vote) are audited rows.
    prefix : str, default=""
        Prefix of the names of these columns.
    truth : str, optional
        Name of the column of true labels; used for audited rows that have one, if the promise is about
        accuracy or costs.
    progress : callable, optional
        Called with the number of parts read, and of all parts.

    Returns
    -------
    int
        Number of rows read.

    Raises
    ------
    InvalidInputError, FileFormatError
        If a column is missing, or has a value that the classifier cannot have answered. The message names
        the file, the column and the value. Rows before it are already in the monitor.

    Examples
    --------
    >>> monitor = classifier.monitor()                 # doctest: +SKIP
    >>> watch_file(monitor, "labels.parquet")          # doctest: +SKIP
    >>> print(monitor.alarm)                           # doctest: +SKIP
    """
    files, numbers = InputFiles.at(Path(path)), _ClassNumbers(monitor.classes)
    asked = _present(files, path, [prefix + VOTES_ASKED, prefix + ASKED])
    label = _present(files, path, [prefix + LABEL, prefix + YES])
    full = prefix + FULL_LABEL if prefix + FULL_LABEL in files.columns else None
    if truth is not None and full is None:
        raise InvalidInputError(
            f"{path} has no column {prefix + FULL_LABEL!r}: true labels are compared on audited rows; create "
            "them with 'foregone score --audit 0.01'"
        )
    if not files.is_parquet and "" in monitor.classes:
        raise InvalidInputError(
            f"{path}: CSV cannot distinguish the class '' from a missing label: use Parquet"
        )
    counts_yes = label == prefix + YES
    holds = {asked: NUMBERS, label: NUMBERS if counts_yes else TEXTS}
    holds |= dict.fromkeys(filter(None, (full, truth)), TEXTS)
    files.require(list(holds))
    names = np.array([*monitor.classes, None], object)[:-1]  # one object per label, of any type
    n_rows, parts = 0, files.parts()
    for done, part in enumerate(parts, 1):
        for batch in files.batches(part, holds):
            with _named(part.file):
                votes = _whole_numbers(batch.column(asked), asked)
                if counts_yes:
                    early = monitor._answers(votes, _whole_numbers(batch.column(label), label))
                else:
                    early = numbers.find(batch.column(label), label, every_row=True)
                said = None if full is None else numbers.find(batch.column(full), full)
                known = None if truth is None else numbers.find(batch.column(truth), truth)
                # In small batches and in order, so that an alarm states after how many rows it was raised.
                for start in range(0, len(votes), ROWS_AT_A_TIME):
                    some = slice(start, start + ROWS_AT_A_TIME)
                    monitor.update(votes[some], labels=names[early[some]])
                    if said is not None:
                        true = None if known is None else known[some]
                        _tell_audits(monitor, names, early[some], said[some], true)
            n_rows += len(votes)
        if progress is not None:
            progress(done, len(parts))
    return n_rows


def _present(files: InputFiles, path: PathLike, names: list[str]) -> str:
    """Return the first of some names that is a column."""
    found = next((name for name in names if name in files.columns), None)
    if found is None:
        raise InvalidInputError(
            f"{path} has no column {names[0]!r} or {names[1]!r}; available: {listed(files.columns)}. If the "
            "names have another prefix, give it as prefix"
        )
    return found


@contextlib.contextmanager
def _named(file: str) -> Iterator[None]:
    """Add the name of the file to errors."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{file}: {error}") from None


def _whole_numbers(column: Any, name: str) -> npt.NDArray[Any]:
    try:
        values = to_numbers(column)
    except (TypeError, ValueError):
        raise InvalidInputError(f"column {name!r} must have integers, got type {column.type}") from None
    if values.dtype.kind == "f":
        wrong = ~np.isfinite(values) | (values != np.floor(values))
        if wrong.any():
            shown = values[wrong][0]
            found = "a missing value" if math.isnan(shown) else f"{shown:g}"
            raise InvalidInputError(f"column {name!r} must have integers, got {found}")
    return values.astype(np.int64)


def _tell_audits(
    monitor: Monitor,
    names: npt.NDArray[Any],
    early: IntArray,
    full: IntArray,
    truth: IntArray | None,
) -> None:
    """Report audited rows to a monitor, first those without a true label."""
    known = np.zeros(len(full), np.bool_) if truth is None else truth >= 0
    plain, labelled = (full >= 0) & ~known, (full >= 0) & known
    if plain.any():
        monitor.audited(names[early[plain]], names[full[plain]])
    if truth is not None and labelled.any():
        monitor.audited(names[early[labelled]], names[full[labelled]], names[truth[labelled]])


class _ClassNumbers:
    """Class numbers of labels as read from files: 1 may be 1.0 or "1", and True may be "true"."""

    def __init__(self, classes: Sequence[Any]) -> None:
        self._classes = list(classes)
        self._exact = {label: number for number, label in enumerate(classes)}
        by_form: dict[str, set[int]] = {}
        for number, label in enumerate(classes):
            for form in (_form(label), *((str(int(label)),) if isinstance(label, bool) else ())):
                by_form.setdefault(form, set()).add(number)
        self._by_form = {form: found.pop() for form, found in by_form.items() if len(found) == 1}

    def find(self, column: Any, name: str, *, every_row: bool = False) -> IntArray:
        """Return the class number of each label, -1 if missing. Raises if a label is unknown."""
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        of_each = [self._number_of(label, name) for label in encoded.dictionary.to_pylist()]
        places = encoded.indices.fill_null(len(of_each)).to_numpy(zero_copy_only=False)
        found: IntArray = np.array([*of_each, -1], np.int64)[places]
        if every_row and (found < 0).any():
            raise InvalidInputError(f"column {name!r} has a missing label: every row needs one")
        return found

    def _number_of(self, label: Any, name: str) -> int:
        try:
            number = self._exact.get(label)
        except TypeError:  # such as a list
            number = None
        if number is None:
            number = self._by_form.get(_form(label))
        if number is not None:
            return number
        if label is None or label == "" or label != label:
            return -1
        raise InvalidInputError(
            f"column {name!r} has the label {label!r}, expected one of {listed(self._classes)}: check that "
            "this classifier answered these rows"
        )


def _form(label: Any) -> str:
    """Return a text that is the same for all spellings of a label in files."""
    text = str(label)
    if text.lower() in ("true", "false"):
        return text.lower()
    for number in (int, float):
        with contextlib.suppress(ValueError, OverflowError):
            value = number(text)
            return str(int(value)) if value == math.floor(value) else repr(value)
    return text

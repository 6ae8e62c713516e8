"""ModelFile: a classifier sent to other processes, as the bytes of its saved file, never a pickle."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foregone._kernels.forest_keys import CATEGORY
from foregone._system.atomic_file import PathLike
from foregone.classifier import EarlyStoppingClassifier
from foregone.errors import InvalidInputError
from foregone.forest.category_values import CategoryValues
from foregone.forest.device_arrays import Device
from foregone.forest.rows import RowFormat
from foregone.monitoring.audit_rows import AuditRows, take_rows

__all__ = ["Model", "ModelFile", "ScoredRows", "n_loads"]

Model = EarlyStoppingClassifier | PathLike
Counts = npt.NDArray[np.int32]

NUMBERS, TEXTS = "numbers", "texts"  # kinds of values in a column; booleans count as numbers
MOST_LOADED = 3  # models that a process keeps loaded: a job rarely alternates between more

_loaded: OrderedDict[tuple[str, Device], EarlyStoppingClassifier] = OrderedDict()
_lock = threading.Lock()
_n_loads = 0


class ScoredRows(NamedTuple):
    """The answers to some rows.

    Attributes
    ----------
    answers : ndarray of shape (n_rows,)
        Class number of each row.
    asked : ndarray of shape (n_rows,)
        Number of votes asked.
    full : ndarray of shape (n_rows,) or None
        If a share of rows is audited, the class number of the full vote; -1 for rows that are not audited.
    """

    answers: Counts
    asked: Counts
    full: Counts | None = None

    @classmethod
    def joined(cls, parts: Sequence[ScoredRows], *, audited: bool) -> ScoredRows:
        """Concatenate parts; there may be none."""
        none = cls.of_no_rows(audited=audited)
        columns = zip(*(part[: 3 if audited else 2] for part in (none, *parts)), strict=True)
        return cls(*map(np.concatenate, columns))

    @classmethod
    def of_no_rows(cls, *, audited: bool) -> ScoredRows:
        """Return empty answers."""
        none = np.empty(0, np.int32)
        return cls(none, none, none if audited else None)


class ModelFile(NamedTuple):
    """The bytes of a saved classifier, with the metadata that is needed without loading it.

    Attributes
    ----------
    content : bytes
        The file, as written by `EarlyStoppingClassifier.save`.
    digest : str
        SHA-256 of the content; equal for equal models.
    n_features : int
        Number of features.
    feature_names : tuple of str or None
        Their names, if the model has them.
    classes : ndarray of shape (n_classes,)
        The labels; two labels are those for no and yes.
    categories : tuple of str
        The kind of each feature's categories, "numbers" or "texts"; empty if it has none.
    by_type : bool
        Whether such columns of frames must have dtype category, as LightGBM and XGBoost require.
    device : {"cpu", "cuda"}
        Where trees run.
    """

    content: bytes
    digest: str
    n_features: int
    feature_names: tuple[str, ...] | None
    classes: npt.NDArray[Any]
    categories: tuple[str, ...]
    by_type: bool
    device: Device = "cpu"

    @classmethod
    def of(cls, model: Model | ModelFile) -> ModelFile:
        """Create a model file from a fitted classifier, or from the path of a saved one, which is checked.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, or not a saved classifier.
        InvalidInputError
            If the classifier's voters cannot be saved, or ``model`` is something else.
        """
        if isinstance(model, ModelFile):
            return model
        if isinstance(model, EarlyStoppingClassifier):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "model.foregone"
                model.save(file)
                content = file.read_bytes()
        elif isinstance(model, str | Path) or hasattr(model, "__fspath__"):
            classifier = EarlyStoppingClassifier.load(model)
            content, model = Path(model).read_bytes(), classifier
        else:
            raise InvalidInputError(
                "model must be an EarlyStoppingClassifier or the path of a saved one, "
                f"got {type(model).__name__}: wrap a fitted ensemble with early_stop first"
            )
        names = getattr(model, "feature_names_in_", None)
        forest: Any = model.ensemble_  # packed trees, the only ensembles that can be saved
        lists: CategoryValues | None = forest.rows.category_values
        return cls(
            content=content,
            digest=hashlib.sha256(content).hexdigest(),
            n_features=int(model.n_features_in_),
            feature_names=None if names is None else tuple(map(str, names)),
            classes=np.asarray(model.classes_),
            categories=_categories(forest.rows),
            by_type=lists is not None and not lists.encodes_arrays,
        )

    def __dask_tokenize__(self) -> str:
        return self.digest

    def answers(self, rows: Any, audit: float = 0.0) -> ScoredRows:
        """Return the class number and the number of votes asked for each row.

        The model is loaded once per process.

        Parameters
        ----------
        rows : ndarray, frame or Columns
            Its columns are the features in order; names are ignored. There may be no rows.
        audit : float
            Share of rows that also get a full vote: the rows that a monitor would choose.
        """
        if rows.shape[0] == 0:
            return ScoredRows.of_no_rows(audited=audit > 0)
        model = self._load()
        checked = model._check_rows(rows)
        answers, asked, _ = model._ask_checked(checked, "run", early=True)
        if audit <= 0:
            return ScoredRows(answers.astype(np.int32), asked)
        full, chosen = np.full(len(asked), -1, np.int32), AuditRows(audit).choose(checked)
        if len(chosen):
            full[chosen] = model._ask_checked(take_rows(checked, chosen), "run", early=False)[0]
        return ScoredRows(answers.astype(np.int32), asked, full)

    def _load(self) -> EarlyStoppingClassifier:
        global _n_loads
        with _lock:
            key = self.digest, self.device
            model = _loaded.pop(key, None)
            if model is None:
                model = _load_quietly(self.content)
                model.device = self.device
                _n_loads += 1
            _loaded[key] = model
            while len(_loaded) > MOST_LOADED:
                _loaded.popitem(last=False)
            return model


def _categories(rows: RowFormat) -> tuple[str, ...]:
    lists = rows.category_values
    if lists is None:
        return ("",) * rows.n_features
    if lists.features is None and (lists.values or (rows.rules & CATEGORY).any()):
        raise InvalidInputError(
            "the model splits by categories, but does not record the values of each column's categories: "
            "create it again with early_stop from a model of LightGBM, or of XGBoost 3.1 or newer, in which "
            "all columns of dtype category are categorical features; or predict on frames in memory"
        )
    kinds = {
        feature: TEXTS if values.dtype == object else NUMBERS
        for feature, values in zip(lists.features or (), lists.values, strict=True)
    }
    return tuple(kinds.get(feature, "") for feature in range(rows.n_features))


def n_loads() -> int:
    """Return how often this process has loaded a model."""
    return _n_loads


def _load_quietly(content: bytes) -> EarlyStoppingClassifier:
    """Load a model for rows with columns in order, running on one thread, as parts run in parallel."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.foregone"
        file.write_bytes(content)
        model = EarlyStoppingClassifier.load(file)
    model.set_params(n_jobs=1)
    # It would warn about arrays without names, and warning filters cannot be set per thread.
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    model._has_names = False
    return model

"""ModelFile: a classifier on its way to other processes, as the bytes of its own file, never a pickle."""

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

NUMBERS, TEXTS = "numbers", "texts"  # what a column holds, booleans being numbers
MOST_LOADED = 3  # models that a process keeps ready: a job rarely alternates between more

_loaded: OrderedDict[tuple[str, Device], EarlyStoppingClassifier] = OrderedDict()
_lock = threading.Lock()
_n_loads = 0


class ScoredRows(NamedTuple):
    """What is answered to some rows.

    Attributes
    ----------
    answers : ndarray of shape (n_rows,)
        For each row, the number of its class.
    asked : ndarray of shape (n_rows,)
        How many votes were asked.
    full : ndarray of shape (n_rows,) or None
        Where a share of rows is audited, the number of the class that all voters together are for; -1 for
        rows that are not audited.
    """

    answers: Counts
    asked: Counts
    full: Counts | None = None

    @classmethod
    def joined(cls, parts: Sequence[ScoredRows], *, audited: bool) -> ScoredRows:
        """Return those of all rows of some parts; there may be none."""
        none = cls.of_no_rows(audited=audited)
        columns = zip(*(part[: 3 if audited else 2] for part in (none, *parts)), strict=True)
        return cls(*map(np.concatenate, columns))

    @classmethod
    def of_no_rows(cls, *, audited: bool) -> ScoredRows:
        """Return those of no rows."""
        none = np.empty(0, np.int32)
        return cls(none, none, none if audited else None)


class ModelFile(NamedTuple):
    """What is shipped: a file's bytes, and what has to be known about it where nothing is predicted.

    Attributes
    ----------
    content : bytes
        The file, as `EarlyStoppingClassifier.save` writes it.
    digest : str
        SHA-256 of the content: the same for the same model, whoever ships it.
    n_features : int
        Number of columns of the rows.
    feature_names : tuple of str or None
        Their names, if the model knows them.
    classes : ndarray of shape (n_classes,)
        The labels; of two, those for no and yes.
    categories : tuple of str
        For each feature what its list of categories holds, "numbers" or "texts"; empty if it has none.
    by_type : bool
        Whether frames must have such columns of dtype category, as LightGBM and XGBoost want them.
    device : {"cpu", "cuda"}
        Where trees are asked.
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
        """Take a fitted classifier, or the path of a saved one, whose file is checked here and now.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, or not that of a classifier.
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
                f"not {type(model).__name__}: wrap a fitted ensemble with early_stop first"
            )
        names = getattr(model, "feature_names_in_", None)
        forest: Any = model.ensemble_  # of packed trees, or it could not have been saved
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
        """Return the number of each row's class and how many votes were asked.

        The model is loaded once in a process.

        Parameters
        ----------
        rows : ndarray, frame or Columns
            Its columns are the features in order, whatever they are called. There may be no rows.
        audit : float
            Share of rows about which everyone is asked as well: those that a monitor would choose.
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
            "the model splits by categories, but does not say which values they stand for in which column: "
            "make it anew with early_stop from a model of LightGBM, or of XGBoost 3.1 or newer, all of whose "
            "columns of dtype category are categorical features, or predict on frames in memory"
        )
    kinds = {
        feature: TEXTS if values.dtype == object else NUMBERS
        for feature, values in zip(lists.features or (), lists.values, strict=True)
    }
    return tuple(kinds.get(feature, "") for feature in range(rows.n_features))


def n_loads() -> int:
    """Return how often this process has loaded a model: what a cluster run should keep low."""
    return _n_loads


def _load_quietly(content: bytes) -> EarlyStoppingClassifier:
    """Load a model for rows whose columns are in order already, on one thread: others do other rows."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.foregone"
        file.write_bytes(content)
        model = EarlyStoppingClassifier.load(file)
    model.set_params(n_jobs=1)
    # It would warn of every array without names. Filters of warnings cannot be set in one of many threads.
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    model._has_names = False
    return model

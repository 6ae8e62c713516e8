"""What others bring: rows to be scored, rows that were answered, rows and skops models for a report."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io

from foregone import EarlyStoppingClassifier, early_stop
from foregone.monitoring import MonitorWarning
from foregone.report.model_reader import read_model
from foregone.report.row_file import read_rows
from foregone.scale import score_file, watch_file
from fuzzing.formats.forests import grown_forest
from fuzzing.formats.format import Format, all_of_it, put

__all__ = ["FORMATS"]

FEATURES = list("abcde")


def _frame() -> pd.DataFrame:
    rows = pd.DataFrame(np.random.default_rng(0).normal(0, 2, (30, 5)), columns=FEATURES)
    return rows.assign(id=range(30), name=[f"row {k}" for k in range(30)])


def _write_rows(home: Path) -> None:
    """Write rows as Parquet and CSV, and a model that scores them."""
    frame = _frame()
    for number in range(3):
        (home / str(number)).mkdir(parents=True)
    frame.to_parquet(home / "0" / "rows.parquet")
    frame.to_parquet(home / "1" / "rows.parquet", compression=None, row_group_size=7)
    frame.to_csv(home / "2" / "rows.csv", index=False)
    sample = frame[FEATURES].to_numpy()
    early_stop(grown_forest(), sample, 0.05, voting="hard", confidence=None, random_state=0).save(
        home / "model"
    )


def _score(sample: Path, home: Path) -> bytes:
    output = sample / "labels.csv"
    score_file(home / "model", next(sample.iterdir()), output, features=FEATURES, keep=["id", "name"], jobs=1)
    return output.read_bytes()


def _write_answered(home: Path) -> None:
    """Write what was answered to rows, some of them audited, and the model that answered."""
    _write_rows(home)
    for number, name in enumerate(("rows.parquet", "rows.parquet", "rows.csv")):
        file, labels = home / str(number) / name, home / f"labels{Path(name).suffix}"
        score_file(home / "model", file, labels, features=FEATURES, audit=0.5, jobs=1)
        labels.replace(file)


def _watch(sample: Path, home: Path) -> str:
    monitor = EarlyStoppingClassifier.load(home / "model").monitor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        watch_file(monitor, next(sample.iterdir()))
    return json.dumps(monitor.to_dict(), allow_nan=False)


def _read_rows(sample: Path, home: Path) -> Any:
    return read_rows(next(sample.iterdir()))


# A skops file is a zip: its members are attacked one by one, or the zip's own checksums would refuse all.


def _write_models(home: Path) -> None:
    for number, forest in enumerate((grown_forest(), grown_forest(3, n_estimators=2))):
        (home / str(number)).mkdir(parents=True)
        with zipfile.ZipFile(io.BytesIO(skops.io.dumps(forest))) as members:
            members.extractall(home / str(number))


def _read_model(sample: Path, home: Path) -> Any:
    file = sample / "model.skops"
    with zipfile.ZipFile(file, "w") as members:
        for member in sorted(sample.iterdir()):
            if member != file:
                members.write(member, member.name)
    return read_model(file)


def _predict(model: Any) -> None:
    """Let the model predict. What it raises is scikit-learn's; it must not end the process."""
    with contextlib.suppress(Exception):
        model.predict(_frame()[FEATURES].to_numpy())


def _schema(content: bytes) -> list[slice]:
    return all_of_it(content) if content.startswith(b"{") else []


FORMATS = (
    Format("rows to score", _write_rows, _score, bytes, len, checked=False),
    Format("rows to watch", _write_answered, _watch, str, len, checked=False),
    Format("rows of a report", _write_rows, _read_rows, repr, len, checked=False),
    # No two models are equal: every one that is accepted is used.
    Format(
        "skops model",
        _write_models,
        _read_model,
        lambda m: object(),
        _predict,
        checked=False,
        json=(_schema, put),
    ),
)

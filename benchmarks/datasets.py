"""The datasets of the benchmarks: real ones from a folder, or generated replacements."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["EASY", "HARD", "MANY", "NAMES", "Dataset", "data_folder", "load"]

USUAL_FOLDER = Path(__file__).parents[2] / "shared" / "data"

EASY = ("ground_cover", "income", "diabetes", "skin", "shuttle", "sepsis")
HARD = ("dota2", "hospitalization")  # nearly every vote is needed
NAMES = EASY + HARD
MANY = {"ground_cover": 7}  # those with more than two classes, which are told apart as well

# Features, how many of them tell something, and the share of labels that are noise: what stands in for
# the real sets resembles them in this alone.
STAND_INS = {
    "ground_cover": (54, 20, 0.02),
    "income": (14, 6, 0.15),
    "diabetes": (21, 6, 0.25),
    "skin": (3, 3, 0.0),
    "shuttle": (9, 4, 0.0),
    "sepsis": (3, 2, 0.1),
    "dota2": (116, 10, 0.8),
    "hospitalization": (20, 6, 0.7),
}
STAND_IN_ROWS = 60_000

Rows = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Dataset:
    """One dataset, shuffled and split as in the paper: 70 % to train, 10 % to calibrate, 20 % to test.

    Labels are 1 for the largest class and 0 for all others; columns that are not numbers became codes.
    Rows are float32 in C order, which every engine takes without a conversion.
    """

    name: str
    is_real: bool
    n_rows: int
    X_train: Rows
    y_train: Labels
    X_calibration: Rows
    y_calibration: Labels
    X_test: Rows
    y_test: Labels


def data_folder() -> Path | None:
    """Return the folder of NAME.parquet files, from FOREGONE_DATA or beside the project, if there is one."""
    if named := os.environ.get("FOREGONE_DATA"):
        return Path(named)
    return USUAL_FOLDER if USUAL_FOLDER.exists() else None


def load(
    name: str,
    folder: Path | None,
    most_training_rows: int,
    most_test_rows: int,
    split: int = 0,
    n_classes: int = 2,
    target: str = "target",
) -> Dataset:
    """Read a dataset from ``folder / NAME.parquet``, or generate its stand-in when that is not there.

    Each number for ``split`` shuffles the rows in a way of its own. With more than two classes none are
    merged, and the labels are their numbers. Another column than the last can be the ``target``.
    """
    path = folder / f"{name}.parquet" if folder else None
    is_real = path is not None and path.exists()
    X, y = _read(path, n_classes, target) if is_real else _generate(name, n_classes)
    shuffled = np.random.default_rng(split).permutation(len(X))
    X, y = np.ascontiguousarray(X[shuffled], np.float32), y[shuffled]
    end_of_training, end_of_calibration = int(0.7 * len(X)), int(0.8 * len(X))
    train = slice(0, min(end_of_training, most_training_rows))
    test = slice(end_of_calibration, min(len(X), end_of_calibration + most_test_rows))
    return Dataset(
        name=name,
        is_real=is_real,
        n_rows=len(X),
        X_train=X[train],
        y_train=y[train],
        X_calibration=X[end_of_training:end_of_calibration],
        y_calibration=y[end_of_training:end_of_calibration],
        X_test=X[test].copy(),
        y_test=y[test],
    )


def _read(path: Path, n_classes: int, named: str) -> tuple[npt.NDArray[np.float64], Labels]:
    import pandas as pd

    frame = pd.read_parquet(path)
    target = frame.pop(named)
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = pd.factorize(frame[column])[0]
    if n_classes > 2:
        return frame.to_numpy(np.float64), pd.factorize(target, sort=True)[0]
    return frame.to_numpy(np.float64), (target == target.value_counts().index[0]).to_numpy(np.int64)


def _generate(name: str, n_classes: int) -> tuple[npt.NDArray[np.float64], Labels]:
    from sklearn.datasets import make_classification

    n_features, n_informative, noise = STAND_INS[name]
    return make_classification(
        STAND_IN_ROWS,
        n_features,
        n_informative=n_informative,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=min(4, 2 ** (n_informative - 1)),
        flip_y=noise,
        random_state=0,
    )

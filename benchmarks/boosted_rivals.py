"""Other engines for boosted trees of two classes; each function makes one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.datasets import Rows
from benchmarks.rivals.engine import MOST_WRONG, Engine, WrongLabelsError
from benchmarks.rivals.remote import RemoteEngine

__all__ = ["RIVALS", "BoostedTask"]

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BoostedTask:
    """A fitted model, the rows to predict, what it predicts itself, and a folder for files of it."""

    model: Any
    X: Rows
    folder: Path

    @property
    def is_lightgbm(self) -> bool:
        """Whether it is a model of LightGBM; else of XGBoost."""
        return hasattr(self.model, "booster_")

    @property
    def booster(self) -> Any:
        """The model without scikit-learn's interface."""
        return self.model.booster_ if self.is_lightgbm else self.model.get_booster()

    def check(self, labels: Labels) -> str:
        """Check labels against those of the model itself."""
        wrong = int(np.sum(labels != self.model.predict(self.X)))
        if wrong > MOST_WRONG * len(labels):
            raise WrongLabelsError(f"{wrong} of {len(labels)} labels differ from the model's own")
        return "same model; labels: " + (f"{wrong} wrong" if wrong else "all equal")

    def file(self, name: str, write: Callable[[str], object]) -> Path:
        """Return a file of the model, which is written if it is not there."""
        path = self.folder / name
        if not path.exists():
            write(str(path))
        return path


def _above_half(said: Any) -> Labels:
    return (np.asarray(said).reshape(len(said), -1)[:, -1] > 0.5).astype(np.int64)


def own(task: BoostedTask, n_threads: int) -> Engine:
    """Run the library's own booster, without scikit-learn's interface."""
    if task.is_lightgbm:
        return Engine(
            np.ascontiguousarray,
            lambda rows: task.booster.predict(rows, num_threads=n_threads),
            _above_half,
            task.check,
        )
    task.booster.set_param({"nthread": n_threads})
    return Engine(np.ascontiguousarray, task.booster.inplace_predict, _above_half, task.check)


def fast_config(task: BoostedTask, n_threads: int) -> Engine:
    """Run LightGBM's fast path for one row, which Python reaches by its C interface only."""
    if not task.is_lightgbm:
        raise ImportError("only LightGBM has it")
    from lightgbm import basic

    library, handle = basic._LIB, ctypes.c_void_p()
    n_features = task.X.shape[1]
    library.LGBM_BoosterPredictForMatSingleRowFastInit(
        task.booster._handle,
        ctypes.c_int(0),  # probabilities
        ctypes.c_int(0),
        ctypes.c_int(-1),
        ctypes.c_int(0),  # rows of float32
        ctypes.c_int32(n_features),
        ctypes.c_char_p(f"num_threads={n_threads}".encode()),
        ctypes.byref(handle),
    )
    n_said, said = ctypes.c_int64(), np.empty(1)
    where = said.ctypes.data_as(ctypes.c_void_p)
    ask, count = library.LGBM_BoosterPredictForMatSingleRowFast, ctypes.byref(n_said)

    def predict(rows: list[Any]) -> list[float]:
        found = []
        for row in rows:
            ask(handle, row, count, where)
            found.append(said[0])
        return found

    def prepare(rows: Rows) -> list[Any]:
        kept = np.ascontiguousarray(rows, np.float32)
        pointers = [row.ctypes.data_as(ctypes.c_void_p) for row in kept]
        for pointer in pointers:
            pointer.kept = kept  # as long as it is used
        return pointers

    return Engine(prepare, predict, lambda found: _above_half(np.array(found)), task.check)


def daal4py(task: BoostedTask, n_threads: int) -> Engine:
    """Run oneDAL's version of the model."""
    import daal4py as d4p

    d4p.daalinit(n_threads)
    model = d4p.mb.convert_model(task.booster)
    return Engine(np.ascontiguousarray, model.predict_proba, _above_half, task.check)


def _graph(task: BoostedTask) -> Path:
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    types = [("rows", FloatTensorType([None, task.X.shape[1]]))]
    convert = onnxmltools.convert_lightgbm if task.is_lightgbm else onnxmltools.convert_xgboost
    options = {"zipmap": False} if task.is_lightgbm else {}

    def write(path: str) -> None:
        graph = convert(task.model, initial_types=types, target_opset=15, **options)
        Path(path).write_bytes(graph.SerializeToString())

    return task.file("model.onnx", write)


def onnx(task: BoostedTask, n_threads: int) -> Engine:
    """Run the newest ONNX Runtime."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = n_threads, 1
    session = onnxruntime.InferenceSession(_graph(task), settings, providers=["CPUExecutionProvider"])
    wanted = [session.get_outputs()[0].name]
    return Engine(
        lambda rows: {"rows": rows}, lambda feed: session.run(wanted, feed)[0], np.asarray, task.check
    )


def onnx_older(task: BoostedTask, n_threads: int) -> RemoteEngine:
    """Run an older ONNX Runtime, in an environment of its own."""
    return RemoteEngine("onnx-older", "onnx", _graph(task), n_threads, task.X, task.check)


def _treelite(task: BoostedTask) -> Any:
    import treelite

    return (treelite.frontend.from_lightgbm if task.is_lightgbm else treelite.frontend.from_xgboost)(
        task.booster
    )


def treelite_gtil(task: BoostedTask, n_threads: int) -> Engine:
    """Run treelite's general inference library."""
    import treelite

    model = _treelite(task)
    return Engine(
        np.ascontiguousarray,
        lambda rows: treelite.gtil.predict(model, rows, nthread=n_threads),
        _above_half,
        task.check,
    )


def nvforest(task: BoostedTask, n_threads: int) -> RemoteEngine:
    """Run nvForest on the CPU, in an environment of its own."""
    path = task.file("model.treelite", lambda name: _treelite(task).serialize(name))
    return RemoteEngine("nvforest", "nvforest", path, n_threads, task.X, task.check)


def lleaves(task: BoostedTask, n_threads: int) -> RemoteEngine:
    """Run what lleaves compiles, in an environment of its own."""
    if not task.is_lightgbm:
        raise ImportError("it takes models of LightGBM only")
    path = task.file("model.txt", task.booster.save_model)
    return RemoteEngine("lleaves", "lleaves", path, n_threads, task.X, task.check)


RIVALS: dict[str, Callable[[BoostedTask, int], Engine | RemoteEngine]] = {
    "own booster": own,
    "lleaves": lleaves,
    "daal4py": daal4py,
    "nvForest, CPU": nvforest,
    "ONNX Runtime": onnx,
    "ONNX Runtime 1.20": onnx_older,
    "treelite": treelite_gtil,
    "LightGBM FastConfig": fast_config,
}
ONE_ROW_ONLY = ("LightGBM FastConfig",)

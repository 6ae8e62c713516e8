"""The rivals, one adapter each: a function that makes an engine for a task and a number of threads."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from benchmarks.forests import Task
from benchmarks.rivals.engine import Engine, WrongLabelsError

__all__ = ["ADAPTERS", "Engine", "WrongLabelsError", "make_engine"]

# Name on the command line: module here, package whose version is reported ("": it is in an environment of its
# own), name in the tables.
ADAPTERS: dict[str, tuple[str, str, str]] = {
    "sklearn": ("scikit_learn", "scikit-learn", "scikit-learn"),
    "onnx": ("onnx_runtime", "onnxruntime", "ONNX Runtime"),
    "onnx-older": ("onnx_older", "", "ONNX Runtime 1.20"),
    "onedal": ("onedal", "scikit-learn-intelex", "oneDAL"),
    "treelite": ("treelite_gtil", "treelite", "treelite"),
    "ydf": ("yggdrasil", "ydf", "ydf"),
    "nvforest": ("nvforest_cpu", "", "nvForest, CPU"),
}


def make_engine(name: str, task: Task, n_threads: int) -> Engine:
    """Make a rival's engine; ImportError when the rival is not installed."""
    make: Callable[[Task, int], Engine] = import_module(f"benchmarks.rivals.{ADAPTERS[name][0]}").make
    return make(task, n_threads)

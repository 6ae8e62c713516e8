"""compiled: numba's decorator for every kernel, with a JIT cache on disk that may fail without harm.

Compiled code does not see signals; Python sees them between calls. So long loops are split into `pieces`.
"""

import contextlib
import gc
import math
import multiprocessing
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numba
from numba import njit

from foregone._kernels.kept_code import CACHE_VARIABLE, KeptCode

__all__ = ["cache_problem", "compiled", "compiled_only", "entry_point", "inner", "n_compiled", "pieces"]

CELLS = 25_000_000  # in a piece, which takes less than a tenth of a second
PATIENCE = 0.7  # seconds of compiling before the user is told
PAUSE = 2.0  # seconds without compiling, after which the user is told again
NOTICE = "foregone: compiling for this machine; this happens once and takes some seconds ..."

_problems: list[str] = []
_counts = {"compiled": 0, "under way": 0, "told": 0}
_telling = threading.Lock()
_times = {"began": -math.inf, "ended": -math.inf}  # of compiling without a longer pause


def compiled(function: Any) -> Any:
    """Compile a function on its first call from Python, and write the result to the JIT cache if possible.

    If it cannot be written, the function is compiled in memory, with one warning per process.
    """
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    kernel: Any = njit(**options)(function)
    if kernel is not function:  # as it is when NUMBA_DISABLE_JIT is set
        module = function.__module__.rpartition(".")[2]
        kernel._cache = KeptCode(f"{module}.{function.__name__}", _report)
        compile_core = kernel._compiler.compile

        def compile_and_say(*signature: Any) -> Any:
            with _compiling():
                return compile_core(*signature)

        kernel._compiler.compile = compile_and_say
    return kernel


def inner(function: Any) -> Any:
    """Compile a function as part of the compiled functions that call it; Python never calls it."""
    options: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return njit(**options)(function)


def compiled_only():
    """Raise TypeError if Python runs the caller, which is only a name for an overload that numba compiles."""
    raise TypeError("for compiled code only")


def entry_point(kernel: Any, *arguments: Any) -> Any:
    """Return the compiled entry point of a kernel that has already been called with these types.

    It skips numba's dispatch on types, which takes as long as a short walk. So always call it with the same
    types: contiguous arrays must be contiguous again, read-only arrays read-only.
    """
    if not hasattr(kernel, "overloads"):  # as when NUMBA_DISABLE_JIT is set
        return kernel
    return kernel.overloads[tuple(map(numba.typeof, arguments))].entry_point


def n_compiled() -> int:
    """Return how many kernels this process has compiled because they were not in the JIT cache."""
    return _counts["compiled"]


def cache_problem() -> str | None:
    """Return why the JIT cache cannot be written and what to do, or None if no problem was found."""
    return _problems[0] if _problems else None


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Print a notice if compiling takes long, and pause garbage collection, which would find little."""
    later = None
    if not _counts["under way"]:
        now = time.monotonic()
        if now > _times["ended"] + PAUSE:
            _times["began"], _counts["told"] = now, 0
        if not _counts["told"] and _someone_looks():
            later = threading.Timer(max(_times["began"] + PATIENCE - now, 0.0), _tell)
            later.daemon = True
            later.start()
    was_enabled = gc.isenabled()
    gc.disable()
    _counts["under way"] += 1
    try:
        yield
    finally:
        _counts["under way"] -= 1
        _counts["compiled"] += 1
        _times["ended"] = time.monotonic()
        if was_enabled:
            gc.enable()
        if later is not None:
            later.cancel()


def _someone_looks() -> bool:
    """Whether stderr is a terminal or a notebook; False in worker processes, whose parent tells."""
    if multiprocessing.parent_process() is not None:
        return False
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def _tell() -> None:
    with _telling:
        if not _counts["told"]:
            print(NOTICE, file=sys.stderr, flush=True)
            _counts["told"] = 1


def _report(error: str) -> None:
    _problems.append(
        f"The JIT cache cannot be written ({' '.join(error.split())}), so every process compiles again: "
        f"set {CACHE_VARIABLE} to a writable folder with free space, or to one filled by "
        "`foregone warm-up --into FOLDER`"
    )
    # The parent of a worker process has the same problem, and has warned.
    if len(_problems) == 1 and multiprocessing.parent_process() is None:
        warnings.warn(_problems[0], RuntimeWarning, stacklevel=2)


def pieces(n_rows: int, cells_per_row: int) -> list[tuple[int, int]]:
    """Return ranges (start, end) that make up ``n_rows`` rows, each of at most about `CELLS` cells.

    Examples
    --------
    >>> pieces(5, 10), pieces(5, CELLS // 2)
    ([(0, 5)], [(0, 2), (2, 4), (4, 5)])
    """
    step = max(CELLS // max(cells_per_row, 1), 1)
    return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]

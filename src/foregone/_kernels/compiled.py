"""compiled: numba's decorator for every kernel, with a cache on disk that may fail without harm.

Compiled code sees no signal, Python sees them in between: long loops are cut into `pieces`.
"""

import contextlib
import gc
import multiprocessing
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numba
from numba import njit

from foregone._kernels.kept_code import CACHE_VARIABLE, KeptCode

__all__ = ["cache_problem", "compiled", "compiled_only", "entry_point", "inner", "n_compiled", "pieces"]

CELLS = 25_000_000  # that a piece goes through, in less than a tenth of a second
PATIENCE = 0.7  # seconds of compiling before a person is told
NOTICE = "foregone: compiling for this machine; this happens once and takes some seconds ..."

_problems: list[str] = []
_counts = {"compiled": 0, "under way": 0, "told": 0}


def compiled(function: Any) -> Any:
    """Compile a function that Python calls, at its first call, and keep the result on disk if possible.

    If it cannot be kept, the function is compiled in memory, and one warning in all says so.
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
    """Compile a function that only compiled ones call, as a part of them: it is never run by itself."""
    options: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return njit(**options)(function)


def compiled_only():
    """Refuse to be run by Python: numba compiles an overload of the caller, which is only a name for it."""
    raise TypeError("for compiled code only")


def entry_point(kernel: Any, *arguments: Any) -> Any:
    """Return what runs a kernel that was called with arguments of these types before.

    It skips numba's look at the types, which takes as long as a short walk. So it must never be given other
    ones: contiguous arrays stay contiguous, read-only ones read-only.
    """
    if not hasattr(kernel, "overloads"):  # as when NUMBA_DISABLE_JIT is set
        return kernel
    return kernel.overloads[tuple(map(numba.typeof, arguments))].entry_point


def n_compiled() -> int:
    """Return how many kernels this process has compiled, as they were not kept on disk."""
    return _counts["compiled"]


def cache_problem() -> str | None:
    """Return why compiled code cannot be kept on disk and what to do, or None if nothing was found wrong."""
    return _problems[0] if _problems else None


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Tell a person who waits, once, and keep Python from looking for garbage, of which there is little."""
    later = None
    if not _counts["under way"] and not _counts["told"] and _someone_looks():
        later = threading.Timer(PATIENCE, _tell)
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
        if was_enabled:
            gc.enable()
        if later is not None:
            later.cancel()


def _someone_looks() -> bool:
    """Whether stderr is a terminal or part of a notebook; the parent of a worker process has told."""
    if multiprocessing.parent_process() is not None:
        return False
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def _tell() -> None:
    if not _counts["told"]:
        _counts["told"] = 1
        print(NOTICE, file=sys.stderr, flush=True)


def _report(error: str) -> None:
    _problems.append(
        f"Compiled code cannot be kept on disk ({' '.join(error.split())}), so every start compiles it "
        f"again: set {CACHE_VARIABLE} to a writable folder with free space, or to one that "
        "`foregone warm-up --into FOLDER` has filled"
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

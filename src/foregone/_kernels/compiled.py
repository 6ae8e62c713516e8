"""compiled: numba's decorator for every kernel, with a cache on disk that may fail without harm.

Compiled code sees no signal, Python sees them in between: long loops are cut into `pieces`.
"""

import hashlib
import multiprocessing
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["CacheFile", "cache_problem", "compiled", "compiled_only", "pieces"]

CELLS = 25_000_000  # that a piece goes through, in less than a tenth of a second

_problems: list[str] = []


def compiled(function: Any = None, *, nogil: bool = False) -> Any:
    """Compile a function when it is first called, and keep the result on disk if that can be done.

    If it cannot be kept, the function is compiled in memory, and one warning in all says so.
    """
    if function is None:
        return lambda function: compiled(function, nogil=nogil)
    kernel: Any = njit(nogil=nogil)(function)
    own_cache: Any = _Cache
    if kernel is not function:  # as it is when NUMBA_DISABLE_JIT is set
        try:
            kernel._cache = own_cache(function)  # what numba's cache=True does, with a cache of its own
        except (RuntimeError, OSError) as error:  # it finds no folder to write to
            _report(error)
    return kernel


def compiled_only():
    """Refuse to be run by Python: numba compiles an overload of the caller, which is only a name for it."""
    raise TypeError("for compiled code only")


def cache_problem() -> str | None:
    """Return why compiled code cannot be kept on disk and what to do, or None if nothing was found wrong."""
    return _problems[0] if _problems else None


class CacheFile(IndexDataCacheFile):
    """Names the file of each compiled kernel by what it was compiled for.

    Numba numbers them, and two processes that compile at the same time may give one number to two kernels:
    then one of them would run the code of the other.
    """

    def save(self, key, data):
        """Keep compiled code. What another process keeps meanwhile may be forgotten, but not mixed up."""
        signature, *rest = key
        types = [repr(kind) for kind in getattr(signature, "args", (signature,))]
        digest = hashlib.sha256(repr((types, str(signature), rest, self._source_stamp)).encode())
        name = f"{self._index_name.removesuffix('.nbi')}.{digest.hexdigest()[:24]}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


@cache
def _stamp_of_kernels() -> tuple[tuple[str, float, int], ...]:
    """Return when each file of kernels was written: compiled code holds that of kernels in other files."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)


class _Cache(FunctionCache):
    """Treats what cannot be read as absent, and goes on if it cannot write."""

    def __init__(self, function):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), _stamp_of_kernels()
        self._cache_file = CacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged pickle raises almost anything
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception as error:  # saving begins with reading what is there
            _report(error)


def _report(error: Exception) -> None:
    _problems.append(
        f"Compiled code cannot be kept on disk ({' '.join(str(error).split())}), so every start compiles it "
        "again: set NUMBA_CACHE_DIR to a writable folder with free space"
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

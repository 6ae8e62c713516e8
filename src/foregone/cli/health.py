"""The checks of `foregone doctor`: packages, extras, cores, the JIT cache and a self-test."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from foregone._system.worker_processes import n_cores

__all__ = ["JitCache", "Package", "cores", "find_jit_cache", "kernels", "packages", "self_test"]

FOR_DEVELOPERS = {"all", "bench", "docs", "lint", "paper", "test"}
LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")


class Package(NamedTuple):
    """A package that foregone or one of its extras needs; ``version`` is None if it is missing."""

    name: str
    extra: str
    at_least: str
    version: str | None

    @property
    def is_usable(self) -> bool:
        """Whether it is installed and new enough."""
        return self.version is not None and _numbers(self.version) >= _numbers(self.at_least)


def packages() -> list[Package]:
    """Return the packages that foregone and its extras need."""
    found = []
    for line in importlib.metadata.requires("foregone") or ():
        wanted = re.match(r"([\w.-]+)(?:\[.*?\])?(?:>=([\d.]+))?", line)
        of_extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        extra = of_extra[1] if of_extra else ""
        before = re.search(r"python_version < ['\"]3\.(\d+)['\"]", line)
        if before and sys.version_info >= (3, int(before[1])):
            continue  # not available for this Python
        if wanted is None or wanted[1] == "foregone" or extra in FOR_DEVELOPERS:
            continue
        try:
            version = importlib.metadata.version(wanted[1])
        except importlib.metadata.PackageNotFoundError:
            version = None
        found.append(Package(wanted[1], extra, wanted[2] or "0", version))
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def cores() -> dict[str, Any]:
    """Return how many cores are usable, and the environment variables that limit threads."""
    return {
        "usable": n_cores(),
        "there": os.cpu_count(),
        "limits": {name: os.environ[name] for name in LIMITS if name in os.environ},
    }


class JitCache(NamedTuple):
    """The JIT cache: number of functions, how many are cached, where, and the problem if there is one."""

    functions: int
    kept: int
    folder: Path | None
    is_writable: bool
    problem: str | None


def find_jit_cache() -> JitCache:
    """Count the functions to compile and those in the JIT cache, and check its folder."""
    try:
        from numba import config

        from foregone._kernels import kept_code
        from foregone._kernels.compiled import cache_problem

        if config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba sets it from the environment
            slow = (
                "NUMBA_DISABLE_JIT is set, so functions run uncompiled, far slower: unset NUMBA_DISABLE_JIT"
            )
            return JitCache(0, 0, None, is_writable=False, problem=slow)
        number, kept, folder = len(list(kernels())), kept_code.n_kept(), kept_code.kept_in()
        is_writable = folder is not None and kept_code.is_writable(folder)
        problem = cache_problem()
        if problem is None and not is_writable and kept < number:
            missing = "there is no writable folder for the JIT cache"
            where = missing if folder is None else f"the JIT cache folder {folder} is read-only"
            problem = (
                f"{where}, so functions that are not in it are compiled at every start: set "
                f"{kept_code.CACHE_VARIABLE} to a writable folder, or to one filled by "
                "`foregone warm-up --into FOLDER`"
            )
        return JitCache(number, kept, folder, is_writable, problem)
    except Exception as error:  # doctor must report every failure
        return JitCache(
            0, 0, None, is_writable=False, problem=f"numba does not work ({_line(error)}): {REINSTALL}"
        )


def kernels() -> Iterator[Any]:
    """Return each compiled function that Python calls."""
    from foregone import _kernels
    from foregone._kernels.kept_code import KeptCode

    for module in pkgutil.iter_modules(_kernels.__path__):
        loaded = importlib.import_module(f"foregone._kernels.{module.name}")
        for thing in vars(loaded).values():
            kept = getattr(thing, "_cache", None)
            if isinstance(kept, KeptCode) and thing.__module__ == loaded.__name__:
                yield thing


def self_test() -> str | None:
    """Solve a small problem, prove the solution and run a small forest; return the problem, if any."""
    try:
        from foregone.cli.warm_up_tasks import small_forest_agrees
        from foregone.solving import certify, solve

        if not certify(solve("minimixed", 11, 0.01)).holds:
            return f"the solution of a small problem is not optimal: {REINSTALL}"
        if not small_forest_agrees():
            return f"a small forest counts wrong votes: {REINSTALL}"
    except Exception as error:  # the other findings must still be printed
        return f"a small problem cannot be solved ({_line(error)}): {REINSTALL}"
    return None


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


REINSTALL = f"reinstall it with  {sys.executable} -m pip install --force-reinstall foregone"

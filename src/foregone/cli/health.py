"""What `foregone doctor` looks at: packages, extras, cores, compiled loops, and whether it all works."""

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

from foregone._kernels.compiled import cache_problem
from foregone._system.worker_processes import n_cores
from foregone.errors import ForegoneError

__all__ = ["Loops", "Package", "cores", "find_loops", "packages", "self_test"]

FOR_DEVELOPERS = {"all", "bench", "docs", "lint", "paper", "test"}
LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")


class Package(NamedTuple):
    """A package that foregone needs or, for an ``extra``, can use; ``version`` is None if missing."""

    name: str
    extra: str
    at_least: str
    version: str | None

    @property
    def is_usable(self) -> bool:
        """Whether it is installed and new enough."""
        return self.version is not None and _numbers(self.version) >= _numbers(self.at_least)


def packages() -> list[Package]:
    """Return what foregone was installed to need, and what its extras bring."""
    found = []
    for line in importlib.metadata.requires("foregone") or ():
        wanted = re.match(r"([\w.-]+)(?:\[.*?\])?(?:>=([\d.]+))?", line)
        of_extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        extra = of_extra[1] if of_extra else ""
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


def cores() -> dict[str, object]:
    """Return how many cores there are for us, and what the environment says about threads."""
    return {
        "usable": n_cores(),
        "there": os.cpu_count(),
        "limits": {name: os.environ[name] for name in LIMITS if name in os.environ},
    }


class Loops(NamedTuple):
    """The compiled loops: how many there are, how many are kept compiled, where, and what is wrong."""

    number: int
    compiled: int
    folder: Path | None
    is_writable: bool
    problem: str | None


def find_loops() -> Loops:
    """Look at every compiled loop and at the folder where compiled code is kept."""
    from numba import config

    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba sets it from the environment
        slow = "loops run uncompiled, far slower: unset NUMBA_DISABLE_JIT"
        return Loops(0, 0, None, is_writable=False, problem=slow)
    loops = list(_loops())
    if loops[0][1].stats.cache_path is None:
        return Loops(len(loops), 0, None, is_writable=False, problem=cache_problem())
    folder = Path(loops[0][1].stats.cache_path)
    compiled = sum(
        any(Path(loop.stats.cache_path).glob(f"{module}.{loop.__name__}-*.nbi")) for module, loop in loops
    )
    writable = os.access(_nearest(folder), os.W_OK)
    problem = cache_problem() or (
        None
        if writable or compiled == len(loops)
        else f"compiled loops cannot be kept in {folder}, so every start compiles anew: make it writable, or "
        "set NUMBA_CACHE_DIR to a folder that is"
    )
    return Loops(len(loops), compiled, folder, writable, problem)


def _loops() -> Iterator[tuple[str, Any]]:
    """Return each loop once, with the name of its module."""
    from foregone import _kernels

    for module in pkgutil.iter_modules(_kernels.__path__):
        loaded = importlib.import_module(f"foregone._kernels.{module.name}")
        for thing in vars(loaded).values():
            if hasattr(thing, "py_func") and thing.__module__ == loaded.__name__:
                yield module.name, thing


def _nearest(folder: Path) -> Path:
    """Return the folder, or what it would be made in."""
    return folder if folder.exists() or folder == folder.parent else _nearest(folder.parent)


def self_test() -> str | None:
    """Solve a small problem and prove the solution; return what went wrong."""
    try:
        from foregone.solving import certify, solve

        holds = certify(solve("minimixed", 11, 0.01)).holds
    except (ForegoneError, ImportError, RuntimeError, OSError) as error:
        return f"a small problem cannot be solved ({' '.join(str(error).split())}): {REINSTALL}"
    return None if holds else f"the solution of a small problem is not optimal here: {REINSTALL}"


REINSTALL = f"install anew, with  {sys.executable} -m pip install --force-reinstall foregone"

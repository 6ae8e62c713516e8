"""``foregone doctor``: check the installation."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import typer
from rich.console import Console

import foregone
from foregone._system.gpu import Gpu, find_gpu
from foregone._system.progress import working
from foregone.cli.commands import JsonFlag
from foregone.cli.health import REINSTALL, JitCache, Package, cores, find_jit_cache, packages, self_test
from foregone.cli.output import make_console, print_json, print_table, say

__all__ = ["doctor_command"]


def doctor_command(as_json: JsonFlag = False) -> None:
    """Check the installation and report problems.

    Lists versions, optional extras, cores, the GPU and the JIT cache. Solves a
    small problem, proves the solution and runs a small forest. Exits with 1 if
    there is something to fix.

    \b
    Examples:
      foregone doctor
      foregone doctor --json
    """
    try:
        found, problems = packages(), []
    except PackageNotFoundError:
        found, problems = [], [f"foregone is not installed as a package: {REINSTALL}"]
    needed = [package for package in found if not package.extra]
    problems += [_unusable(package) for package in needed if not package.is_usable]
    with working("Solving a small problem, which compiles the first time"):
        wrong = self_test()
        cache = find_jit_cache()
    problems += [problem for problem in (cache.problem, wrong) if problem is not None]
    if as_json:
        print_json(_fields(found, cache, problems))
    else:
        _print(make_console(), found, cache, problems)
    if problems:
        raise typer.Exit(1)


def _describe(gpu: Gpu) -> str:
    if gpu.name is None:
        return "not used" if gpu.problem is None else f"not used. {gpu.problem}"
    packages = ", ".join(f"{name} {version}" for name, version in gpu.packages.items())
    return (
        f"{gpu.name}, {gpu.memory:.0f} GiB, compute capability {gpu.compute_capability}, driver for CUDA "
        f"{gpu.driver}; {packages}"
    )


def _unusable(package: Package) -> str:
    there = "is missing" if package.version is None else f"{package.version} is too old"
    name, least = package.name, package.at_least
    return f"{name} {there}. Install it with  {sys.executable} -m pip install '{name}>={least}'"


def _fields(found: list[Package], cache: JitCache, problems: list[str]) -> dict[str, object]:
    return {
        "foregone": foregone.__version__,
        "folder": str(Path(foregone.__file__).parent),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": [package._asdict() for package in found],
        "cores": cores(),
        "gpu": find_gpu()._asdict(),
        "jit_cache": {**cache._asdict(), "folder": None if cache.folder is None else str(cache.folder)},
        "problems": problems,
        "all_is_well": not problems,
    }


def _print(console: Console, found: list[Package], cache: JitCache, problems: list[str]) -> None:
    console.print(
        f"foregone {foregone.__version__} in {Path(foregone.__file__).parent}\n"
        f"Python {platform.python_version()} on {platform.platform()}\n",
        markup=False,
    )
    print_table(
        console,
        ["package", "extra", "minimum", "installed"],
        [
            [package.name, package.extra or "-", package.at_least, package.version or "no"]
            for package in sorted(found, key=lambda package: (package.extra, package.name))
        ],
    )
    absent = sorted({package.extra for package in found if package.extra and not package.is_usable})
    console.print()
    for extra in absent:
        console.print(
            f"Optional extra '{extra}' is not installed: pip install 'foregone[{extra}]', or in a checkout  "
            f"pip install '.[{extra}]'",
            markup=False,
        )
    of_them = cores()
    limits = " and ".join(f"{name}={value}" for name, value in of_them["limits"].items())
    limited = f"limited by {limits}" if limits else "no limit set"
    console.print(f"Threads: {of_them['usable']} of {of_them['there']} cores, {limited}", markup=False)
    gpu = find_gpu()
    console.print(f"GPU: {_describe(gpu)}", markup=False)
    if cache.folder is not None:
        writable = "writable" if cache.is_writable else "read-only"
        rest = ", the rest on first use" if cache.kept < cache.functions else ""
        console.print(
            f"JIT cache: {cache.kept} of {cache.functions} functions compiled{rest}. "
            f"Cache directory ({writable}):\n  {cache.folder}",
            markup=False,
        )
    console.print()
    for problem in problems:
        say(console, f"To fix: {problem}", bullet=True)
    if not problems:
        console.print("All is well: a small problem was solved and proven optimal, and a small forest ran.")

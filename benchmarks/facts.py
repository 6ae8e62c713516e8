"""The context of a measurement: date, machine, command and versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from benchmarks.environments import versions_in

__all__ = ["facts_of", "load_average"]


def facts_of(
    command: str, packages: Sequence[str] = ("foregone", "numpy", "numba"), environments: Sequence[str] = ()
) -> dict[str, str]:
    """Return the facts by name; ``environments`` are those of `benchmarks.environments` that were used."""
    versions = [f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in packages)]
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "command": f"`{command}`",
        "versions": ", ".join([*versions, *map(versions_in, environments)]),
    }


def load_average() -> str:
    """Return how many processes wanted a processor in the last minute, on average."""
    return f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"

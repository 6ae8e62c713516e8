"""Separate environments for engines whose packages conflict with ours, made when first needed."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["REQUIREMENTS", "NoEnvironmentError", "python_of", "versions_in"]

FOLDER = Path(__file__).parent.parent / "build" / "environments"
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "lleaves": ("lleaves==1.3.0", "llvmlite<0.45"),  # it uses what newer releases of llvmlite have dropped
    "nvforest": ("nvforest-cu13==26.10.*", "treelite==4.8.*"),  # 2.3 GB, most of it CUDA
    "onnx-older": ("onnxruntime==1.20.1", "numpy"),
}


class NoEnvironmentError(ImportError):
    """An environment could not be made, so what runs in it is left out."""


def python_of(name: str) -> Path:
    """Return the Python of an environment, which is made if it is not there."""
    wanted = REQUIREMENTS[name]
    digest = hashlib.sha256(repr((wanted, sys.version_info[:2])).encode()).hexdigest()[:12]
    folder = FOLDER / f"{name}-{digest}"
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    done = folder / ".has-it-all"
    if not done.exists():
        print(f"  making an environment for {name} ...", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        made = subprocess.run(install, capture_output=True, text=True, check=False)
        if made.returncode:
            raise NoEnvironmentError(made.stderr.strip().splitlines()[-1] if made.stderr else "pip failed")
        done.touch()
    return python


def versions_in(name: str) -> str:
    """Return what is installed in an environment of what was asked for."""
    packages = [wanted.split("==")[0].split("<")[0] for wanted in REQUIREMENTS[name]]
    code = (
        "import sys, importlib.metadata as m; "
        "print(', '.join(f'{name} {m.version(name)}' for name in sys.argv[1:]))"
    )
    said = subprocess.run(
        [str(python_of(name)), "-c", code, *packages], capture_output=True, text=True, check=True
    )
    return said.stdout.strip()

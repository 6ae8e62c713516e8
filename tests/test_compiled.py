"""Kernels without a cache on disk: compiled in memory, with one warning that says what to do."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numba
import pytest
from numba.core.caching import IndexDataCacheFile

import foregone
from foregone._kernels import compiled as room

SOURCE = """
from foregone._kernels.compiled import compiled


@compiled
def double(x):
    return 2 * x
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with one kernel, whose compiled code goes below ``tmp_path``."""
    monkeypatch.setattr(room, "_problems", [])
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return load(tmp_path)


def load(folder: Path) -> ModuleType:
    file = folder / "kernels_for_a_test.py"
    if not file.exists():
        file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_disk_without_space_costs_a_warning_and_nothing_else(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: IndexDataCacheFile, key: object, data: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    with pytest.warns(RuntimeWarning, match="No space left on device.*set NUMBA_CACHE_DIR") as warned:
        assert (kernels.double(2), kernels.double(2.5)) == (4, 5.0)  # compiled twice, told once
    assert len(warned) == 1
    problem = room.cache_problem()
    assert problem is not None
    assert "No space left on device" in problem


@pytest.mark.filterwarnings("ignore:Compiled code cannot be kept:RuntimeWarning")
def test_damaged_files_of_compiled_code_are_as_good_as_none(kernels: ModuleType, tmp_path: Path) -> None:
    assert kernels.double(2) == 4
    written = list((tmp_path / "cache").rglob("*.nb?"))
    assert written
    for file in written:
        file.write_bytes(file.read_bytes()[:10])
    assert load(tmp_path).double(2) == 4


def test_without_any_writable_folder_it_works_and_says_what_to_do(tmp_path: Path) -> None:
    assert foregone.__file__ is not None
    package = tmp_path / "foregone"
    shutil.copytree(Path(foregone.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_kernels" / "__pycache__").write_text("")  # permissions would not stop root; this does
    nowhere = str(package / "_kernels" / "__pycache__" / "home")
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    result = subprocess.run(
        [sys.executable, "-m", "foregone", "doctor", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(tmp_path), "HOME": nowhere, "XDG_CACHE_HOME": nowhere},
        check=False,
    )
    assert "Traceback" not in result.stderr
    assert result.stderr.count("warning: Compiled code cannot be kept on disk") == 1
    content = json.loads(result.stdout)
    (problem,) = content["problems"]  # the small problem was solved all the same
    assert "set NUMBA_CACHE_DIR to a writable folder" in problem
    assert content["folder"] == str(package)
    assert content["loops"]["folder"] is None
    assert result.returncode == 1

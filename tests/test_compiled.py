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

import foregone
from foregone._kernels import compiled as room
from foregone._kernels.compiled import CacheFile

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


def test_processes_that_compile_at_once_never_run_the_code_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has read the index before the other wrote it, and loses its entry: numba's numbers mix them up."""
    first, second, reader = (CacheFile(str(tmp_path), "kernel-1.py311", "stamp") for _ in range(3))
    integers, floats = (("for integers", "magic", "code"), ("for floats", "magic", "code"))
    monkeypatch.setattr(first, "_load_index", dict)
    monkeypatch.setattr(first, "_save_index", lambda index: None)
    second.save(floats, "code for floats")
    first.save(integers, "code for integers")
    assert reader.load(floats) == "code for floats"
    assert reader.load(integers) is None
    reader.save(integers, "code for integers")
    assert (reader.load(floats), reader.load(integers)) == ("code for floats", "code for integers")


def test_compiled_code_is_not_used_after_any_kernel_was_changed(
    kernels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernels.double(2) == 4
    assert load(tmp_path).double(2) == 4
    assert sum(load(tmp_path).double.stats.cache_hits.values()) == 0  # nothing was called yet
    again = load(tmp_path)
    assert again.double(2) == 4
    assert sum(again.double.stats.cache_hits.values()) == 1
    monkeypatch.setattr(room, "_stamp_of_kernels", lambda: (("other.py", 0.0, 1),))
    changed = load(tmp_path)
    assert changed.double(2) == 4
    assert sum(changed.double.stats.cache_hits.values()) == 0


def test_a_disk_without_space_costs_a_warning_and_nothing_else(
    kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: CacheFile, key: object, data: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(CacheFile, "save", full)
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

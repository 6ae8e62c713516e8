"""Compiled code on disk: found again, shared, checked, and never a reason to fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import foregone
from foregone._kernels import compiled as room
from foregone._kernels import kept_code
from foregone._kernels.compiled import compiled
from foregone._kernels.kept_code import KeptCode, Processor
from tests.systems import posix

USERS_FOLDER = ("XDG_CACHE_HOME", "LOCALAPPDATA")  # what names it, on Linux and on Windows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder for compiled code."""
    monkeypatch.setattr(room, "_problems", [])
    monkeypatch.setattr(kept_code, "_only", [tmp_path / "cache"])
    return tmp_path / "cache"


def double() -> Any:
    """A kernel that is new to numba, but not to the disk."""

    def double(x):
        return 2 * x + np.empty(1).size - 1  # which needs numba's runtime

    return compiled(double)


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.code"))


def test_what_one_process_compiled_another_one_loads(folder: Path) -> None:
    n_before = room.n_compiled()
    assert double()(2) == 4
    assert room.n_compiled() == n_before + 1
    assert len(files(folder)) == 1
    again = double()
    assert again(3) == 6
    assert room.n_compiled() == n_before + 1
    assert again(2.5) == 5.0  # another signature, another file
    assert room.n_compiled() == n_before + 2
    assert len(files(folder)) == 2
    assert kept_code.n_kept() == 1


def test_builds_of_python_with_and_without_the_gil_share_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their objects have different layouts, but the names of their bytecode files are the same."""
    name_of = kept_code.version.__wrapped__
    with_gil = name_of()
    assert with_gil == kept_code.version()
    monkeypatch.setattr(kept_code, "EXTENSION_SUFFIXES", [".cpython-314t-x86_64-linux-gnu.so"])
    assert name_of() != with_gil


def test_a_folder_that_cannot_be_written_to_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    double()(2)
    monkeypatch.setattr(kept_code, "_write", None)  # which would raise if it were called
    n_before = room.n_compiled()
    assert double()(7) == 14
    assert room.n_compiled() == n_before
    assert room.cache_problem() is None


def test_the_first_folder_that_takes_it_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setattr(room, "_problems", [])
    monkeypatch.setattr(kept_code, "_only", [tmp_path / "a file" / "below", tmp_path / "good"])
    assert double()(2) == 4
    assert len(files(tmp_path / "good")) == 1
    assert room.cache_problem() is None


def test_without_any_folder_it_is_compiled_in_memory_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setattr(room, "_problems", [])
    monkeypatch.setattr(kept_code, "_only", [tmp_path / "a file" / "below"])
    kernel = double()
    with pytest.warns(RuntimeWarning, match="cannot be written .*set FOREGONE_CACHE_DIR") as warned:
        assert (kernel(2), kernel(2.5)) == (4, 5.0)  # compiled twice, told once
    assert len(warned) == 1
    problem = room.cache_problem()
    assert problem is not None
    assert "foregone warm-up --into" in problem


def test_folders_are_named_by_the_environment_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FOREGONE_CACHE_DIR", str(tmp_path / "ours"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numbas"))
    for name in USERS_FOLDER:
        monkeypatch.setenv(name, str(tmp_path / "users"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "users")
    found = kept_code.folders()
    assert found[:3] == [tmp_path / "ours", tmp_path / "numbas", kept_code.BESIDE]
    assert found[3].is_relative_to(tmp_path / "users")
    assert "foregone" in found[3].parts[-2:]


def test_without_a_home_there_is_one_folder_less(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in USERS_FOLDER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert kept_code.folders()[-1] == kept_code.BESIDE


@pytest.mark.parametrize(
    "damage", [lambda old: old[:10], lambda old: old[:-1] + b"?", lambda old: b"", bytes.upper]
)
def test_damaged_files_are_as_good_as_none(folder: Path, damage: Any) -> None:
    assert double()(2) == 4
    (file,) = files(folder)
    file.write_bytes(damage(file.read_bytes()))
    n_before = room.n_compiled()
    assert double()(2) == 4
    assert room.n_compiled() == n_before + 1
    assert double()(2) == 4  # it was written again
    assert room.n_compiled() == n_before + 1


def test_code_is_not_used_after_any_kernel_was_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    double()(2)
    monkeypatch.setattr(kept_code, "version", lambda: "foregone-of-another-day")
    n_before = room.n_compiled()
    double()(2)
    assert room.n_compiled() == n_before + 1
    assert {file.parent.name for file in files(folder)} >= {"foregone-of-another-day"}


@posix
def test_others_may_read_what_one_user_compiled(folder: Path) -> None:
    old = os.umask(0o022)
    try:
        double()(2)
    finally:
        os.umask(old)
    (file,) = files(folder)
    assert file.stat().st_mode & 0o777 == 0o644


X86 = "x86_64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("other", "runs"),
    [
        (Processor(X86, "skylake", "+avx2,+fma,-avx512f"), True),  # has less than this one
        (Processor(X86, "icelake", "+avx2,+fma,+avx512f"), False),  # has more
        (Processor(X86, "generic", ""), True),
        (Processor(X86, "x86-64-v3", ""), False),  # its name may mean anything
        (Processor("aarch64-unknown-linux-gnu", "generic", ""), False),
    ],
)
def test_code_for_a_processor_that_has_no_more_instructions_is_used(other: Processor, runs: bool) -> None:
    here = Processor(X86, "haswell", "+avx2,+bmi2,+fma,-avx512f")
    assert here.can_run(here)
    assert here.can_run(other) == runs


def test_code_for_another_processor_is_found_under_its_own_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    double()(2)
    monkeypatch.setattr(Processor, "can_run", lambda self, other: True)
    monkeypatch.setattr(kept_code, "_short", lambda processor: "another0")
    n_before = room.n_compiled()
    assert double()(5) == 10
    assert room.n_compiled() == n_before


def test_a_symbol_that_is_missing_makes_numba_load_all_it_has() -> None:
    class Context:
        refreshed = 0

        def refresh(self) -> None:
            self.refreshed += 1

    context = Context()
    kept_code._get_ready(context, ["malloc"])
    assert context.refreshed == 0
    kept_code._get_ready(context, ["malloc", "no_such_symbol_anywhere"])
    assert context.refreshed == 1


def test_only_a_person_who_waits_is_told_and_only_once_without_a_pause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(room, "_counts", {"compiled": 0, "under way": 0, "told": 0})
    monkeypatch.setattr(room, "PATIENCE", 0.0)
    monkeypatch.setattr(room, "PAUSE", float("inf"))
    for looks, expected in ((False, 0), (True, 1), (True, 1)):
        monkeypatch.setattr(room, "_someone_looks", lambda looks=looks: looks)
        with room._compiling():
            while room._counts["told"] < expected:
                pass
    assert capsys.readouterr().err.count("compiling") == 1


def test_short_compilations_are_told_of_like_a_long_one_and_again_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, delays = [0.0], []

    class Timer:
        def __init__(self, delay: float, tell: Any) -> None:
            delays.append(pytest.approx(delay))
            self.start = tell  # as if the delay were over at once
            self.cancel = list

    monkeypatch.setattr(room, "_counts", {"compiled": 0, "under way": 0, "told": 0})
    monkeypatch.setattr(room, "_times", {"began": -room.PAUSE - 1, "ended": -room.PAUSE - 1})
    monkeypatch.setattr(room, "_someone_looks", lambda: True)
    monkeypatch.setattr(room, "_tell", lambda: None)
    monkeypatch.setattr(room, "threading", SimpleNamespace(Timer=Timer))
    monkeypatch.setattr(room, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    for seconds in (0.5, 0.5):  # each is shorter than PATIENCE
        with room._compiling():
            clock[0] += seconds
    assert delays == [0.7, 0.2]
    clock[0] += room.PAUSE + 0.1
    room._counts["told"] = 1
    with room._compiling():
        pass
    assert delays == [0.7, 0.2, 0.7]


def test_a_notebook_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    assert room._someone_looks()


def test_kernels_are_told_apart_by_their_names() -> None:
    kept = [
        thing._cache.kernel
        for module in ("forest_run", "score_run", "plurality_run", "class_score_run")
        for thing in vars(__import__(f"foregone._kernels.{module}", fromlist=["x"])).values()
        if isinstance(getattr(thing, "_cache", None), KeptCode)
        and thing.__module__ == f"foregone._kernels.{module}"
    ]
    assert len(kept) == len(set(kept)) >= 12


@pytest.mark.slow
def test_without_any_folder_the_doctor_says_what_to_do(tmp_path: Path) -> None:
    assert foregone.__file__ is not None
    package = tmp_path / "foregone"
    shutil.copytree(Path(foregone.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "_kernels" / "__pycache__").write_text("")  # permissions would not stop root; this does
    nowhere = str(package / "_kernels" / "__pycache__" / "home")
    unset = ("NUMBA_CACHE_DIR", "FOREGONE_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    result = subprocess.run(
        [sys.executable, "-m", "foregone", "doctor", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(tmp_path), "HOME": nowhere, **dict.fromkeys(USERS_FOLDER, nowhere)},
        check=False,
    )
    assert "Traceback" not in result.stderr
    assert result.stderr.count("warning: The JIT cache cannot be written") == 1
    content = json.loads(result.stdout)
    (problem,) = content["problems"]  # the small problem was solved all the same
    assert "set FOREGONE_CACHE_DIR to a writable folder" in problem
    assert content["folder"] == str(package)
    assert content["jit_cache"]["folder"] is None
    assert result.returncode == 1

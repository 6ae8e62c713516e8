from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foregone._kernels import kept_code
from foregone.cli.health import Package, packages
from tests.cli.conftest import Run


def test_a_sound_installation_is_well(run: Run) -> None:
    outcome = run("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1].startswith("All is well")
    content = json.loads(run("doctor", "--json").out)
    assert content["all_is_well"] is True
    found = {package["name"]: package["version"] for package in content["packages"]}
    for name in ("numpy", "scipy", "numba", "scikit-learn", "typer", "rich", "matplotlib"):
        assert found[name] == importlib.metadata.version(name)
    assert 0 < content["jit_cache"]["kept"] <= content["jit_cache"]["functions"]
    assert Path(content["jit_cache"]["folder"]).is_dir()


def test_an_extra_that_is_not_there_is_no_problem_but_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        importlib.metadata, "requires", lambda name: ["numpy>=1.26", 'no-such-thing>=1; extra == "plot"']
    )
    outcome = run("doctor")
    assert outcome.code == 0
    assert "pip install 'foregone[plot]'" in outcome.out


def test_what_an_extra_leaves_out_on_this_python_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "a>=1; (python_version < '3.11') and extra == 'forests'",
        "b>=1; (python_version < '3.999') and extra == 'forests'",
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    assert [package.name for package in packages()] == ["b"]


def test_a_package_that_is_missing_or_too_old_is_to_be_installed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: ["numpy>=1000", "no-such-thing"])
    outcome = run("doctor")
    assert outcome.code == 1
    words = " ".join(outcome.out.split())
    assert "pip install 'numpy>=1000'" in words
    assert "no-such-thing is missing" in words
    assert "All is well" not in outcome.out
    assert len(json.loads(run("doctor", "--json").out)["problems"]) == 2


@pytest.mark.parametrize(
    ("version", "usable"),
    [("2.4.6", True), ("1.26", True), ("1.26.0rc1", True), ("1.9.3", False), ("0.99", False), (None, False)],
)
def test_versions_are_compared_as_numbers(version: str | None, usable: bool) -> None:
    assert Package("numpy", "", "1.26", version).is_usable == usable


def test_functions_that_are_not_compiled_are_a_problem() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "foregone", "doctor"],
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=False,
    )
    assert (result.returncode, result.stderr) == (1, "")
    assert "unset NUMBA_DISABLE_JIT" in result.stdout


def test_a_folder_that_cannot_keep_compiled_code_is_a_problem(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_code, "is_writable", lambda folder: False)
    monkeypatch.setattr(kept_code, "n_kept", lambda: 3)
    outcome = run("doctor")
    assert outcome.code == 1
    assert "foregone warm-up --into" in " ".join(outcome.out.split())


def test_a_read_only_folder_with_everything_in_it_is_no_problem(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_code, "is_writable", lambda folder: False)
    monkeypatch.setattr(kept_code, "n_kept", lambda: 1000)
    outcome = run("doctor")
    assert outcome.code == 0
    assert "read-only" in outcome.out


@pytest.mark.parametrize("broken", ["numba", "foregone.solving"])
def test_what_cannot_be_imported_is_told_and_not_raised(
    run: Run, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setitem(sys.modules, broken, None)
    outcome = run("doctor", "--json")
    assert outcome.code == 1
    assert any("ModuleNotFoundError" in problem for problem in json.loads(outcome.out)["problems"])

"""Every example runs, is short, uses public names only, and stands in the gallery with its picture."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
FOLDER, PICTURES = ROOT / "examples", ROOT / "docs" / "images" / "examples"
NEEDS_A_SERVER = {"llm_judge.py", "serving.py"}  # or is one: run in tests/polling, and in test_serving.py
SCRIPTS = sorted(script for script in FOLDER.glob("*.py") if script.name not in NEEDS_A_SERVER)
MOST_LINES, MOST_BYTES = 60, 100_000


@pytest.fixture(autouse=True)
def no_windows():
    from matplotlib import pyplot as plt

    with matplotlib.rc_context():
        plt.switch_backend("agg")
        yield
        plt.close("all")


def test_there_are_some():
    assert {"forest", "imbalanced_classes", "custom_voters", "choosing_a_setting"} <= {
        script.stem for script in SCRIPTS
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_runs_on_a_small_size_and_draws_its_picture(script, tmp_path, monkeypatch, capsys):
    output = tmp_path / "made" / "pictures"
    monkeypatch.setattr(sys, "argv", [str(script), "--small", "--output", str(output)])
    runpy.run_path(str(script), run_name="__main__")
    picture = output / f"{script.stem}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"Picture: {picture}"
    assert 3 < len(lines) < 25
    assert max(map(len, lines[:-1])) <= 110


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_is_short_and_says_what_it_shows_and_how_to_run_it(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    said = ast.get_docstring(ast.parse(text))
    assert said is not None
    assert f"python examples/{script.name} [--small] [--output FOLDER]" in said


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_uses_public_names_only(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    used = [
        (node.module, name.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "foregone"
        for name in node.names
    ]
    assert used
    for module, name in used:
        assert len(module.split(".")) <= 2
        assert name in importlib.import_module(module).__all__
    reached_for = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert not [name for name in reached_for if name.startswith("_")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_stands_in_the_gallery_with_a_small_picture(script):
    gallery = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"({script.name})" in gallery
    assert f"(../docs/images/examples/{script.stem}.png)" in gallery
    assert 1_000 < (PICTURES / f"{script.stem}.png").stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("name", sorted(NEEDS_A_SERVER))
def test_what_needs_a_server_stands_in_the_gallery_without_a_picture(name):
    assert f"({name})" in (FOLDER / "README.md").read_text(encoding="utf-8")
    assert (FOLDER / name).exists()


def test_the_gallery_shows_no_picture_that_is_not_there():
    for link in re.findall(r"\]\(([^)#:]+)\)", (FOLDER / "README.md").read_text(encoding="utf-8")):
        assert (FOLDER / link).exists(), link

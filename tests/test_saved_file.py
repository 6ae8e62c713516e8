"""load: whatever a file of ours holds comes back, told by its content."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from foregone import ScoreStrategy, early_stop, load, rules, solve, solve_plurality
from foregone.errors import FileFormatError
from foregone.forest import PackedForest, PluralityForest, ScoredForest, container
from foregone.plurality import rules as plurality_rules
from foregone.saved_file import PACKED, STRATEGIES, open_file

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(200, 4))
TWO_CLASSES = RandomForestClassifier(5, random_state=0).fit(ROWS, ROWS[:, 0] > 0)
THREE_CLASSES = RandomForestClassifier(5, random_state=0).fit(ROWS, np.digitize(ROWS[:, 0], [-0.5, 0.5]))
THINGS: dict[str, Any] = {
    "StoppingStrategy": rules.lead(11, k=3),
    "Solution": solve("minimean", 11, 0.01),
    "PluralityStrategy": plurality_rules.lead(5, 2),
    "PluralitySolution": solve_plurality(None, 0.05, n_voters=5),
    "ScoreStrategy": ScoreStrategy.ask_all(5),
    "PackedForest": PackedForest.from_sklearn(TWO_CLASSES),
    "PluralityForest": PluralityForest.from_sklearn(THREE_CLASSES),
    "ScoredForest": ScoredForest.from_model(TWO_CLASSES),
    "EarlyStoppingClassifier": early_stop(TWO_CLASSES, ROWS, voting="hard", random_state=0),
}


@pytest.mark.parametrize("name", THINGS)
def test_whatever_was_saved_comes_back_under_any_name(name: str, tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.exe"
    THINGS[name].save(first)
    loaded = load(first)
    assert type(loaded).__name__ == name
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()


def test_every_kind_of_file_is_tried_here() -> None:
    homes = {kind.home.split(":")[1] for kind in [*STRATEGIES.values(), *PACKED.values()]}
    assert homes == THINGS.keys()


def test_what_is_known_about_the_file_is_told(tmp_path: Path) -> None:
    for name, version in (("Solution", 2), ("PluralityForest", container.VERSION)):
        file = tmp_path / name
        THINGS[name].save(file)
        saved = open_file(file)
        assert (saved.version, saved.n_bytes) == (version, file.stat().st_size)
        assert saved.modified.timestamp() == pytest.approx(file.stat().st_mtime)
    assert saved.kind == "forest that votes among many classes"


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("strategy-v1.json", "StoppingStrategy", 1),
        ("plurality-v2.json", "PluralityStrategy", 2),
        ("scores-v2.json", "ScoreStrategy", 2),
        ("classifier-v1.foregone", "EarlyStoppingClassifier", 1),
        ("classifier-v3.foregone", "EarlyStoppingClassifier", 3),
        ("classifier-v4.foregone", "EarlyStoppingClassifier", 4),
    ],
)
def test_files_of_earlier_versions_are_read(name: str, kind: str, version: int) -> None:
    saved = open_file(Path(__file__).parent / "golden" / name)
    assert (type(saved.content).__name__, saved.version) == (kind, version)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a file that foregone saved: foregone reads strategies and solutions"),
        (b"PK\x03\x04 a zip", "forests and classifiers as their save writes them"),
        (b"foregone packed\n", "cut short"),
        (b"foregone packed\n" + bytes(100), "checksum does not fit"),
        (b"{]", "not valid JSON"),
        (b'{"format": "other"}', "not a strategy file"),
        (
            b'{"format": "foregone-strategy", "version": 2, "kind": "plan"}',
            "'plan', which this foregone does",
        ),
        (b'{"format": "foregone-strategy", "version": 2, "kind": 3}', "must be a text"),
        (b'{"format": "foregone-strategy", "version": 99}', "a newer one may be needed"),
    ],
)
def test_other_files_are_refused_with_what_can_be_read(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as refusal:
        load(file)
    assert str(file) in str(refusal.value)


def test_files_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, "a\0b"):
        with pytest.raises(FileFormatError, match="cannot read"):
            load(path)


def test_packed_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    container.write(tmp_path / "part", "scored part", {}, {})
    with pytest.raises(FileFormatError, match="holds a 'scored part', which cannot be loaded by itself"):
        load(tmp_path / "part")


def test_a_damaged_digit_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    THINGS["StoppingStrategy"].save(file)
    content = json.loads(file.read_text())
    content["upper"][4] += 1
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="does not fit the content"):
        load(file)


def test_memory_is_limited_as_asked(tmp_path: Path) -> None:
    for name in ("PluralityStrategy", "PluralitySolution", "PluralityForest"):
        THINGS[name].save(tmp_path / name)
    with pytest.raises(FileFormatError, match="max_memory"):
        load(tmp_path / "PluralitySolution", max_memory=1)
    assert load(tmp_path / "PluralitySolution", max_memory=1e6).n_voters == 5


def test_a_strategy_is_loaded_without_scikit_learn(tmp_path: Path) -> None:
    THINGS["Solution"].save(tmp_path / "s")
    code = f"import sys, foregone; foregone.load({str(tmp_path / 's')!r}); print('sklearn' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"

"""load: whatever a file of ours holds comes back, told by its content."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
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

GOLDEN = Path(__file__).parent / "golden"
rng = np.random.default_rng(0)
ROWS = rng.normal(size=(200, 4))
TWO_CLASSES = RandomForestClassifier(5, random_state=0).fit(ROWS, ROWS[:, 0] > 0)
THREE_CLASSES = RandomForestClassifier(5, random_state=0).fit(ROWS, np.digitize(ROWS[:, 0], [-0.5, 0.5]))
CLASSIFIER = early_stop(TWO_CLASSES, ROWS, voting="hard", random_state=0)
THINGS: dict[str, Any] = {
    "StoppingStrategy": rules.lead(11, k=3),
    "Solution": solve("minimean", 11, 0.01),
    "PluralityStrategy": plurality_rules.lead(5, 2),
    "PluralitySolution": solve_plurality(None, 0.05, n_voters=5),
    "ScoreStrategy": ScoreStrategy.ask_all(5),
    "MonitorState": CLASSIFIER.monitor().state,
    "PackedForest": PackedForest.from_sklearn(TWO_CLASSES),
    "PluralityForest": PluralityForest.from_sklearn(THREE_CLASSES),
    "ScoredForest": ScoredForest.from_model(TWO_CLASSES),
    "EarlyStoppingClassifier": CLASSIFIER,
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
    for name, version in (("Solution", 3), ("PluralityForest", container.VERSION)):
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
        ("strategy-v3-quota.json", "StoppingStrategy", 3),
        ("solution-v3-values.json", "Solution", 3),
        ("plurality-v2.json", "PluralityStrategy", 2),
        ("scores-v2.json", "ScoreStrategy", 2),
        ("monitor-v3.json", "MonitorState", 3),
        ("classifier-v1.foregone", "EarlyStoppingClassifier", 1),
        ("classifier-v3.foregone", "EarlyStoppingClassifier", 3),
        ("classifier-v4.foregone", "EarlyStoppingClassifier", 4),
        ("classifier-v5.foregone", "EarlyStoppingClassifier", 5),
        ("classifier-v5-leaves.foregone", "EarlyStoppingClassifier", 5),
        ("classifier-v6.foregone", "EarlyStoppingClassifier", 6),
        ("classifier-v6-costs.foregone", "EarlyStoppingClassifier", 6),
    ],
)
def test_files_of_earlier_versions_are_read(name: str, kind: str, version: int) -> None:
    saved = open_file(GOLDEN / name)
    assert (type(saved.content).__name__, saved.version) == (kind, version)


@pytest.mark.parametrize(
    ("name", "trees_a_round", "order", "n_asked", "n_labels", "bound"),
    [
        (
            "",
            3,
            [0, 1, 2, 3, 4, 5],
            {3: 18, 5: 6, 6: 13, 7: 5, 8: 7, 9: 25, 11: 2, 12: 30, 13: 25, 14: 10, 17: 259},
            (127, 241, 32),
            0.0235,
        ),
        (
            "-leaves",
            1,
            [5, 6, 1, 0, 4, 2, 3],
            {2: 137, 3: 45, 4: 38, 5: 27, 6: 42, 7: 111},
            (121, 144, 135),
            0.0452,
        ),
    ],
)
def test_files_of_version_5_hold_scores_of_many_classes(
    name: str,
    trees_a_round: int,
    order: list[int],
    n_asked: dict[int, int],
    n_labels: tuple[int, ...],
    bound: float,
) -> None:
    """The files were written like this, each with its model, and the counts by them.

    y = np.array(["ant", "bee", "cow"])[(X[:, 0] // 25 + X[:, 1]).astype(int) % 3]
    GradientBoostingClassifier(n_estimators=6, max_depth=4, random_state=0)  # trees for each class
    RandomForestClassifier(7, max_leaf_nodes=40, random_state=0)  # leaves with a number for each class
    early_stop(model.fit(X, y), X, 0.05, random_state=0).save(GOLDEN / f"classifier-v5{name}.foregone")
    """
    X = np.array([[row, (7 * row) % 5] for row in range(400)], float)
    saved = open_file(GOLDEN / f"classifier-v5{name}.foregone")
    loaded: Any = saved.content
    labels, asked, sums = loaded.predict_with_votes(X)
    assert Counter(asked.tolist()) == n_asked
    assert Counter(labels.tolist()) == dict(zip(["ant", "bee", "cow"], n_labels, strict=True))
    np.testing.assert_array_equal(labels, loaded.classes_[sums.argmax(axis=1)])
    assert loaded.order_.tolist() == order
    assert loaded.promise_.bound == pytest.approx(bound, abs=5e-5)
    facts = saved.facts()
    assert (facts["n_answers"], facts["trees_a_round"]) == (3, trees_a_round)


@pytest.mark.parametrize(
    ("name", "settings", "n_asked", "n_yes", "loss", "bound"),
    [
        (
            "",
            {"max_accuracy_loss": 0.02, "costs": None, "threshold": 0.3},
            {1: 392, 0: 8},
            127,
            "accuracy",
            0.0190,
        ),
        (
            "-costs",
            {"max_accuracy_loss": 0.05, "costs": [[0, 1], [3, 0]], "threshold": 0.4},
            {1: 281, 2: 119},
            62,
            "cost",
            0.0452,
        ),
    ],
)
def test_files_of_version_6_hold_limits_on_accuracy_and_thresholds(
    name: str, settings: dict[str, Any], n_asked: dict[int, int], n_yes: int, loss: str, bound: float
) -> None:
    """The files were written like this, each with its model, and the counts by them.

    X = np.array([[row, (7 * row) % 5] for row in range(4000)], float)
    y = ((X[:, 0] // 250 + X[:, 1]) % 3 > 1).astype(int)
    y[::7] = 1 - y[::7]
    RandomForestClassifier(9, max_features=1, random_state=0)  # with voting="hard"
    GradientBoostingClassifier(n_estimators=6, max_depth=3, random_state=0)  # with costs
    early_stop(model.fit(X[::3], y[::3]), X, y, **settings, random_state=0).save(...)
    """
    X = np.array([[row, (7 * row) % 5] for row in range(400)], float)
    loaded: Any = open_file(GOLDEN / f"classifier-v6{name}.foregone").content
    labels, asked, _ = loaded.predict_with_votes(X)
    assert Counter(asked.tolist()) == n_asked
    assert int(labels.sum()) == n_yes
    assert {setting: getattr(loaded, setting) for setting in settings} == settings
    assert (loaded.promise_.loss, loaded.promise_.bound) == (loss, pytest.approx(bound, abs=5e-5))


@pytest.mark.parametrize("of_votes", [False, True])
def test_forests_and_strategies_of_many_classes_come_back(of_votes: bool, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    forest = ScoredForest.from_model(THREE_CLASSES, of_votes=of_votes)
    strategy = ScoreStrategy.from_thresholds(None, [9, 0.8, 0.5, 0.5, 0.2, 0], start=[0, 0, 0])
    for thing in (forest, strategy):
        thing.save(first)
        loaded: Any = load(first)
        loaded.save(second)
        assert first.read_bytes() == second.read_bytes()
        assert open_file(first).facts()["n_answers"] == 3
    assert loaded == strategy


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a foregone file: foregone reads strategies and solutions"),
        (b"PK\x03\x04 a zip", "forests and classifiers written by their save method"),
        (b"foregone packed\n", "truncated"),
        (b"foregone packed\n" + bytes(100), "checksum does not match"),
        (b"{]", "not valid JSON"),
        (b'{"format": "other"}', "not a strategy file"),
        (
            b'{"format": "foregone-strategy", "version": 2, "kind": "plan"}',
            "'plan', which this version of foregone does",
        ),
        (b'{"format": "foregone-strategy", "version": 2, "kind": 3}', "must be a string"),
        (b'{"format": "foregone-strategy", "version": 99}', "upgrade foregone"),
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
    with pytest.raises(FileFormatError, match="contains a 'scored part', which cannot be loaded on its own"):
        load(tmp_path / "part")


def test_a_damaged_digit_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "strategy.json"
    THINGS["StoppingStrategy"].save(file)
    content = json.loads(file.read_text())
    content["upper"][4] += 1
    file.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="does not match the content"):
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

"""foregone warm-up: what it compiled is all that the usual calls need, wherever they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foregone.cli.health import kernels
from foregone.cli.warm_up_tasks import SCOPES, small_forest_agrees, tasks_for
from tests.cli.conftest import Run

USUAL_CALLS = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from foregone import EarlyStoppingClassifier, early_stop, solve
from foregone._kernels import kept_code
from foregone._kernels.compiled import n_compiled
from pathlib import Path

kept_code.use_only(Path(sys.argv[1]))
kept_code._write = None  # a read-only folder
X, y = make_classification(3_000, random_state=0)
for n_classes in (2, 4):
    X, y = make_classification(3_000, n_informative=6, n_classes=n_classes, random_state=0)
    forest = RandomForestClassifier(25, random_state=0).fit(X[:500], y[:500])
    stopped = early_stop(forest, X[500:2_500], 0.1, voting="hard", random_state=0)
    for rows in (X[2_500:], X[2_500:].astype(np.float32)):
        stopped.predict(rows), stopped.full_predict(rows), stopped.predict(rows[:1])
    stopped.save(sys.argv[1] + "/saved")
    EarlyStoppingClassifier.load(sys.argv[1] + "/saved").predict(X[:1])
print(round(solve("minimixed", 101, 1e-3).expected_votes, 3), n_compiled())
"""


@pytest.mark.slow
def test_the_usual_calls_compile_nothing_after_it(tmp_path: Path) -> None:
    """Generic code is used where nothing was compiled for this very processor."""
    for scope, cpu in (("predict", "native"), ("solve", "generic")):
        words = ["warm-up", "--for", scope, "--cpu", cpu, "--into", str(tmp_path), "--json"]
        made = subprocess.run(
            [sys.executable, "-m", "foregone", *words], capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stderr
        said = json.loads(made.stdout)
        assert said["compiled"] > 5
        assert said["problem"] is None
        assert Path(said["folder"]).parent == tmp_path
    used = subprocess.run(
        [sys.executable, "-c", USUAL_CALLS, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "FOREGONE_CACHE_DIR": str(tmp_path)},
        check=False,
    )
    assert used.stdout.split() == ["43.042", "0"], used.stderr


def test_every_scope_has_tasks_and_all_has_them_all() -> None:
    names = {scope: [task.name for task in tasks_for(scope)] for scope in SCOPES}
    assert all(names.values())
    assert names["all"] == names["predict"] + names["scores"] + names["solve"]


@pytest.mark.slow
def test_all_tasks_together_call_every_function() -> None:
    for task in tasks_for("all"):
        task.work()
    assert [kernel._cache.kernel for kernel in kernels() if not kernel.overloads] == []


@pytest.mark.parametrize(
    ("option", "message"),
    [("--for", "must be one of predict, scores, solve, all"), ("--cpu", "must be one of native, generic")],
)
def test_a_word_that_is_not_known_is_refused(run: Run, option: str, message: str) -> None:
    outcome = run("warm-up", option, "everything")
    assert outcome.code == 2
    assert message in outcome.err.replace('"', "")


def test_a_small_forest_agrees_with_itself() -> None:
    assert small_forest_agrees()

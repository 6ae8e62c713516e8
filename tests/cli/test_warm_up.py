"""foregone warm-up: what it compiled is all that the usual calls need, wherever they run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from foregone.cli.warm_up_tasks import SCOPES, small_forest_agrees, tasks_for
from tests.cli.conftest import Run

USUAL_CALLS = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier
from foregone import EarlyStoppingClassifier, certify, early_stop, plan, solve
from foregone.cli.health import kernels
from foregone.cli.warm_up_tasks import tasks_for

def signatures():
    return {(kernel._cache.kernel, types) for kernel in kernels() for types in kernel.overloads}

for task in tasks_for("all"):
    task.work()
compiled = signatures()
print(sorted({kernel._cache.kernel for kernel in kernels()} - {name for name, _ in compiled}))
for n_classes in (2, 4):
    X, y = make_classification(3_000, n_informative=6, n_classes=n_classes, random_state=0)
    for model, voting in (
        (RandomForestClassifier(25, random_state=0), "hard"),
        (RandomForestClassifier(25, min_samples_leaf=5, random_state=0), "soft"),
        (GradientBoostingClassifier(n_estimators=25, random_state=0), "auto"),
        (HistGradientBoostingClassifier(max_iter=25, random_state=0), "auto"),
    ):
        model.fit(X[:500], y[:500])
        stopped = early_stop(model, X[500:2_500], 0.1, voting=voting, random_state=0)
        for rows in (X[2_500:], X[2_500:].astype(np.float32)):
            stopped.predict(rows), stopped.full_predict(rows), stopped.predict(rows[:1])
        stopped.save(sys.argv[1] + "/saved")
        EarlyStoppingClassifier.load(sys.argv[1] + "/saved").predict(X[:1])
plan(21, [0.01])
certify(solve("minimixed", 101, 1e-3))
print(sorted(str(one) for one in signatures() - compiled))
"""
SOLVE = """
import sys
from pathlib import Path
from foregone import solve
from foregone._kernels import kept_code
from foregone._kernels.compiled import n_compiled
kept_code.use_only(Path(sys.argv[1]))
kept_code._write = None  # a read-only folder
print(round(solve("minimixed", 101, 1e-3).expected_votes, 3), n_compiled())
"""


def python(*words: str) -> str:
    """Return what a process of Python prints."""
    outcome = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


@pytest.mark.slow
def test_the_tasks_compile_every_function_and_all_that_the_usual_calls_need(tmp_path: Path) -> None:
    assert python("-c", USUAL_CALLS, str(tmp_path)).splitlines() == ["[]", "[]"]


@pytest.mark.slow
def test_what_it_compiled_is_all_that_is_used_even_generic_code_in_a_read_only_folder(tmp_path: Path) -> None:
    words = ["warm-up", "--for", "solve", "--cpu", "generic", "--into", str(tmp_path), "--json"]
    said = json.loads(python("-m", "foregone", *words))
    assert said["compiled"] > 5
    assert said["problem"] is None
    assert Path(said["folder"]).parent == tmp_path
    assert python("-c", SOLVE, str(tmp_path)).split() == ["43.042", "0"]


def test_every_scope_has_tasks_and_all_has_them_all() -> None:
    names = {scope: [task.name for task in tasks_for(scope)] for scope in SCOPES}
    assert all(names.values())
    assert names["all"] == names["predict"] + names["scores"] + names["solve"]


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

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fuzzing.jobs import JOBS
from fuzzing.kills import PROBLEMS, main

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are forked, and looked for in /proc"),
]


def run(module: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", module, *options, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_a_killed_job_goes_on_to_the_same_result_and_leaves_nothing() -> None:
    killed = run("fuzzing", "kills", "--kills", str(2 * len(JOBS)))
    assert {name for name, row in killed["jobs"].items() if row["kills"]} == set(JOBS)
    assert killed["problems"] == []


def test_the_faults_of_careless_jobs_are_found_and_told_apart() -> None:
    found = run("tests.fuzzing.careless_jobs", "--kills", "48", "--seed", "1")["jobs"]
    faults = {name: {kind for kind in PROBLEMS if row[kind]} for name, row in found.items()}
    assert faults == {
        "careful": set(),
        "forgetful": {"done twice"},
        "hasty": {"wrong result"},
        "untidy": {"left behind"},
        "abandoning": {"orphans"},
        "stubborn": {"failed"},
    }


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        ([["ask", 1, [3, 4]], ["got", 1, [3, 4]], ["ask", 1, [3, 4]], ["ask", 1, [3, 4]]], ""),
        (
            [["ask", 1, [3, 4]], ["got", 1, [3]], ["ask", 1, [4]], ["got", 1, [4]], ["ask", 1, [3, 4]]],
            "votes of 2 replies asked for again after 1 kills",
        ),
    ],
    ids=["a reply that a kill lost takes two requests", "two replies were lost"],
)
def test_a_kill_of_batches_may_lose_one_reply(tmp_path: Path, calls: list[Any], problem: str) -> None:
    (tmp_path / "calls").write_text("".join(json.dumps(call) + "\n" for call in calls))
    assert JOBS["batches"].paid_twice(tmp_path, {}, 1) == problem


def test_an_unknown_job_is_refused_and_the_known_ones_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--jobs-named", "laundry"]) == 2
    assert "precompute" in capsys.readouterr().err

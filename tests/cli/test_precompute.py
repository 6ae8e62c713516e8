from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foregone import Solution, solve
from foregone.cli import precompute
from tests.cli.conftest import Run
from tests.systems import posix

GRID = ["--voters", "3:7:2", "--max-disagreement", "0,1e-2,...,0.1", "--jobs", "2"]
LARGER_GRID = ["--voters", "31:201:10", "--max-disagreement", "1e-4,...,0.1"]
NAMES = sorted(
    f"{criterion}-{n_voters}-{rate}.json"
    for criterion in ("minimax", "minimean", "minimixed")
    for n_voters in (3, 5, 7)
    for rate in ("0", "0.01", "0.1")
)


def contents(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_every_problem_of_the_grid_gets_its_file(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "grid"
    outcome = run("precompute", *GRID, "-o", folder)
    assert outcome.code == 0
    assert sorted(contents(folder)) == NAMES
    assert "27 solved, 0 kept from earlier runs" in outcome.out
    found = Solution.load(folder / "minimixed-7-0.01.json")
    assert found.strategy == solve("minimixed", 7, 0.01).strategy


def test_what_is_finished_is_kept_and_what_is_damaged_done_again(run: Run, tmp_path: Path) -> None:
    run("precompute", *GRID, "-o", tmp_path)
    before = contents(tmp_path)
    kept = tmp_path / "minimax-3-0.json"
    stamp = kept.stat().st_mtime_ns
    (tmp_path / "minimean-5-0.1.json").write_text("{")
    (tmp_path / "minimean-7-0.1.json").write_text(before["minimean-7-0.01.json"])
    (tmp_path / "minimax-7-0.1.json").unlink()
    part = tmp_path / ".minimax-7-0.1.json.0123456789abcdef.part"
    part.write_text("{")
    os.utime(part, (0, 0))  # Windows keeps new ones for a minute
    outcome = run("precompute", *GRID, "-o", tmp_path)
    assert "3 solved, 24 kept from earlier runs: 27 of 27" in outcome.out
    assert contents(tmp_path) == before
    assert kept.stat().st_mtime_ns == stamp


def start_and_wait_until_it_is_midway(folder: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "foregone", "precompute", *LARGER_GRID, "-o", str(folder), "--jobs", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Whoever runs the tests in the background may have had interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not list(folder.glob("*.json")):
        assert process.poll() is None
        time.sleep(0.01)
    return process


@posix
def test_an_interruption_says_how_to_go_on(tmp_path: Path) -> None:
    process = start_and_wait_until_it_is_midway(tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.decode().strip() == "foregone: interrupted; run the same command again to continue"


@posix
def test_it_resumes_after_being_killed(run: Run, tmp_path: Path) -> None:
    interrupted, whole = tmp_path / "interrupted", tmp_path / "whole"
    process = start_and_wait_until_it_is_midway(interrupted)
    process.kill()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()
    for _ in range(3000):  # its worker ends by itself; where nobody reaps it, we do not wait for ever
        if not _group_is_alive(process.pid):
            break
        time.sleep(0.01)
    assert 0 < len(list(interrupted.glob("*.json"))) <= 216
    assert run("precompute", *LARGER_GRID, "-o", interrupted).code == 0
    assert run("precompute", *LARGER_GRID, "-o", whole).code == 0
    assert contents(interrupted) == contents(whole)


def _group_is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def fail_some(task: precompute.Task, folder: Path) -> None:
    """Fail as a defect would, die as a process without memory would, or work."""
    if task.file_name == "minimax-5-0.1.json":
        raise ZeroDivisionError("division by zero")
    if task.file_name in ("minimixed-5-0.1.json", "minimax-7-0.json"):
        os.kill(os.getpid(), signal.SIGKILL)
    solve(task.criterion, task.n_voters, task.max_disagreement).save(folder / task.file_name)


@posix
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_problem_that_fails_is_named_and_the_others_are_solved(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    (tmp_path / "minimean-3-0.json").mkdir()  # where its file should go
    bad = {"minimax-5-0.1.json", "minimixed-5-0.1.json", "minimax-7-0.json", "minimean-3-0.json"}
    with monkeypatch.context() as patched:
        patched.setattr(precompute, "_solve_one", fail_some)
        outcome = run("precompute", *GRID[:-1], jobs, "-o", tmp_path)
    assert outcome.code == 1
    assert "23 solved" in outcome.out
    assert {line.split()[1] for line in outcome.err.splitlines() if " failed: " in line} == bad
    assert "minimax-5-0.1.json failed: ZeroDivisionError: division by zero" in outcome.err
    assert "minimax-7-0.json failed: its process was killed" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("foregone: 4 of 27 strategies failed")
    assert {file.name for file in tmp_path.iterdir() if file.is_file()} == set(NAMES) - bad
    (tmp_path / "minimean-3-0.json").rmdir()
    assert "4 solved, 23 kept from earlier runs: 27 of 27" in run("precompute", *GRID, "-o", tmp_path).out


def test_a_file_in_the_place_of_the_folder_is_refused(run: Run, strategy_file: Path) -> None:
    outcome = run("precompute", *GRID, "-o", strategy_file)
    assert outcome.code == 2
    assert "cannot create the folder" in outcome.err


@pytest.mark.parametrize("name", ["minimax-3-0.json", "minimax-3-0.01.json", "minimax-3-1e-06.json"])
def test_file_names_do_not_depend_on_how_a_rate_is_written(name: str) -> None:
    from foregone.cli.precompute import Task

    rates = {"0": 0.0, "0.01": 1e-2, "1e-06": 0.000001}
    rate = name.removeprefix("minimax-3-").removesuffix(".json")
    assert Task("minimax", 3, rates[rate]).file_name == name


def test_neighbouring_rates_get_different_files() -> None:
    from foregone.cli.precompute import Task

    assert Task("minimax", 3, 0.1).file_name != Task("minimax", 3, 0.1 + 1e-16 * 2).file_name


def test_what_a_killed_run_was_writing_is_removed(run: Run, tmp_path: Path) -> None:
    grid = ("--voters", "5", "--max-disagreement", "0.1", "--criterion", "minimean", "-o", tmp_path)
    assert run("precompute", *grid).code == 0
    (written,) = tmp_path.iterdir()
    part = written.rename(tmp_path / f".{written.name}.0123456789abcdef.part")
    os.utime(part, (0, 0))  # Windows keeps new ones for a minute
    assert run("precompute", *grid).code == 0
    assert list(tmp_path.iterdir()) == [written]


@pytest.mark.parametrize(
    "grid",
    [("--voters", "1:1000000000000", "--max-disagreement", "0.1"),
     ("--voters", "5", "--max-disagreement", "0.1,0.1000000001,...,1")],
)  # fmt: skip
def test_a_grid_without_end_is_refused(run: Run, tmp_path: Path, grid: tuple[str, ...]) -> None:
    outcome = run("precompute", *grid, "-o", tmp_path / "grid")
    assert outcome.code == 2
    assert "more than 1,000 numbers" in outcome.err
    assert not (tmp_path / "grid").exists()


def test_looks_and_answers_have_files_of_their_own(run: Run, tmp_path: Path) -> None:
    grid = ("--voters", "9", "--max-disagreement", "0.1", "--criterion", "minimixed", "-o", tmp_path)
    options = ("--looks", "2,5", "--answer", "likeliest", "--jobs", "1")
    assert "1 solved, 0 kept" in run("precompute", *grid, *options).out
    assert "0 solved, 1 kept" in run("precompute", *grid, *options).out
    (file,) = tmp_path.iterdir()
    assert file.name == "minimixed-9-0.1-looks-2-5-likeliest.json"
    expected = solve("minimixed", 9, 0.1, looks=[2, 5], answer="likeliest")
    assert Solution.load(file).strategy == expected.strategy


def test_a_grid_that_cannot_be_is_refused_before_anything_is_solved(run: Run, tmp_path: Path) -> None:
    grid = ("--voters", "9", "--max-disagreement", "0.1", "-o", tmp_path / "grid")
    outcome = run("precompute", *grid, "--answer", "likeliest")
    assert outcome.code == 2
    assert 'assumes none: use answer="majority"' in outcome.err
    assert not (tmp_path / "grid").exists()

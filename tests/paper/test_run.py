from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from sklearn.datasets import make_classification

from foregone.errors import InvalidInputError, MissingExtraError
from paper import datasets, output_folder, run, work
from paper.items import ITEMS, check_items
from paper.pieces import PieceStore
from paper.request import Request
from paper.results import Settings, Timing
from paper.tasks import ForestTask
from tests.systems import posix

ROOT = Path(__file__).parents[2]
NAMES = ["skin", "wine"]
ITEM_NAMES = ["table2", "table3", "tableS1"]


class Lines:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: dict[str, tuple[int, int]] = {}

    def line(self, text: str) -> None:
        self.lines.append(text)

    @contextlib.contextmanager
    def progress(self, label: str, total: int) -> Iterator[Callable[[], None]]:
        def advance() -> None:
            self.steps[label] = (self.steps[label][0] + 1, total)

        self.steps[label] = (0, total)
        yield advance


class Outcome(NamedTuple):
    folder: Path
    files: list[Path]
    reporter: Lines


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for place, name in enumerate(NAMES):
        X, y = make_classification(300, 5, flip_y=0.2, random_state=place)
        frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y)
        frame.to_parquet(folder / f"{name}.parquet")
    return folder


def do(
    output: Path, data: Path | None, names: list[str] = NAMES, items: list[str] = ITEM_NAMES, jobs: int = 1
) -> Outcome:
    settings = Settings(n_voters=5, repeats=3, seed=1)
    request = Request(tuple(check_items(items)), tuple(names), settings, data, output, jobs)
    reporter = Lines()
    return Outcome(output, run.run(request, reporter), reporter)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """An uninterrupted run."""
    return do(tmp_path_factory.mktemp("whole") / "results", data, jobs=2)


@pytest.fixture
def copy(whole: Outcome, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole.folder, tmp_path / "results"))


def test_a_run_writes_every_table_and_one_file_for_each_piece(whole: Outcome) -> None:
    names = {file.name for file in whole.files}
    assert {"index.html", "table2.csv", "table3.csv", "table3.md", "tableS1.csv"} <= names
    assert all(file.is_file() for file in whole.files)
    pieces = sorted(file.name.rsplit("-", 1)[0] for file in (whole.folder / "pieces").iterdir())
    assert pieces == sorted(
        [f"rounding-{name}-{repeat}" for name in NAMES for repeat in range(3)]
        + [f"votes-skin-{repeat}" for repeat in range(3)]  # table 3 does not show wine
    )
    assert "9 pieces: 0 are there, 9 to do" in whole.reporter.lines
    assert whole.reporter.steps["pieces"] == (9, 9)


def test_running_again_does_nothing_anew_and_writes_the_same(whole: Outcome, data: Path, copy: Path) -> None:
    again = do(copy, data)
    assert "9 pieces: 9 are there, 0 to do" in again.reporter.lines
    assert contents(copy) == contents(whole.folder)


def test_damaged_missing_and_half_written_pieces_are_made_again(
    whole: Outcome, data: Path, copy: Path
) -> None:
    damaged, missing, *_ = sorted((copy / "pieces").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-30])
    missing.unlink()
    for target in (copy / "pieces" / missing.name, copy / "table3.csv"):
        target.with_name(f".{target.name[:60]}.0123456789abcdef.part").write_text("{")
    (copy / "table3.csv").unlink()
    again = do(copy, data)  # in one process, where the whole run had two
    assert (
        f"the piece {damaged.name} cannot be read (JSONDecodeError): it is made again" in again.reporter.lines
    )
    assert "9 pieces: 7 are there, 2 to do" in again.reporter.lines
    assert contents(copy) == contents(whole.folder)


@posix
def test_a_killed_run_gives_the_same_files_when_run_again(whole: Outcome, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    arguments = ["--datasets", ",".join(NAMES), "--repeats", "3", "--voters", "5", "--seed", "1"]
    places = ["--data", str(data), "-o", str(folder), "--jobs", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "paper", "run", *ITEM_NAMES, *arguments, *places],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not list((folder / "pieces").glob("*.json")):
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "index.html").exists()
    do(folder, data)
    assert contents(folder) == contents(whole.folder)


def test_a_dataset_that_cannot_be_had_is_skipped_in_one_line(
    data: Path, copy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))

    def no_network(identifier: int) -> None:
        raise OSError("no route")

    monkeypatch.setattr(datasets, "_from_uci", no_network)
    monkeypatch.setattr(datasets, "_from_openml", no_network)
    found = do(copy, data, ["income", *NAMES])
    line = "income is skipped: there is no local file, and UCI 117 cannot be fetched: no route"
    assert found.reporter.lines.count(line) == 1
    with pytest.raises(InvalidInputError, match="no dataset can be had"):
        do(tmp_path / "empty", None, ["income"], ["table3"])


def test_rows_that_are_not_the_papers_are_said_to_be_so(whole: Outcome) -> None:
    assert (
        "skin is not quite the paper's: 300 rows rather than 245,057; 5 features rather than 3; "
        "51.0% in the largest class rather than 79.2%" in whole.reporter.lines
    )


def test_items_without_datasets_are_left_out(data: Path, copy: Path, tmp_path: Path) -> None:
    found = do(copy, data, ["wine"], ["table3", "tableS1"])
    assert "table3 is left out: it shows none of the datasets there are" in found.reporter.lines
    assert all("table3" not in file.name for file in found.files)
    with pytest.raises(InvalidInputError, match="nothing is left to do"):
        do(tmp_path / "empty", data, ["wine"], ["table3"])


def test_a_folder_that_cannot_be_written_is_reported_before_any_work(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "results"):
        with pytest.raises(InvalidInputError, match=r"cannot write to the folder .*; choose another with -o"):
            do(folder, data)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pieces").mkdir()
    foreign = [tmp_path / ".notes.part", tmp_path / "pieces" / ".votes.json.abc.part"]
    for file in foreign:
        file.write_text("{")
        os.utime(file, (0, 0))
    output_folder.prepare_folder(tmp_path, 0)
    assert sorted(file for file in tmp_path.rglob("*") if file.is_file()) == sorted(foreign)


def test_a_disk_without_room_is_reported_before_any_work(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil._ntuple_diskusage(10**9, 10**9 - 10**7, 10**7)
    monkeypatch.setattr(output_folder.shutil, "disk_usage", lambda folder: full)
    with pytest.raises(InvalidInputError, match="has 10 MB left, the results may need 50"):
        do(tmp_path / "results", data)
    assert list((tmp_path / "results").iterdir()) == []


def test_a_missing_package_is_reported_before_any_work(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "find_spec", lambda package: None)
    with pytest.raises(MissingExtraError, match=r"foregone\[paper\]"):
        do(tmp_path / "results", data)
    assert not (tmp_path / "results").exists()


def test_a_piece_that_cannot_be_written_ends_the_run_and_keeps_the_others(
    whole: Outcome, data: Path, copy: Path
) -> None:
    removed, *kept = sorted((copy / "pieces").iterdir())
    removed.unlink()
    removed.mkdir()  # what is there cannot be replaced by a file
    with pytest.raises(InvalidInputError, match=r"^skin: cannot write .*; what is finished is kept$"):
        do(copy, data)
    assert all(file.read_bytes() == (whole.folder / "pieces" / file.name).read_bytes() for file in kept)


def test_processes_are_as_many_as_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "n_cores", lambda: 4)
    memory = work.os.sysconf("SC_PHYS_PAGES") * work.os.sysconf("SC_PAGE_SIZE")

    def jobs(share: float) -> int:
        task = ForestTask("votes", "skin", 0, Settings(), Path("a"), "", 0, share * memory)
        return work.jobs_that_fit([task])

    assert [jobs(share) for share in (0.01, 0.3, 0.5, 2)] == [4, 2, 1, 1]


def test_every_item_can_be_drawn_by_someone() -> None:
    for item in ITEMS.values():
        for renderer in item.renderers:
            module, function = renderer.split(":")
            assert callable(getattr(__import__(f"paper.{module}", fromlist=[function]), function))


def test_timings_leave_off_after_the_first_that_takes_too_long_and_leave_out_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work.timing, "SIZES", {"linear_program": (3, 5, 7, 9, 11), "dual": (3, 5)})
    outcomes = {("linear_program", 5): 1.0, ("linear_program", 9): work.timing.TIME_LIMIT}

    def measure(method: str, n_voters: int) -> Timing:
        unfinished = outcomes.get((method, n_voters))
        return Timing(method, "minimax", n_voters, 0.01, unfinished or 0.5, unfinished is None)

    monkeypatch.setattr(work.timing, "measure_timing", measure)
    reporter, store = Lines(), PieceStore(tmp_path)
    timings = work.time_methods(store, reporter)
    assert [(t.method, t.n_voters, t.finished) for t in timings] == [
        ("linear_program", 3, True),
        ("linear_program", 7, True),
        ("linear_program", 9, False),
        ("dual", 3, True),
        ("dual", 5, True),
    ]
    assert reporter.lines[-1] == "figS1: linear_program gives no answer for 5 voters"
    monkeypatch.setattr(work.timing, "measure_timing", None)
    assert work.time_methods(store, reporter) == timings  # they are kept, as every piece is

"""Kill jobs at any moment, start them again until they are done, and compare with an undisturbed run.

    python -m fuzzing kills
    python -m fuzzing kills --kills 20 --jobs-named polls,precompute

A job is killed after a random time, or before one of its operations on files. Afterwards the result must be
that of an undisturbed run, nothing that was finished may be done again, and nothing may be left behind: no
files, no processes. The moments come from a seed, but what a job is doing then depends on the machine. Exit
status 1 if something is wrong. Needs a system with fork and, to see left processes, /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.markdown import table

from fuzzing.formats.format import read_folder
from fuzzing.jobs import JOBS, Job

__all__ = ["main"]

MOST_KILLS_OF_A_JOB = 4
SECONDS = 120.0  # for one run of a job
SECONDS_TO_FOLLOW = 20.0  # for processes to end whose parent was killed
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}  # audited before they happen
KILLED = -signal.SIGKILL


class Plan(NamedTuple):
    """When to kill, and whom: the job's process alone, or those it has started, too."""

    seconds: float | None
    operation: int | None
    everyone: bool


class Reference(NamedTuple):
    """An undisturbed run: the files, their content, how long it took and its operations on files."""

    content: dict[str, Any]
    seconds: float
    operations: list[str]


class Life(NamedTuple):
    """A job from its first start to its end: how often it was started and killed, and what is wrong."""

    job: str
    runs: int
    kills: int
    problems: list[tuple[str, str]]  # kind, what


PROBLEMS = ("wrong result", "done twice", "left behind", "orphans", "failed")


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    names = list(JOBS) if options.names is None else options.names.split(",")
    unknown = [name for name in names if name not in JOBS]
    if unknown:
        print(f"no job {', '.join(unknown)}; there are {', '.join(JOBS)}", file=sys.stderr)
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        references = {name: _refer(JOBS[name], root / name) for name in names}
        lives = _kill_all(references, root, options.kills, options.jobs, options.seed)
    seconds = time.monotonic() - began
    rows = _summary(lives, names, references)
    if options.as_json:
        problems = [[life.job, *problem] for life in lives for problem in life.problems]
        print(
            json.dumps(
                {"seed": options.seed, "seconds": seconds, "jobs": rows, "problems": problems}, indent=1
            )
        )
    else:
        head = ["job", *next(iter(rows.values()))]
        print(table(head, [[name, *map(str, row.values())] for name, row in rows.items()]))
        n_kills = sum(life.kills for life in lives)
        rate = 60 * n_kills / seconds
        print(f"\n{n_kills} kills in {seconds:.0f} s, {rate:.0f} a minute; seed {options.seed}")
        lines = [f"{life.job}: {kind}: {what}" for life in lives for kind, what in life.problems]
        print("\n".join(dict.fromkeys(lines)))
    return int(any(life.problems for life in lives))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzzing kills", description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=500, help="in all (default 500)")
    parser.add_argument("--seed", type=int, default=0, help="decides the moments (default 0)")
    parser.add_argument(
        "--jobs-named", dest="names", metavar="LIST", help="some jobs only, with commas between them"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many are run at a time (default 2)")
    parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON instead of a table")
    return parser


# Forked processes ---------------------------------------------------------------------------------


def _fork(do: Callable[[], int]) -> int:
    """Run a function in a forked process that ends with what it returns, and return the process's id."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        status = do()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _run(job: Job, folder: Path, work: Path, plan: Plan | None) -> tuple[int, int]:
    """Start a job and kill it as planned; return its session and exit status, minus a signal if by one."""

    def do() -> int:
        os.setsid()
        with (work / "printed").open("w") as printed:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
        seen = _watch(plan)
        warnings.simplefilter("ignore")
        status = job.run(folder / "inputs", work)
        (work / "operations").write_text("\n".join(seen))
        return status

    pid = _fork(do)
    until = time.monotonic() + (SECONDS if plan is None or plan.seconds is None else plan.seconds)
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return pid, os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL) if plan is None or plan.everyone else os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return pid, 1 if plan is None or plan.seconds is None else status  # a run without an end is a failure


def _watch(plan: Plan | None) -> list[str]:
    """Note this process's operations on files, those of its threads too; end it before the planned one."""
    seen: list[str] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in CHANGES and not (event == "open" and _writes(arguments)):
            return
        seen.append(event)
        if plan is not None and plan.operation == len(seen):
            os.killpg(0, signal.SIGKILL) if plan.everyone else os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return seen


def _writes(arguments: tuple[Any, ...]) -> bool:
    flags = arguments[2] if len(arguments) > 2 else 0
    return bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _left_processes(session: int) -> list[int]:
    """Return the processes of a session that are still running."""
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, _, _, own_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if entry.name.isdigit() and int(own_session) == session and state != "Z":
                found.append(int(entry.name))
    return found


def _orphans(session: int) -> int:
    """Return how many processes of a session do not end by themselves, and end them."""
    until = time.monotonic() + SECONDS_TO_FOLLOW
    while (left := _left_processes(session)) and time.monotonic() < until:
        time.sleep(0.005)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    # Semaphores of its pool outlive a kill of all: the process that removes them is killed, too. They are
    # named after the job's process, so none of another program is touched.
    for semaphore in Path("/dev/shm").glob(f"sem.*-{session}-*"):
        semaphore.unlink(missing_ok=True)
    return len(left)


# Lives of a job -----------------------------------------------------------------------------------


def _refer(job: Job, folder: Path) -> Reference:
    """Prepare a job, and run it undisturbed."""
    (folder / "inputs").mkdir(parents=True)
    pid = _fork(lambda: _quietly(job.prepare, folder / "inputs"))
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError(f"{job.name} could not be prepared")
    _quietly(job.warm, folder / "inputs")
    work, began = _new_folder(folder / "reference"), time.monotonic()
    if _run(job, folder, work, None)[1]:
        raise RuntimeError(f"{job.name} fails undisturbed: {(work / 'printed').read_text()[-2000:]}")
    seconds = time.monotonic() - began
    return Reference(_content(job, work), seconds, (work / "operations").read_text().splitlines())


def _quietly(do: Callable[..., object], *arguments: Any) -> int:
    warnings.simplefilter("ignore")
    do(*arguments)
    return 0


def _new_folder(work: Path) -> Path:
    (work / "out").mkdir(parents=True)
    return work


def _content(job: Job, work: Path) -> dict[str, Any]:
    return {name: job.content(name, content) for name, content in read_folder(work / "out").items()}


def _live(job: Job, folder: Path, work: Path, reference: Reference, chance: Random, most_kills: int) -> Life:
    """Start a job and kill it, again and again, then let it come to its end, and look at what it has made."""
    problems: list[tuple[str, str]] = []
    kills = runs = 0
    before: dict[str, Any] = {}
    while True:
        plan = _plan(reference, chance) if kills < most_kills else None
        session, status = _run(job, folder, work, plan)
        runs += 1
        if orphans := _orphans(session):
            problems.append(("orphans", f"{orphans} processes"))
        now = {str(file): _stamp(file) for file in (work / "out").glob(job.finished)}
        again = [Path(name).name for name, stamp in before.items() if now.get(name, stamp) != stamp]
        if again:
            problems.append(("done twice", f"{again[0]} and {len(again) - 1} others"))
        if status != KILLED:
            break
        kills += 1
        before = now
    if status:
        problems.append(("failed", f"exit status {status}: {(work / 'printed').read_text()[-300:].strip()}"))
        return Life(job.name, runs, kills, problems)
    if twice := job.paid_twice(work, before, kills):
        problems.append(("done twice", twice))
    found = _content(job, work)
    if left := sorted(found.keys() - reference.content.keys()):
        problems.append(("left behind", ", ".join(left)))
    different = [name for name, content in reference.content.items() if found.get(name) != content]
    if different:
        problems.append(("wrong result", ", ".join(different)))
    return Life(job.name, runs, kills, problems)


def _stamp(file: Path) -> tuple[int, int]:
    """Return what changes when a file is made again."""
    found = file.stat()
    return found.st_ino, found.st_mtime_ns


def _plan(reference: Reference, chance: Random) -> Plan:
    everyone = chance.random() < 0.5
    changes = [place for place, event in enumerate(reference.operations, 1) if event in CHANGES]
    kind = chance.randrange(4)
    if kind >= 2 or not reference.operations:
        return Plan(chance.uniform(0, reference.seconds), None, everyone)
    if kind == 1 and changes:
        return Plan(None, chance.choice(changes), everyone)
    return Plan(None, chance.randrange(len(reference.operations)) + 1, everyone)


def _kill_all(
    references: dict[str, Reference], root: Path, kills: int, at_once: int, seed: int
) -> list[Life]:
    """Spread the kills evenly over the jobs, and the jobs over processes of their own."""
    names = list(references)
    quota = {name: (kills + place) // len(names) for place, name in enumerate(names)}

    def do(runner: int) -> int:
        chance = Random(f"{seed} {runner}")
        with (root / f"lives-{runner}").open("w") as lives:
            for name in (
                names[runner % len(names) :] + names[: runner % len(names)]
            ):  # not all the same at once
                left = (quota[name] + runner) // at_once
                while left > 0:
                    work = _new_folder(root / name / f"life-{runner}")
                    most = min(left, chance.randint(1, MOST_KILLS_OF_A_JOB))
                    life = _live(JOBS[name], root / name, work, references[name], chance, most)
                    shutil.rmtree(work)
                    left -= max(life.kills, bool(life.problems))
                    lives.write(json.dumps(life) + "\n")
        return 0

    pids = [_fork(lambda runner=runner: do(runner)) for runner in range(at_once)]
    statuses = [os.waitpid(pid, 0)[1] for pid in pids]
    if any(statuses):
        raise RuntimeError("a process that kills jobs ended itself")
    lines = [
        line for runner in range(at_once) for line in (root / f"lives-{runner}").read_text().splitlines()
    ]
    return [Life(*json.loads(line)) for line in lines]


def _summary(
    lives: Sequence[Life], names: Sequence[str], references: dict[str, Reference]
) -> dict[str, dict[str, float]]:
    """Return for each job how often it was killed, and how often what was wrong."""
    rows = {}
    for name in names:
        own = [life for life in lives if life.job == name]
        kinds = [kind for life in own for kind, _ in life.problems]
        rows[name] = {
            "kills": sum(life.kills for life in own),
            "runs": sum(life.runs for life in own),
            "completed": len(own) - kinds.count("failed"),
            **{kind: kinds.count(kind) for kind in PROBLEMS},
            "undisturbed, s": round(references[name].seconds, 2),
        }
    return rows

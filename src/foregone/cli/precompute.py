"""``foregone precompute``: solve a grid of problems into a folder, on all cores; it can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from foregone._system.progress import counting
from foregone._system.worker_processes import n_cores, worker_pool
from foregone.cli.commands import JsonFlag
from foregone.cli.number_lists import parse_looks, parse_rates, parse_voters
from foregone.cli.options import AnswerName, Looks, QuotaOption, ThresholdOption, check_criterion, given_quota
from foregone.cli.output import make_console, print_json
from foregone.errors import ForegoneError, InvalidInputError, SolverError
from foregone.solving import CRITERIA, Answer, Criterion, Problem, Solution, solve

__all__ = ["Task", "precompute_command"]

_DIED = "its process was killed, probably for lack of memory: use a machine with more memory, or omit it"


class Task(NamedTuple):
    """One problem of the grid."""

    criterion: Criterion
    n_voters: int
    max_disagreement: float
    looks: tuple[int, ...] | int | None = None
    answer: Answer = "majority"
    quota: int | None = None

    @property
    def problem(self) -> Problem:
        """The problem to solve, checked."""
        return Problem.check(
            self.criterion, self.n_voters, self.max_disagreement, None, self.looks, self.answer, self.quota
        )

    @property
    def file_name(self) -> str:
        """The file of its solution: always the same name, and a different one for every problem."""
        short = f"{self.max_disagreement:g}"
        exact = short if float(short) == self.max_disagreement else repr(self.max_disagreement)
        looks = "-".join(map(str, self.looks if isinstance(self.looks, tuple) else [self.looks]))
        after = "" if self.looks is None else f"-looks-{looks}"
        answer = "" if self.answer == "majority" else f"-{self.answer}"
        quota = "" if self.quota is None else f"-quota-{self.quota}"
        return f"{self.criterion}-{self.n_voters}-{exact}{after}{answer}{quota}.json"

    def is_done(self, folder: Path) -> bool:
        """Whether ``folder`` holds its solution, complete and readable."""
        try:
            found = Solution.load(folder / self.file_name)
        except ForegoneError:
            return False
        return _identity(found.problem) == _identity(self.problem)


def _identity(problem: Problem) -> tuple[object, ...]:
    return (
        problem.criterion, problem.votes, problem.max_disagreement, problem.confidence, problem.looks,
        problem.answer, problem.quota, problem.values,
    )  # fmt: skip


def precompute_command(
    voters: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Numbers of voters: 11,21,31 or a range start:stop:step that includes stop."
        ),
    ],
    max_disagreement: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Limits from 0 to 1: 0,1e-3,0.1; three dots continue a series: 1e-6,...,0.1."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the strategy files.")
    ],
    criterion: Annotated[str, typer.Option(metavar="LIST", help="Criteria, separated by commas.")] = ",".join(
        CRITERIA
    ),
    looks: Looks = None,
    answer: AnswerName = "majority",
    quota: QuotaOption = None,
    threshold: ThresholdOption = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Number of parallel processes. Default: one per core.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Solve a grid of problems and save one strategy file for each.

    After an interruption, run the same command again: it keeps finished files and
    solves the rest.

    \b
    Examples:
      foregone precompute --voters 11:121:10 \\
          --max-disagreement 0,1e-6,...,0.1 -o strategies
      foregone precompute --voters 101,501 --max-disagreement 0.01 \\
          --criterion minimixed -o strategies
      foregone precompute --voters 11:121:10 --max-disagreement 0.01 \\
          --threshold 2/3 -o strategies
    """
    criteria = [check_criterion(name.strip()) for name in criterion.split(",")]
    grid = (parse_voters(voters), parse_rates(max_disagreement))
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"--jobs must be at least 1, got {jobs}")
    parsed = parse_looks(looks)
    after = tuple(parsed) if isinstance(parsed, list) else parsed
    tasks = [
        Task(name, n, rate, after, answer, given_quota(quota, threshold, n))  # type: ignore[arg-type]  # checked below
        for n in grid[0]
        for rate in grid[1]
        for name in dict.fromkeys(criteria)
    ]
    for task in tasks:
        _ = task.problem  # raises before anything is solved
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot create the folder {output}: {error.strerror or error}") from None
    open_tasks = [task for task in tasks if not task.is_done(output)]
    failures = _solve_all(open_tasks, output, jobs or n_cores())
    solved = len(open_tasks) - len(failures)
    kept = len(tasks) - len(open_tasks)
    if as_json:
        files = [str(output / task.file_name) for task in tasks if task.file_name not in failures]
        print_json({"solved": solved, "kept": kept, "files": files, "failures": failures})
    else:
        make_console().print(
            f"{solved} solved, {kept} kept from earlier runs: "
            f"{solved + kept} of {len(tasks)} strategies in {output}",
            markup=False,
        )
    if failures:
        for name, reason in failures.items():
            typer.echo(f"foregone: {name} failed: {reason}", err=True)
        raise SolverError(
            f"{len(failures)} of {len(tasks)} strategies failed (listed above), the others are in {output}: "
            "run the same command again to retry"
        )


def _solve_all(tasks: list[Task], folder: Path, jobs: int) -> dict[str, str]:
    """Solve in worker processes, largest first; return the failures by file name."""
    failures: dict[str, str] = {}
    if not tasks:
        return failures
    left = sorted(tasks, key=lambda task: -task.n_voters)
    try:
        with counting("solving", len(tasks)) as advance:
            while left:
                jobs = min(jobs, len(left))
                unfinished = _solve_until_a_process_dies(left, folder, jobs, failures, advance)
                # A death ends the whole pool. A pool of one works in order, so it shows whose death it was.
                if unfinished and jobs == 1:
                    failures[unfinished.pop(0).file_name] = _DIED
                    advance()
                left, jobs = unfinished, 1
    except KeyboardInterrupt:
        typer.echo("foregone: interrupted; run the same command again to continue", err=True)
        raise typer.Exit(130) from None
    return failures


def _solve_until_a_process_dies(
    tasks: list[Task], folder: Path, jobs: int, failures: dict[str, str], advance: Callable[[], None]
) -> list[Task]:
    """Solve, recording failures by file name; return, in order, the tasks left when a process died."""
    unfinished = []
    with worker_pool(jobs) as pool:
        futures = {pool.submit(_solve_one, task, folder): task for task in tasks}
        for future in as_completed(futures):
            task, error = futures[future], future.exception()
            if isinstance(error, BrokenProcessPool):
                unfinished.append(task)
                continue
            if error is not None:
                named = isinstance(error, ForegoneError)
                failures[task.file_name] = str(error) if named else f"{type(error).__name__}: {error}"
            advance()
    return [task for task in tasks if task in unfinished]


def _solve_one(task: Task, folder: Path) -> None:
    solution = solve(
        task.criterion,
        task.n_voters,
        task.max_disagreement,
        looks=task.looks,
        answer=task.answer,
        quota=task.quota,
    )
    solution.save(folder / task.file_name)

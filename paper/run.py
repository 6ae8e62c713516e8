"""run(): from a request to files. Finished pieces are kept, so that it can be stopped and run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foregone._system.worker_processes import worker_pool
from foregone.errors import ForegoneError, InvalidInputError, MissingExtraError
from paper import datasets, structure
from paper.index_page import write_index
from paper.items import Need
from paper.known_datasets import KNOWN
from paper.output_folder import prepare_folder
from paper.pieces import PieceStore
from paper.record import write_record
from paper.request import Reporter, Request
from paper.results import DatasetFacts, Piece, Results, Rounding, Structure
from paper.tasks import ForestTask, StructureTask, Task
from paper.work import do_tasks, jobs_that_fit, measure_all, time_methods

__all__ = ["run"]

PACKAGES = ("matplotlib", "pandas", "pyarrow")
STRUCTURES_AT_ONCE = 10
# What a process may need: itself, the rows with their copies, the nodes of the trees (80 bytes each; noisy
# classes grow nearly one for every other row and tree).
BASE_MEMORY, BYTES_A_VALUE, BYTES_A_VOTE = 400e6, 16, 40


@dataclass(frozen=True)
class _Source:
    """A dataset that could be had."""

    file: Path
    fingerprint: str
    facts: DatasetFacts


def run(request: Request, reporter: Reporter) -> list[Path]:
    """Do what is not done yet, then write every figure and table asked for.

    The files depend on the request and the data alone (figure S1's timings on the pieces that keep them):
    running again, after an interruption too, gives the same bytes.

    Returns
    -------
    list of Path
        The files written, the page that shows them all first.

    Raises
    ------
    ForegoneError
        If nothing can be done, before any work; or if something fails on the way. Finished pieces stay.
    """
    request = _with_items_for(request.datasets, request, reporter)
    _check_packages()
    n_pieces = len(request.names("votes", "roundings")) * request.settings.repeats
    prepare_folder(request.output, n_pieces)
    if request.record is not None:
        prepare_folder(request.record, 0)
    store = PieceStore(request.output / "pieces")
    sources, skipped = _obtain(request, reporter)
    request = _with_items_for(sources, request, reporter)
    tasks = _tasks(request, sources)
    with worker_pool(request.jobs or jobs_that_fit(tasks)) as pool:
        pieces, roundings, structures = _sort(do_tasks(tasks, store, pool, reporter))
        measures = measure_all(pieces, pool, reporter)
    results = Results(
        settings=request.settings,
        datasets=tuple(source.facts for source in sources.values()),
        skipped=skipped,
        pieces=pieces,
        roundings=roundings,
        measures=tuple(measures),
        timings=tuple(time_methods(store, reporter)) if request.needs("timings") else (),
        structures=tuple(structures),
    )
    files: list[Path] = []
    with reporter.progress("drawing", len(request.items)) as advance:
        for item in request.items:
            files += item.render(results, request.output)
            advance()
    if request.record is not None:
        files += write_record(results, request.output, request.record, request.command)
    return [write_index(results, request.output), *files]


def _with_items_for(names: Iterable[str], request: Request, reporter: Reporter) -> Request:
    """Leave out items that show none of these datasets."""
    groups = {KNOWN[name].group for name in names}
    kept = []
    for item in request.items:
        if item.groups and groups.isdisjoint(item.groups):
            reporter.line(f"{item.name} is left out: it shows none of the datasets there are")
        else:
            kept.append(item)
    if not kept:
        raise InvalidInputError("nothing is left to do: choose datasets that the items show")
    return replace(request, items=tuple(kept))


def _check_packages() -> None:
    """Say so at once, not after hours, if something is not installed."""
    for package in PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError(package, "paper", "The reproduction of the paper")


def _obtain(request: Request, reporter: Reporter) -> tuple[dict[str, _Source], dict[str, str]]:
    """Find and read every dataset needed; say which cannot be had, and which are not quite the paper's."""
    wanted = request.names("facts", "votes", "roundings")
    sources: dict[str, _Source] = {}
    skipped: dict[str, str] = {}
    with reporter.progress("reading datasets", len(wanted)) as advance:
        for name in wanted:
            try:
                file = datasets.obtain(name, request.data)
                rows = datasets.read(file)
            except MissingExtraError:
                raise
            except ForegoneError as error:
                skipped[name] = str(error)
                reporter.line(f"{name} is skipped: {error}")
            else:
                facts = datasets.facts(name, file, rows, request.data)
                sources[name] = _Source(file, rows.fingerprint(), facts)
                if facts.note:
                    reporter.line(f"{name} is not quite the paper's: {facts.note}")
            advance()
    if wanted and not sources:
        raise InvalidInputError("no dataset can be had: see the reasons above, or give files with --data DIR")
    return sources, skipped


def _tasks(request: Request, sources: Mapping[str, _Source]) -> list[Task]:
    """Return all pieces of work, the longest first, those on the same rows together."""
    tasks: list[Task] = []
    kinds: tuple[tuple[Any, Need], ...] = (("votes", "votes"), ("rounding", "roundings"))
    for kind, need in kinds:
        for name in request.names(need):
            if name not in sources:
                continue
            source = sources[name]
            rows, features = source.facts.rows, source.facts.features
            cost = rows * features**0.5
            memory = BASE_MEMORY + rows * (
                features * BYTES_A_VALUE + request.settings.n_voters * BYTES_A_VOTE
            )
            tasks += [
                ForestTask(
                    kind, name, repeat, request.settings, source.file, source.fingerprint, cost, memory
                )
                for repeat in range(request.settings.repeats)
            ]
    if request.needs("structures"):
        grid = structure.GRID
        steps = range(0, len(grid), STRUCTURES_AT_ONCE)
        tasks += [StructureTask(grid[start : start + STRUCTURES_AT_ONCE]) for start in steps]
    return sorted(tasks, key=lambda task: -task.cost)


def _sort(
    done: Iterable[tuple[Task, Any]],
) -> tuple[dict[str, tuple[Piece, ...]], dict[str, tuple[Rounding, ...]], list[Structure]]:
    """Put results by kind and dataset, in the paper's order and that of repeats."""
    pieces: dict[str, tuple[Piece, ...]] = {}
    roundings: dict[str, tuple[Rounding, ...]] = {}
    structures: list[Structure] = []
    places = {name: place for place, name in enumerate(KNOWN)}
    forests = [(task, result) for task, result in done if isinstance(task, ForestTask)]
    for task, result in sorted(forests, key=lambda pair: (places[pair[0].dataset], pair[0].repeat)):
        if isinstance(result, Piece):
            pieces[task.dataset] = (*pieces.get(task.dataset, ()), result)
        else:
            roundings[task.dataset] = (*roundings.get(task.dataset, ()), result)
    for other, result in done:
        if isinstance(other, StructureTask):
            structures += result
    return pieces, roundings, sorted(structures, key=lambda s: (s.criterion, s.n_voters, s.max_disagreement))

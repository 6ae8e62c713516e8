"""``python -m paper``: every figure and table of the paper, reproduced. ``make paper`` runs it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from foregone._system.progress import counting
from foregone.cli import run_app
from foregone.cli.commands import InterruptibleGroup
from foregone.cli.output import make_console, print_json, print_table
from foregone.errors import InvalidInputError
from paper.datasets import check_folder
from paper.items import ITEMS, Item, check_items
from paper.known_datasets import KNOWN, check_names
from paper.request import Request
from paper.results import Settings

__all__ = ["CALLED", "app", "main"]

CALLED = "python -m paper"
MOST_VOTERS = 10_001  # forests beyond are no reproduction of anything

app = typer.Typer(
    cls=InterruptibleGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)

Datasets = Annotated[
    str | None,
    typer.Option(
        "--datasets", metavar="LIST", help="Datasets, separated by commas; all that an item shows by default."
    ),
]
Repeats = Annotated[int, typer.Option(metavar="N", help="Forests per dataset, averaged.")]
Voters = Annotated[int, typer.Option(metavar="N", help="Trees in a forest.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Decides splits and forests.")]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder of NAME.parquet files with a column 'target'; FOREGONE_DATA by default. "
        "What is not there is fetched from UCI or OpenML, and kept.",
    ),
]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the results.")]
Jobs = Annotated[
    int | None, typer.Option(metavar="N", help="Processes at a time; as cores and memory allow by default.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, with every digit, instead of text.")]


@app.callback()
def paper_command() -> None:
    """Reproduce the figures and tables of the paper.

    \b
    Examples:
      python -m paper list
      python -m paper run table3 --datasets income,skin --repeats 5
      python -m paper all --data parquet-files -o results
    """


@app.command("list")
def list_command(as_json: JsonFlag = False) -> None:
    """List the items and the datasets.

    \b
    Examples:
      python -m paper list
      python -m paper list --json
    """
    if as_json:
        items = [{"name": item.name, "title": item.title} for item in ITEMS.values()]
        print_json({"items": items, "datasets": [known._asdict() for known in KNOWN.values()]})
        return
    console = make_console()
    print_table(console, ("item", "what it shows"), [[item.name, item.title] for item in ITEMS.values()])
    console.print()
    rows = [
        [known.name, f"{'UCI' if known.group == 'uci' else 'OpenML'} {known.identifier}", f"{known.rows:,}",
         f"{known.features}"]
        for known in KNOWN.values()
    ]  # fmt: skip
    print_table(console, ("dataset", "source", "rows", "features"), rows)


@app.command("run")
def run_command(
    items: Annotated[list[str], typer.Argument(metavar="ITEM...", help="As 'python -m paper list' says.")],
    names: Datasets = None,
    repeats: Repeats = 30,
    voters: Voters = 101,
    seed: Seed = 0,
    data: Data = None,
    output: Output = Path("results"),
    jobs: Jobs = None,
    as_json: JsonFlag = False,
) -> None:
    """Reproduce some figures and tables.

    Run it again after an interruption: what is finished is kept, the rest is
    done, and the files come out the same.

    \b
    Examples:
      python -m paper run fig1 fig2
      python -m paper run table3 --datasets income,skin --repeats 5
      python -m paper run fig3 table3 --data parquet-files -o results
    """
    _run(check_items(items), names, repeats, voters, seed, data, output, jobs, None, as_json)


@app.command("all")
def all_command(
    names: Datasets = None,
    repeats: Repeats = 30,
    voters: Voters = 101,
    seed: Seed = 0,
    data: Data = None,
    output: Output = Path("results"),
    jobs: Jobs = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write a page with the paper's numbers beside ours, here."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Reproduce every figure and table; with all datasets that takes hours.

    Run it again after an interruption: what is finished is kept, the rest is
    done, and the files come out the same.

    \b
    Examples:
      python -m paper all
      python -m paper all --repeats 5 --data parquet-files -o results
      python -m paper all --record docs/paper
    """
    _run(list(ITEMS.values()), names, repeats, voters, seed, data, output, jobs, record, as_json)


def _run(
    items: list[Item],
    names: str | None,
    repeats: int,
    voters: int,
    seed: int,
    data: Path | None,
    output: Path,
    jobs: int | None,
    record: Path | None,
    as_json: bool,
) -> None:
    """Check every option, then run."""
    for option, value, least in (
        ("--repeats", repeats, 1),
        ("--voters", voters, 1),
        ("--seed", seed, 0),
        ("--jobs", jobs, 1),
    ):
        if value is not None and value < least:
            raise InvalidInputError(f"{option} must be at least {least}, not {value}")
    if voters > MOST_VOTERS:
        raise InvalidInputError(f"--voters must be at most {MOST_VOTERS:,}, not {voters}")
    chosen = check_names(names.split(",")) if names is not None else list(KNOWN)
    folder = check_folder(data)
    from paper.run import run

    request = Request(
        tuple(items), tuple(chosen), Settings(voters, repeats, seed), folder, output, jobs,
        record, f"{CALLED} {shlex.join(sys.argv[1:])}",
    )  # fmt: skip
    try:
        files = run(request, _Terminal())
    except KeyboardInterrupt:
        typer.echo("paper: interrupted; run the same command again to do the rest", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json({"index": str(files[0]), "files": [str(file) for file in files]})
        return
    make_console().print(f"{len(files)} files in {output}; look at {files[0]}", markup=False)


class _Terminal:
    """Lines and bars on stderr: bars only if a person is looking, lines always."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)

    def line(self, text: str) -> None:
        """Say something, above the bar if there is one."""
        self._console.print(text, markup=False)

    def progress(self, label: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        """Show a bar while it lasts."""
        return counting(label, total, self._console)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it with the given arguments (those of the process by default); exit codes are ``foregone``'s."""
    return run_app(app, CALLED, arguments)


if __name__ == "__main__":
    sys.exit(main())

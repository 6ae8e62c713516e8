"""The Typer application that gathers the commands."""

from __future__ import annotations

from typing import Annotated

import typer

import foregone
from foregone.cli.commands import COMMANDS, LazyGroup

__all__ = ["app"]

app: typer.Typer = typer.Typer(
    cls=LazyGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foregone {foregone.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def foregone_command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Ask the voters of an ensemble one by one, and stop once the outcome is settled.

    Voters can be the trees of a forest, a committee of models or samples of a
    language model. The strategies are provably optimal among those that count
    votes in random order.

    \b
    Examples:
      foregone demo
      foregone report forest.skops rows.parquet
      foregone plan --votes counts.csv
      foregone solve --voters 101 --max-disagreement 1e-3 -o strategy.json
      foregone show strategy.json
      foregone compare --voters 101
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _name, _summary in COMMANDS.items():
    app.command(_name, short_help=_summary)(lambda: None)  # LazyGroup runs the real one

"""The Typer application that gathers the commands."""

from __future__ import annotations

from typing import Annotated

import typer

import foregone
from foregone.cli.certify import certify_command
from foregone.cli.compare import compare_command
from foregone.cli.demo import demo_command
from foregone.cli.evaluate import evaluate_command
from foregone.cli.paper import paper_app
from foregone.cli.plan import plan_command
from foregone.cli.precompute import precompute_command
from foregone.cli.replay import replay_command
from foregone.cli.show import show_command
from foregone.cli.solve import solve_command

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
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
    """Ask the voters of an ensemble one by one and stop, provably optimally,
    once the outcome of the full vote is a foregone conclusion.

    \b
    Examples:
      foregone demo
      foregone plan --votes counts.csv
      foregone solve --voters 101 --max-disagreement 1e-3 -o strategy.json
      foregone show strategy.json
      foregone compare --voters 101
    """  # noqa: D205  # the first sentence takes two lines
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("plan")(plan_command)
app.command("solve")(solve_command)
app.command("show")(show_command)
app.command("evaluate")(evaluate_command)
app.command("compare")(compare_command)
app.command("replay")(replay_command)
app.command("certify")(certify_command)
app.command("precompute")(precompute_command)
app.command("demo")(demo_command)
app.add_typer(paper_app, name="paper")

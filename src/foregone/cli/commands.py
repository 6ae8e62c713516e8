"""The commands by name. Each is loaded when it is called, so that listing them takes no time."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

__all__ = ["COMMANDS", "InterruptibleGroup", "JsonFlag", "LazyGroup", "load_command"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, with every digit, instead of text.")]

# A new command is one line here: NAME is what `NAME_command` or, with commands of its own, the Typer
# `NAME_app` does in foregone/cli/NAME.py, with underscores for hyphens. A test holds the summary to the first
# line of its docstring.
COMMANDS = {
    "report": "Show what stopping early would save on your model.",
    "plan": "Lay out what each limit costs and risks; recommend one.",
    "solve": "Find the strategy that asks the fewest voters.",
    "show": "Show what a file holds: where a strategy stops, what it promises.",
    "evaluate": "Compute exactly what a strategy costs and risks.",
    "compare": "Put optimal strategies and the usual rules side by side.",
    "replay": "Replay recorded votes under our criteria and other rules.",
    "score": "Score files larger than memory with a saved classifier.",
    "watch": "Watch answered rows, and tell when the promise is at risk.",
    "certify": "Prove that a strategy keeps its limit and is optimal.",
    "precompute": "Solve a grid of problems, each into a file of its own.",
    "demo": "Train a forest, stop it early, and say what that saves.",
    "warm-up": "Compile ahead of time what the first calls would compile.",
    "doctor": "Say what is installed and whether all is well.",
}


def load_command(name: str) -> Any:
    """Return the command of this name, ready to be run by Typer or looked at by a test."""
    own = name.replace("-", "_")
    module = importlib.import_module(f"foregone.cli.{own}")
    app = getattr(module, f"{own}_app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(getattr(module, f"{own}_command"))
    command = typer.main.get_command(app)
    command.name = name
    return command


class InterruptibleGroup(TyperGroup):
    """A group of commands whose interruption reaches the caller."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; newer releases of Typer would end an interrupted one without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


class LazyGroup(InterruptibleGroup):
    """A group whose own commands are only names and summaries; what is called is loaded instead."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find what is called, also when it is to be completed."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if found is None else load_command(found.name or ""), rest

"""The commands by name. Each is loaded when it is called, so that listing them is fast."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

__all__ = ["COMMANDS", "InterruptibleGroup", "JsonFlag", "LazyGroup", "load_command"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON with every digit instead of text.")]

# A new command is one line here. NAME runs `NAME_command` in foregone/cli/NAME.py or, if it has commands of
# its own, the Typer `NAME_app`, with underscores for hyphens. The summary must equal the first line of the
# docstring; a test checks this.
COMMANDS = {
    "report": "Show what stopping early would save on your model.",
    "plan": "Show what each limit costs and risks, and recommend one.",
    "solve": "Find the strategy that asks the fewest voters within your limit.",
    "show": "Show what a saved file contains.",
    "evaluate": "Compute the exact cost and risk of a strategy.",
    "compare": "Compare optimal strategies with common stopping rules.",
    "replay": "Compare stopping rules on recorded votes.",
    "score": "Score files larger than memory with a saved classifier.",
    "watch": "Monitor predictions, and raise an alarm if the promise is at risk.",
    "certify": "Prove that a strategy keeps its limit and is optimal.",
    "precompute": "Solve a grid of problems and save one strategy file for each.",
    "demo": "Train a forest, stop it early, and show what that saves.",
    "warm-up": "Compile ahead of time, so that first calls are fast.",
    "doctor": "Check the installation and report problems.",
}


def load_command(name: str) -> Any:
    """Return the command of this name, ready for Typer to run."""
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
    """A group of commands that passes an interruption on to the caller."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; newer releases of Typer end an interrupted one silently."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


class LazyGroup(InterruptibleGroup):
    """A group that knows only names and summaries, and loads a command when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is called or completed."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if found is None else load_command(found.name or ""), rest

"""The command line: one file per command, each a thin layer over the library."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import typer

from foregone._system.shown import shown
from foregone.cli.app import app
from foregone.errors import ForegoneError, SolverError

__all__ = ["main", "run_app"]

RENAMED_OPTIONS = {"--answers": "--n-answers"}  # old names, accepted until 1.0

# Newer releases of Typer bring a click of their own; this is the right UsageError with either.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``foregone`` with the given arguments (those of the process by default).

    Returns the exit code, as `run_app` does.
    """
    return run_app(app, "foregone", arguments)


def run_app(application: typer.Typer, called: str, arguments: Sequence[str] | None = None) -> int:
    """Run a Typer application with the exit codes and error messages of every command line here.

    Parameters
    ----------
    application : typer.Typer
        The commands.
    called : str
        The words that run it; errors begin with the last one.
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        Exit code: 0 for success; 2 for an invalid argument or file, with one line on stderr that says what
        to do; 1 for a proof that fails, a solver that gives up, or an alarm; 130 if interrupted.
    """
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  # lives as long as we do
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to stop
    name = called.split()[-1]
    command = typer.main.get_command(application)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _say(name, f"warning: {message}")
            given = _with_new_names(name, sys.argv[1:] if arguments is None else arguments)
            result = command.main(args=given, prog_name=called, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except SystemExit as end:  # Typer's own options for completion end the process themselves
        return end.code if isinstance(end.code, int) else 1
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else called
        return _fail(name, f"{_usage_message(error)} (see {path} --help)", 2)
    except ForegoneError as error:
        return _fail(name, str(error), 1 if isinstance(error, SolverError) else 2)
    except MemoryError:
        return _fail(name, "not enough memory for this many voters: use fewer voters", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail(name, "interrupted", 130)
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        _discard_output()
        return 1
    except OSError as error:  # what we read and write ourselves is reported with its name, so this is stdout
        _discard_output()
        return _fail(name, f"cannot write the output: {error.strerror or error}", 1)


def _with_new_names(name: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the new names of options, and warn about old ones."""
    renamed = list(arguments)
    for place, argument in enumerate(renamed):
        option, equals, value = argument.partition("=")
        if option in RENAMED_OPTIONS:
            new = RENAMED_OPTIONS[option]
            _say(name, f"warning: {option} is now called {new}; the old name works until 1.0")
            renamed[place] = new + equals + value
    return renamed


def _discard_output() -> None:
    """Discard the output that is still buffered, so that no error follows at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_message(error: BaseException) -> str:
    message = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    return message.strip().rstrip(".")


def _fail(name: str, message: str, code: int) -> int:
    _say(name, message)
    return code


def _say(name: str, message: str) -> None:
    print(f"{name}:", " ".join(shown(message).split()), file=sys.stderr)

"""``foregone warm-up``: compile ahead of time, for example in a container image."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from foregone._system.progress import counting
from foregone.cli.commands import JsonFlag
from foregone.errors import InvalidInputError

__all__ = ["warm_up_command"]

CPUS = ("native", "generic")


def warm_up_command(
    scope: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="WHAT",
            autocompletion=lambda: ["predict", "scores", "solve", "all"],
            help="What to compile for: predict (votes), scores (averaged and boosted trees), solve, or all.",
        ),
    ] = "all",
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for compiled code. To use it, set FOREGONE_CACHE_DIR to it where foregone runs.",
        ),
    ] = None,
    cpu: Annotated[
        str,
        typer.Option(
            metavar="CPU",
            autocompletion=lambda: list(CPUS),
            help="Processor to compile for: native, or generic for slower code that runs on every processor "
            "of this architecture.",
        ),
    ] = "native",
    as_json: JsonFlag = False,
) -> None:
    """Compile ahead of time, so that first calls are fast.

    Run it once, for example when you build a container image. When the image
    runs, the folder may be read-only and the user may be another one.

    \b
    Examples:
      foregone warm-up
      foregone warm-up --for predict
      foregone warm-up --into /opt/foregone-cache --cpu generic
    """
    if cpu not in CPUS:
        raise InvalidInputError(f"--cpu must be one of {', '.join(CPUS)}, got {cpu!r}")
    if cpu == "generic":  # before numba is imported
        os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = "generic", ""
    from foregone._kernels import kept_code
    from foregone._kernels.compiled import cache_problem, n_compiled
    from foregone.checks import check_choice
    from foregone.cli.output import make_console, print_json
    from foregone.cli.warm_up_tasks import SCOPES, tasks_for

    tasks = tasks_for(check_choice(scope, "--for", SCOPES))
    if into is not None:
        kept_code.use_only(into)
    with counting("Compiling", len(tasks)) as step:
        for done, task in enumerate(tasks):
            step(done, len(tasks), words=f"Compiling: {task.name}")
            task.work()
    folder = kept_code.kept_in()
    found = {
        "compiled": n_compiled(),
        "kept": kept_code.n_kept(),
        "folder": None if folder is None else str(folder),
        "problem": cache_problem(),
    }
    if as_json:
        print_json(found)
    else:
        where = "nowhere" if folder is None else str(folder)
        make_console().print(
            f"Compiled {found['compiled']} functions. The JIT cache has {found['kept']}, in\n  {where}",
            markup=False,
        )
        if into is not None:
            make_console().print(f"To use it, set  FOREGONE_CACHE_DIR={into}", markup=False)
    if found["problem"]:
        raise typer.Exit(1)

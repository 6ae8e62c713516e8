"""Progress display, on stderr and only if that is a terminal. Stdout is left to the caller."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from foregone._system.shown import shown

__all__ = ["counting", "working"]

PATIENCE = 2.0  # seconds; shorter work needs no progress display


@contextlib.contextmanager
def counting(
    label: str, total: int | None = None, console: Console | None = None
) -> Iterator[Callable[..., None]]:
    """Show a progress bar; call the yielded function after each of ``total`` steps.

    If the total is not known in advance, call it with the number of steps done and the total. ``words``
    replaces the label of the bar. Text printed meanwhile on ``console``, or on stdout if that is the same
    terminal, appears above the bar.
    """
    with _progress(console, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task(shown(label), total=total)
        progress.start()

        def step(done: int | None = None, of: int | None = None, *, words: str | None = None) -> None:
            if words is not None:
                progress.update(task, description=shown(words))
            if done is None:
                progress.advance(task)
            else:
                progress.update(task, completed=done, total=of)

        yield step


@contextlib.contextmanager
def working(label: str) -> Iterator[Callable[[str], None]]:
    """Show a label and the elapsed time if the work takes longer than two seconds.

    Call the yielded function with another label when the work moves on to something else.
    """
    with _progress(None, SpinnerColumn(), TimeElapsedColumn()) as progress:
        task = progress.add_task(shown(label), total=None)
        later = threading.Timer(PATIENCE, progress.start)
        later.daemon = True
        later.start()
        try:
            yield lambda words: progress.update(task, description=shown(words))
        finally:
            later.cancel()
            later.join()  # it may just be starting the display that is to be stopped now


@contextlib.contextmanager
def _progress(console: Console | None, *columns: ProgressColumn) -> Iterator[Progress]:
    hidden = sys.stderr is None or not sys.stderr.isatty()
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        *columns,
        console=console or Console(stderr=True),
        transient=True,
        disable=hidden,
        redirect_stdout=not hidden and _share_a_terminal(),
    )
    try:
        yield progress
    finally:
        if progress.live.is_started:
            progress.stop()


def _share_a_terminal() -> bool:
    """Whether stdout and stderr are the same terminal, where lines on stdout would run into the bar."""
    try:
        return os.ttyname(sys.stdout.fileno()) == os.ttyname(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # no stdout, no terminal, no file, or Windows
        return False

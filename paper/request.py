"""Request: what a run is asked for. Reporter: how it tells what it does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paper.items import Item, Need
from paper.known_datasets import KNOWN
from paper.results import Settings

__all__ = ["Reporter", "Request"]


@dataclass(frozen=True)
class Request:
    """What to reproduce, from what, and where to.

    Attributes
    ----------
    items : tuple of Item
        Figures and tables.
    datasets : tuple of str
        Names of the sets that may be used; an item takes those of its groups.
    settings : Settings
        Voters, repeats, seed.
    data : Path or None
        Folder of local parquet files.
    output : Path
        Folder for the results; pieces go to ``pieces`` in it.
    jobs : int or None
        Processes at a time; None for as many as cores and memory allow.
    record : Path or None
        Folder for a record of the run, as in docs/paper; None for no record.
    command : str
        What was typed, for the record.
    """

    items: tuple[Item, ...]
    datasets: tuple[str, ...] = tuple(KNOWN)
    settings: Settings = field(default_factory=Settings)
    data: Path | None = None
    output: Path = Path("results")
    jobs: int | None = None
    record: Path | None = None
    command: str = "python -m paper"

    def names(self, *needs: Need) -> list[str]:
        """Return the datasets that are needed for something, in the paper's order."""
        groups = {group for item in self.items if set(needs) & set(item.needs) for group in item.groups}
        return [name for name in self.datasets if KNOWN[name].group in groups]

    def needs(self, need: Need) -> bool:
        """Whether some item needs something."""
        return any(need in item.needs for item in self.items)


class Reporter(Protocol):
    """How a run tells what it does."""

    def line(self, text: str) -> None:
        """Say something."""

    def progress(self, label: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        """Show that one step after another is done; what it gives is called after each."""

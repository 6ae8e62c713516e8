"""The figures and tables of the paper: what each shows, what it needs, who draws it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from foregone.errors import InvalidInputError
from paper.results import Results

__all__ = ["ITEMS", "Item", "Need", "check_items"]

Need = Literal["facts", "votes", "roundings", "structures", "timings"]
BOTH = ("uci", "benchmark")


@dataclass(frozen=True)
class Item:
    """A figure or table of the paper.

    Attributes
    ----------
    name : str
        As on the command line and in file names.
    title : str
        What it shows.
    renderers : tuple of str
        Functions of (results, folder) that write its files and return them, as ``module:function``.
    needs : tuple of str
        Which parts of `Results` it is drawn from.
    groups : tuple of str
        The groups of datasets it shows; none for an item without data.
    """

    name: str
    title: str
    renderers: tuple[str, ...]
    needs: tuple[Need, ...] = ()
    groups: tuple[str, ...] = ()

    def render(self, results: Results, folder: Path) -> list[Path]:
        """Write its files into ``folder`` and return them."""
        files: list[Path] = []
        for renderer in self.renderers:
            module, function = renderer.split(":")
            files += getattr(importlib.import_module(f"paper.{module}"), function)(results, folder)
        return files


_ALL = (
    Item("fig1", "State graphs of three voters, one or all in favour", ("figures.fig1:draw",)),
    Item(
        "fig2",
        "Envelopes of optimal strategies, and what shape they all have",
        ("figures.fig2:draw", "tables:envelope_structure"),
        ("structures",),
    ),
    Item("fig3", "Six approaches on the UCI datasets", ("figures.fig3:draw",), ("votes",), ("uci",)),
    Item("fig4", "Time against error on all datasets", ("figures.fig4:draw",), ("votes",), BOTH),
    Item("fig5", "How the votes are distributed, by class", ("figures.fig5:draw",), ("votes",), ("uci",)),
    Item("table2", "The datasets", ("tables:table2",), ("facts",), BOTH),
    Item(
        "table3",
        "Summary at one disagreement in 1,000",
        ("tables:table3",),
        ("votes",),
        ("uci",),
    ),
    Item("figS1", "Time to solve, against the number of voters", ("figures.figs1:draw",), ("timings",)),
    Item(
        "figS2",
        "Six approaches on the benchmark datasets",
        ("figures.figs2:draw", "tables:benchmark_summary"),
        ("votes",),
        ("benchmark",),
    ),
    Item(
        "tableS1",
        "Certainty of trees, and what rounding changes",
        ("tables:tables1",),
        ("roundings",),
        BOTH,
    ),
)

ITEMS: Mapping[str, Item] = MappingProxyType({item.name: item for item in _ALL})


def check_items(names: Iterable[str]) -> list[Item]:
    """Return the items in the paper's order, each once, or say which ones there are.

    Examples
    --------
    >>> [item.name for item in check_items(["table3", "fig1", "table3"])]
    ['fig1', 'table3']
    """
    wanted = set(names)
    unknown = sorted(wanted - ITEMS.keys())
    if unknown or not wanted:
        found = f"no item is called {', '.join(map(repr, unknown))}" if unknown else "name an item"
        raise InvalidInputError(f"{found}; there are {', '.join(ITEMS)}")
    return [item for item in _ALL if item.name in wanted]

"""The reproduction is a user of the library: it imports public names, and these exceptions."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import foregone
import paper

FOLDER = Path(paper.__file__ or "").parent
PUBLIC = ("foregone", "foregone.display", "foregone.errors", "foregone.forest", "foregone.rules")
PRIVATE = {
    ("foregone._system.atomic_file", "write_atomically"): "files whole or not at all, also when killed",
    ("foregone.cli", "run_app"): "errors in one line, exit codes and interruptions as of foregone",
    ("foregone.cli.commands", "InterruptibleGroup"): "interruptions, whichever release of Typer",
    ("foregone.cli.output", "make_console"): "texts from datasets that do nothing to the terminal",
    ("foregone.cli.output", "print_json"): "JSON as of foregone",
    ("foregone.cli.output", "print_table"): "tables that no terminal cuts off",
    ("foregone._system.progress", "counting"): "a bar, if a person is looking",
    ("foregone._system.worker_processes", "n_cores"): "the cores that this process may use",
    ("foregone._system.worker_processes", "worker_pool"): "processes that end when the run does",
}


def imported(file: Path) -> Iterator[tuple[str, str]]:
    """What a file imports of foregone: modules and names."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names if name.name.split(".")[0] == "foregone")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "foregone":
            yield from ((node.module or "", name.name) for name in node.names)


def is_public(module: str, name: str) -> bool:
    if module not in PUBLIC:
        return False
    return name == "" or name in importlib.import_module(module).__all__


FILES = {file.relative_to(FOLDER).as_posix(): set(imported(file)) for file in sorted(FOLDER.rglob("*.py"))}


def test_every_public_module_is_one() -> None:
    assert {module.partition(".")[2] for module in PUBLIC} - {""} <= set(foregone._MODULES)


@pytest.mark.parametrize("file", FILES)
def test_a_file_imports_public_names_and_what_there_is_a_reason_for(file: str) -> None:
    assert {found for found in FILES[file] if not is_public(*found)} <= PRIVATE.keys()


def test_there_is_no_exception_that_is_not_needed() -> None:
    assert PRIVATE.keys() <= set().union(*FILES.values())

"""Habits that no linter knows: names are used once, files are worth opening, calls can be read."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import foregone

ROOT = Path(foregone.__file__ or "").parent
FILES = {
    file.relative_to(ROOT).as_posix(): ast.parse(file.read_text("utf-8"))
    for file in sorted(ROOT.rglob("*.py"))
}
SHORTEST = 25  # lines of a module

# Functions of others that take a positional boolean, and why that can be read.
TAKE_A_BOOLEAN = {
    "append": "numpy's own: the boolean is a value, not a switch",
    "set_axisbelow": "matplotlib's own, named for its only parameter",
    "set_visible": "matplotlib's own, named for its only parameter",
    "with_nullable": "Arrow's own, named for its only parameter",
}
# Names that several modules have, and why.
SHARED_NAMES = {
    "__init__.py": "packages",
    "rules.py": "the ready-made rules of a kind of vote, in the room of that kind",
}


def calls_with_a_positional_boolean() -> Iterator[tuple[str, str]]:
    """File and function of every call that says True or False without saying of what."""
    for file, tree in FILES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and any(
                isinstance(given, ast.Constant) and isinstance(given.value, bool) for given in node.args
            ):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
                yield file, name


def types_defined(tree: ast.Module) -> Iterator[str]:
    """Public classes, and names of types that are assigned: capitalised, but not all of it."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (name.id for name in node.targets if isinstance(name, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def repeated(homes: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: files for name, files in homes.items() if len(files) > 1}


def test_no_call_passes_a_positional_boolean() -> None:
    found = [
        f"{file}: {name}"
        for file, name in calls_with_a_positional_boolean()
        if not file.startswith("_kernels/") and name not in TAKE_A_BOOLEAN
    ]
    assert not found, "pass it by name, or make it two functions"


def test_no_two_modules_have_the_same_name() -> None:
    homes = defaultdict(list)
    for file in FILES:
        homes[Path(file).name].append(file)
    found = {name: files for name, files in repeated(homes).items() if name not in SHARED_NAMES}
    assert not found


def test_no_two_modules_define_a_type_of_the_same_name() -> None:
    homes = defaultdict(list)
    for file, tree in FILES.items():
        for name in types_defined(tree):
            if name[0].isupper() and not name.isupper():
                homes[name].append(file)
    assert not repeated(homes)


def test_no_module_is_too_short_for_a_concept() -> None:
    short = {
        file
        for file in FILES
        if Path(file).name not in ("__init__.py", "__main__.py")
        and len((ROOT / file).read_text("utf-8").splitlines()) < SHORTEST
    }
    assert not short, "put it where its only user, or its concept, is"


def test_there_is_no_exception_that_is_not_needed() -> None:
    assert TAKE_A_BOOLEAN.keys() <= {name for _, name in calls_with_a_positional_boolean()}

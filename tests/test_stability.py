"""What docs/stability.md promises is what there is: every public name, and every version of every format."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import foregone
from foregone.forest import container
from foregone.polling import journal
from foregone.scale import finished_parts
from foregone.strategy import json_file

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
REFERENCE = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
# Modules whose __all__ is public. Of other modules the reference shows single names.
MODULES = [
    "foregone",
    "foregone.answers",
    "foregone.display",
    "foregone.errors",
    "foregone.forest",
    "foregone.integrations",
    "foregone.monitoring",
    "foregone.plurality",
    "foregone.plurality.rules",
    "foregone.polling",
    "foregone.rules",
    "foregone.scale",
    "foregone.scale.dask",
    "foregone.scale.spark",
    "foregone.scores",
    "foregone.scores.rules",
]
FORMATS = {module.FORMAT: module.VERSION for module in (json_file, container, journal, finished_parts)}
GOLDEN = sorted(path for path in (ROOT / "tests" / "golden").glob("*-v*") if path.is_file())


def names_in(module: str) -> set[str]:
    return {one_name(f"{module}.{name}") for name in importlib.import_module(module).__all__}


def one_name(name: str) -> str:
    """Return the shortest name of what can be reached by several: `foregone.X` where there is one."""
    short = f"foregone.{name.rpartition('.')[2]}"
    if short in (f"foregone.{public}" for public in foregone.__all__) and found(short) is found(name):
        return short
    return name


def found(name: str) -> Any:
    home, _, own = name.rpartition(".")
    if name in MODULES:
        return importlib.import_module(name)
    try:
        return getattr(importlib.import_module(home), own)
    except foregone.errors.MissingExtraError:  # an integration whose package is not installed
        return name


def table(heading: str) -> list[list[str]]:
    """Return the cells of a table on the page, without its head."""
    rows = PAGE.partition(heading)[2].partition("\n\n")[0].splitlines()[1:]
    assert rows, f"there is no table {heading!r}"
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def names_in_the_table() -> list[str]:
    listed = []
    for names, status, *_ in table("| names | status | what to know |\n"):
        assert status in ("stable", "may change"), names
        home, *own = re.findall(r"`([\w.]+)`", names)
        if names.endswith(": all names"):
            assert home in MODULES
            own = importlib.import_module(home).__all__
        listed += [f"{home}.{name}" for name in own]
    return listed


def names_in_the_reference() -> set[str]:
    shown = set(re.findall(r"^::: ([\w.]+)$", REFERENCE, re.MULTILINE))
    modules = {name for name in shown if name in MODULES}
    return {one_name(name) for name in shown - modules}.union(modules, *map(names_in, modules))


PUBLIC = set().union(*map(names_in, MODULES)) - {"foregone.plurality.rules", "foregone.scores.rules"}


def test_the_modules_that_foregone_offers_are_public() -> None:
    assert {f"foregone.{name}" for name in foregone._MODULES} <= set(MODULES)


def test_every_public_name_has_its_place_in_the_reference() -> None:
    assert PUBLIC - names_in_the_reference() == set()


def test_every_public_name_is_stable_or_said_to_change() -> None:
    assert PUBLIC - {one_name(name) for name in names_in_the_table()} == set()


def test_every_name_in_the_reference_is_stable_or_said_to_change() -> None:
    modules = {name for name in names_in_the_reference() if name in MODULES}
    assert names_in_the_reference() - modules - {one_name(name) for name in names_in_the_table()} == set()


def test_no_name_is_listed_twice() -> None:
    listed = names_in_the_table()
    assert sorted(listed) == sorted(set(listed))


@pytest.mark.parametrize("name", sorted(names_in_the_reference().union(names_in_the_table())))
def test_every_name_on_these_pages_exists(name: str) -> None:
    found(name)


def formats_in_the_table() -> dict[tuple[str, str], tuple[int, range]]:
    listed = {}
    for _, which, written, read, _ in table("| file | format | written | read | kept readable |\n"):
        name, kind = [*re.findall(r"`([\w-]+)`", which), ""][:2]
        first, last = map(int, read.split(" to "))
        listed[name, kind] = int(written), range(first, last + 1)
    return listed


def test_the_versions_of_formats_are_those_of_the_code() -> None:
    listed = formats_in_the_table()
    assert {name for name, _ in listed} == set(FORMATS)
    for (name, kind), (written, read) in listed.items():
        assert written == FORMATS[name] == read[-1], (name, kind)
    assert list(listed["foregone-packed", ""][1]) == list(container.STRATEGY_VERSIONS)


def test_every_version_that_is_read_has_a_golden_file() -> None:
    listed, kept = formats_in_the_table(), set()
    for path in GOLDEN:
        start = path.read_bytes()
        name, kind = (re.search(rb'"%s": ?"([\w -]+)"' % field, start) for field in (b"format", b"kind"))
        version = re.search(rb'"version": ?(\d+)', start)
        assert name, path
        assert version, path
        key = name[1].decode(), kind[1].decode() if kind else ""
        kept.add((*(key if key in listed else (key[0], "")), int(version[1])))
    older = {(*key, v) for key, (written, read) in listed.items() for v in read if v < written}
    assert older - kept == set()


def test_the_extras_and_packages_on_the_page_are_those_of_the_project() -> None:
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = page.partition("| extra | what it adds |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `([\w-]+)` \|", extras, re.MULTILINE)
    assert sorted(listed) == sorted(project["optional-dependencies"])
    packages = page.partition("| package | size | needed for |")[2].partition("\n\n")[0]
    for requirement in project["dependencies"]:
        assert re.search(rf"\b{re.split('[<>=;]', requirement)[0]}\b", packages), requirement


def test_the_conda_recipe_and_the_citation_are_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "conda-recipe" / "recipe.yaml").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'version: "{foregone.__version__}"' in recipe
    assert f"version: {foregone.__version__}\n" in citation
    needed = re.findall(r"^    - (.+)$", recipe.partition("  run:\n")[2].partition("\n\n")[0], re.MULTILINE)
    assert needed == [
        "python >=${{ python_min }}",
        *(one.replace(">=", " >=") for one in project["dependencies"]),
    ]

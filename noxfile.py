#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9", "packaging"]
# ///
"""Run the suite on other Pythons, other versions of the dependencies, and the built package.

``nox -l`` lists the sessions, ``nox -s tests-3.13`` runs one, ``nox -s lowest -- tests/solving`` passes
arguments on to pytest. Everyday work needs only ``make test`` and ``make lint``.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"

PYTHONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
WORKERS = ["-n", "auto", "--dist", "loadgroup"]
PYPROJECT = nox.project.load_toml("pyproject.toml")


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """Run the whole suite."""
    session.install("--group", "test", "--editable", ".")
    # Tests write their files in UTF-8, which is not the default on Windows before Python 3.15.
    session.run("python", "-m", "pytest", *WORKERS, *session.posargs, env={"PYTHONUTF8": "1"})


@nox.session(python="3.11", venv_backend="uv", default=False)
def lowest(session: nox.Session) -> None:
    """Run the suite on the lowest version of everything that pyproject.toml names.

    The extras are named one by one: what an extra gets through another extra would not be held to its lowest.
    """
    extras = sorted(PYPROJECT["project"]["optional-dependencies"].keys() - {"all", "cuda"})
    here = f".[{','.join(extras)}]"
    session.install("--resolution", "lowest-direct", "--group", "test", "--editable", here)
    _check_lowest(session, extras)
    # Old packages call what newer ones among their own requirements have deprecated: no errors of ours.
    session.run("python", "-m", "pytest", "-o", "filterwarnings=default", *WORKERS, *session.posargs)


def _check_lowest(session: nox.Session, extras: list[str]) -> None:
    """Fail if a package is newer than its lowest version in pyproject.toml: that one would not be tested."""
    frozen = session.run("uv", "pip", "freeze", silent=True) or ""
    installed = dict(row.split("==") for row in frozen.splitlines() if "==" in row)
    options = PYPROJECT["project"]["optional-dependencies"]
    for line in [
        *PYPROJECT["project"]["dependencies"],
        *(line for extra in extras for line in options[extra]),
    ]:
        requirement = Requirement(line)
        lowest = [bound.version for bound in requirement.specifier if bound.operator == ">="]
        if lowest and installed[requirement.name.replace("_", "-")] not in SpecifierSet(f"=={lowest[0]}.*"):
            session.error(f"{line} cannot be installed in its lowest version beside the others: raise it")


@nox.session(python="3.14", venv_backend="uv", default=False)
def newest(session: nox.Session) -> None:
    """Run the suite on the newest of everything, and on pre-releases of what foregone always needs.

    Pre-releases of other packages would show what breaks between them.
    """
    needed = [Requirement(line).name for line in PYPROJECT["project"]["dependencies"]]
    early = [f"{name}>=0.dev0" for name in needed]  # which allows its pre-releases
    session.install("--upgrade", "--group", "test", "--editable", ".", *early)
    session.run("python", "-m", "pytest", *WORKERS, *session.posargs)


@nox.session(python=PYTHONS, default=False)
def package(session: nox.Session) -> None:
    """Build wheel and sdist, install each without extras into an empty environment, and use it there.

    They are kept in a folder that is named: ``nox -s package-3.13 -- dist``.
    """
    dist = Path(session.posargs[0] if session.posargs else session.create_tmp()).absolute()
    session.install("build", "twine")
    session.run("python", "-m", "build", "--outdir", str(dist))
    built = [str(path) for path in sorted(dist.glob("foregone-*"))]
    session.run("python", "-m", "twine", "check", "--strict", *built)
    empty = dist.with_name("empty-environment")
    programs = empty / ("Scripts" if os.name == "nt" else "bin")
    for path in built:
        session.run("python", "-m", "venv", "--clear", str(empty))
        with session.chdir(dist):  # so that the installed package is imported, not the checkout
            session.run(str(programs / "python"), "-m", "pip", "install", "--quiet", path, external=True)
            session.run(str(programs / "foregone"), "doctor", external=True)
            solve = ["solve", "--voters", "101", "--max-disagreement", "0.001"]
            session.run(str(programs / "foregone"), *solve, external=True)
    shutil.rmtree(empty)


@nox.session(python="3.11")
def lint(session: nox.Session) -> None:
    """Check style, types, spelling and the direction of imports."""
    session.install("--group", "lint", "--editable", ".")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("codespell")
    session.run("rumdl", "check", ".")


@nox.session(python="3.11", default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation site; every warning is an error."""
    session.install("--group", "docs", "--editable", ".")
    session.run("python", "-m", "mkdocs", "build", "--quiet", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


if __name__ == "__main__":
    nox.main()

"""``foregone certify``: prove a solution, independently of the solver."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from foregone.cli.options import JsonFlag, MaxMemory, StrategyFile
from foregone.cli.output import make_console, number_of_voters, print_json
from foregone.plurality import PluralitySolution, certify_plurality
from foregone.progress import working
from foregone.solving import Certificate, Solution
from foregone.strategy_file import read_file

__all__ = ["certify_command"]

ARITHMETICS = ("auto", "rational", "ball")


def certify_command(
    strategy_file: StrategyFile,
    arithmetic: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=lambda: list(ARITHMETICS),
            help="auto (by size), rational or ball; for many answers rational or float.",
        ),
    ] = "auto",
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Prove that a strategy keeps its limit and is optimal.

    Exits with 0 when all that the file claims is proven and with 1 otherwise.
    For many answers with a confidence, only the limit is claimed.

    \b
    Examples:
      foregone solve --voters 101 --max-disagreement 1e-3 -o strategy.json
      foregone certify strategy.json
      foregone certify strategy.json --json
    """
    from foregone.solving.certificate import certify  # exact arithmetic is loaded when asked for

    solution: Solution | PluralitySolution
    if read_file(strategy_file).text("kind") == "plurality":
        solution = PluralitySolution.load(strategy_file, max_memory=max_memory)
    else:
        solution = Solution.load(strategy_file)
    with working(f"Proving for {number_of_voters(solution.n_voters)}"):
        certificate: Certificate = (
            certify_plurality(solution, arithmetic=arithmetic)  # type: ignore[arg-type]  # it checks
            if isinstance(solution, PluralitySolution)
            else certify(solution, arithmetic=arithmetic)  # type: ignore[arg-type]  # so does it
        )
    if as_json:
        print_json({"holds": certificate.holds, "n_voters": solution.n_voters, **asdict(certificate)})
    else:
        make_console().print(str(certificate), markup=False)
    if not certificate.holds:
        raise typer.Exit(1)

"""``foregone certify``: prove a solution, independently of the solver."""

from __future__ import annotations

from typing import Annotated

import typer

from foregone.cli.options import StrategyFile
from foregone.cli.output import make_console
from foregone.plurality import PluralitySolution, certify_plurality
from foregone.solving import Certificate, Solution
from foregone.strategy_file import read_file

__all__ = ["certify_command"]


def certify_command(
    strategy_file: StrategyFile,
    arithmetic: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="auto (by size), rational or ball; for many answers rational or float."
        ),
    ] = "auto",
) -> None:
    """Prove that a strategy keeps its limit and is optimal.

    Exits with 0 when the proof holds and with 1 when it does not.

    \b
    Examples:
      foregone solve --voters 101 --max-disagreement 1e-3 -o strategy.json
      foregone certify strategy.json
    """
    from foregone.solving.certificate import certify  # exact arithmetic is loaded when asked for

    certificate: Certificate
    if read_file(strategy_file).text("kind") == "plurality":
        many = PluralitySolution.load(strategy_file)
        certificate = certify_plurality(many, arithmetic=arithmetic)  # type: ignore[arg-type]  # it checks
    else:
        certificate = certify(Solution.load(strategy_file), arithmetic=arithmetic)  # type: ignore[arg-type]  # too
    make_console().print(str(certificate), markup=False)
    if not certificate.holds:
        raise typer.Exit(1)

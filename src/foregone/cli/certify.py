"""``foregone certify``: prove the limit and optimality of a strategy, independently of the solver."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from foregone._system.progress import working
from foregone.cli.commands import JsonFlag
from foregone.cli.number_lists import parse_limits
from foregone.cli.options import MaxMemory, StrategyFile
from foregone.cli.output import make_console, number_of_voters, print_json
from foregone.kinds import certify, strategy_of
from foregone.saved_file import load

__all__ = ["certify_command"]

ARITHMETICS = ("auto", "rational", "ball", "float")


def certify_command(
    strategy_file: StrategyFile,
    max_disagreement: Annotated[
        str | None,
        typer.Option(
            "--max-disagreement",
            metavar="RATE",
            help="Prove this limit instead of the one in the file. If the file has no limit, it is proven "
            "for every single input.",
        ),
    ] = None,
    arithmetic: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=lambda: list(ARITHMETICS),
            help="Exact arithmetic: auto (chosen by size), rational or ball; for many answers, rational or "
            "float.",
        ),
    ] = "auto",
    max_memory: MaxMemory = None,
    as_json: JsonFlag = False,
) -> None:
    """Prove that a strategy keeps its limit and is optimal.

    Optimal means that no strategy that counts votes in random order asks fewer
    voters within the limit; with a confidence, over all vote distributions
    consistent with the observed votes. With --max-disagreement, and for many
    answers with a confidence, only the limit is proven.

    Exits with 0 if every claim is proven, otherwise with 1.

    \b
    Examples:
      foregone solve --voters 101 --max-disagreement 1e-3 -o strategy.json
      foregone certify strategy.json
      foregone certify strategy.json --max-disagreement 0.01
      foregone certify strategy.json --json
    """
    limit = None if max_disagreement is None else parse_limits(max_disagreement)
    content = load(strategy_file, max_memory=max_memory)
    n_voters = strategy_of(content).n_voters
    with working(f"Proving for {number_of_voters(n_voters)}"):
        certificate = certify(content, max_disagreement=limit, arithmetic=arithmetic)  # type: ignore[arg-type]  # it checks
    if as_json:
        print_json({"holds": certificate.holds, "n_voters": n_voters, **asdict(certificate)})
    else:
        make_console().print(str(certificate), markup=False)
    if not certificate.holds:
        raise typer.Exit(1)

"""``foregone score``: score a file with a saved classifier, in bounded memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from foregone._system.progress import counting
from foregone.cli.commands import JsonFlag
from foregone.cli.output import make_console, print_json, say, votes
from foregone.errors import InvalidInputError

__all__ = ["score_command"]


def score_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A classifier saved with its save method.")],
    input: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Parquet or CSV file, or a folder of either; any size.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File to write, *.parquet or *.csv.")],
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Columns of the features, in the model's order. Default: matched by name.",
        ),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="LIST", help="Input columns to copy to the output, such as a key.")
    ] = None,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Prefix for the names of the new columns.")
    ] = "",
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="In CSV, put ' before texts that a spreadsheet would run as formulas: those that start with "
            "= + - @.",
        ),
    ] = False,
    audit: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Also ask all voters about this share of the rows, for 'foregone watch'; their answer goes "
            "to the column full_label.",
        ),
    ] = 0.0,
    engine: Annotated[str, typer.Option(metavar="NAME", help="local, dask or spark.")] = "local",
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Parts scored in parallel on this machine. Default: one per core."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Dask scheduler, Spark master or sc:// server to use instead of this machine.",
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Where trees run: cpu, or cuda for an NVIDIA GPU.")
    ] = "cpu",
    as_json: JsonFlag = False,
) -> None:
    """Score files larger than memory with a saved classifier.

    Writes the columns label and votes_asked for each row of the input, in the same
    order. OUTPUT appears once it is complete. After an interruption, run the same
    command again: it keeps the finished parts, in OUTPUT.parts, and does the rest.

    With --audit, full_label holds the answer of all voters, on rows chosen by a
    hash of their values; it is empty on other rows. Texts in CSV are written
    unchanged, unless you give --escape-formulas.

    \b
    Examples:
      foregone score forest.foregone rows.parquet labels.parquet --keep id
      foregone score forest.foregone rows.csv labels.csv --columns a,b,c
      foregone score forest.foregone folder labels.parquet --engine dask --json
      foregone score forest.foregone rows.parquet labels.parquet --audit 0.01
      foregone score forest.foregone rows.parquet labels.parquet --device cuda
      foregone score forest.foregone rows.parquet labels.parquet \\
          --engine spark --cluster sc://server:15002
    """
    from foregone.kinds import promise_fields
    from foregone.saved_file import load
    from foregone.scale import score_file  # with scikit-learn, which takes a second, only when asked for

    began = time.perf_counter()
    with counting("scoring") as show:
        made = score_file(
            model,
            input,
            output,
            features=None if columns is None else _names(columns, "--columns"),
            keep=[] if keep is None else _names(keep, "--keep"),
            prefix=prefix,
            escape_formulas=escape_formulas,
            audit=audit,
            engine=engine,  # type: ignore[arg-type]  # it checks
            jobs=jobs,
            cluster=cluster,
            device=device,  # type: ignore[arg-type]  # it checks
            progress=show,
        )
    seconds, promised = time.perf_counter() - began, promise_fields(load(model))
    if as_json:
        content = {**made._asdict(), "by_label": [[label, n] for label, n in made.by_label.items()]}
        print_json(
            {
                "output": str(output),
                "engine": engine,
                "device": device,
                **content,
                **promised,
                "seconds": seconds,
            }
        )
        return
    console = make_console()
    counts = ", ".join(f"{label}: {n:,}" for label, n in made.by_label.items())
    found = f", {made.parts_found} of {made.parts} parts from an earlier run" if made.parts_found else ""
    console.print(f"{made.rows:,} rows scored in {seconds:.1f} s{found}", markup=False)
    console.print(f"Labels {counts}; {votes(made.mean_votes_asked)} votes asked per row", markup=False)
    say(console, promised["promise"])
    console.print(f"Written to {output}", markup=False)


def _names(text: str, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise InvalidInputError(f"{option} must be names separated by commas, got {text!r}")
    return names

"""``foregone report``: one page on what stopping early would save on your model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from foregone._system.atomic_file import write_atomically
from foregone._system.progress import working
from foregone.cli.commands import JsonFlag
from foregone.cli.number_lists import parse_confidence, parse_share
from foregone.cli.options import check_criterion, check_writable
from foregone.cli.output import make_console, print_json, say
from foregone.planning import WORTH

__all__ = ["report_command"]


def report_command(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A fitted forest or other ensemble in a skops file, or a classifier saved by foregone.",
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="CALIBRATION_DATA",
            help="Rows like those to predict, none of them used to fit the model: .parquet, .csv or .npy. "
            "Columns are matched by name if the model knows names.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="HTML file to write.")
    ] = Path("report.html"),
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of true labels. Limits are then on the loss of accuracy; disagreement is shown too.",
        ),
    ] = None,
    voting: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="hard counts votes, soft adds up scores. Default: what matches the model's predict.",
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Decision threshold, such as 0.2 or 2/3: the answer is the second of two classes if its "
            "probability, or its share of the votes, is at least this. Default: the model's own, if any.",
        ),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="minimean, minimixed or minimax. Default: the saved classifier's own, else minimean.",
        ),
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Probability, over the draw of the rows, that minimean keeps the limit on new rows; 'none' "
            "treats the rows as the true distribution. Default: the saved classifier's own, else 0.95.",
        ),
    ] = None,
    worth: Annotated[
        float,
        typer.Option(metavar="X", help="Worth of avoiding one disagreement, or one error, in full votes."),
    ] = WORTH,
    trust: Annotated[
        str,
        typer.Option(metavar="TYPES", help="More types to trust in a skops file, separated by commas."),
    ] = "",
    trust_pickle: Annotated[
        bool,
        typer.Option(
            "--trust-pickle",
            help="Load a pickle or joblib file. It can run any code: use only files you trust.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show what stopping early would save on your model.

    Writes one self-contained HTML page that you can send, print and read offline.

    \b
    Examples:
      foregone report forest.skops rows.parquet
      foregone report forest.skops rows.parquet --target label -o savings.html
      foregone report model.foregone rows.csv --criterion minimixed
      foregone report forest.skops rows.parquet --target label --threshold 0.2
      foregone report forest.joblib rows.parquet --trust-pickle
    """
    check_writable(output)
    wanted = None if criterion is None else check_criterion(criterion)
    share = None if threshold is None else parse_share(threshold)
    sure = "own" if confidence is None else parse_confidence(confidence)
    with working("loading") as advance:
        from foregone.report import make_report, read_model, read_rows  # scikit-learn alone takes a second

        trusted = [name.strip() for name in trust.split(",") if name.strip()]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read = read_model(model, trust=trusted, trust_pickle=trust_pickle)
            table = read_rows(data)
        made = make_report(
            read,
            table,
            target=target,
            voting=voting,
            threshold=share,
            criterion=wanted,
            confidence=sure,
            worth=worth,
            names={"model": model.name, "data": data.name},
            caught=caught,
            advance=advance,
        )
    write_atomically(output, [made.html.encode()])
    if as_json:
        print_json({"report": str(output), **made.fields()})
        return
    console = make_console()
    say(console, ": ".join(made.headline))
    console.print()
    for words in made.reasons:
        say(console, words, bullet=True)
    for words in made.notes:
        say(console, f"Note: {words}", bullet=True)
    say(console, f"In Python: {made.call}", bullet=True)
    say(console, str(made.trade_off.promise), bullet=True)
    console.print(f"\nFull report, to open in a browser: {output}", markup=False)

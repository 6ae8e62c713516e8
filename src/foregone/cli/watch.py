"""``foregone watch``: monitor predictions, and exit with 1 if the promise is at risk."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from foregone._system.atomic_file import write_atomically
from foregone._system.progress import counting
from foregone.cli.commands import JsonFlag
from foregone.cli.options import check_writable
from foregone.cli.output import limits, make_console, print_json, say, votes, write_figure
from foregone.errors import InvalidInputError
from foregone.monitoring import Monitor, MonitorState, MonitorWarning

__all__ = ["watch_command"]


def watch_command(
    model: Annotated[
        Path, typer.Option(metavar="FILE", help="The saved classifier that made the predictions.")
    ],
    predictions: Annotated[
        Path | None,
        typer.Argument(
            metavar="PREDICTIONS",
            help="Parquet or CSV file, or a folder of either, as 'foregone score' writes it; any size. Not "
            "needed with --state or --add.",
        ),
    ] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Prefix of the column names.")] = "",
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of true labels, for a promise about accuracy or costs; values may be missing.",
        ),
    ] = None,
    false_alarm: Annotated[
        float,
        typer.Option(metavar="RATE", help="Probability of ever raising an alarm if nothing changes."),
    ] = 0.01,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of the monitor state: read at the start if it exists, saved at the end.",
        ),
    ] = None,
    add: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Include the rows of this state, such as another worker's; can be given several times. It "
            "is not saved to --state.",
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the figures to this file, in the Prometheus text format."),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw evidence by row, and votes asked at calibration and now, to this PNG file.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Monitor predictions, and raise an alarm if the promise is at risk.

    Reads the columns votes_asked (or asked) and label (or yes, the number of yes
    votes), and compares where rows stopped with the calibration rows. Rows with a
    full_label, which 'foregone score --audit' writes, show how often the early
    answer differs from the full vote. Give each file only once: with --state, a
    second time counts its rows twice.

    Exits with 0 if there is no alarm, with 1 if there is one now or in --state,
    and with 2 if a file cannot be read. With --add, the rows of all states are
    monitored together, as one stream; alarms in those states do not count.

    \b
    Examples:
      foregone watch labels.parquet --model forest.foregone
      foregone watch monday.parquet --model forest.foregone --state week.json
      foregone watch --model forest.foregone --add a.json --add b.json
      foregone watch labels.csv --model forest.foregone --metrics watch.prom
    """
    from foregone.classifier import EarlyStoppingClassifier  # with scikit-learn, only when asked for
    from foregone.scale import watch_file

    others = add or []
    if predictions is None and state is None and not others:
        raise InvalidInputError("nothing to watch: give PREDICTIONS, or states with --state or --add")
    _check_states([*([] if state is None else [state]), *others])
    for file in (state, metrics, png):
        check_writable(file)
    classifier = EarlyStoppingClassifier.load(model)
    own, together = (_monitor_of(classifier, model, false_alarm) for _ in range(2))
    n_read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)  # it is said below
        if state is not None and state.exists():
            _read_state(state, own)
        found = [_read_state(file, together) for file in others]
        if predictions is not None:
            with counting("watching") as show:
                n_read = watch_file(own, predictions, prefix=prefix, truth=target, progress=show)
        if found:
            together.state = sum(found, own.state)
    if state is not None:
        own.state.save(state)
    monitor = together if found else own
    if metrics is not None:
        write_atomically(metrics, [monitor.metrics().encode()])
    if png is not None:
        from foregone.display import MonitorDisplay

        write_figure(MonitorDisplay.from_monitor(monitor).figure_, png)
    if as_json:
        print_json({"rows_read": n_read, **monitor.to_dict()})
    else:
        _print(make_console(), monitor, n_read)
    if monitor.alarm is not None:
        raise typer.Exit(1)


def _check_states(files: list[Path]) -> None:
    names = [file.absolute() for file in files]
    twice = next((file for file in names if names.count(file) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"{twice} is given twice, which would count its rows twice: give it once")


def _monitor_of(classifier: Any, model: Path, false_alarm: float) -> Monitor:
    monitor: Monitor = classifier.monitor(false_alarm=false_alarm)
    if monitor.reference is None:
        raise InvalidInputError(
            f"{model} does not record where its calibration rows stopped, because it was made without any, "
            "or by a version without monitors: make it again with early_stop and calibration rows"
        )
    return monitor


def _read_state(file: Path, monitor: Monitor) -> MonitorState:
    """Load a state into a monitor and return it; raise InvalidInputError if it does not fit."""
    found = MonitorState.load(file)
    try:
        monitor.state = found
    except InvalidInputError:
        raise InvalidInputError(
            f"{file} is a state of another classifier, or of another --false-alarm than "
            f"{monitor.false_alarm:g}: use the classifier and rate it was made with, or another file"
        ) from None
    return found


def _print(console: Console, monitor: Monitor, n_read: int) -> None:
    figures = monitor.to_dict()
    n_rows, n_audited = figures["rows"], figures["audited"]
    of_all = "" if n_read == n_rows else f", {n_rows:,} in all"
    lines = [f"{n_read:,} rows read{of_all}"]
    if n_rows:
        mean, expected = figures["mean_votes_asked"], figures["expected_votes_asked"]
        lines.append(f"Votes asked per row: {votes(mean)}; on the calibration rows {votes(expected)}")
    if n_audited:
        share = figures["audited_disagreements"] / n_audited
        lines.append(
            f"Audited: {n_audited:,} rows, {figures['audited_disagreements']:,} differ from the full vote "
            f"({100 * share:.2f} %); {_limit_in_words(monitor)}"
        )
    else:
        lines.append(
            "Audited: none, so disagreement is not watched. To audit, use  foregone score --audit 0.01"
        )
    evidence, threshold = figures["evidence"], figures["threshold"]
    lines += [f"Evidence of {kind}: {evidence[kind]:.3g}, alarm at {threshold[kind]:g}" for kind in evidence]
    for line in lines:
        say(console, line)
    console.print()
    if not monitor.alarms:
        say(
            console,
            "No alarm: there is not enough evidence that rows have changed since calibration. If nothing "
            f"changes, the probability of ever raising an alarm is at most {monitor.false_alarm:g}.",
        )
    for alarm in monitor.alarms:
        say(console, f"Alarm after {alarm.time:,} rows. {alarm.sentence} {alarm.advice}")


def _limit_in_words(monitor: Monitor) -> str:
    promise = monitor.promise
    on = {"accuracy": " on the loss of accuracy", "cost": " on the rise of costs"}.get(promise.loss, "")
    return f"the limit{on} is {limits(promise.limit)}"

"""Texts of a monitor: the sentence and the advice of an alarm, and its figures for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foregone.monitoring.bets import AuditBets, Wager
from foregone.monitoring.monitor_state import AlarmKind, MonitorState
from foregone.monitoring.stops import Stops

__all__ = ["advice_for", "metrics_text", "sentence_for"]

CALIBRATE = "recalibrate on recent rows, early_stop(model, recent_rows, ...), and start a new monitor"


def advice_for(kind: AlarmKind) -> str:
    """Return what to do about an alarm."""
    if kind == "spread":
        return (
            "The promise holds for rows like the calibration rows. Find out what has changed; if the change "
            f"is permanent, {CALIBRATE}."
        )
    return f"{CALIBRATE[0].upper()}{CALIBRATE[1:]}. Until then, use full_predict."


def sentence_for(
    bet: Wager, state: MonitorState, reference: Stops | None, classes: Sequence[Any], audits: AuditBets
) -> str:
    """Return what changed, in words, with figures at calibration and now."""
    if bet.what in ("closer", "clearer", "class"):
        assert reference is not None
        return _spread_sentence(bet, state, reference, classes)
    n_classes = len(classes)
    pairs = state.audits[: 2 * n_classes].reshape(n_classes, 2)
    whose = "" if bet.at is None else f" of class {classes[bet.at]!r}"
    if bet.what == "disagreement":
        seen = pairs if bet.at is None else pairs[bet.at : bet.at + 1]
        most = f"the limit is {bet.bound:.2%}"
        if audits.losses is not None:  # the limit is not on the disagreement
            most = f"on the calibration rows it was at most {bet.bound:.2%}"
        return (
            f"The disagreement with the full vote is too high: {seen[:, 1].sum():,} of {seen.sum():,} "
            f"audited rows{whose} differ ({seen[:, 1].sum() / seen.sum():.2%}); {most}."
        )
    assert audits.losses is not None
    levels = state.audits[2 * n_classes :].reshape(n_classes, -1)
    levels = levels.sum(axis=0) if bet.at is None else levels[bet.at]
    mean = float(levels @ audits.losses / levels.sum())
    what = "loss of accuracy" if bet.what == "accuracy" else "rise in costs"
    return (
        f"The {what} from early stopping is too high: {mean:.2%} on {levels.sum():,} audited rows{whose} "
        f"with true labels; the limit is {bet.bound:.2%}"
        + ("." if bet.what == "accuracy" else ", as shares of the largest cost.")
    )


def _spread_sentence(bet: Wager, state: MonitorState, reference: Stops, classes: Sequence[Any]) -> str:
    assert bet.at is not None
    place = bet.at

    def share(table: Any) -> float:
        if bet.what == "class":
            inside = table[place].sum()
        elif bet.what == "closer":
            inside = table[:, place:].sum()
        else:
            inside = table[:, : place + 1].sum()
        return float(inside / max(table.sum(), 1e-300))

    def how_far(table: Any) -> float:
        """Return by how many standard deviations a table exceeds the bound."""
        return (share(table) - bet.bound) * float(np.sqrt(table.sum() / (bet.bound * (1 - bet.bound))))

    # Few rows show a large change best, many rows a small one.
    shown = max((state.latest, state.recent, state.stops), key=how_far)
    now, then = share(shown), share(reference.counts)
    rows = "all rows" if shown is state.stops else "recent rows"
    voters = f"{place} voter{'' if place == 1 else 's'}"
    if bet.what == "class":
        moved = f"Class {classes[place]!r} is more frequent"
        which = "get this answer"
    elif bet.what == "closer":
        moved, which = "Votes are closer", f"ask {voters} or more"
    else:
        moved, which = "Votes are clearer", f"ask {voters} or fewer"
    return (
        f"{moved} than on the calibration rows: {_percent(now)} of {rows} {which}; at calibration it was "
        f"{_percent(then)}."
    )


def _percent(share: float) -> str:
    digits = 1 if share >= 0.01 or share == 0 else 1 - int(np.floor(np.log10(100 * share)))
    return f"{100 * share:.{digits}f} %"


def metrics_text(figures: dict[str, Any]) -> str:
    """Return the figures of `Monitor.to_dict` in the text format of Prometheus.

    Examples
    --------
    >>> figures = {"rows": 5, "audited": 1, "audited_disagreements": 0, "mean_votes_asked": 3.0,
    ...            "recent_mean_votes_asked": 3.0, "expected_votes_asked": None, "answers": {"no": 5},
    ...            "evidence": {"spread": 1.0}, "threshold": {"spread": 400.0}, "alarms": []}
    >>> print(metrics_text(figures).splitlines()[2])
    foregone_rows_total 5
    """
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    plain = [
        ("rows_total", "counter", "Rows answered.", "rows"),
        ("audited_total", "counter", "Rows for which all voters were asked.", "audited"),
        (
            "audited_disagreements_total",
            "counter",
            "Audited rows whose early answer differs from the full vote.",
            "audited_disagreements",
        ),
        ("votes_asked_mean", "gauge", "Mean voters asked per row.", "mean_votes_asked"),
        (
            "votes_asked_recent_mean",
            "gauge",
            "Mean voters asked per recent row.",
            "recent_mean_votes_asked",
        ),
        (
            "votes_asked_expected",
            "gauge",
            "Mean voters asked per calibration row.",
            "expected_votes_asked",
        ),
    ]
    for name, kind, text, key in plain:
        if figures[key] is not None:
            yield from _metric(name, kind, text, [("", figures[key])])
    answers = [(f'{{label="{_escaped(label)}"}}', count) for label, count in figures["answers"].items()]
    if answers:
        yield from _metric("answers_total", "counter", "Rows answered with each label.", answers)
    alarms = {alarm["kind"] for alarm in figures["alarms"]}
    kinds = list(figures["evidence"])
    for name, text, values in (
        ("evidence", "Evidence that something has changed.", figures["evidence"]),
        ("evidence_threshold", "Evidence at which an alarm is raised.", figures["threshold"]),
        ("alarm", "1 if an alarm was raised, otherwise 0.", {kind: int(kind in alarms) for kind in kinds}),
    ):
        yield from _metric(name, "gauge", text, [(f'{{kind="{kind}"}}', values[kind]) for kind in kinds])


def _metric(name: str, kind: str, text: str, values: list[tuple[str, Any]]) -> Iterator[str]:
    yield f"# HELP foregone_{name} {text}"
    yield f"# TYPE foregone_{name} {kind}"
    for labels, value in values:
        yield f"foregone_{name}{labels} {value!r}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

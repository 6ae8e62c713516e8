"""make_report(): compute and measure everything that the page shows."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import foregone
from foregone.monitoring import Monitor
from foregone.monitoring.foresight import Foresight, foresee
from foregone.planning import WORTH, Plan, SolvedLimit
from foregone.report.reported_model import ReportedModel, reported_model
from foregone.report.speed import Speed, measure_speed
from foregone.report.trade_off import TradeOff, trade_off

__all__ = ["AUDITS", "Differences", "Report", "make_report"]

POINT_FIELDS = (
    *("limit", "each_class", "expected_votes", "disagreement", "at_most", "worst", "gap", "reason"),
    *("accuracy_loss", "accuracy_loss_by_class", "full_accuracy"),
)
AUDITS = (0.001, 0.01, 0.1)  # shares of rows that a monitor may audit


@dataclass(frozen=True)
class Differences:
    """On how many rows two ways to answer differ."""

    n_differing: int
    n_rows: int

    @property
    def share(self) -> float:
        """The same as a share of the rows."""
        return self.n_differing / self.n_rows

    @classmethod
    def between(cls, one: Any, other: Any) -> Differences:
        """Count where two sequences of labels differ."""
        return cls(int(np.count_nonzero(np.asarray(one) != np.asarray(other))), len(one))


@dataclass(frozen=True, eq=False)
class Report:
    """What early stopping saves on a model, and what it risks. Made by `make_report`.

    Attributes
    ----------
    model : ReportedModel
        Voters and calibration rows.
    trade_off : TradeOff
        What every limit costs and risks, and the recommendation.
    speed : Speed
        Measured with the recommended classifier.
    own_differences : Differences or None
        The full vote against the model's own ``predict``, on the calibration rows; None if the model is not
        available.
    in_order_drawn : Differences
        The recommended classifier against the full vote, on the calibration rows.
    asked_in_order_drawn : float
        Voters that it asks on average about these rows.
    errors : dict of str to Differences
        With labels: errors of "stopped" (the recommended classifier), "full" (the full vote) and "own" (the
        model's ``predict``), over all labelled rows.
    errors_by_class : dict of str to list of Differences
        The same for the rows of each true class.
    foresight : Foresight
        How soon a monitor of the recommended classifier would detect a change.
    worth : float
        How many full votes avoiding one disagreement, or one error, is worth.
    made : datetime
        When the report was made.
    names : dict of str to str
        Names of the model and of the data on the page.
    notes : tuple of str
        Warnings that were raised.
    """

    model: ReportedModel
    trade_off: TradeOff
    speed: Speed
    own_differences: Differences | None
    in_order_drawn: Differences
    asked_in_order_drawn: float
    errors: dict[str, Differences]
    errors_by_class: dict[str, list[Differences]]
    foresight: Foresight
    worth: float
    made: datetime
    names: dict[str, str]
    notes: tuple[str, ...] = ()

    @property
    def points(self) -> tuple[SolvedLimit, ...]:
        """The positions of the slider."""
        return self.trade_off.points

    @property
    def recommended(self) -> SolvedLimit:
        """The recommended position."""
        return self.trade_off.recommended

    @property
    def expected_votes(self) -> float:
        """Voters that the recommended classifier asks on average: its ``expected_votes_``."""
        return self.trade_off.deployed_votes

    @property
    def plan(self) -> Plan:
        """The plan behind the recommendation."""
        return self.trade_off.plan

    @property
    def call(self) -> str:
        """The Python call that makes the recommended classifier from ``model``, ``X`` and labels ``y``."""
        from foregone.report.phrases import call

        return call(self)

    @property
    def html(self) -> str:
        """The page: one HTML file that loads nothing else."""
        from foregone.report.page import page

        return page(self)

    @property
    def headline(self) -> tuple[str, str]:
        """The recommendation in two short phrases: the limit, and how much it asks."""
        from foregone.report.reasons import headline

        return headline(self)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The recommendation in a sentence, then what speaks for and against it, a paragraph each."""
        from foregone.report.reasons import reasons

        return reasons(self)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the software that made the report."""
        found = {name: version(name) for name in ("numpy", "scikit-learn", "numba")}
        return {"foregone": foregone.__version__, "Python": platform.python_version(), **found}

    @property
    def machine(self) -> str:
        """The machine that it was measured on, without its name."""
        cores = os.cpu_count() or 1
        return f"{platform.system()}, {platform.machine()}, {cores} core{'' if cores == 1 else 's'}"

    def fields(self) -> dict[str, Any]:
        """Return every number of the page as plain values, for JSON."""
        model, traded = self.model, self.trade_off
        labels = [_plain(label) for label in model.labels]
        return {
            "model": model.name,
            "voting": model.voting,
            "n_voters": model.n_voters,
            "labels": labels,
            "n_rows": model.n_rows,
            **model.settings,
            "threshold": model.threshold,
            "quota": model.quota,
            "confidence": traded.confidence,
            "worth": self.worth,
            "loss": traded.loss,
            "recommended": _by_label(self.plan.limit),
            "max_disagreement": _by_label(self.plan.max_disagreement),
            "max_accuracy_loss": _by_label(self.plan.max_accuracy_loss),
            "full_accuracy": self.plan.full_accuracy,
            "headline": list(self.headline),
            "recommendation": list(self.reasons),
            "call": self.call,
            "expected_votes": self.expected_votes,
            "promise": str(traded.promise),
            "promise_values": traded.promise.to_fields(),
            "exact_votes": traded.exact_votes,
            "points": [_fields_of(point, labels) for point in self.points],
            "speed": vars(self.speed),
            "own_differences": None if self.own_differences is None else vars(self.own_differences),
            "in_order_drawn": {
                **vars(self.in_order_drawn),
                "mean_asked": self.asked_in_order_drawn,
                "accuracy_loss": traded.accuracy_loss,
            },
            "errors": {way: vars(found) for way, found in self.errors.items()},
            "errors_by_class": {way: [*map(vars, found)] for way, found in self.errors_by_class.items()},
            "watching": _watching(self.foresight, labels),
            "saved_limit": _by_label(model.saved_limit),
            "saved_loss": None if model.saved_limit is None else model.saved_loss,
            "saved_promise": None if model.saved_promise is None else str(model.saved_promise),
            "saved_hard_soft": model.saved_hard_soft,
            "made": self.made.isoformat(timespec="seconds"),
            "versions": self.versions,
            "machine": self.machine,
            "notes": list(self.notes),
        }


def make_report(
    model: Any,
    table: Any,
    *,
    target: str | None = None,
    voting: str | None = None,
    threshold: float | None = None,
    criterion: str | None = None,
    confidence: float | str | None = "own",
    worth: float = WORTH,
    names: dict[str, str] | None = None,
    caught: Iterable[warnings.WarningMessage] = (),
    advance: Callable[[str], None] = lambda words: None,
) -> Report:
    """Report what early stopping saves on a fitted model, and what it risks.

    The report is about ``early_stop(model, X)``: it counts votes if the model itself does, and adds up scores
    otherwise.

    Parameters
    ----------
    model : fitted model
        An ensemble that `foregone.early_stop` takes, alone or at the end of a pipeline; or an
        `EarlyStoppingClassifier`.
    table : frame or ndarray
        Calibration rows: like those in production, and none that the model was trained on. Columns are
        matched by name if the model knows names.
    target : str, optional
        Column of the true labels. Limits are then on the accuracy loss if possible, and the disagreement is
        shown as well. Otherwise limits are on the disagreement, and labels give error rates.
    voting : {"auto", "hard", "soft"}, optional
        As in `foregone.early_stop`; by default "auto", or that of the classifier.
    threshold : float, optional
        As in `foregone.early_stop`; a classifier, or a model with a threshold, has its own.
    criterion, confidence
        As in `foregone.solve`; by default those of the classifier, or else minimean at 0.95. ``"own"`` means
        that default, because None has another meaning.
    worth : float, default=25
        As in `foregone.plan`.
    names : dict, optional
        Names of the model (``"model"``) and the data (``"data"``) on the page.
    caught : iterable of warnings.WarningMessage, optional
        Warnings raised while model and rows were read; the page shows them, too.
    advance : callable, optional
        Called with a word for each step, to show progress.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from foregone.report import make_report
    >>> X, y = make_classification(3000, class_sep=2.0, random_state=0)
    >>> forest = RandomForestClassifier(25, random_state=0).fit(X[:1000], y[:1000])
    >>> report = make_report(forest, X[1000:])
    >>> report.html.startswith("<!DOCTYPE html>"), report.recommended.limit
    (True, 0.001)
    """
    with warnings.catch_warnings(record=True) as caught_here:
        warnings.simplefilter("always")
        advance("asking all voters")
        reported = reported_model(model, table, target, voting, threshold)
        own = reported.predict_by_itself()
    wanted: dict[str, Any] = {} if criterion is None else {"criterion": criterion}
    if confidence != "own":
        wanted["confidence"] = confidence
    reported = replace(reported, settings={**reported.settings, **wanted})
    advance("solving")
    traded = trade_off(reported, own, worth, lambda: advance("solving"))
    answers, asked, _ = traded.deployed.run(reported.rows, 1, early=True)
    advance("timing")
    speed = measure_speed(reported, traded.deployed, lambda: advance("timing"))
    classes = reported.ensemble.classes
    full = classes.take(traded.full)
    ways = {"stopped": classes.take(answers), "full": full, **({} if own is None else {"own": own})}
    errors = {} if reported.truth is None else _errors(ways, reported)
    return Report(
        model=reported,
        trade_off=traded,
        speed=speed,
        own_differences=None if own is None else Differences.between(full, own),
        in_order_drawn=Differences(traded.differing(answers), reported.n_rows),
        asked_in_order_drawn=float(asked.mean()),
        errors={way: found[0] for way, found in errors.items()},
        errors_by_class={way: found[1:] for way, found in errors.items()},
        foresight=foresee(Monitor(traded.promise, reference=traded.stops, classes=list(reported.labels))),
        worth=float(worth),
        made=datetime.now().astimezone(),
        names={"model": reported.name, "data": "calibration rows", **(names or {})},
        notes=_notes([*caught, *caught_here]),
    )


def _fields_of(point: SolvedLimit, labels: list[Any]) -> dict[str, Any]:
    by_yes = point.by_yes
    named = zip(labels, point.by_class, strict=True)
    return {
        **{name: getattr(point, name) for name in POINT_FIELDS},
        "by_class": [{"label": label, **vars(figures)} for label, figures in named],
        "disagreement_by_yes_votes": None if by_yes is None else by_yes.disagreement.tolist(),
        "expected_votes_by_yes_votes": None if by_yes is None else by_yes.expected_votes.tolist(),
    }


def _watching(found: Foresight, labels: list[Any]) -> dict[str, Any]:
    limits = {labels[number]: limit for number, limit in found.limits.items() if number is not None}
    return {
        "false_alarm": found.false_alarm,
        "limit": limits or found.limits.get(None),
        "audits": list(AUDITS),
        "disagreement": [
            {
                "times": times
                if any(found.limits.values())
                else None,  # of a limit of 0 there is no multiple
                "audited_rows": rows,
                "rows": [
                    None if rows is None or not any(found.limits.values()) else round(rows / audit)
                    for audit in AUDITS
                ],
            }
            for times, rows in found.disagreement.items()
        ],
        "closer": [{"share": share, "rows": rows} for share, rows in found.closer.items()],
        "why_no_disagreement": found.why_no_disagreement,
        "why_no_closer": found.why_no_closer,
    }


def _errors(answers: dict[str, Any], model: ReportedModel) -> dict[str, list[Differences]]:
    """Return the errors of each way to answer: on all labelled rows, then on those of each class."""
    assert model.truth is not None
    truth = model.truth
    if (truth < 0).all():
        return {}
    parts = [truth >= 0, *(truth == number for number in range(len(model.labels)))]
    right = model.ensemble.classes.take(truth)  # not used for rows without a label
    return {
        way: [Differences.between(labels[part], right[part]) for part in parts]
        for way, labels in answers.items()
    }


def _notes(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return the warnings for users, each once; not the one about rows without names, which we caused."""
    said = [
        " ".join(str(warning.message).split())
        for warning in caught
        if issubclass(warning.category, UserWarning)
    ]
    return tuple(dict.fromkeys(words for words in said if "valid feature names" not in words))


def _by_label(limit: Any) -> Any:
    return {_plain(label): value for label, value in limit.items()} if isinstance(limit, Mapping) else limit


def _plain(label: Any) -> Any:
    """Return a label as a value that JSON can hold."""
    return label if isinstance(label, str | int | float | None) else str(label)

"""How the page says numbers, and what it says about them."""

from __future__ import annotations

from foregone.planning.words import one_in
from foregone.report.result import Report
from foregone.report.tradeoff import Stop

__all__ = [
    "WAYS",
    "guarantee",
    "hard_against_soft",
    "headline",
    "not_covered",
    "percent",
    "said",
    "seconds",
    "times",
]

NO_BREAK = "\N{NO-BREAK SPACE}"
WAYS = {"stopped": "Stopped early", "full": "Asking everyone", "own": "The model's own predict"}


def percent(share: float) -> str:
    """Return a share in percent, with three digits; tiny ones only as such.

    Examples
    --------
    >>> [percent(share).replace(NO_BREAK, " ") for share in (0.001, 0.0712345, 0, 1e-9)]
    ['0.1 %', '7.12 %', '0 %', 'below 0.0001 %']
    """
    if 0 < share < 1e-6:
        return f"below 0.0001{NO_BREAK}%"
    return f"{100 * share:.3g}{NO_BREAK}%"


def times(ratio: float) -> str:
    """Return how many times.

    Examples
    --------
    >>> times(1.234), times(12.34), times(1234.5)
    ('1.2', '12', '1,234')
    """
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def seconds(duration: float) -> str:
    """Return a duration in a fitting unit.

    Examples
    --------
    >>> seconds(0.0123), seconds(4.56e-6), seconds(2e-7), seconds(3.0)
    ('12.3 ms', '4.56 µs', '200 ns', '3 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if duration >= size:
            return f"{duration / size:.3g} {unit}"
    return f"{duration / 1e-9:.3g} ns"


def headline(report: Report) -> tuple[str, str]:
    """Return the recommendation in one sentence, in two parts."""
    stop, speed = report.recommended, report.speed
    each = " in each class" if stop.each_class else ""
    allow = f"Allow {percent(stop.limit)} disagreement{each}"
    n_voters, voters = report.subject.n_voters, report.subject.voters
    ratio = speed.ratio("batch", speed.slow_way)
    whom = "than the model's own predict" if speed.slow_way == "own" else "than asking everyone"
    if ratio >= 1:
        sooner = f"{times(ratio)} times sooner here {whom}"
    else:
        sooner = f"but not sooner here {whom} ({times(1 / ratio)} times later)"
    return allow, f"{stop.row.expected_votes:.1f} of {n_voters:,} {voters} on average, {sooner}."


def said(report: Report, stop: Stop) -> str:
    """Return what one stop of the slider comes to, as a sentence."""
    made, subject = report.plan, report.subject
    each = " in each class" if stop.each_class else ""
    sure = "" if made.confidence is None else f", with {100 * made.confidence:g} % confidence"
    whom = "on average" if made.criterion == "minimean" else "for every single row"
    return (
        f"{stop.row.expected_votes:.1f} of {subject.n_voters:,} {subject.voters} are asked on average. At "
        f"most {one_in(stop.limit)} rows may be answered otherwise than by the full vote, {whom}{each}{sure}."
    )


def guarantee(report: Report) -> list[str]:
    """Return in plain words what is promised, to whom, and why."""
    made, voters = report.plan, report.subject.voters
    if made.criterion != "minimean":
        promise = (
            "For every single row, whatever its votes, the answer at the stop differs from that of the full "
            f"vote with at most the allowed probability, over random orders of the {voters}. That holds for "
            "all rows there can be, so it needs no confidence."
        )
    elif made.confidence is not None:
        promise = (
            f"With {100 * made.confidence:g} % confidence, over which {report.subject.n_rows:,} rows were "
            "drawn for calibration, the answer at the stop differs from that of the full vote in at "
            f"most the allowed share of all rows like them, on average over random orders of the {voters}, "
            "however their votes are spread. Fewer calibration rows cost votes, not the limit. The allowance "
            "may be spent on rows with close votes, or on one class: look at the margins and classes above."
        )
    else:
        promise = (
            "If votes are spread exactly as on the calibration rows, the answer at the stop differs from "
            "that of the full vote in at most the allowed share of rows, on average over random orders of "
            f"the {voters}. Without a confidence the calibration rows are taken for the truth: on new rows "
            "the limit is exceeded in about half of all calibrations."
        )
    gap = max(stop.solution.gap for stop in report.stops)
    return [
        promise,
        "Nobody can ask less: each setting here comes with a proven lower bound on the votes that any way "
        f"of stopping within its limit must ask, and meets it to within {_unbroken(gap)} of itself.",
    ]


def _unbroken(number: float) -> str:
    return f"{number:.1e}".replace("-", "\N{NON-BREAKING HYPHEN}")


def not_covered(report: Report) -> list[tuple[str, str]]:
    """Return what the guarantee is not about: a name and a sentence each."""
    voters, drawn, stop = report.subject.voters, report.in_order_drawn, report.recommended
    points = [
        ("Drift", "Rows in use that come from elsewhere than the calibration rows."),
        (
            "Dependence",
            "Calibration rows that come in groups, such as several of one patient, are fewer than they look, "
            "and the confidence is lower than stated.",
        ),
        (
            "The luck of a shared order",
            f"All rows are asked in one random order of the {voters}; its disagreement may be above the mean "
            f"over orders, which is what is bounded. In the order drawn here {drawn.n_differing:,} of "
            f"{drawn.n_rows:,} calibration rows were answered otherwise at the recommended limit "
            f"({percent(drawn.share)}; {percent(stop.row.disagreement)} were to be expected). "
            'order="per_row" lets no rows share their luck.',
        ),
        (
            "Training rows",
            f"Rows that the {voters} were fitted on are voted on more unanimously than new ones. If any are "
            "among the calibration rows, this report is too optimistic.",
        ),
        ("Truth", "It is the full vote that is agreed with, right or wrong."),
    ]
    if report.plan.criterion != "minimean":  # it holds for every row there can be
        return [point for point in points if point[0] not in ("Drift", "Dependence", "Training rows")]
    return points


def hard_against_soft(report: Report) -> str:
    """Say how far the count of votes is from what the model itself predicts."""
    meaning = (
        f"Here each of the {report.subject.voters} has one vote and the majority wins. Many models average "
        "probabilities instead; where every voter is sure of itself, as fully grown trees are, that is the "
        "same."
    )
    found, saved = report.hard_soft, report.subject.saved_hard_soft
    if found is not None:
        if found.n_differing == 0:
            measured = f"On these {found.n_rows:,} rows the two never differ."
        else:
            beside = found.share / report.recommended.limit
            measured = (
                f"On these rows the two differ {found.n_differing:,} times in {found.n_rows:,} "
                f"({percent(found.share)}, {beside:.2g} times the recommended limit): so much is lost or won "
                "before anything is stopped early. This page is about counting votes, voting='hard'. Unless "
                "told so, EarlyStoppingClassifier averages where the model does, and the limit is then about "
                "the model's own predict."
            )
    elif saved is not None:
        measured = (
            "The model itself is not in the file, so it cannot be asked here. When the classifier was made, "
            f"the two differed on {percent(saved)} of its calibration rows."
        )
    else:
        measured = "These voters have no predict of their own that could be asked."
    return f"{meaning} {measured}"

"""Texts: what the page says in other words for votes between two classes, votes among many, and scores.

Votes among many that are too many to count are added up like scores, and compared like votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from foregone.certifying import LossKind
from foregone.planning import Planned, SolvedLimit
from foregone.report.reported_model import ReportedModel
from foregone.strategy.thresholds import majority

__all__ = ["Texts", "texts_of"]

ONE_LIMIT = (
    "Limits for each class are for two classes: with more, strategies do not tell the classes apart, and the "
    "limit is a mean over all rows."
)
OWN_HEADING = "Counting votes, or averaging probabilities"
OWN_DIFFERS = (
    "This comes from counting votes where the model averages probabilities, not from early stopping."
)
NO_ACCURACY = "Limits are on the disagreement, not on the loss of accuracy, though there are labels"
LEARNED_LOSSES = (
    "When to stop is learned on a random fifth of the calibration rows, and the numbers below are estimates "
    "from it. The recommended limit was then certified on the others."
)
OWN_ACCURACY = "This is rounding, where the sum is next to a tie. The limit is about the accuracy of predict."
TIES = "Where several classes have the most votes, the full vote is the first of them."


@dataclass(frozen=True)
class Texts:
    """What has to be said in other words for each kind.

    Attributes
    ----------
    full : str
        What an early answer is compared with.
    mean : {"expected", "estimated"}
        What the disagreement of a limit is.
    computed : str
        Where the numbers of the slider come from.
    averaged : str
        What they are averages over.
    limits : tuple of str
        What is guaranteed about the limits of the slider, one paragraph each.
    own_heading, own_meaning, own_differs : str
        Of the section on the model's own ``predict``: heading, first sentence, and what it means if it
        differs.
    no_class_limits : str or None
        Why there is no limit for each class.
    no_margins : str or None
        Why nothing is shown by the number of yes votes.
    no_exact : str or None
        Why it is not known what it takes never to differ.
    holds_for_every_row : bool
        Whether the limits are about every row there can be, not a mean over rows.
    ties : str or None
        What counts as agreement when everyone together leaves a tie.
    loss : {"disagreement", "accuracy"}
        What limits are on.
    no_accuracy : str or None
        Why they are not on the loss of accuracy, where there are labels.
    """

    full: str
    mean: Literal["expected", "estimated"]
    computed: str
    averaged: str
    limits: tuple[str, ...]
    own_heading: str
    own_meaning: str
    own_differs: str
    no_class_limits: str | None = None
    no_margins: str | None = None
    no_exact: str | None = None
    holds_for_every_row: bool = False
    ties: str | None = None
    loss: LossKind = "disagreement"
    no_accuracy: str | None = None

    @property
    def limited(self) -> str:
        """What is allowed only so much of."""
        return "loss of accuracy" if self.loss == "accuracy" else "disagreement"


def texts_of(model: ReportedModel, planned: Planned, points: Sequence[SolvedLimit]) -> Texts:
    """Return what is said of a model, given how its limits were solved."""
    texts, why = _texts_of_kind(model, planned, points), model.why_no_accuracy
    if planned.loss == "accuracy" and planned.kind == "scores":
        own = texts.own_differs if model.voting == "hard" else OWN_ACCURACY
        texts = replace(texts, computed=LEARNED_LOSSES, own_differs=own)
    if planned.loss == "accuracy":
        return replace(texts, loss="accuracy")
    return texts if why is None else replace(texts, no_accuracy=f"{NO_ACCURACY}: {why}.")


def _texts_of_kind(model: ReportedModel, planned: Planned, points: Sequence[SolvedLimit]) -> Texts:
    if planned.loss == "accuracy" and planned.kind == "votes":
        return _texts_of_labelled_votes(model, planned)
    if planned.kind == "scores":
        return _texts_of_votes_added_up(model) if model.voting == "hard" else _texts_of_scores(model)
    gap, n_classes = max(point.gap or 0.0 for point in points), len(model.labels)
    every_row = not planned.bounds_the_mean
    is_many = planned.kind == "answers"
    for_set = "" if planned.confidence is None else ", for this confidence set"
    optimal = (
        f"Provably optimal among strategies that count votes in random order{for_set}: none within the limit "
        f"asks fewer votes. Every setting here is within {gap:.1e} of its proven lower bound."
    )
    near = (
        "With more than two classes the strategies are near the optimum, not at it: the proven lower "
        f"bounds leave room for at most {100 * gap:.2g} % fewer votes."
    )
    if all(point.gap is None for point in points):
        near = "With more than two classes and a confidence, strategies are certified, not claimed optimal."
    ties = "The bound counts such ties."
    if planned.confidence is None:
        ties = "The bound counts what such ties add on average over these rows."
    covers_classes = "The limit holds for every single row, so also for each class." if every_row else None
    return Texts(
        full="the full vote",
        mean="expected",
        computed="Every number below was computed exactly, for the "
        f"{'strategy found' if is_many else 'optimal strategy'} within that limit, as a mean over random "
        f"orders of the {model.voters}.",
        averaged="on average over random orders",
        limits=(_limits_of_votes(model, planned), near if is_many else optimal),
        own_heading=OWN_HEADING,
        own_meaning=_own_meaning(model),
        own_differs=OWN_DIFFERS,
        no_class_limits=ONE_LIMIT if is_many else covers_classes,
        no_margins=f"With {n_classes} classes a full vote is more than a number of yes votes, so "
        "disagreement is not shown by margin."
        if is_many
        else None,
        holds_for_every_row=every_row,
        ties=f"{TIES} {ties}" if is_many else None,
    )


def _texts_of_labelled_votes(model: ReportedModel, planned: Planned) -> Texts:
    """Return what is said of votes between two classes with limits on the loss of accuracy."""
    over = f"on average over random orders of the {model.voters}"
    mean = "The limit is a mean: one class may take most of it, unless each class has its own."
    computed = (
        "Every number below was computed exactly, for the strategy that asks fewest within that limit, as a "
        f"mean over random orders of the {model.voters}; the labels are taken as they are."
    )
    limits: tuple[str, ...] = (
        "The calibration rows and their labels are treated as the truth: on them the accuracy falls by at "
        f"most the limit, {over}. On new rows the limit is exceeded in about half of all calibrations. Set a "
        f"confidence to avoid that. {mean}",
    )
    if planned.confidence is not None:
        computed = (
            "For each limit a strategy was learned from a fifth of the rows, about as bold as the others "
            "would certify. The numbers below are exact for it: means over these rows and over random "
            f"orders of the {model.voters}."
        )
        limits = (
            "The numbers of the other limits certify nothing. Fitting a classifier with one of them "
            f"certifies it on labelled calibration rows, {over}; with fewer rows more {model.voters} are "
            f"asked, and with too few it stops only where the answer is certain. {mean}",
            "Certified, not proven optimal: which disagreements lose accuracy is learned from labels, and "
            "labels tell it only roughly.",
        )
    return Texts(
        full="the full vote",
        mean="expected",
        computed=computed,
        averaged="on average over random orders",
        limits=limits,
        own_heading=OWN_HEADING,
        own_meaning=_own_meaning(model),
        own_differs=OWN_DIFFERS,
    )


def _limits_of_votes(model: ReportedModel, planned: Planned) -> str:
    """Say what the figures of every limit are worth; what the classifier is worth is its own promise."""
    over = f"on average over random orders of the {model.voters}"
    if not planned.bounds_the_mean:
        return (
            "For every single row, whatever its votes, the early answer differs from the full vote with at "
            f"most the allowed probability, {over}. This holds for any row, so it needs no confidence."
        )
    if planned.confidence is None:
        return (
            "The calibration rows are treated as the true distribution: if votes are distributed exactly as "
            f"on them, the early answer differs from the full vote on at most the allowed share of rows, "
            f"{over}. On new rows the limit is exceeded in about half of all calibrations. Set a confidence "
            "to avoid that."
        )
    together = "each limit by itself" if planned.kind == "answers" else "all limits together"
    return (
        f"The figures of the other limits hold {over}, with {100 * planned.confidence:g} % confidence for "
        f"{together}. Fitting a classifier with one of them certifies it in the order it uses, given about "
        f"6 / limit rows (6,000 for 0.1 %). The certificate costs a few {model.voters} and a learned order "
        "saves some, so it may ask more or fewer than shown above. The limit is a mean: close votes, or one "
        "class, may take most of it."
    )


def _own_meaning(model: ReportedModel) -> str:
    most = "majority" if len(model.labels) == 2 else "class with most votes"
    if model.quota not in (None, majority(model.n_voters)):
        yes = model.labels[1]
        return (
            f"Each of the {model.voters} has one vote, and the full vote is {yes} if at least "
            f"{model.quota:,} of {model.n_voters:,} are for it."
        )
    return f"Each of the {model.voters} has one vote, and the {most} wins."


def _texts_of_votes_added_up(model: ReportedModel) -> Texts:
    return replace(
        _texts_of_scores(model),
        full="the full vote",
        own_heading=OWN_HEADING,
        own_meaning=_own_meaning(model),
        own_differs=OWN_DIFFERS,
        no_margins=f"With {len(model.labels)} classes a full vote is more than a number of yes votes, so "
        "disagreement is not shown by margin.",
        ties=f"{TIES} The limit counts such ties.",
    )


def _texts_of_scores(model: ReportedModel) -> Texts:
    voters, is_many = model.voters, len(model.labels) > 2
    dropped = (
        " Each class has trees of its own, and one that trails too far is out: its trees are asked no more."
        if model.drops_classes
        else ""
    )
    close = "votes" if model.voting == "hard" else "sums"
    if model.threshold is not None:
        dropped = f" The answer is {model.labels[1]} if its probability is at least {model.threshold:g}."
    return Texts(
        full="the full sum",
        mean="estimated",
        computed="When to stop is learned on a random half of the calibration rows, and the numbers below "
        "are estimates from that half. The recommended limit was then certified on the other half.",
        averaged="on average",
        limits=(
            f"The limit is a mean: close {close}, or one class, may take most of it. With fewer rows more "
            f"{voters} are asked, and with too few it stops only where the {voters} not yet asked cannot "
            "change the answer.",
            "Certified, not proven optimal: the thresholds are the ones that asked fewest in learning and "
            "passed an exact test on rows that they were not learned from. Another random_state splits the "
            "rows differently and leads to slightly different numbers; trying several and taking the best "
            "breaks the guarantee.",
        ),
        own_heading="The full sum and the model's own predict",
        own_meaning=f"The scores of all {voters} are added up in one order, "
        f"{'class by class, ' if is_many else ''}as the model does in its own order and precision"
        f"{'; the class with the largest sum wins' if is_many else ''}.{dropped}",
        no_class_limits=ONE_LIMIT if is_many else None,
        own_differs="This is rounding, where the sum is next to a tie. The limit is about the model's own "
        "predict, and counts such rows as different.",
        no_margins="Scores have no number of yes votes, so disagreement is not shown by margin.",
        no_exact=f"How many {voters} it takes never to differ is not known for these scores.",
    )

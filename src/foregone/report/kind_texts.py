"""Texts that depend on the kind of vote: votes between two classes, votes among many classes, or scores.

Votes among many classes that can be split in too many ways are added up like scores and compared like votes.
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
    "Separate limits for each class need two classes. With more, strategies do not tell the classes apart, "
    "and the limit is a mean over all rows."
)
OWN_HEADING = "The full vote compared with the model's predict"
OWN_DIFFERS = "This comes from counting votes instead of averaging probabilities, not from early stopping."
NO_ACCURACY = "Limits are on the disagreement, not on the accuracy loss, although there are labels"
LEARNED_LOSSES = (
    "The stopping rule is learned on a random fifth of the calibration rows, and the numbers below are "
    "estimates from that fifth."
)
OWN_ACCURACY = "This is rounding, near a tie of the sum. The limit is on the accuracy of predict."
TIES = "If several classes share the most votes, the full vote is the first of them."


@dataclass(frozen=True)
class Texts:
    """The texts of the page that differ between kinds of vote.

    Attributes
    ----------
    full : str
        What an early answer is compared with.
    mean : {"expected", "estimated"}
        How the disagreement at a limit was found.
    computed : str
        Where the numbers of the slider come from.
    averaged : str
        What those numbers are averages over.
    limits : tuple of str
        The guarantees behind the limits of the slider, one paragraph each.
    own_heading, own_meaning, own_differs : str
        The section on the model's own ``predict``: its heading, its first sentence, and the cause of
        differences.
    no_class_limits : str or None
        Why there is no limit for each class.
    no_margins : str or None
        Why the page shows nothing by number of yes votes.
    no_exact : str or None
        Why the cost of never differing is unknown.
    holds_for_every_row : bool
        Whether the limits hold for every possible row, not as a mean over rows.
    ties : str or None
        What counts as agreement when the full vote is a tie.
    loss : {"disagreement", "accuracy"}
        What limits are on.
    no_accuracy : str or None
        Why limits are not on the accuracy loss although there are labels.
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
        """What is limited, in words."""
        return "accuracy loss" if self.loss == "accuracy" else "disagreement"


def texts_of(model: ReportedModel, planned: Planned, points: Sequence[SolvedLimit]) -> Texts:
    """Return the texts for a model, given how its limits were solved."""
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
        f"Provably optimal among strategies that count votes in random order{for_set}: every setting here is "
        f"within {gap:.1e} of the lower bound on the votes asked."
    )
    near = (
        "With more than two classes the strategies are near-optimal: by the proven lower bounds, no strategy "
        f"asks more than {100 * gap:.2g} % fewer votes."
    )
    if all(point.gap is None for point in points):
        near = "With more than two classes and a confidence, strategies are certified, not proven optimal."
    ties = "The bound includes such ties."
    if planned.confidence is None:
        ties = "The bound includes what such ties add on average over these rows."
    covers_classes = "The limit holds for every row, and therefore for each class." if every_row else None
    return Texts(
        full="the full vote",
        mean="expected",
        computed=f"The numbers below are exact for the {'strategy found' if is_many else 'optimal strategy'} "
        f"within that limit: means over random orders of the {model.voters}.",
        averaged="on average over random orders",
        limits=(_limits_of_votes(model, planned), near if is_many else optimal),
        own_heading=OWN_HEADING,
        own_meaning=_own_meaning(model),
        own_differs=OWN_DIFFERS,
        no_class_limits=ONE_LIMIT if is_many else covers_classes,
        no_margins=f"Disagreement by margin is for two classes; there are {n_classes}." if is_many else None,
        holds_for_every_row=every_row,
        ties=f"{TIES} {ties}" if is_many else None,
    )


def _texts_of_labelled_votes(model: ReportedModel, planned: Planned) -> Texts:
    """Return the texts for votes between two classes with limits on the accuracy loss."""
    over = f"on average over random orders of the {model.voters}"
    mean = "The limit is a mean: one class may take most of it, unless each class has its own limit."
    computed = (
        f"The numbers below are exact for the strategy that asks the fewest {model.voters} within that "
        f"limit: means over random orders of the {model.voters}. The labels are assumed to be correct."
    )
    limits: tuple[str, ...] = (
        "The calibration rows and their labels are treated as the true distribution: on them the accuracy "
        f"falls by at most the limit, {over}. On new rows the limit is exceeded in about half of all "
        f"calibrations. Set a confidence to avoid that. {mean}",
    )
    if planned.confidence is not None:
        computed = (
            "For each limit a strategy is learned from a fifth of the rows; it stops about as early as the "
            "other rows would certify. The numbers below are exact for that strategy: means over these rows "
            f"and over random orders of the {model.voters}."
        )
        limits = (
            "The numbers for the other limits certify nothing. To certify one of them, fit a classifier with "
            f"it on labelled calibration rows; the guarantee holds {over}. With fewer rows more "
            f"{model.voters} are asked. With too few rows it stops only once the answer is certain. {mean}",
            "Certified, not proven optimal: which disagreements lose accuracy is estimated from the labels.",
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
    """Return the guarantee behind the figures of every limit; the classifier has its own promise."""
    over = f"on average over random orders of the {model.voters}"
    if not planned.bounds_the_mean:
        return (
            "For every row, whatever its votes, the early answer differs from the full vote with at most the "
            f"allowed probability, {over}. This holds for any row, so it needs no confidence."
        )
    if planned.confidence is None:
        return (
            "The calibration rows are treated as the true distribution: on rows with exactly the same "
            "distribution of votes, the early answer differs from the full vote on at most the allowed "
            f"share, {over}. On new rows the limit is exceeded in about half of all calibrations. Set a "
            "confidence to avoid that."
        )
    together = "each limit separately" if planned.kind == "answers" else "all limits together"
    return (
        f"The figures of the other limits hold {over}, with {100 * planned.confidence:g} % confidence for "
        f"{together}. To certify a classifier with one of them as it runs, fit it on about 6 / limit rows "
        f"(6,000 for 0.1 %). Such a classifier may ask more {model.voters} than shown above, because the "
        "certificate costs a few, or fewer, because it may learn a better order. The limit is a mean: close "
        "votes, or one class, may take most of it."
    )


def _own_meaning(model: ReportedModel) -> str:
    most = "majority" if len(model.labels) == 2 else "class with most votes"
    if model.quota not in (None, majority(model.n_voters)):
        yes = model.labels[1]
        return (
            f"Each of the {model.voters} has one vote. The full vote is {yes} if at least {model.quota:,} of "
            f"{model.n_voters:,} vote for it."
        )
    return f"Each of the {model.voters} has one vote; the {most} wins."


def _texts_of_votes_added_up(model: ReportedModel) -> Texts:
    return replace(
        _texts_of_scores(model),
        full="the full vote",
        own_heading=OWN_HEADING,
        own_meaning=_own_meaning(model),
        own_differs=OWN_DIFFERS,
        no_margins=f"Disagreement by margin is for two classes; there are {len(model.labels)}.",
        ties=f"{TIES} The limit includes such ties.",
    )


def _texts_of_scores(model: ReportedModel) -> Texts:
    voters, is_many = model.voters, len(model.labels) > 2
    dropped = (
        " Each class has its own trees. A class that trails too far is dropped, and its trees are no longer "
        "asked."
        if model.drops_classes
        else ""
    )
    close = "votes" if model.voting == "hard" else "sums"
    if model.threshold is not None:
        dropped = f" The answer is {model.labels[1]} if its probability is at least {model.threshold:g}."
    return Texts(
        full="the full sum",
        mean="estimated",
        computed="The stopping rule is learned on a random half of the calibration rows, and the numbers "
        "below are estimates from that half.",
        averaged="on average",
        limits=(
            f"The limit is a mean: close {close}, or one class, may take most of it. With fewer rows more "
            f"{voters} are asked. With too few rows it stops only once the {voters} not yet asked cannot "
            "change the answer.",
            f"Certified, not proven optimal: the thresholds asked the fewest {voters} in learning and passed "
            "an exact test on rows that they were not learned from. Another random_state splits the rows "
            "differently and gives slightly different numbers. Trying several and keeping the best breaks "
            "the guarantee.",
        ),
        own_heading="The full sum compared with the model's predict",
        own_meaning=f"The full sum adds up the scores of all {voters}"
        f"{', class by class; the class with the largest sum wins' if is_many else ''}. The model adds up "
        f"the same scores in its own order and precision.{dropped}",
        no_class_limits=ONE_LIMIT if is_many else None,
        own_differs="This is rounding, near a tie of the sum. The limit is on the disagreement with the "
        "model's predict, so it counts such rows.",
        no_margins="Disagreement by margin is for counted votes, not for scores.",
        no_exact=f"How many {voters} it takes to never differ is not known for these scores.",
    )

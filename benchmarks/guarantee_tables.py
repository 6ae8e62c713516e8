"""The tables of docs/measurements/guarantees.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from benchmarks.calibrations import Outcome
from benchmarks.classifier_in_use import InUse, Way
from benchmarks.markdown import table
from benchmarks.rare_classes import LIMIT, Luck, Risk

__all__ = [
    "class_table",
    "in_use_table",
    "luck_table",
    "overall_table",
    "risk_table",
    "share_above",
    "variants_table",
]

Array = npt.NDArray[np.float64]


def share_above(excess: Array) -> str:
    """Return the share of figures above one, with Clopper and Pearson's interval (95 %).

    Examples
    --------
    >>> share_above(np.array([0.5] * 195 + [1.5] * 5))
    '2.5 % (0.8 to 5.7)'
    """
    above = binomtest(int(np.count_nonzero(excess > 1)), len(excess))
    low, high = above.proportion_ci(0.95, method="exact")
    return f"{100 * above.statistic:.3g} % ({100 * low:.1f} to {100 * high:.1f})"


def _mean_and_worst(excess: Array) -> str:
    return f"{excess.mean():.2f}, {excess.max():.2f}"


def _more(cost: float) -> str:
    return f"{100 * (cost - 1):+.1f} %"


def _mean_and_tenth(cost: Array) -> str:
    return f"{_more(cost.mean())}, {_more(np.quantile(cost, 0.9))}"


def overall_table(outcomes: Sequence[Outcome]) -> str:
    """Return three columns of outcomes beside each other: the paper's, with a confidence, minimixed."""
    head = [
        "a, b", "rows", "above, paper's", "mean, worst", "above, confidence 0.95", "mean, worst",
        "votes, paper's", "votes, confidence: mean, 90th percentile", "votes, minimixed",
    ]  # fmt: skip
    rows = []
    for paper, confident, minimixed in zip(outcomes[::3], outcomes[1::3], outcomes[2::3], strict=True):
        rows.append(
            [
                _shape(paper),
                f"{paper.case.n_rows:,}",
                share_above(paper.excess),
                _mean_and_worst(paper.excess),
                share_above(confident.excess),
                _mean_and_worst(confident.excess),
                _more(paper.cost.mean()),
                _mean_and_tenth(confident.cost),
                _more(minimixed.cost.mean()),
            ]
        )
    return table(head, rows)


def class_table(outcomes: Sequence[Outcome]) -> str:
    """Return outcomes without and with a confidence beside each other, of limits for each class."""
    head = [
        "a, b", "rows", "above as observed", "above, no confidence", "mean, worst", "above, confidence 0.95",
        "mean, worst", "votes, no confidence", "votes, confidence: mean, 90th percentile",
    ]  # fmt: skip
    rows = []
    for trusting, confident in zip(outcomes[::2], outcomes[1::2], strict=True):
        rows.append(
            [
                _shape(trusting),
                f"{trusting.case.n_rows:,}",
                f"{np.count_nonzero(trusting.seen_excess > 1)} of {trusting.case.n_draws}",
                share_above(trusting.excess),
                _mean_and_worst(trusting.excess),
                share_above(confident.excess),
                _mean_and_worst(confident.excess),
                _more(trusting.cost.mean()),
                _mean_and_tenth(confident.cost),
            ]
        )
    return table(head, rows)


def variants_table(outcomes: Sequence[Outcome]) -> str:
    """Return outcomes of other ways to stop and to answer."""
    head = ["a, b", "rows", "with", "above, confidence 0.95", "mean, worst", "votes: mean, 90th percentile"]
    rows = []
    for outcome in outcomes:
        options = {key: value for key, value in outcome.case.options.items() if key != "confidence"}
        rows.append(
            [
                _shape(outcome),
                f"{outcome.case.n_rows:,}",
                ", ".join(f"{key}={value!r}" for key, value in options.items()),
                share_above(outcome.excess),
                _mean_and_worst(outcome.excess),
                _mean_and_tenth(outcome.cost),
            ]
        )
    return table(head, rows)


def _shape(outcome: Outcome) -> str:
    return "{:g}, {:g}".format(*outcome.case.shape)


def risk_table(risks: Sequence[Risk]) -> str:
    """Return what became of each class of real data, over the splits."""
    head = [
        "dataset (rare of test rows; calibration rows)", "strategy", "trees asked",
        "disagreement, worst split", "of the rare class, worst split", "of the other, worst split",
        "splits above 0.1 %: all, rare, other",
    ]  # fmt: skip
    rows = []
    for name, mode in dict.fromkeys((risk.name, risk.mode) for risk in risks):
        splits = [risk for risk in risks if (risk.name, risk.mode) == (name, mode)]
        first = splits[0]
        n_rare = round(np.mean([risk.n_rare for risk in splits]))
        figures = [[getattr(risk, key) for risk in splits] for key in ("overall", "rare", "other")]
        rows.append(
            [
                f"{name} ({n_rare:,} of {first.n_tested:,}; {first.n_calibrated:,})",
                mode,
                f"{np.mean([risk.trees for risk in splits]):.1f}",
                *(f"{_percent(np.mean(values))}, {_percent(max(values))}" for values in figures),
                ", ".join(str(sum(value > LIMIT for value in values)) for values in figures)
                + f" of {len(splits)}",
            ]
        )
    return table(head, rows)


def luck_table(lucks: Sequence[Luck]) -> str:
    """Return how far shared orders stray from their mean."""
    head = [
        "dataset", "strategy", "rows", "expected", "shared: 95th percentile", "worst", "orders above 0.1 %",
        "standard deviation, shared", "common part (95 % interval)", "an order for each row",
    ]  # fmt: skip
    rows = []
    for one in lucks:
        for whose, spread in (("all", one.overall), ("rare", one.rare)):
            rows.append(
                [
                    one.name,
                    one.mode,
                    whose,
                    _percent(spread.expected),
                    _percent(np.quantile(spread.shared, 0.95)),
                    _percent(spread.shared.max()),
                    f"{100 * np.mean(spread.shared > LIMIT):.3g} %",
                    _percent(spread.shared.std(ddof=1)),
                    " to ".join(map(_percent, spread.common)),
                    _percent(spread.own),
                ]
            )
    return table(head, rows)


def in_use_table(found: Sequence[InUse]) -> str:
    """Return what fitted classifiers did on new rows, by default and in a shared order, not certified."""
    head = [
        "setting (calibration rows)", "limit", "guarantee about", "seeds above", "beyond noise", "worst",
        "votes", "shared: seeds above", "beyond noise", "worst", "votes", "change in votes",
    ]  # fmt: skip
    rows = [
        [
            f"{one.name} ({one.n_calibration:,})",
            f"{one.limit:g}",
            " or ".join(one.now.about),
            *_of_seeds(one.now),
            *_of_seeds(one.before),
            _more(one.votes_ratio),
        ]
        for one in found
    ]
    return table(head, rows)


def _of_seeds(way: Way) -> list[str]:
    n_seeds = len(way.votes)
    above, beyond = (int(np.count_nonzero(found)) for found in (way.excess > 1, way.beyond))
    return [f"{above} of {n_seeds}", f"{beyond}", f"{way.excess.max():.2f}", f"{way.votes.mean():.2f}"]


def _percent(share: float) -> str:
    """Return a share in percent, with two or three digits that tell something."""
    return f"{100 * share:.3g} %" if share >= 0.1 else f"{100 * share:.2g} %"

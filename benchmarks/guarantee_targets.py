"""The targets of `benchmarks.guarantees`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.calibrations import Outcome
from benchmarks.classifier_in_use import InUse
from benchmarks.markdown import table

__all__ = ["Target", "targets_in_use", "targets_of", "targets_table"]

FAILURE = 0.05  # share of calibrations that may exceed the limit at a confidence of 0.95
ENOUGH_ROWS = 5_000
# At most this many times the votes of the best strategy for the truth, with that many rows and a confidence.
MOST_COST = {(0.15, 0.15): 1.10, (0.4, 0.6): 1.10, (0.1, 1.2): 1.25, (2.0, 2.0): 1.10, (0.02, 0.02): 1.25}
# At most this many times the votes that a shared order without a certificate asks, by limit; on real data.
MOST_VOTES, MOST_VOTES_REAL = {1e-2: 1.10, 1e-3: 1.15}, 1.06


class Target(NamedTuple):
    """A figure, and what it may be at most."""

    what: str
    most: float
    reached: float

    @property
    def is_met(self) -> bool:
        """Whether the figure is within what it may be."""
        return self.reached <= self.most


def targets_of(outcomes: dict[str, list[Outcome]]) -> list[Target]:
    """Return the targets for the simulated calibrations."""
    targets = []
    titles = {"overall": "one limit", "classes": "a limit for each class", "variants": "looks and answers"}
    for name, title in titles.items():
        shares = [np.mean(o.excess > 1) for o in outcomes[name] if "confidence" in o.case.options]
        targets.append(
            Target(f"{title}, confidence 0.95: largest share above the limit", FAILURE, max(shares))
        )
    trusting = [o.seen_excess for o in outcomes["classes"] if "confidence" not in o.case.options]
    targets.append(
        Target(
            "a limit for each class: worst multiple of it under the observed votes",
            1.0,
            max(map(np.max, trusting)),
        )
    )
    for outcome in outcomes["overall"]:
        case = outcome.case
        if case.n_rows == ENOUGH_ROWS and "confidence" in case.options:
            what = f"{case.shape}, {case.n_rows:,} rows, confidence 0.95: mean votes relative to the oracle's"
            targets.append(Target(what, MOST_COST[case.shape], float(outcome.cost.mean())))
    return targets


def targets_in_use(generated: list[InUse], real: list[InUse]) -> list[Target]:
    """Return the targets for fitted classifiers; those of real data only where there are any."""
    targets = []
    for limit, most in MOST_VOTES.items():
        at_limit = [one for one in generated if one.limit == limit]
        beyond = max(float(one.now.beyond.mean()) for one in at_limit)
        votes = max(one.votes_ratio for one in at_limit)
        title = f"the classifier in use, limit {limit:g}: largest"
        targets.append(Target(f"{title} share of seeds above it beyond noise", FAILURE, beyond))
        targets.append(Target(f"{title} multiple of the votes in a shared order", most, votes))
    if real:
        votes = max(one.votes_ratio for one in real)
        what = "the classifier in use, real data: largest multiple of the votes in a shared order"
        targets.append(Target(what, MOST_VOTES_REAL, votes))
    return targets


def targets_table(targets: list[Target]) -> str:
    """Return the targets as a table."""
    rows = [[t.what, f"{t.most:.4g}", f"{t.reached:.4g}", "yes" if t.is_met else "MISSED"] for t in targets]
    return table(["what", "at most", "measured", "met"], rows)

"""replay(): votes asked and disagreement of each method on recorded votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from foregone.checks import check_max_disagreement, check_share, check_whole
from foregone.errors import InvalidInputError
from foregone.replaying.items import Items, Measured
from foregone.rules.methods import Method

__all__ = ["Curve", "Replay", "ReplayRow", "replay"]

# Limits at which the trade-off of a method is computed: 0, and four per decade.
CURVE_LIMITS = (0.0, *(10.0 ** (k / 4) for k in range(-36, -1)))


@dataclass(frozen=True)
class ReplayRow:
    """Results of one method on the items it was not calibrated with; means over the splits.

    Attributes
    ----------
    method, label, limit, is_ours
        As in `Method`.
    calls, disagreement, tokens : float
        Votes asked, probability to disagree with the full vote, tokens (None if not recorded).
    above_limit : float or None
        Share of the splits in which the disagreement was above the limit.
    worst_calls, worst_disagreement : float
        The largest values for any votes an item could have, in any split.
    ours_at_equal : dict
        For each tunable method of ours, by label: its calls at the same disagreement; None if it cannot get
        that low.
    """

    method: str
    label: str
    limit: float | None
    is_ours: bool
    calls: float
    disagreement: float
    tokens: float | None
    above_limit: float | None
    worst_calls: float
    worst_disagreement: float
    ours_at_equal: dict[str, float | None]


@dataclass(frozen=True)
class Curve:
    """Calls and disagreement of one of our methods as its limit varies; means over the splits.

    Attributes
    ----------
    label : str
        The method.
    limits, calls, disagreement : tuple of float
        Of equal length, by increasing limit.
    """

    label: str
    limits: tuple[float, ...]
    calls: tuple[float, ...]
    disagreement: tuple[float, ...]

    def calls_at(self, disagreement: float) -> float | None:
        """Return the calls at a given disagreement; None if the method never gets that low.

        Interpolates between two limits, which a random mixture of both strategies achieves. Above the
        largest disagreement, returns the fewest calls.
        """
        best = min(
            (
                calls
                for calls, risk in zip(self.calls, self.disagreement, strict=True)
                if risk <= disagreement
            ),
            default=None,
        )
        points = sorted(zip(self.disagreement, self.calls, strict=True))
        for (low, more), (high, fewer) in pairwise(points):
            if low <= disagreement < high:
                mixed = more + (fewer - more) * (disagreement - low) / (high - low)
                return mixed if best is None else min(mixed, best)
        return best


@dataclass(frozen=True)
class Replay:
    """Results of replaying recorded votes under several methods, as returned by `replay`.

    Attributes
    ----------
    rows : tuple of ReplayRow
        One for each method and limit.
    curves : tuple of Curve
        One for each tunable method of ours.
    n_items, n_calibration, n_splits, seed : int
        Number of items, of calibration items in each split, and of splits; and the seed of the splits.
    full_tokens : float or None
        Mean tokens of a full vote.
    """

    rows: tuple[ReplayRow, ...]
    curves: tuple[Curve, ...]
    n_items: int
    n_calibration: int
    n_splits: int
    seed: int
    full_tokens: float | None

    def record(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON."""
        return asdict(self)


def replay(
    items: Items,
    methods: Iterable[Method],
    *,
    calibrate_share: float = 0.5,
    splits: int = 20,
    seed: int = 0,
    curve_limits: Iterable[float] = CURVE_LIMITS,
    advance: Callable[[], None] = lambda: None,
) -> Replay:
    """Replay recorded votes: calibrate each method on some of the items, and measure it on the others.

    Parameters
    ----------
    items : Items
        The recorded votes: `YesNoItems`, or `PluralityItems` for many answers.
    methods : iterable of Method
        From `choose_methods`, which also takes custom rules.
    calibrate_share : float, default 0.5
        Share of the items used to calibrate; the others are used to measure.
    splits : int, default 20
        Number of random splits.
    seed : int, default 0
        Seed of the splits; the same seed gives the same results.
    curve_limits : iterable of float
        Limits at which the trade-offs of our methods are computed, increasing; by default four per decade
        from 1e-9. Between two limits, both are mixed, which costs up to 1 % more calls than a limit in
        between.
    advance : callable
        Called after each split.

    Examples
    --------
    >>> from foregone.replaying import RecordedVotes, YesNoItems, choose_methods, replay
    >>> rng = np.random.default_rng(0)
    >>> answers = rng.random((60, 7)) < rng.beta(0.3, 0.3, (60, 1))
    >>> votes = RecordedVotes.from_columns(
    ...     {"item": np.repeat(range(60), 7), "draw": list(range(7)) * 60, "answer": answers.ravel()}
    ... )
    >>> found = replay(YesNoItems.of(votes, 7), choose_methods(["minimax", "lead:2"], [0.05]))
    >>> [(row.label, round(row.calls, 1), round(row.disagreement, 3)) for row in found.rows]
    [('minimax', 3.8, 0.016), ('lead of 2', 2.7, 0.041)]
    """
    methods = tuple(methods)
    n_splits, seed = check_whole(splits, "splits"), check_whole(seed, "seed", 0)
    n_calibration = _calibration_size(items.n_items, calibrate_share)
    tried = tuple(check_max_disagreement(limit) for limit in curve_limits)
    everything = items.calibrate(np.arange(items.n_items))
    fixed = {
        place: items.play(method.strategy(everything))
        for place, method in enumerate(methods)
        if not method.is_calibrated
    }
    tunable = {method.label: method for method in methods if method.is_tunable}
    measured: list[list[Measured]] = [[] for _ in methods]
    worst: list[list[Measured]] = [[] for _ in methods]
    along: dict[str, list[list[Measured]]] = {label: [] for label in tunable}
    generator = np.random.default_rng(seed)
    for _ in range(n_splits):
        order = generator.permutation(items.n_items)
        calibration, others = items.calibrate(order[:n_calibration]), order[n_calibration:]
        for place, method in enumerate(methods):
            played = fixed.get(place) or items.play(method.strategy(calibration))
            measured[place].append(played.on(others))
            worst[place].append(played.worst())
        for label, method in tunable.items():
            strategies = (method.at_limit(calibration, limit) for limit in tried)
            along[label].append([items.play(strategy).on(others) for strategy in strategies])
        advance()
    curves = tuple(_curve(label, tried, points) for label, points in along.items())
    return Replay(
        rows=tuple(
            _row(method, measured[place], worst[place], curves) for place, method in enumerate(methods)
        ),
        curves=curves,
        n_items=items.n_items,
        n_calibration=n_calibration,
        n_splits=n_splits,
        seed=seed,
        full_tokens=items.full_tokens(),
    )


def _calibration_size(n_items: int, share: Any) -> int:
    share = check_share(share, "calibrate_share")
    n_calibration: int = round(share * n_items)
    if not 0 < n_calibration < n_items:
        raise InvalidInputError(
            f"calibrate_share={share:g} of {n_items:,} items leaves no items to calibrate on, or none to "
            "measure on: use another share, or more items"
        )
    return n_calibration


def _curve(label: str, limits: tuple[float, ...], splits: Sequence[Sequence[Measured]]) -> Curve:
    by_limit = list(zip(*splits, strict=True))
    return Curve(
        label,
        limits,
        tuple(_mean(point.calls for point in points) for points in by_limit),
        tuple(_mean(point.disagreement for point in points) for points in by_limit),
    )


def _row(
    method: Method, measured: Sequence[Measured], worst: Sequence[Measured], curves: Iterable[Curve]
) -> ReplayRow:
    disagreement = _mean(one.disagreement for one in measured)
    tokens = [one.tokens for one in measured if one.tokens is not None]
    above = None
    if method.limit is not None:
        allowed = method.limit * (1 + 1e-9)  # tolerates rounding
        above = _mean(one.disagreement > allowed for one in measured)
    return ReplayRow(
        method=method.name,
        label=method.label,
        limit=method.limit,
        is_ours=method.is_ours,
        calls=_mean(one.calls for one in measured),
        disagreement=disagreement,
        tokens=_mean(tokens) if tokens else None,
        above_limit=above,
        worst_calls=max(one.calls for one in worst),
        worst_disagreement=max(one.disagreement for one in worst),
        ours_at_equal={curve.label: curve.calls_at(disagreement) for curve in curves},
    )


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return math.fsum(given) / len(given)

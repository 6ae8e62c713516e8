"""Families of threshold paths, indexed by boldness: from asking nearly everyone to stopping early.

A family is learned from running scores, or from leads for many classes; each boldness from 0 to 1 then gives
one pair of paths. Certification uses other rows (docs/theory.md, "Scores"), so a crude family costs votes but
never breaks the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from foregone.checks import BoolArray, FloatArray, IntArray, check_looks
from foregone.scores.paths import ClassPaths, Paths

__all__ = [
    "LEAD_SHAPES",
    "SHAPES",
    "WEIGHED_SHAPES",
    "Fit",
    "Learned",
    "LearnedByClass",
    "Shape",
    "Thresholds",
    "everywhere",
    "fit_scores",
    "joined",
    "steps_before_all",
]

Thresholds = tuple[FloatArray, FloatArray]

KNOTS = 40  # steps at which chances are fitted; thresholds are interpolated between them
LARGEST_CHANCE = 0.45  # no stop is less certain than this
# If close calls may gain as well as lose: the chance at which the boldest stop halfway, and the largest
# chance at any stop: for two answers one half, for a leader among many even more.
BOLDEST, EVEN_CHANCE, LARGEST_CHANCE_OF_LEADS = 3.0, 0.5, 0.99
RIDGE = 1e-2  # keeps the fit finite for separable rows; far below the weight of a row
LARGEST_STEP = 4.0  # of the coefficients, in one round of the fit
MOST_FITTED, FEWEST_FITTED = 200_000, 2_000  # gaps of classes, and rows, that a fit looks at


@dataclass(frozen=True)
class Shape:
    """Parameters of a family, other than its boldness.

    Attributes
    ----------
    kind : {"margin", "chance"}
        Stop at a constant margin, the same distance from 0 at every step; or where the probability that the
        full sum gives another answer is small enough.
    ratio : float
        For "chance": how much smaller that probability must be for a stop with "yes" than with "no".
    at_knots : bool
        For "chance": whether it looks only at some steps, spaced wider later on. Each look can be wrong, and
        looking again pays little if one voter changes little.
    """

    kind: Literal["margin", "chance"]
    ratio: float = 1.0
    at_knots: bool = False


SHAPES = (Shape("margin"), Shape("chance"))
LEAD_SHAPES = (Shape("chance", at_knots=True),)  # also for many classes
# Also tried with a limit per answer, or with costs: limits, classes and costs may differ by orders of
# magnitude.
WEIGHED_SHAPES = tuple(Shape("chance", ratio) for ratio in (1 / 256, 1 / 32, 1 / 4, 4.0, 32.0, 256.0))


class Fit(NamedTuple):
    """How running scores predict the full sum, at some steps. It does not depend on limits.

    Attributes
    ----------
    knots : ndarray of int
        The steps.
    level, slope : ndarray of float, shape (n_knots,)
        The log odds of a final "yes", or of the leader staying ahead, are ``level + slope * score``.
    levels, slopes : ndarray of float, shapes (n_knots, n_classes) and (n_knots,)
        If each class has separate voters: the log odds that a class still wins are
        ``levels[class] - slopes * gap``, where the gap is how far it trails the leader. Rare classes begin
        far behind, and some catch up.
    """

    knots: IntArray
    level: FloatArray
    slope: FloatArray
    levels: FloatArray | None = None
    slopes: FloatArray | None = None


def fit_scores(paths: Paths, steps: IntArray) -> Fit:
    """Fit running scores or leads at some of the steps; not all full sums may give the same answer."""
    places = np.linspace(0, np.sqrt(len(steps) - 1), KNOTS) ** 2  # dense where most rows stop: early
    knots = steps[np.unique(np.rint(places).astype(np.int64))]
    by_class: tuple[FloatArray, ...] = ()
    if isinstance(paths, ClassPaths) and paths.drops_classes:
        by_class = _log_odds_to_win(paths, knots)
    return Fit(knots, *_log_odds(paths, knots), *by_class)


class Learned:
    """Statistics of running scores used by all families: their size, and how they predict the full sum.

    Parameters
    ----------
    paths : Paths
        Running scores or leads; not all full sums give the same answer.
    fit : Fit
        What `fit_scores` found for them.
    steps : ndarray of int
        The numbers of voters, from 1 to n_voters - 1, after which it may stop.
    limit : float
        The allowed loss, above 0: determines which boldness is worth trying.
    certain : Thresholds
        Where the answer is certain: every family also stops there.
    may_gain : bool
        Whether an answer that differs from the full sum's may be the better one, as in about half of the
        close calls: then disagreement may be far above the limit.
    """

    def __init__(
        self,
        paths: Paths,
        fit: Fit,
        steps: IntArray,
        limit: float,
        certain: Thresholds,
        *,
        may_gain: bool = False,
    ) -> None:
        self._paths = paths
        self._fit = fit
        self._knots = fit.knots
        self._steps = steps
        self._certain = certain
        self._of_leads = isinstance(paths, ClassPaths)
        self._careful, self._bold = np.log(limit / 300), np.log(min(limit * 100, 1.0))
        if fit.levels is not None:
            # For classes far behind, the log odds are extrapolated, and there are many classes: start more
            # careful.
            self._careful = np.log(limit / 10_000)
        self._largest_chance = LARGEST_CHANCE
        if may_gain:
            self._bold = np.log(BOLDEST)
            self._largest_chance = LARGEST_CHANCE_OF_LEADS if self._of_leads else EVEN_CHANCE

    @cached_property
    def _sizes(self) -> FloatArray:
        return np.sort(np.abs(self._paths.running[:, self._steps - 1]), axis=None)

    def thresholds(self, shape: Shape, boldness: float) -> Thresholds:
        """Return the thresholds of one family at one boldness, for every step from 0 to n_voters."""
        return joined(self._thresholds(shape, boldness), self._certain)

    def _thresholds(self, shape: Shape, boldness: float) -> Thresholds:
        if shape.kind == "margin":
            # Evenly spaced in the share of scores beyond the margin, but finer among the largest.
            margin = self._sizes[int((1 - boldness) ** 2 * (len(self._sizes) - 1))]
            upper = np.full(len(self._steps), margin)
            return self._everywhere(-upper, upper)
        chance = self._chances(boldness)
        lower = self._where(-self._log_odds_against(chance * np.sqrt(shape.ratio)), -np.inf)
        upper = self._where(self._log_odds_against(chance / np.sqrt(shape.ratio)), np.inf)
        if shape.at_knots:
            between = ~np.isin(self._steps, self._knots)
            lower[between], upper[between] = -np.inf, np.inf
        return self._everywhere(lower, upper)

    def _chances(self, boldness: float) -> FloatArray:
        """Return, for every knot, the probability of being wrong at which to stop."""
        # Early on, the next voter adds much information, so waiting pays: the probability grows with the
        # step.
        growth = np.sqrt(self._knots / self._knots[len(self._knots) // 2])
        chances = np.exp(self._careful + boldness * (self._bold - self._careful)) * growth
        return np.asarray(chances)

    def _log_odds_against(self, chance: FloatArray) -> FloatArray:
        chance = np.minimum(chance, self._largest_chance)
        return np.asarray(np.log((1 - chance) / chance))

    def _everywhere(self, lower: FloatArray, upper: FloatArray) -> Thresholds:
        return everywhere(self._paths.n_steps, self._steps, None if self._of_leads else lower, upper)

    def _where(self, log_odds: FloatArray, never: float) -> FloatArray:
        """Return, for every step, the score with these log odds; ``never`` next to a knot that has none."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            at_knots = (log_odds - self._fit.level) / self._fit.slope
        tells = (self._fit.slope > 0) & np.isfinite(at_knots)
        between = np.interp(self._steps, self._knots, np.where(tells, at_knots, 0.0))
        return np.where(np.interp(self._steps, self._knots, ~tells) > 0, never, between)


class LearnedByClass(Learned):
    """The same if each class has separate voters: how far each class may trail before it is dropped."""

    def _thresholds(self, shape: Shape, boldness: float) -> Thresholds:
        levels, slopes = self._fit.levels, self._fit.slopes
        assert levels is not None
        assert slopes is not None
        n_classes = levels.shape[1]
        if shape.kind == "margin":
            upper = super()._thresholds(shape, boldness)[1][self._steps]
            return self._everywhere(-upper, np.repeat(upper[:, None], n_classes, axis=1))
        against = self._log_odds_against(self._chances(boldness))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            gaps = np.maximum((levels + against[:, None]) / slopes[:, None], 0.0)
        gaps[~(slopes > 0)] = np.inf
        between = [np.interp(self._steps, self._knots, gaps[:, number]) for number in range(n_classes)]
        upper = np.stack(between, axis=1)
        if shape.at_knots:
            upper[~np.isin(self._steps, self._knots)] = np.inf
        return self._everywhere(-upper, upper)


def _log_odds_to_win(paths: ClassPaths, knots: IntArray) -> tuple[FloatArray, FloatArray]:
    """Fit the log odds that a trailing class still wins: levels by knot and class, slopes by knot."""
    n_classes = paths.n_classes
    some = paths.take(np.arange(min(len(paths), max(FEWEST_FITTED, MOST_FITTED // n_classes))))
    wins = some.final[:, None] == np.arange(n_classes)
    levels, slopes = np.empty((len(knots), n_classes)), np.empty(len(knots))
    level, slope = np.zeros(n_classes), 0.0
    for place, gaps in enumerate(np.moveaxis(some.gaps(knots), 1, 0)):
        scale = float(np.sqrt(np.mean(gaps**2))) or 1.0
        level, slope = fit_by_class(gaps / scale, wins, level, slope)
        levels[place], slopes[place] = level, slope / scale
    return levels, slopes


def fit_by_class(
    gaps: FloatArray, wins: BoolArray, level: FloatArray, slope: float
) -> tuple[FloatArray, float]:
    """Return level and slope of the log odds of ``wins``, starting from the given ones; leaders are left out.

    The log odds are ``level[class] - slope * gap``. Newton's method, as in `fit_logistic`; levels are coupled
    only through the slope, so no matrix is needed.
    """
    trails = gaps > 0
    level = level.copy()
    for _ in range(50):
        log_odds = np.clip(level - slope * gaps, -30, 30)
        chance = 1 / (1 + np.exp(-log_odds))
        left, weight = (wins - chance) * trails, chance * (1 - chance) * trails
        by_level = left.sum(axis=0) - RIDGE * level
        by_slope = -float((left * gaps).sum()) - RIDGE * slope
        weighted = weight * gaps
        own, shared = weight.sum(axis=0) + RIDGE, -weighted.sum(axis=0)
        of_slope = float((weighted * gaps).sum()) + RIDGE - float((shared**2 / own).sum())
        slope_step = (by_slope - float((shared * by_level / own).sum())) / max(of_slope, 1e-12)
        level_step = (by_level - shared * slope_step) / own
        size = max(abs(slope_step), float(np.abs(level_step).max()))
        damping = min(1.0, LARGEST_STEP / max(size, 1e-300))
        level, slope = level + damping * level_step, slope + damping * slope_step
        if size < 1e-3:
            break
    return level, slope


def _log_odds(paths: Paths, knots: IntArray) -> tuple[FloatArray, FloatArray]:
    """Fit the log odds of the answer at some steps; each fit starts from the previous one."""
    level, slope = np.zeros(len(knots)), np.zeros(len(knots))
    coefficients = np.zeros(2)
    for place, knot in enumerate(knots):
        scores = paths.running[:, knot - 1]
        scale = float(np.abs(scores).max()) or 1.0
        scale *= float(np.sqrt(np.mean((scores / scale) ** 2))) or 1.0
        features = np.stack([np.ones_like(scores), scores / scale], axis=1)
        coefficients = fit_logistic(features, paths.is_upwards(knot), coefficients)
        level[place], slope[place] = coefficients[0], coefficients[1] / scale
    return level, slope


def steps_before_all(looks: Any, n_voters: int) -> IntArray:
    """Return the steps, except none and all, after which it may stop, from the user's ``looks``."""
    given = check_looks(looks, n_voters)
    steps = np.arange(n_voters) if given is None else np.array(given, dtype=np.int64)
    return np.asarray(steps[(steps > 0) & (steps < n_voters)], dtype=np.int64)


def everywhere(n_voters: int, steps: IntArray, lower: FloatArray | None, upper: FloatArray) -> Thresholds:
    """Return thresholds for every step from those at some steps: infinite elsewhere, 0 at the end.

    For leads, which have no lower thresholds, ``lower`` is None; there may be an upper one per class.
    """
    low, high = np.full(n_voters + 1, -np.inf), np.full((n_voters + 1, *upper.shape[1:]), np.inf)
    high[steps], high[-1] = upper, 0.0
    if lower is not None:
        low[steps], low[-1] = lower, 0.0
    return low, high


def joined(thresholds: Thresholds, certain: Thresholds) -> Thresholds:
    """Return thresholds that stop wherever either pair does; if their answers differ, the certain one wins.

    Examples
    --------
    >>> learned, certain = np.array([[-3.0], [5.0]]), np.array([[-4.0], [4.0]])
    >>> joined((learned[0], learned[1]), (certain[0], certain[1]))
    (array([-3.]), array([4.]))
    """
    (lower, upper), (surely_no, surely_yes) = thresholds, certain
    if upper.ndim == 2:  # one per class, and no lower ones
        return lower, np.minimum(upper, surely_yes)
    return (
        np.maximum(surely_no, np.minimum(lower, np.nextafter(surely_yes, -np.inf))),
        np.minimum(surely_yes, np.maximum(upper, np.nextafter(surely_no, np.inf))),
    )


def fit_logistic(features: FloatArray, is_yes: BoolArray, first: FloatArray) -> FloatArray:
    """Return the coefficients of the log odds of ``is_yes``, starting the search from ``first``.

    Newton's method with a small ridge penalty; sufficient for three coefficients.

    Examples
    --------
    >>> ones = np.ones((4, 1))
    >>> coefficients = fit_logistic(ones, np.array([True, True, True, False]), np.zeros(1))
    >>> round(float(coefficients[0]), 1)  # log 3, but for the ridge
    1.1
    """
    coefficients = first.copy()
    identity = RIDGE * np.eye(features.shape[1])
    for _ in range(50):
        log_odds = np.clip(features @ coefficients, -30, 30)
        chance = 1 / (1 + np.exp(-log_odds))
        weight = chance * (1 - chance)
        hessian = (features * weight[:, None]).T @ features + identity
        step = np.linalg.solve(hessian, features.T @ (is_yes - chance) - RIDGE * coefficients)
        size = float(np.abs(step).max())
        coefficients += step * min(1.0, LARGEST_STEP / max(size, 1e-300))
        if size < 1e-4:
            break
    return coefficients

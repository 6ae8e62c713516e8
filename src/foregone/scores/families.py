"""Families of threshold paths, each with one boldness: from asking nearly everyone to stopping early.

A family is learned from running scores; then every boldness from 0 to 1 gives one pair of paths. Whatever a
family does, what is certified afterwards is certified on other rows (docs/theory.md, "Scores"); so a family
may be as crude as it likes, and only costs votes by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foregone.scores.logistic import fit_logistic
from foregone.scores.paths import IntArray
from foregone.votes import FloatArray

__all__ = ["CANDIDATES", "RATIOS", "Family", "Thresholds", "everywhere"]

Thresholds = tuple[FloatArray, FloatArray]
Rule = Callable[[float], Thresholds]

KNOTS = 40  # steps at which the chance of another answer is fitted; between them thresholds are interpolated
GRID = 513  # running scores at which a fitted chance is evaluated
LARGEST_CHANCE = 0.45  # a stop is never less sure than this


@dataclass(frozen=True)
class Family:
    """One way to learn threshold paths.

    Attributes
    ----------
    name : str
        What it is called.
    late : float
        For families of chances: the chance at which to stop grows with the voters asked to this power.
        Early on the next voter tells much, so that waiting for it pays.
    ratio : float
        For families of chances: how much worse a wrong "yes" is than a wrong "no".
    """

    name: str
    late: float = 0.0
    ratio: float = 1.0

    def learn(self, paths: FloatArray, steps: IntArray, limit: float) -> Rule:
        """Return the rule for every boldness, learned from running scores.

        Parameters
        ----------
        paths : ndarray of shape (n_rows, n_voters)
            Running scores.
        steps : ndarray of int
            The numbers of voters, from 1 to n_voters - 1, after which it may stop.
        limit : float
            The allowed disagreement: says what boldness is worth trying.
        """
        if self.name == "margin":
            return _margins(paths, steps)
        return _chances(paths, steps, limit, self.late, self.ratio)


def _margins(paths: FloatArray, steps: IntArray) -> Rule:
    """Stop when the running score is a constant away from 0; the boldest constant is 0."""
    sizes = np.sort(np.abs(paths[:, steps - 1]), axis=None)

    def rule(boldness: float) -> Thresholds:
        # Even in the share of scores that lie beyond the margin, and finer among the largest.
        margin = float(np.quantile(sizes, (1 - boldness) ** 2)) if boldness < 1 else 0.0
        return np.full(len(steps), -margin), np.full(len(steps), margin)

    return rule


def _chances(paths: FloatArray, steps: IntArray, limit: float, late: float, ratio: float) -> Rule:
    """Stop when the chance that the full sum says otherwise, given the running score, is small enough."""
    places = np.unique(np.rint(np.linspace(0, np.sqrt(len(steps) - 1), KNOTS) ** 2).astype(np.int64))
    knots = steps[places]
    final_yes = paths[:, -1] > 0
    curves = _LogOdds.fit_all(paths, knots, final_yes)
    growth = (steps / paths.shape[1]) ** late
    growth = growth / growth[len(growth) // 4]
    careful, bold = np.log(limit / 300), np.log(min(limit * 100, 1.0))

    def rule(boldness: float) -> Thresholds:
        chance = np.exp(careful + boldness * (bold - careful)) * growth[places]
        wrong_yes = np.minimum(chance / np.sqrt(ratio), LARGEST_CHANCE)
        wrong_no = np.minimum(chance * np.sqrt(ratio), LARGEST_CHANCE)
        upper = [
            curve.reaching(p) for curve, p in zip(curves, np.log((1 - wrong_yes) / wrong_yes), strict=True)
        ]
        lower = [
            curve.falling_to(p) for curve, p in zip(curves, np.log(wrong_no / (1 - wrong_no)), strict=True)
        ]
        return (
            _between_knots(steps, knots, np.array(lower), -np.inf),
            _between_knots(steps, knots, np.array(upper), np.inf),
        )

    return rule


def _between_knots(steps: IntArray, knots: IntArray, values: FloatArray, never_reached: float) -> FloatArray:
    """Interpolate thresholds; next to a knot that never stops, nothing does."""
    finite = np.isfinite(values)
    filled = np.interp(steps, knots, np.where(finite, values, 0.0))
    never = np.interp(steps, knots, np.where(finite, 0.0, 1.0)) > 0
    return np.where(never, never_reached, filled)


@dataclass(frozen=True, eq=False)
class _LogOdds:
    """The log odds of a final "yes" as a never falling function of the running score at one step."""

    scores: FloatArray
    values: FloatArray

    @classmethod
    def fit_all(cls, paths: FloatArray, knots: IntArray, final_yes: npt.NDArray[np.bool_]) -> list[_LogOdds]:
        """Fit one curve a knot; each fit begins where the one before it ended."""
        curves, coefficients = [], np.zeros(3)
        for knot in knots:
            running = paths[:, knot - 1]
            scale = float(np.sqrt(np.mean(running**2))) or 1.0
            coefficients = fit_logistic(_features(running / scale), final_yes, coefficients)
            grid = np.linspace(running.min(), running.max(), GRID)
            values = np.maximum.accumulate(_features(grid / scale) @ coefficients)
            curves.append(cls(grid, values))
        return curves

    def reaching(self, value: float) -> float:
        """Return the least score seen whose log odds are at least ``value``, or inf."""
        if self.values[-1] < value:
            return np.inf
        return float(np.interp(value, self.values, self.scores))

    def falling_to(self, value: float) -> float:
        """Return the largest score seen whose log odds are at most ``value``, or -inf."""
        if self.values[0] > value:
            return -np.inf
        return float(np.interp(value, self.values, self.scores))


def _features(z: FloatArray) -> FloatArray:
    """Return 1, z and z|z|: what is still to come is roughly normal, whose log odds are quadratic."""
    return np.stack([np.ones_like(z), z, z * np.abs(z)], axis=1)


def everywhere(n_voters: int, steps: IntArray, thresholds: Thresholds) -> Thresholds:
    """Return thresholds for every step from those at some steps: infinite elsewhere, 0 at the end."""
    lower, upper = np.full(n_voters + 1, -np.inf), np.full(n_voters + 1, np.inf)
    lower[steps], upper[steps] = thresholds
    lower[-1] = upper[-1] = 0.0
    return lower, upper


CANDIDATES = (
    Family("margin"),
    Family("chance", late=0.0),
    Family("chance", late=1.0),
    Family("chance", late=0.5),
)
RATIOS = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 4.0, 16.0, 64.0, 256.0)

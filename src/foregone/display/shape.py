"""Data of envelopes: the reachable states of a strategy, or thresholds on a running score or lead.

No drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from foregone.checks import FloatArray, IntArray
from foregone.scores import ScoreStrategy
from foregone.strategy.stopping import StoppingStrategy
from foregone.strategy.thresholds import majority

__all__ = ["EnvelopeShape", "ScoreShape", "envelope_shape", "score_shape"]


@dataclass(frozen=True, eq=False)
class EnvelopeShape:
    """Outline of a stopping strategy, for plots.

    States have the coordinates votes asked and *lead*, yes votes minus no votes. Only reachable states are
    included.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    highest, lowest : ndarray of int
        The largest and the smallest reachable lead at each step, from 0 to the last reachable one.
    stop_yes, stop_no : ndarray of int, shape (k, 2)
        Rows (asked, lead): the innermost certain stops above (answer yes) and below (answer no) all states
        that may continue. States further out stop with the same answer.
    inside : list of (asked, lead, probability)
        All other reachable states with a stop; randomised if the probability is below one.
    share : float
        The share of yes votes that separates yes from no, as a share of all voters: halfway between the quota
        and one vote less; one half for a majority.
    """

    n_voters: int
    highest: IntArray = field(repr=False)
    lowest: IntArray = field(repr=False)
    stop_yes: IntArray = field(repr=False)
    stop_no: IntArray = field(repr=False)
    inside: list[tuple[int, int, float]] = field(repr=False)
    share: float = 0.5

    @property
    def last_asked(self) -> int:
        """The largest number of votes that it can ask."""
        return len(self.highest) - 1

    @property
    def largest_lead(self) -> int:
        """The largest reachable lead of either side."""
        return int(max(self.highest.max(), -self.lowest.min()))

    @property
    def is_majority(self) -> bool:
        """Whether a majority decides."""
        return self.share == 0.5

    @property
    def height_label(self) -> str:
        """Label of the y axis."""
        if self.is_majority:
            return "yes votes minus no votes"
        return f"yes votes above {100 * self.share:.3g} % of those asked"

    def heights(self, asked: Any, lead: Any) -> Any:
        """Return the distance of states above the line between yes and no, in votes; leads for a majority.

        Examples
        --------
        >>> from foregone.rules import curtailment
        >>> shape = envelope_shape(curtailment(20, quota=3))  # from 12.5 % on, yes is likelier
        >>> shape.heights(8, 3 - 5), shape.heights(20, -20)
        (2.0, -2.5)
        """
        return lead if self.is_majority else (asked + lead) / 2 - self.share * asked

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest height to show; symmetric for a majority."""
        if self.is_majority:
            return -float(self.largest_lead), float(self.largest_lead)
        asked = np.arange(len(self.highest))
        return float(self.heights(asked, self.lowest).min()), float(self.heights(asked, self.highest).max())

    @property
    def randomised(self) -> list[tuple[int, int, float]]:
        """The randomised states."""
        return [state for state in self.inside if state[2] < 1]

    @property
    def stop_steps(self) -> list[int]:
        """The numbers of votes after which it may stop."""
        steps = [*self.stop_yes[:, 0].tolist(), *self.stop_no[:, 0].tolist()]
        return sorted({*steps, *(asked for asked, _, _ in self.inside)})

    @property
    def has_looks(self) -> bool:
        """Whether it can stop only at some steps (looks)."""
        return len(self.runs("yes")) > 1 or len(self.runs("no")) > 1

    def runs(self, answer: str) -> list[IntArray]:
        """Return the stops of one side, split into runs that are drawn as lines.

        A run ends where states further out than this stop and the next are reachable without a stop in
        between, because the strategy has few looks.

        Parameters
        ----------
        answer : {"yes", "no"}
            The upper or the lower side.
        """
        stops, reach, sign = (
            (self.stop_yes, self.highest, 1) if answer == "yes" else (self.stop_no, self.lowest, -1)
        )
        if len(stops) == 0:
            return []
        asked, outward, reach = stops[:, 0], sign * stops[:, 1], sign * reach
        breaks = [
            k
            for k in range(1, len(stops))
            if reach[asked[k - 1] + 1 : asked[k]].max(initial=outward[k]) > max(outward[k - 1], outward[k])
        ]
        return np.split(stops, breaks)

    def edge(self, answer: str) -> tuple[IntArray, IntArray]:
        """Return the outline of one side as (asked, lead).

        Between the first and the last stop it contains only stops: steps without a reachable stop would only
        make the line jagged. Elsewhere it follows the reachable states.

        Parameters
        ----------
        answer : {"yes", "no"}
            The upper or the lower edge.
        """
        stops, reach = (self.stop_yes, self.highest) if answer == "yes" else (self.stop_no, self.lowest)
        steps = np.arange(len(reach))
        if len(stops) == 0:
            return steps, reach
        kept = (steps < stops[0, 0]) | (steps > stops[-1, 0])
        kept[stops[:, 0]] = True
        edge = reach.copy()
        edge[stops[:, 0]] = stops[:, 1]
        return steps[kept], edge[kept]


def envelope_shape(strategy: StoppingStrategy) -> EnvelopeShape:
    """Return the outline of the reachable states of a strategy.

    Examples
    --------
    >>> from foregone.strategy import StoppingStrategy
    >>> shape = envelope_shape(StoppingStrategy.from_table([[0, 1, 1], [1, 0, 1], [1, 1, 1]]))
    >>> shape.stop_no.tolist(), shape.stop_yes.tolist(), shape.last_asked
    ([[1, -1], [2, 0]], [[2, 2]], 2)
    """
    highest: list[int] = []
    lowest: list[int] = []
    stop_yes: list[tuple[int, int]] = []
    stop_no: list[tuple[int, int]] = []
    inside: list[tuple[int, int, float]] = []
    first, reachable = 0, np.ones(1, dtype=bool)  # reachable[k]: the state with first + k yes votes
    for asked in range(strategy.n_voters + 1):
        stop = strategy.stop_probabilities(asked)[first : first + len(reachable)]
        lead = 2 * (first + np.arange(len(reachable))) - asked
        highest.append(int(lead[-1]))
        lowest.append(int(lead[0]))
        says_yes = first + np.arange(len(reachable)) >= strategy.yes_from[asked]
        going_on = np.flatnonzero(reachable & (stop < 1))
        places = np.arange(len(reachable))
        above = reachable & says_yes & (places > going_on.max(initial=-1))
        below = reachable & ~says_yes & (places < going_on.min(initial=len(reachable)))
        if above.any():
            stop_yes.append((asked, int(lead[above][0])))
        if below.any():
            stop_no.append((asked, int(lead[below][-1])))
        others = np.flatnonzero(reachable & (stop > 0) & ~above & ~below)
        inside.extend((asked, int(lead[k]), float(stop[k])) for k in others)
        if len(going_on) == 0:
            break
        here = np.zeros(len(reachable), dtype=bool)
        here[going_on] = True
        here = here[going_on[0] : going_on[-1] + 1]
        first += int(going_on[0])
        reachable = np.append(here, False) | np.append(False, here)
    return EnvelopeShape(
        strategy.n_voters,
        np.array(highest),
        np.array(lowest),
        np.array(stop_yes, dtype=np.int64).reshape(-1, 2),
        np.array(stop_no, dtype=np.int64).reshape(-1, 2),
        inside,
        _dividing_share(strategy),
    )


def _dividing_share(strategy: StoppingStrategy) -> float:
    n_voters, quota = strategy.n_voters, strategy.quota
    return 0.5 if quota == majority(n_voters) else max(quota - 0.5, 0.0) / n_voters


@dataclass(frozen=True, eq=False)
class ScoreShape:
    """Thresholds on a running score or, for many classes, on a lead, for plots.

    Attributes
    ----------
    n_voters : int
        Number of voters; number of rounds if each class has its own voters.
    stop_yes, stop_no : ndarray of float, shape (k, 2)
        Rows (asked, score): it stops with yes at this score or above, or with no at this score or below; only
        steps with such stops. For leads, ``stop_yes`` holds the lead from which it stops with the leading
        class, and ``stop_no`` is empty.
    of_leads : bool
        Whether the thresholds are on the lead of the first class over the second, which is never below 0.
    trailing : tuple of ndarray of float, shape (k, 2)
        If a step asks one voter of each class: for every class, rows (asked, distance), the distance behind
        the leader at which the class is dropped. ``stop_yes`` then holds the largest distances.
    """

    n_voters: int
    stop_yes: FloatArray = field(repr=False)
    stop_no: FloatArray = field(repr=False)
    of_leads: bool = False
    trailing: tuple[FloatArray, ...] = ()
    randomised: tuple[tuple[int, float, float], ...] = ()  # always empty
    share: ClassVar[float] = 0.5

    def heights(self, asked: Any, lead: Any) -> Any:
        """Return the heights of thresholds, which are the thresholds."""
        return lead

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest height to show; symmetric."""
        return -self.largest_lead, self.largest_lead

    @property
    def last_asked(self) -> int:
        """The largest number of votes that it can ask."""
        return self.n_voters

    @property
    def largest_lead(self) -> float:
        """The largest absolute threshold."""
        return float(np.abs(np.concatenate([self.stop_yes, self.stop_no])[:, 1]).max())

    def runs(self, answer: str) -> list[FloatArray]:
        """Return the stops of one side, split into runs of consecutive steps, which are drawn as lines.

        Parameters
        ----------
        answer : {"yes", "no"}
            The upper or the lower side.
        """
        sides = self.trailing or (self.stop_yes,) if answer == "yes" else (self.stop_no,)
        return [
            run for stops in sides for run in np.split(stops, np.flatnonzero(np.diff(stops[:, 0]) > 1) + 1)
        ]

    def edge(self, answer: str) -> tuple[FloatArray, FloatArray]:
        """Return the stops of one side as (asked, score); leads have only an upper side."""
        if self.of_leads and answer == "no":
            return self.stop_yes[:, 0], np.zeros(len(self.stop_yes))
        asked, score = (self.stop_yes if answer == "yes" else self.stop_no).T
        return asked, score


def score_shape(strategy: ScoreStrategy) -> ScoreShape:
    """Return the finite thresholds of a score strategy.

    Examples
    --------
    >>> from foregone import ScoreStrategy
    >>> shape = score_shape(ScoreStrategy.from_thresholds([-9, -2, 0], [float("inf"), 2, 0]))
    >>> shape.stop_yes.tolist(), shape.stop_no.tolist()
    ([[1.0, 2.0], [2.0, 0.0]], [[0.0, -9.0], [1.0, -2.0], [2.0, 0.0]])
    """
    lower, upper = strategy.lower, strategy.upper
    no = _finite(lower)
    if not strategy.drops_classes:
        return ScoreShape(strategy.n_steps, _finite(upper), no, strategy.adds_by_class)
    largest = np.where(np.isfinite(upper), upper, -np.inf).max(axis=1)
    trailing = tuple(_finite(of_class) for of_class in upper.T)
    return ScoreShape(strategy.n_steps, _finite(largest), no, of_leads=True, trailing=trailing)


def _finite(thresholds: FloatArray) -> FloatArray:
    """Return rows (asked, threshold) of the finite thresholds."""
    steps = np.flatnonzero(np.isfinite(thresholds))
    return np.stack([steps.astype(np.float64), thresholds[steps]], axis=1)

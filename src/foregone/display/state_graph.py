"""StateGraphDisplay: graph of all states of a small poll, and the moves between them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from foregone.display.figure import Display, fitted, take_axes, vote_strategy
from foregone.display.state_flow import PollState, StateFlow, state_flow
from foregone.display.styles import BLACK, VERMILLION
from foregone.errors import InvalidInputError
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StateGraphDisplay"]

MOST_VOTERS = 12
_RADIUS = 0.23
_QUIET = "#5f5f5f"


class StateGraphDisplay(Display):
    """State graph of a poll with few voters.

    Each circle is a state, given by votes asked and yes votes among them. The number in it is the probability
    of reaching it in a random order of the voters; darker circles are more probable. A horizontal arrow is a
    no, a rising one a yes. A double ring marks a stop, a dashed ring a randomised stop. Faint dots are states
    that are not reached. Create a display with `from_strategy` or `from_estimator`.

    Parameters
    ----------
    flow : StateFlow
        The flow to draw, from `state_flow`; at most 12 voters.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Figure drawn into.
    ax_ : matplotlib.axes.Axes
        Axes drawn into.

    Examples
    --------
    >>> from foregone.display import StateGraphDisplay
    >>> from foregone.rules import curtailment
    >>> display = StateGraphDisplay.from_strategy(curtailment(3), votes=1)  # one of three would say yes
    >>> round(display.flow.states[2, 0], 3)
    0.333
    """

    def __init__(self, flow: StateFlow) -> None:
        _check_size(flow.n_voters)
        self.flow = flow

    @classmethod
    def from_strategy(
        cls, strategy: StoppingStrategy, votes: VoteDistribution | int | None = None, ax: Axes | None = None
    ) -> StateGraphDisplay:
        """Compute the states and moves of a strategy, and draw them.

        Parameters
        ----------
        strategy : StoppingStrategy
            The strategy; at most 12 voters.
        votes : VoteDistribution or int, optional
            Distribution of the votes, or the number of yes votes; flat by default.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure by default.
        """
        _check_size(vote_strategy(strategy, cls.__name__).n_voters)
        return cls(state_flow(strategy, votes)).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, votes: VoteDistribution | int | None = None, ax: Axes | None = None
    ) -> StateGraphDisplay:
        """Draw the strategy of a fitted classifier, by default for the votes of its calibration rows."""
        strategy = fitted(estimator, "strategy_")
        return cls.from_strategy(strategy, fitted(estimator, "votes_") if votes is None else votes, ax)

    def plot(self, ax: Axes | None = None) -> StateGraphDisplay:
        """Draw it, into ``ax`` or a new figure, and return the display itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; a new figure (not one of pyplot's) by default.
        """
        n_voters = self.flow.n_voters
        side = 1.6 + 0.8 * n_voters
        (ax,) = take_axes(ax, 1, side, side)
        ax.set_xlim(-0.45, n_voters + 0.45)
        ax.set_ylim(-0.45, n_voters + 0.45)
        ax.set_aspect("equal")
        ax.set_xticks(range(n_voters + 1))
        ax.set_yticks(range(n_voters + 1))
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("votes asked")
        ax.set_ylabel("yes votes among them")
        size = min(9.5, 0.32 * 2 * _RADIUS * _points_per_unit(ax, n_voters))
        for asked in range(n_voters + 1):
            for yes in range(asked + 1):
                self._draw_state(ax, (asked, yes), size)
        for (start, end), probability in self.flow.moves.items():
            _draw_move(ax, start, end, probability)
        return self._drawn_into(ax)

    def _draw_state(self, ax: Axes, state: PollState, size: float) -> None:
        from matplotlib.patches import Circle

        if state not in self.flow.states:  # faint dots make several graphs comparable
            ax.add_patch(Circle(state, 0.045, facecolor="#d9d9d9", edgecolor="none"))
            return
        probability, stop = self.flow.states[state], self.flow.stops[state]
        ring: dict[str, Any] = {"edgecolor": _QUIET, "linewidth": 0.8}
        if stop > 0:
            ring = {"edgecolor": VERMILLION, "linewidth": 2.6, "linestyle": "-" if stop == 1 else (0, (2, 1))}
        ax.add_patch(Circle(state, _RADIUS, facecolor=_shade(probability), zorder=2, **ring))
        if stop == 1:  # a second ring, visible on dark and on light circles
            inner = {"edgecolor": "white" if probability > 0.3 else VERMILLION, "linewidth": 1.2}
            ax.add_patch(Circle(state, _RADIUS - 0.055, fill=False, zorder=3, **inner))
        ax.text(
            *state, _number(probability), ha="center", va="center", zorder=4, fontsize=size,
            color="white" if probability > 0.55 else BLACK,
        )  # fmt: skip


def _check_size(n_voters: int) -> None:
    if n_voters > MOST_VOTERS:
        raise InvalidInputError(
            f"a state graph can show at most {MOST_VOTERS} voters, got {n_voters:,}: use EnvelopeDisplay "
            "instead"
        )


def _points_per_unit(ax: Axes, n_voters: int) -> float:
    width, height = ax.get_window_extent().size
    return float(min(width, height) * 72 / ax.figure.dpi / (n_voters + 0.9))


def _draw_move(ax: Axes, start: PollState, end: PollState, probability: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    rise = end[1] - start[1]
    gap = (_RADIUS + 0.05) / math.hypot(1, rise)  # from the middle of a circle to just outside it
    ax.add_patch(
        FancyArrowPatch(
            (start[0] + gap, start[1] + rise * gap), (end[0] - gap, end[1] - rise * gap),
            arrowstyle="-|>", color=_shade(0.25 + 0.75 * probability), linewidth=0.8 + 2.2 * probability,
            shrinkA=0, shrinkB=0, mutation_scale=12,
        )
    )  # fmt: skip


def _shade(probability: float) -> str:
    """Return a blue, darker for higher probabilities, as a hex colour."""
    pale, full = (0xF2, 0xF6, 0xFA), (0x00, 0x4B, 0x78)
    mixed = [round(a + (b - a) * min(probability, 1)) for a, b in zip(pale, full, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _number(probability: float) -> str:
    """Return a probability in few characters, as a fraction if it is simple."""
    simple = Fraction(probability).limit_denominator(20)
    if abs(simple - probability) < 1e-9:
        return str(simple)
    if probability < 5e-4:
        return f"{probability:.0e}".replace("e-0", "e-")
    return f"{probability:.2f}".lstrip("0") if probability >= 0.095 else f"{probability:.3f}".lstrip("0")

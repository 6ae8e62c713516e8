"""Figure 1: what can happen with three voters, when one and when all three of them would say yes."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from foregone.paper.figures.canvas import INK, QUIET, save, sheet
from foregone.paper.results import Results
from foregone.rules import curtailment
from foregone.strategy import StoppingStrategy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "moves"]

State = tuple[int, int]  # asked, yes

_RADIUS = 0.23
_KEY = "in a circle: how likely it is to get there (the darker, the likelier) · double ring: it stops there"


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw the state graphs of the strategy that stops once the vote is decided."""
    del results  # nothing measured goes into it
    strategy = curtailment(3)
    with sheet(4.6) as figure:
        figure.set_layout_engine(None)  # it gives circles, which need one scale on both axes, too little room
        left, right = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.07, right=0.99, top=0.93, bottom=0.16, wspace=0.08)
        _draw_graph(left, strategy, 1, "(a) one of three would say yes")
        _draw_graph(right, strategy, 3, "(b) all three would say yes")
        left.set_ylabel("yes votes among them")
        figure.text(0.5, 0.005, _KEY, ha="center", va="bottom", color=QUIET, fontsize=8.5)
        return save(figure, folder, "fig1")


def moves(
    strategy: StoppingStrategy, n_yes: int
) -> tuple[dict[State, float], dict[tuple[State, State], float]]:
    """Return the probability of every state and of every move that can happen.

    Parameters
    ----------
    strategy : StoppingStrategy
        When to stop.
    n_yes : int
        How many of the voters would say yes.

    Returns
    -------
    states : dict
        ``states[asked, yes]``: probability to get there; only states that can be reached.
    moves : dict
        ``moves[state, next_state]``: probability to go from one to the other.

    Examples
    --------
    >>> from foregone.rules import curtailment
    >>> states, steps = moves(curtailment(3), 3)
    >>> list(states)
    [(0, 0), (1, 1), (2, 2)]
    """
    states: dict[State, float] = {(0, 0): 1.0}
    taken: dict[tuple[State, State], float] = {}
    for asked in range(strategy.n_voters):
        for yes in range(asked + 1):
            going_on = states.get((asked, yes), 0.0) * (1 - strategy.stop_probability(asked, yes))
            says_yes = (n_yes - yes) / (strategy.n_voters - asked)
            for follower, share in (((asked + 1, yes), 1 - says_yes), ((asked + 1, yes + 1), says_yes)):
                if going_on * share > 0:
                    taken[(asked, yes), follower] = going_on * share
                    states[follower] = states.get(follower, 0.0) + going_on * share
    return states, taken


def _draw_graph(ax: Axes, strategy: StoppingStrategy, n_yes: int, title: str) -> None:
    states, taken = moves(strategy, n_yes)
    n_voters = strategy.n_voters
    for asked in range(n_voters + 1):
        for yes in range(asked + 1):
            _draw_state(
                ax, (asked, yes), states.get((asked, yes)), strategy.stop_probability(asked, yes) == 1
            )
    for (start, end), probability in taken.items():
        _draw_move(ax, start, end, probability)
    ax.set_title(title)
    ax.set_xlim(-0.45, n_voters + 0.45)
    ax.set_ylim(-0.45, n_voters + 0.45)
    ax.set_xticks(range(n_voters + 1))
    ax.set_yticks(range(n_voters + 1))
    ax.tick_params(length=0)
    ax.set_aspect("equal")
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xlabel("votes asked")


def _draw_state(ax: Axes, state: State, probability: float | None, stops: bool) -> None:
    from matplotlib.patches import Circle

    if probability is None:  # cannot happen: a faint dot keeps the two graphs comparable
        ax.add_patch(Circle(state, 0.045, facecolor="#d9d9d9", edgecolor="none"))
        return
    edge, width = ("#D55E00", 2.6) if stops else (QUIET, 0.8)
    ax.add_patch(
        Circle(state, _RADIUS, facecolor=_shade(probability), edgecolor=edge, linewidth=width, zorder=2)
    )
    if stops:  # a second ring says the same without colour
        ax.add_patch(Circle(state, _RADIUS - 0.055, fill=False, edgecolor="white", linewidth=1.2, zorder=3))
    ax.text(
        *state, _fraction(probability), ha="center", va="center", zorder=4, fontsize=9.5,
        color="white" if probability > 0.55 else INK,
    )  # fmt: skip


def _draw_move(ax: Axes, start: State, end: State, probability: float) -> None:
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
    """Return a blue that is the darker the more probable, as a hex colour."""
    pale, full = (0xF2, 0xF6, 0xFA), (0x00, 0x4B, 0x78)
    mixed = [round(a + (b - a) * probability) for a, b in zip(pale, full, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _fraction(probability: float) -> str:
    return str(Fraction(probability).limit_denominator(100))

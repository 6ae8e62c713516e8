"""envelope_picture(strategy): plot of a stopping strategy as text, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from foregone.checks import FloatArray, IntArray
from foregone.display.shape import EnvelopeShape, envelope_shape
from foregone.strategy.stopping import StoppingStrategy

__all__ = ["envelope_picture"]

# Blue and orange are safe for colour blindness and differ in lightness; every region is also labelled, so the
# plot can be read without colour.
YES_STYLE, NO_STYLE, GO_ON_STYLE, CHANCE_STYLE = "bold #4aa3df", "bold #e69f00", "dim", "bold magenta"

MARGIN = 7  # columns left of the plot, for the scale


@dataclass(frozen=True)
class _Glyphs:
    """The characters of a plot; ``edge[top][bottom]`` by which halves of a cell the edge passes."""

    edge: tuple[tuple[str, str], tuple[str, str]]
    go_on: str
    chance: str
    axis: str
    tick: str
    floor: str
    floor_tick: str
    corner: str


_BLOCKS = _Glyphs(((" ", "▄"), ("▀", "█")), "░", "◆", "│", "┤", "─", "┴", "└")
_ASCII = _Glyphs(((" ", "_"), ("=", "#")), ".", "?", "|", "+", "-", "+", "+")


def envelope_picture(
    strategy: StoppingStrategy,
    *,
    width: int = 80,
    height: int = 19,
    largest_lead: int | None = None,
    ascii_only: bool = False,
) -> Text:
    """Draw a stopping strategy as text: votes asked on the x axis, yes votes minus no votes on the y axis.

    With a quota other than a majority, the y axis shows the yes votes above the quota's share of the votes.

    Parameters
    ----------
    strategy : StoppingStrategy
        The strategy to draw.
    width, height : int
        Size in characters: the full width, and the rows without the three lines of the axis. At least 40
        and 7.
    largest_lead : int, optional
        End of the vertical scale; by default the largest lead of the strategy. Use the same value for several
        plots to compare them.
    ascii_only : bool
        Use only ASCII characters.

    Returns
    -------
    rich.text.Text
        Print it with rich for colours, or convert it with ``str()``.

    Examples
    --------
    >>> from foregone.rules import curtailment
    >>> print(envelope_picture(curtailment(5), width=40, height=7, ascii_only=True))
    yes - no
           |    stop: the answer is YES
        +3 +                 .=_____
        +2 +       .................====____
         0 +................................
        -2 +       .................____====
        -3 +                 .======
           |     stop: the answer is NO
           ++-----+-----+------+-----+-----+
            0     1     2      3     4     5
                      votes asked
    """
    shape = envelope_shape(strategy)
    canvas = _Canvas(shape, max(width, 40), max(height, 7), largest_lead, _ASCII if ascii_only else _BLOCKS)
    canvas.fill()
    canvas.draw_edge("no", NO_STYLE)
    canvas.draw_edge("yes", YES_STYLE)
    canvas.write_labels()
    canvas.mark_chance()
    return canvas.text()


class _Canvas:
    """Cells of one character each, with a style; rows are counted from the top."""

    def __init__(
        self, shape: EnvelopeShape, width: int, height: int, largest_lead: int | None, glyphs: _Glyphs
    ) -> None:
        self.shape, self.glyphs = shape, glyphs
        self.columns, self.rows = width - MARGIN - 1, height | 1  # an odd number has a middle row
        low, high = shape.span if largest_lead is None else (-largest_lead, largest_lead)
        self.low, self.high = min(low, -1.0), max(high, 1.0)
        self.asked = np.linspace(0, shape.n_voters, self.columns)  # votes asked of each column
        self.cells = np.full((self.rows, self.columns), " ", dtype="<U1")
        self.styles = np.full((self.rows, self.columns), "", dtype="<U16")

    def half_row(self, height: FloatArray | float) -> FloatArray:
        """Return the positions of heights, in half rows from the top; a lead of 0 is in the middle row."""
        scale = 2 * (self.rows - 3) / (self.high - self.low)  # one row above and below for the labels
        return np.asarray(2.5 + (self.high - height) * scale)

    def edge_half_rows(self, answer: str) -> FloatArray:
        """Return the half row of one edge in every column; NaN after its end."""
        asked, lead = self.shape.edge(answer)
        half_rows = self.half_row(np.interp(self.asked, asked, self.shape.heights(asked, lead)))
        half_rows[self.asked > self.shape.last_asked] = np.nan
        return half_rows

    def fill(self) -> None:
        """Shade the states between the edges."""
        upper, lower = self.edge_half_rows("yes"), self.edge_half_rows("no")
        centres = 2 * np.arange(self.rows)[:, np.newaxis] + 0.5
        going_on = (centres >= upper - 0.5) & (centres <= lower + 0.5)
        self.cells[going_on], self.styles[going_on] = self.glyphs.go_on, GO_ON_STYLE

    def draw_edge(self, answer: str, style: str) -> None:
        """Draw the parts of an edge with stops, without gaps between looks."""
        for stops in self.shape.runs(answer):
            self._draw_run(stops, style)

    def _draw_run(self, stops: IntArray, style: str) -> None:
        half = max(
            self.shape.n_voters / (self.columns - 1) / 2, 0.25
        )  # of few voters each takes many columns
        at = np.flatnonzero((self.asked >= stops[0, 0] - half) & (self.asked <= stops[-1, 0] + half))
        heights = self.shape.heights(stops[:, 0], stops[:, 1])
        found = self.half_row(np.interp(self.asked[at], stops[:, 0], heights))
        half_rows = found.round().astype(int).tolist()
        for column, half_row, before in zip(at.tolist(), half_rows, [half_rows[0], *half_rows], strict=False):
            # A steep edge is drawn without gaps, from the previous to the current half row.
            step = int(np.sign(half_row - before))
            for passed in range(before + step, half_row + step, step) if step else [half_row]:
                self._ink(passed, column, style)

    def _ink(self, half_row: int, column: int, style: str) -> None:
        row, is_bottom = divmod(half_row, 2)
        if not 0 <= row < self.rows:
            return
        (_, bottom), (top, both) = self.glyphs.edge
        other = top if is_bottom else bottom
        inked = both if self.cells[row, column] in (other, both) else (bottom if is_bottom else top)
        self.cells[row, column], self.styles[row, column] = inked, style

    def write_labels(self) -> None:
        """Label each region."""
        last = int(self.asked.searchsorted(self.shape.last_asked, "right"))
        self._write(0, "stop: the answer is YES", YES_STYLE, self.columns)
        self._write(self.rows - 1, "stop: the answer is NO", NO_STYLE, self.columns)
        middle = self._row_of(0.0)
        label = " continue "
        room = self.cells[middle - 1 : middle + 2, :last] == self.glyphs.go_on
        if room.all(axis=0).sum() >= len(label) + 6:
            self._write(middle, label, "", last)

    def _write(self, row: int, words: str, style: str, columns: int) -> None:
        start = max((columns - len(words)) // 2, 0)
        self.cells[row, start : start + len(words)] = list(words)
        self.styles[row, start : start + len(words)] = style

    def _row_of(self, height: float) -> int:
        return int(self.half_row(height).round()) // 2

    def mark_chance(self) -> None:
        """Mark the randomised states."""
        for asked, lead, _ in self.shape.randomised:
            column = round(asked / self.shape.n_voters * (self.columns - 1))
            row = min(max(self._row_of(self.shape.heights(asked, float(lead))), 0), self.rows - 1)
            self.cells[row, column], self.styles[row, column] = self.glyphs.chance, CHANCE_STYLE

    def text(self) -> Text:
        """Assemble rows, scale and axis."""
        steps = _round_steps(int(max(self.high, -self.low)), 2)
        ticks = {
            self._row_of(signed): f"{signed:+d}" if signed else "0"
            for step in steps
            for signed in (step, -step)
            if self.low <= signed <= self.high
        }
        title = "yes - no" if self.shape.is_majority else self.shape.height_label
        picture = Text(f"{title}\n", style="", no_wrap=True, overflow="ignore", end="")
        for row in range(self.rows):
            mark = self.glyphs.tick if row in ticks else self.glyphs.axis
            picture.append(f"{ticks.get(row, ''):>{MARGIN - 1}} {mark}", style="dim")
            picture.append_text(_runs(self.cells[row], self.styles[row]))
            picture.append("\n")
        floor = [self.glyphs.floor] * self.columns
        numbers = [" "] * (self.columns + 12)
        for asked in [0, self.shape.n_voters, *_round_steps(self.shape.n_voters, 5)]:
            column = round(asked / self.shape.n_voters * (self.columns - 1))
            words = f"{asked:d}"
            start = max(min(column - len(words) // 2, self.columns - len(words)), 0)
            if any(mark != " " for mark in numbers[max(start - 2, 0) : start + len(words) + 2]):
                continue
            floor[column] = self.glyphs.floor_tick
            numbers[start : start + len(words)] = words
        indent = " " * MARGIN
        picture.append(f"{indent}{self.glyphs.corner}{''.join(floor)}\n", style="dim")
        picture.append(f"{indent} {''.join(numbers).rstrip()}\n", style="dim")
        picture.append(f"{indent} {'votes asked':^{self.columns}}".rstrip(), style="dim")
        return picture


def _runs(cells: Sequence[str], styles: Sequence[str]) -> Text:
    """Join the cells of a row by runs of equal style; trailing spaces are dropped."""
    row = Text()
    used = max((place + 1 for place, cell in enumerate(cells) if cell != " "), default=0)
    start = 0
    for place in range(1, used + 1):
        if place == used or styles[place] != styles[start]:
            row.append("".join(cells[start:place]), style=str(styles[start]))
            start = place
    return row


def _round_steps(end: int, parts: int) -> list[int]:
    """Return multiples of a round number from 0 up to ``end``, about ``parts`` of them."""
    rough = max(end / parts, 1.0)
    power = 10 ** math.floor(math.log10(rough))
    step = int(max(size * power for size in (1, 2, 5, 10) if size * power <= rough))
    return list(range(0, end + 1, max(step, 1)))

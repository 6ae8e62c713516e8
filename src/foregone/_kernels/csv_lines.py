"""Line ends of CSV: which of them are inside of quotes is decided as Arrow's parser does.

A quote opens a quoted part only where a field begins; anywhere else it is a character like any other. Inside,
two quotes stand for one, and a single one ends the quoted part.
"""

from __future__ import annotations

from foregone._kernels.compiled import compiled

__all__ = ["LINE_START", "find_line_ends"]

# States; the first one is also that behind a comma.
LINE_START, IN_FIELD, IN_QUOTES, AFTER_QUOTE = 0, 1, 2, 3
QUOTE, COMMA, LINE_FEED, RETURN = 34, 44, 10, 13


@compiled
def find_line_ends(block, state, ends):
    """Fill ``ends`` with the places behind the first line ends; return how many, and the state at the end."""
    n_ends = 0
    for place in range(len(block)):
        byte = block[place]
        if state == IN_QUOTES:
            if byte == QUOTE:
                state = AFTER_QUOTE
        elif byte == QUOTE and state in (AFTER_QUOTE, LINE_START):
            state = IN_QUOTES
        elif byte == LINE_FEED:
            if n_ends < len(ends):
                ends[n_ends] = place + 1
                n_ends += 1
            state = LINE_START
        elif byte in (COMMA, RETURN):
            state = LINE_START
        else:
            state = IN_FIELD
    return n_ends, state

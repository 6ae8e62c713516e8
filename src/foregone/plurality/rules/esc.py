"""ESC: stop when a whole window of votes was unanimous."""

from __future__ import annotations

import numpy as np

from foregone._kernels import plurality_rules as kernels
from foregone.checks import check_whole
from foregone.plurality.lattice import is_decided, lattice_of
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["esc"]


def esc(n_voters: int, window: int = 5, *, n_classes: int | None = None) -> PluralityStrategy:
    """Stop at the end of a window of votes that are all alike, or when the rest cannot change the answer.

    Early-stopping self-consistency of Li and others (ICLR 2024), see `foregone.rules.esc`, for any number of
    answers. Whether a window was unanimous depends on the order of the votes. But given their counts every
    order is equally likely, whatever the full vote; so, averaged over orders, the rule is the randomised
    strategy that is returned, for every full vote.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    window : int, default 5
        Votes in a window, at least 1. The last window may be cut short by the number of voters.
    n_classes : int, optional
        How many different answers there can be; any number by default.

    Examples
    --------
    >>> strategy = esc(40)
    >>> strategy.stop_probability([5]), strategy.stop_probability([4, 1])
    (1.0, 0.0)
    >>> round(strategy.stop_probability([8, 1, 1]), 3)  # as often as both others were among the first five
    0.286
    """
    lattice, window = lattice_of(n_voters, n_classes), check_whole(window, "window")
    stop = np.zeros(lattice.n_states)
    window = min(window, lattice.n_voters + 1)  # a longer one never ends, and may not fit a machine's word
    kernels.fill_esc(*lattice.edges, window, is_decided(lattice), stop)
    return PluralityStrategy.from_probabilities(lattice, stop)

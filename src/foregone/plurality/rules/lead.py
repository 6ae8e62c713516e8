"""Lead: stop when one answer is ahead of all others by a fixed number of votes."""

from __future__ import annotations

from foregone.checks import check_whole
from foregone.plurality.lattice import is_decided, lattice_of
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["lead"]


def lead(n_voters: int, k: int = 3, *, n_classes: int | None = None) -> PluralityStrategy:
    """Stop when the leader is ``k`` votes ahead of the next answer, or the rest cannot change the answer.

    As with two answers (`foregone.rules.lead`) it knows nothing of a limit and guarantees nothing.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    k : int, default 3
        The lead to stop at, at least 1.
    n_classes : int, optional
        How many different answers there can be; any number by default.

    Examples
    --------
    >>> strategy = lead(40)
    >>> strategy.stop_probability([4, 1, 1]), strategy.stop_probability([4, 2])
    (1.0, 0.0)
    """
    lattice, k = lattice_of(n_voters, n_classes), check_whole(k, "k")
    top, second = lattice.top_two()
    return PluralityStrategy.from_probabilities(lattice, (top - second >= k) | is_decided(lattice))

"""Curtailment: stop when the rest cannot change the answer."""

from __future__ import annotations

from foregone.plurality.lattice import is_decided, lattice_of
from foregone.plurality.plurality_strategy import PluralityStrategy

__all__ = ["curtailment"]


def curtailment(n_voters: int, n_classes: int | None = None) -> PluralityStrategy:
    """Stop as soon as no other answer can overtake the leader, not even by all the votes to come.

    It never disagrees with the full vote, and no rule that never disagrees asks fewer votes.

    Parameters
    ----------
    n_voters : int
        Number of voters, at least 1.
    n_classes : int, optional
        How many different answers there can be; any number by default.

    Examples
    --------
    >>> strategy = curtailment(9)
    >>> strategy.stop_probability([4, 1]), strategy.stop_probability([4, 1, 1])
    (0.0, 1.0)
    """
    lattice = lattice_of(n_voters, n_classes)
    return PluralityStrategy.from_probabilities(lattice, is_decided(lattice))

"""Method: a stopping rule made from known votes; KnownVotes: what is known about the votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from foregone.errors import InvalidInputError
from foregone.kinds import AnyDistribution, CountingStrategy
from foregone.plurality import CompositionDistribution, PluralityStrategy
from foregone.strategy import StoppingStrategy
from foregone.strategy.thresholds import check_quota
from foregone.votes import VoteDistribution

__all__ = ["KnownVotes", "Method", "WhichVotes"]

WhichVotes = Literal["averaged", "observed", "expected", "assumed"]


@dataclass(frozen=True, eq=False)
class KnownVotes:
    """The voters, and what is known about their votes, from which a method makes a strategy.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    n_classes : int or None
        Maximum number of different answers; None for any number.
    many_answers : bool
        Whether strategies are for any number of answers instead of two.
    find : callable
        Returns the distributions below by name; called on first use.
    quota : int or None
        Smallest number of yes votes for which the full vote is yes; None for a majority.

    Examples
    --------
    >>> from foregone import VoteDistribution
    >>> KnownVotes.of(VoteDistribution.flat(11)).averaged.n_voters
    11
    """

    n_voters: int
    n_classes: int | None
    many_answers: bool
    find: Callable[[WhichVotes], AnyDistribution] = field(repr=False)
    quota: int | None = None

    @classmethod
    def of(cls, votes: AnyDistribution, quota: int | None = None) -> KnownVotes:
        """Use one distribution for all known votes."""
        many = isinstance(votes, CompositionDistribution)
        return cls(
            votes.n_voters,
            votes.n_classes if isinstance(votes, CompositionDistribution) else 2,
            many,
            lambda which: _expected(votes) if which == "expected" else votes,
            quota,
        )

    @cached_property
    def averaged(self) -> AnyDistribution:
        """The distribution that is treated as the true one."""
        return self.find("averaged")

    @cached_property
    def observed(self) -> AnyDistribution:
        """One full vote of each input, as needed for a confidence."""
        return self.find("observed")

    @cached_property
    def expected(self) -> AnyDistribution:
        """Estimated distribution of new inputs: a fitted beta-binomial, or smoothed many-answer counts."""
        return self.find("expected")

    @cached_property
    def assumed(self) -> AnyDistribution:
        """The distribution that decides between strategies with equal worst cases."""
        return self.find("assumed")


def _expected(votes: AnyDistribution) -> AnyDistribution:
    if isinstance(votes, CompositionDistribution):
        return votes.smoothed(votes.n_classes)
    if votes.n_observations is None:
        raise InvalidInputError(
            "these votes are assumed, so nothing can be fitted to them: give observed votes"
        )
    counts = np.rint(votes.probabilities * votes.n_observations).astype(np.int64)
    yes = np.repeat(np.arange(votes.n_voters + 1), counts)
    return VoteDistribution.fit_beta(yes, votes.n_voters, votes.n_voters)


@dataclass(frozen=True)
class Method:
    """A stopping rule with its parameter or limit, or a custom rule.

    Attributes
    ----------
    name : str
        Its name on the command line, without a colon and parameter.
    label : str
        Its name in tables.
    limit : float or None
        The allowed disagreement, if the rule has a limit.
    at_limit : callable
        ``at_limit(known, limit)`` returns the strategy; rules without a limit ignore it.
    is_ours, is_calibrated, is_tunable : bool
        Whether it is an optimum, whether it depends on the known votes, and whether its limit can be tuned to
        a mean disagreement.
    short_label : str
        Its name in narrow tables.
    """

    name: str
    label: str
    limit: float | None
    at_limit: Callable[[KnownVotes, float], CountingStrategy]
    is_ours: bool = False
    is_calibrated: bool = False
    is_tunable: bool = False
    short_label: str = ""

    @classmethod
    def of(cls, rule: CountingStrategy | Callable[..., CountingStrategy], label: str | None = None) -> Method:
        """Make a method from a strategy, or from a custom rule.

        Parameters
        ----------
        rule : StoppingStrategy, PluralityStrategy or callable
            The strategy, or a function that returns one. The function is called with the number of voters
            and, for many answers, with ``n_classes`` (None for any number).
        label : str, optional
            Its name in tables; by default the name of the function.

        Examples
        --------
        A lead that grows with the number of voters, beside an optimum:

        >>> import math
        >>> from foregone import VoteDistribution, evaluate, rules
        >>> from foregone.rules.registry import choose_methods
        >>> def growing_lead(n_voters):
        ...     return rules.lead(n_voters, k=math.isqrt(n_voters))
        >>> votes = VoteDistribution.flat(101)
        >>> for method in choose_methods(["minimixed", growing_lead], [0.01]):
        ...     found = evaluate(method.strategy(KnownVotes.of(votes)))
        ...     votes_asked, risk = found.mean(votes).expected_votes, found.worst().disagreement
        ...     print(f"{method.label}: {votes_asked:.1f} votes, disagreement at most {risk:.2g}")
        minimixed: 36.3 votes, disagreement at most 0.01
        growing_lead: 28.0 votes, disagreement at most 0.11
        """
        if isinstance(rule, StoppingStrategy | PluralityStrategy):
            own, name = rule, label or "own strategy"
            return cls(name, name, None, lambda known, _: _fitting(own, known, name), short_label=name)
        if not callable(rule):
            raise InvalidInputError(
                "a rule must be a name, a strategy that counts votes, or a function that returns one, got "
                f"{rule!r}"
            )
        make, name = rule, label or str(getattr(rule, "__name__", "own rule"))

        def at_limit(known: KnownVotes, _: float) -> CountingStrategy:
            how = {"n_classes": known.n_classes} if known.many_answers else {}
            return _fitting(make(known.n_voters, **how), known, name)

        return cls(name, name, None, at_limit, short_label=name)

    def strategy(self, known: KnownVotes) -> CountingStrategy:
        """Return the strategy for these votes."""
        return self.at_limit(known, 0.0 if self.limit is None else self.limit)


def _fitting(strategy: Any, known: KnownVotes, name: str) -> CountingStrategy:
    """Return the strategy. Raises InvalidInputError if it does not match the known votes."""
    wanted = PluralityStrategy if known.many_answers else StoppingStrategy
    if not isinstance(strategy, wanted) or strategy.n_voters != known.n_voters:
        answers = "many" if known.many_answers else "two"
        raise InvalidInputError(
            f"{name}: expected a {wanted.__name__} for {known.n_voters:,} voters and {answers} answers, got "
            f"{strategy!r}"
        )
    if isinstance(strategy, StoppingStrategy) and strategy.quota != check_quota(known.quota, known.n_voters):
        raise InvalidInputError(
            f"{name}: expected quota {check_quota(known.quota, known.n_voters)}, got {strategy.quota}: "
            "compare only strategies with the same quota"
        )
    return strategy

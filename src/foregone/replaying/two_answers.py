"""YesNoItems: recorded votes with two answers, replayed exactly, averaged over every order."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from foregone.checks import FloatArray, check_n_voters
from foregone.errors import InvalidInputError
from foregone.replaying.recorded import RecordedVotes
from foregone.replaying.splits import Measured
from foregone.replaying.yes_asked import expected_yes
from foregone.strategy import StoppingStrategy
from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.votes import VoteDistribution

__all__ = ["YesNoCalibration", "YesNoItems", "YesNoPlayed", "are_yes_or_no", "long_enough"]

Indices = npt.NDArray[np.int64]
YES_WORDS = frozenset({"yes", "y", "true", "1", "1.0"})
NO_WORDS = frozenset({"no", "n", "false", "0", "0.0"})


@dataclass(frozen=True, eq=False)
class YesNoItems:
    """Items with two answers, of which ``n_voters`` votes each are a full vote.

    Where an item has more votes than that, every choice of ``n_voters`` of them counts equally, as does every
    order in which they are asked. How many of those chosen say yes is hypergeometric, so all means over
    choices and orders are exact.

    Attributes
    ----------
    yes, drawn : ndarray of int, shape (n_items,)
        Each item's yes votes, and all its votes.
    yes_of_first : ndarray of int, shape (n_items,)
        Yes votes among the first ``n_voters`` drawn: one full vote of each item, as if observed.
    tokens_yes, tokens_no : ndarray of shape (n_items,), or None
        Mean tokens of an item's yes votes and of its no votes; 0 where it has none.
    yes_label : str
        The answer that counts as yes; ``no_labels`` are those that count as no.
    n_left_out : int
        Items left out because they have too few votes.
    """

    n_voters: int
    yes: Indices = field(repr=False)
    drawn: Indices = field(repr=False)
    yes_of_first: Indices = field(repr=False)
    tokens_yes: FloatArray | None = field(repr=False)
    tokens_no: FloatArray | None = field(repr=False)
    yes_label: str
    no_labels: tuple[str, ...]
    n_left_out: int = 0

    @classmethod
    def of(
        cls, votes: RecordedVotes, n_voters: int, *, yes: str | None = None, skip_short: bool = False
    ) -> YesNoItems:
        """Count the yes votes of each item.

        Parameters
        ----------
        votes : RecordedVotes
            What was recorded.
        n_voters : int
            Votes in a full vote.
        yes : str, optional
            The answer that counts as yes; all others count as no. Not needed if the answers are yes and no,
            true and false, or 1 and 0.
        skip_short : bool
            Leave out items with fewer than ``n_voters`` votes, which are otherwise refused.
        """
        n_voters = check_n_voters(n_voters)
        is_yes = _yes_labels(votes, yes)
        kept = long_enough(votes, n_voters, skip_short)
        drawn = np.array([len(codes) for codes in votes.answers], np.int64)
        said = [is_yes[votes.answers[k]] for k in kept]
        tokens_yes = tokens_no = None
        if votes.tokens is not None:
            costs = [votes.tokens[k] for k in kept]
            tokens_yes = np.array([_mean(cost[yes]) for cost, yes in zip(costs, said, strict=True)])
            tokens_no = np.array([_mean(cost[~yes]) for cost, yes in zip(costs, said, strict=True)])
        return cls(
            n_voters=n_voters,
            yes=np.array([np.count_nonzero(row) for row in said], np.int64),
            drawn=drawn[kept],
            yes_of_first=np.array([np.count_nonzero(row[:n_voters]) for row in said], np.int64),
            tokens_yes=tokens_yes,
            tokens_no=tokens_no,
            yes_label=" or ".join(label for label, said in zip(votes.labels, is_yes, strict=True) if said),
            no_labels=tuple(label for label, said in zip(votes.labels, is_yes, strict=True) if not said),
            n_left_out=len(drawn) - len(kept),
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.yes)

    @cached_property
    def _kinds(self) -> tuple[Indices, FloatArray]:
        """Which kind (drawn, yes) each item is of, and the distribution of the yes votes chosen, by kind."""
        kinds, kind_of_item = np.unique(np.stack([self.drawn, self.yes]), axis=1, return_inverse=True)
        return kind_of_item.ravel(), _chosen_yes(kinds[0], kinds[1], self.n_voters)

    def weights(self, indices: Indices, per_item: FloatArray | None = None) -> FloatArray:
        """Return the mean over items of the chances of 0 to ``n_voters`` yes votes, times ``per_item``."""
        kind_of_item, chances = self._kinds
        each = None if per_item is None else per_item[indices]
        counts = np.bincount(kind_of_item[indices], weights=each, minlength=len(chances))
        return np.asarray(counts @ chances) / len(indices)

    def calibrate(self, indices: Indices) -> YesNoCalibration:
        """Return what these items say about the votes."""
        return YesNoCalibration(self, indices)

    def play(self, strategy: StoppingStrategy) -> YesNoPlayed:
        """Return what the strategy does to the items, averaged over every order."""
        return YesNoPlayed(self, evaluate(strategy))

    def full_tokens(self) -> float | None:
        """Return the mean tokens of a full vote."""
        if self.tokens_yes is None or self.tokens_no is None:
            return None
        share = self.yes / self.drawn
        return float(self.n_voters * np.mean(share * self.tokens_yes + (1 - share) * self.tokens_no))


@dataclass(frozen=True, eq=False)
class YesNoCalibration:
    """What some of the items say about the votes of all, in three ways."""

    items: YesNoItems
    indices: Indices

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.items.n_voters

    @cached_property
    def averaged(self) -> VoteDistribution:
        """Every choice of votes of every item taken for the truth."""
        return VoteDistribution.from_counts(self.items.weights(self.indices))

    @cached_property
    def observed(self) -> VoteDistribution:
        """One full vote of each item, which is what a confidence can be had from."""
        return VoteDistribution.from_yes_counts(self.items.yes_of_first[self.indices], self.n_voters)

    @cached_property
    def fitted(self) -> VoteDistribution:
        """The likeliest beta-binomial."""
        items = self.items
        return VoteDistribution.fit_beta(items.yes[self.indices], items.drawn[self.indices], self.n_voters)


@dataclass(frozen=True, eq=False)
class YesNoPlayed:
    """What a strategy costs and risks on the items."""

    items: YesNoItems
    evaluation: Evaluation

    @cached_property
    def _yes_asked(self) -> FloatArray:
        return expected_yes(self.evaluation.strategy)

    def on(self, indices: Indices) -> Measured:
        """Return the means over some of the items."""
        weights = self.items.weights(indices)
        return Measured(
            calls=float(weights @ self.evaluation.expected_votes),
            disagreement=float(weights @ self.evaluation.disagreement),
            tokens=self._tokens(indices),
        )

    def worst(self) -> Measured:
        """Return the largest figures for any votes that an item could have."""
        worst = self.evaluation.worst()
        return Measured(worst.expected_votes, worst.disagreement, None)

    def _tokens(self, indices: Indices) -> float | None:
        """Return the mean tokens: each yes vote of an item is asked equally often, and each no vote."""
        items = self.items
        if items.tokens_yes is None or items.tokens_no is None:
            return None
        no_asked = self.evaluation.expected_votes - self._yes_asked
        return float(
            items.weights(indices, items.tokens_yes) @ self._yes_asked
            + items.weights(indices, items.tokens_no) @ no_asked
        )


def are_yes_or_no(votes: RecordedVotes) -> bool:
    """Whether all answers are yes and no, true and false, or 1 and 0, in any spelling."""
    return all(label.casefold() in YES_WORDS | NO_WORDS for label in votes.labels)


def long_enough(votes: RecordedVotes, n_voters: int, skip_short: bool) -> Indices:
    """Return which items have so many votes; that others are left out must have been asked for."""
    drawn = np.array([len(codes) for codes in votes.answers], np.int64)
    kept = np.flatnonzero(drawn >= n_voters)
    if len(kept) < len(drawn) and not skip_short:
        raise InvalidInputError(
            f"{len(drawn) - len(kept):,} of {len(drawn):,} items have fewer than {n_voters} votes, the "
            f"first is {votes.items[int(np.argmax(drawn < n_voters))]!r} with "
            f"{drawn[np.argmax(drawn < n_voters)]}: take fewer voters, or leave such items out "
            "(skip_short=True, or --skip-short)"
        )
    if len(kept) == 0:
        raise InvalidInputError(
            f"no item has {n_voters} votes: the most votes of any are {drawn.max()}; take fewer voters"
        )
    return kept


def _yes_labels(votes: RecordedVotes, yes: str | None) -> npt.NDArray[np.bool_]:
    """Return which of the labels count as yes, or say why that cannot be told."""
    if not votes.labels:
        raise InvalidInputError("no vote has an answer: give votes that have one")
    found = ", ".join(f"{label!r} ({times:,})" for label, times in list(votes.counts.items())[:6])
    found += ", ..." if len(votes.labels) > 6 else ""
    if yes is not None:
        is_yes = [label == yes for label in votes.labels]
        if not any(is_yes):
            raise InvalidInputError(f"nobody answered {yes!r}, which should count as yes; found {found}")
    else:
        words = [label.casefold() for label in votes.labels]
        is_yes = [word in YES_WORDS for word in words]
        if not are_yes_or_no(votes):
            raise InvalidInputError(
                f"the votes are not yes or no, found {found}: say which answer counts as yes, all others "
                "being no (yes=ANSWER, or --yes ANSWER), or take all answers as they are (--answers any)"
            )
    return np.array(is_yes, dtype=bool)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _chosen_yes(drawn: Indices, yes: Indices, n_voters: int) -> FloatArray:
    """Return, by kind, the chances of 0 to ``n_voters`` yes among as many votes chosen from those drawn."""
    n = np.arange(n_voters + 1)
    all_votes, all_yes = drawn[:, None], yes[:, None]
    possible = (n <= all_yes) & (n_voters - n <= all_votes - all_yes)
    with np.errstate(invalid="ignore"):  # infinite minus infinite where it is not possible
        logs = (
            _log_choose(all_yes, n)
            + _log_choose(all_votes - all_yes, n_voters - n)
            - _log_choose(all_votes, n_voters)
        )
    chances = np.where(possible, np.exp(np.where(possible, logs, 0.0)), 0.0)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _log_choose(n: Indices, k: Indices | int) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

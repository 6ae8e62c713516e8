"""Recorded items to evaluate strategies on: exact means over all choices and orders of their votes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy  # its submodules load lazily, because they are slow to import

from foregone.checks import FloatArray, IntArray, check_n_voters
from foregone.kinds import AnyDistribution, AnyEvaluation, CountingStrategy, evaluate
from foregone.plurality import CompositionDistribution, Lattice, lattice_of
from foregone.replaying.recorded import RecordedVotes, is_yes
from foregone.rules.methods import KnownVotes, WhichVotes
from foregone.strategy import StoppingStrategy
from foregone.strategy.thresholds import check_quota
from foregone.votes import VoteDistribution

__all__ = ["Items", "Measured", "Played", "PluralityItems", "YesNoItems", "expected_yes"]


class Measured(NamedTuple):
    """Means over items: votes asked, probability of disagreeing with the full vote, and tokens used."""

    calls: float
    disagreement: float
    tokens: float | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Items(ABC):
    """Recorded items with at least ``n_voters`` votes each, which make a full vote.

    If an item has more votes, every choice of ``n_voters`` of them has the same weight, and so does every
    order in which they are asked. All means over choices and orders are exact.

    Attributes
    ----------
    n_voters : int
        Votes in a full vote.
    drawn : ndarray of int, shape (n_items,)
        Number of votes of each item.
    mean_tokens : ndarray of shape (n_items,), or None
        Mean tokens of the votes of each item.
    n_left_out : int
        Items left out because they have too few votes.
    n_classes : int or None
        Maximum number of different answers to one item; None for any number.
    quota : int or None
        Smallest number of yes votes for which the full vote is yes; None for a majority, and for many
        answers.
    """

    many_answers: ClassVar[bool]
    n_voters: int
    drawn: IntArray = field(repr=False)
    mean_tokens: FloatArray | None = field(repr=False)
    n_left_out: int = 0
    n_classes: int | None = 2
    quota: int | None = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.drawn)

    def calibrate(self, indices: IntArray) -> KnownVotes:
        """Return these items as calibration votes for a method."""
        return KnownVotes(
            self.n_voters,
            self.n_classes,
            self.many_answers,
            lambda which: self.votes(which, indices),
            self.quota,
        )

    def play(self, strategy: CountingStrategy) -> Played:
        """Evaluate a strategy on the items, averaged over all orders."""
        return Played(self, evaluate(strategy))

    def full_tokens(self) -> float | None:
        """Return the mean tokens of a full vote."""
        return None if self.mean_tokens is None else float(self.n_voters * self.mean_tokens.mean())

    @abstractmethod
    def weights(self, indices: IntArray) -> FloatArray:
        """Return the probability of each full vote, averaged over items."""

    @abstractmethod
    def tokens_asked(self, evaluation: Any) -> FloatArray:
        """Return the mean tokens that an evaluated strategy uses for each item."""

    @abstractmethod
    def votes(self, which: WhichVotes, indices: IntArray) -> AnyDistribution:
        """Return the vote distribution estimated from some of the items: see `KnownVotes`."""

    @abstractmethod
    def answer_fields(self) -> dict[str, Any]:
        """Return the answers as plain values for JSON."""

    @abstractmethod
    def describe_answers(self) -> str:
        """Describe the answers in words."""


def _kept(votes: RecordedVotes, n_voters: int, *, skip_short: bool) -> tuple[list[int], dict[str, Any]]:
    """Return which items are replayed, and the fields that items of every kind have."""
    kept = votes.long_enough(n_voters, skip_short=skip_short).tolist()
    tokens = votes.tokens
    return kept, {
        "n_voters": n_voters,
        "drawn": np.array([len(votes.answers[k]) for k in kept], np.int64),
        "mean_tokens": None if tokens is None else np.array([tokens[k].mean() for k in kept]),
        "n_left_out": len(votes.answers) - len(kept),
    }


@dataclass(frozen=True, eq=False)
class Played:
    """A strategy evaluated on recorded items."""

    items: Items
    evaluation: AnyEvaluation

    def on(self, indices: IntArray) -> Measured:
        """Return the means over some of the items."""
        weights = self.items.weights(indices)
        return Measured(
            calls=float(weights @ self.evaluation.expected_votes),
            disagreement=float(weights @ self.evaluation.disagreement),
            tokens=None if self.items.mean_tokens is None else float(self._tokens[indices].mean()),
        )

    def worst(self) -> Measured:
        """Return the largest values for any votes that an item could have."""
        worst = self.evaluation.worst()
        return Measured(worst.expected_votes, worst.disagreement, None)

    @cached_property
    def _tokens(self) -> FloatArray:
        return self.items.tokens_asked(self.evaluation)


# Two answers -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class YesNoItems(Items):
    """Recorded items with two answers; the yes votes in a random choice of votes are hypergeometric.

    Attributes
    ----------
    n_voters, drawn, mean_tokens, n_left_out
        As in `Items`.
    yes : ndarray of int, shape (n_items,)
        Each item's yes votes.
    yes_of_first : ndarray of int, shape (n_items,)
        Yes votes among the first ``n_voters`` drawn: one full vote of each item, as if observed.
    tokens_yes, tokens_no : ndarray of shape (n_items,), or None
        Mean tokens of an item's yes votes and of its no votes; 0 where it has none.
    yes_label : str
        The answer that counts as yes; ``no_labels`` are those that count as no.
    """

    many_answers = False
    yes: IntArray = field(repr=False)
    yes_of_first: IntArray = field(repr=False)
    tokens_yes: FloatArray | None = field(repr=False)
    tokens_no: FloatArray | None = field(repr=False)
    yes_label: str
    no_labels: tuple[str, ...]

    @classmethod
    def of(
        cls,
        votes: RecordedVotes,
        n_voters: int,
        *,
        yes: str | None = None,
        skip_short: bool = False,
        quota: int | None = None,
    ) -> YesNoItems:
        """Count the yes votes of each item.

        Parameters
        ----------
        votes : RecordedVotes
            The recorded votes.
        n_voters : int
            Votes in a full vote.
        yes : str, optional
            The answer that counts as yes; all others count as no. Not needed if the answers are yes and no,
            true and false, or 1 and 0.
        skip_short : bool
            Leave out items with fewer than ``n_voters`` votes, which otherwise raise an error.
        quota : int, optional
            Smallest number of yes votes for which the full vote is yes; by default a majority.
        """
        n_voters = check_n_voters(n_voters)
        counts_as_yes = is_yes(votes, yes)
        kept, common = _kept(votes, n_voters, skip_short=skip_short)
        said = [counts_as_yes[votes.answers[k]] for k in kept]
        tokens_yes = tokens_no = None
        if votes.tokens is not None:
            costs = [votes.tokens[k] for k in kept]
            tokens_yes = np.array([_mean(cost[yes]) for cost, yes in zip(costs, said, strict=True)])
            tokens_no = np.array([_mean(cost[~yes]) for cost, yes in zip(costs, said, strict=True)])
        labelled = list(zip(votes.labels, counts_as_yes, strict=True))
        return cls(
            **common,
            yes=np.array([np.count_nonzero(row) for row in said], np.int64),
            yes_of_first=np.array([np.count_nonzero(row[:n_voters]) for row in said], np.int64),
            tokens_yes=tokens_yes,
            tokens_no=tokens_no,
            yes_label=" or ".join(label for label, says_yes in labelled if says_yes),
            no_labels=tuple(label for label, says_yes in labelled if not says_yes),
            quota=None if quota is None else check_quota(quota, n_voters),
        )

    @cached_property
    def _alike(self) -> tuple[IntArray, FloatArray]:
        """Groups of items with equal (drawn, yes), and the distribution of the yes votes of each group."""
        pairs, place = np.unique(np.stack([self.drawn, self.yes]), axis=1, return_inverse=True)
        return place.ravel(), _chosen_yes(pairs[0], pairs[1], self.n_voters)

    def weights(self, indices: IntArray) -> FloatArray:
        """Return the probability of 0 to ``n_voters`` yes votes, averaged over items."""
        place, chances = self._alike
        counts = np.bincount(place[indices], minlength=len(chances))
        return np.asarray(counts @ chances) / len(indices)

    def tokens_asked(self, evaluation: Any) -> FloatArray:
        """Return the mean tokens; votes of an item with the same answer are equally likely to be asked."""
        assert self.tokens_yes is not None
        assert self.tokens_no is not None
        place, chances = self._alike
        yes_asked = expected_yes(evaluation.strategy)
        no_asked = evaluation.expected_votes - yes_asked
        return np.asarray(
            self.tokens_yes * (chances @ yes_asked)[place] + self.tokens_no * (chances @ no_asked)[place]
        )

    def votes(self, which: WhichVotes, indices: IntArray) -> VoteDistribution:
        """Return the votes of some items: over all choices, the first drawn, fitted, or flat."""
        if which == "averaged":
            return VoteDistribution.from_counts(self.weights(indices))
        if which == "observed":
            return VoteDistribution.from_yes_counts(self.yes_of_first[indices], self.n_voters)
        if which == "expected":
            return VoteDistribution.fit_beta(self.yes[indices], self.drawn[indices], self.n_voters)
        return VoteDistribution.flat(self.n_voters)

    def answer_fields(self) -> dict[str, Any]:
        """Return which answers count as yes and as no, as plain values for JSON."""
        return {"yes": self.yes_label, "no": list(self.no_labels)}

    def describe_answers(self) -> str:
        """Describe which answers count as yes and as no."""
        no = self.no_labels
        more = f" and {len(no) - 4} more" if len(no) > 4 else ""
        return f"yes: {self.yes_label or 'none'}; no: {', '.join(no[:4]) or 'none'}{more}"


def expected_yes(strategy: StoppingStrategy) -> FloatArray:
    """Return the mean number of yes votes asked, for every number of yes votes in the full vote.

    The expected cost depends on it if yes and no votes differ in cost.

    Examples
    --------
    >>> from foregone import rules
    >>> expected_yes(rules.lead(3, k=1))  # asks one voter
    array([0.        , 0.33333333, 0.66666667, 1.        ])
    """
    n_voters = strategy.n_voters
    # Entry j, given j yes among the votes so far: the probability that all of them were asked, and the
    # expected yes votes of polls that ended before.
    reached, ended = np.ones(1), np.zeros(1)
    for asked in range(n_voters + 1):
        stop = strategy.stop_probabilities(asked)
        ended = ended + reached * stop * np.arange(asked + 1)
        if asked == n_voters:
            break
        reached, ended = _one_more(reached * (1 - stop)), _one_more(ended)
    return ended


def _one_more(row: FloatArray) -> FloatArray:
    """Return the means after one more vote, averaged over which of the votes came last."""
    last_was_yes = np.arange(len(row) + 1) / len(row)
    return np.asarray(np.append(row, 0.0) * (1 - last_was_yes) + np.concatenate([[0.0], row]) * last_was_yes)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _chosen_yes(drawn: IntArray, yes: IntArray, n_voters: int) -> FloatArray:
    """Return the probability of 0 to ``n_voters`` yes votes in a random choice of the votes drawn."""
    n = np.arange(n_voters + 1)
    all_votes, all_yes = drawn[:, None], yes[:, None]
    possible = (n <= all_yes) & (n_voters - n <= all_votes - all_yes)
    with np.errstate(invalid="ignore"):  # infinity minus infinity for impossible counts
        logs = (
            _log_choose(all_yes, n)
            + _log_choose(all_votes - all_yes, n_voters - n)
            - _log_choose(all_votes, n_voters)
        )
    chances = np.where(possible, np.exp(np.where(possible, logs, 0.0)), 0.0)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _log_choose(n: IntArray, k: IntArray | int) -> FloatArray:
    return np.asarray(
        scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    )


# Many answers ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class PluralityItems(Items):
    """Recorded items with any number of different answers.

    Attributes
    ----------
    n_voters, drawn, mean_tokens, n_left_out, n_classes
        As in `Items`.
    lattice : Lattice
        The states of a vote of ``n_voters``.
    lattices : dict of Lattice
        The lattice for each number of votes that items have.
    composition : ndarray of int, shape (n_items,)
        The state of all votes of each item, as its number on the lattice of that many votes.
    of_first : ndarray of int, shape (n_items,)
        The state of the first ``n_voters`` drawn: one full vote of each item, as if observed.
    tokens : tuple of float arrays, or None
        For each item and each of its distinct counts, in falling order: mean tokens of the votes for answers
        of that count.
    n_answers : int
        The most different answers to an item.
    """

    many_answers = True
    lattice: Lattice
    lattices: dict[int, Lattice] = field(repr=False)
    composition: IntArray = field(repr=False)
    of_first: IntArray = field(repr=False)
    tokens: tuple[FloatArray, ...] | None = field(repr=False)
    n_answers: int

    @classmethod
    def of(
        cls,
        votes: RecordedVotes,
        n_voters: int,
        *,
        n_classes: int | None = None,
        skip_short: bool = False,
    ) -> PluralityItems:
        """Count the votes for each answer of each item.

        Parameters
        ----------
        votes : RecordedVotes
            The recorded votes.
        n_voters : int
            Votes in a full vote.
        n_classes : int, optional
            Maximum number of different answers to one item; any number by default.
        skip_short : bool
            Leave out items with fewer than ``n_voters`` votes, which otherwise raise an error.
        """
        n_voters = check_n_voters(n_voters)
        kept, common = _kept(votes, n_voters, skip_short=skip_short)
        lattice = lattice_of(n_voters, n_classes)
        answers = [votes.answers[k] for k in kept]
        lattices = {n: lattice_of(n, n_classes) for n in sorted(set(map(len, answers)))}
        counts = [np.bincount(codes) for codes in answers]
        tokens = None
        if votes.tokens is not None:
            costs = [votes.tokens[k] for k in kept]
            tokens = tuple(map(_tokens_by_count, answers, costs, counts))
        numbers = [
            lattices[len(codes)].number_of(times) for codes, times in zip(answers, counts, strict=True)
        ]
        return cls(
            **common,
            lattice=lattice,
            lattices=lattices,
            n_classes=n_classes,
            composition=np.array(numbers, np.int64),
            of_first=np.array(
                [lattice.number_of(np.bincount(codes[:n_voters])) for codes in answers], np.int64
            ),
            tokens=tokens,
            n_answers=max(int(np.count_nonzero(times)) for times in counts),
        )

    def weights(self, indices: IntArray) -> FloatArray:
        """Return the probability of each composition of a full vote, averaged over items."""
        first, last = self.lattice.level[-2:]
        total = np.zeros(last - first)
        for drawn, lattice in self.lattices.items():
            some = self.composition[indices[self.drawn[indices] == drawn]] - lattice.level[-2]
            counts = np.bincount(some, minlength=lattice.n_compositions).astype(np.float64)
            # A state has the same number on every lattice that contains it.
            total += counts if drawn == self.n_voters else lattice.pull_back(counts)[first:last]
        return total / len(indices)

    def tokens_asked(self, evaluation: Any) -> FloatArray:
        """Return the mean tokens: all votes for one answer are equally likely to be asked."""
        assert self.tokens is not None
        theta = evaluation.strategy.stop_probabilities()
        asked: dict[int, FloatArray] = {}  # for each part of a state with all votes drawn
        for drawn, lattice in self.lattices.items():
            stop = np.zeros(lattice.n_states)
            stop[: len(theta)] = theta
            asked[drawn] = lattice.push_forward(stop, counts_votes=True)[1]
        tokens = np.zeros(self.n_items)
        for item, drawn in enumerate(self.drawn.tolist()):
            lattice, state = self.lattices[drawn], self.composition[item]
            start, end = lattice.edge_start[state : state + 2]
            parts = slice(*(np.array([start, end]) - lattice.edge_start[lattice.level[-2]]).tolist())
            tokens[item] = (asked[drawn][parts] * lattice.times[start:end]) @ self.tokens[item]
        return tokens

    def votes(self, which: WhichVotes, indices: IntArray) -> CompositionDistribution:
        """Return the votes of some items: over all choices, the first drawn, smoothed, or flat."""
        if which == "assumed":
            return CompositionDistribution.flat(self.lattice)
        if which == "observed":
            places = self.of_first[indices] - self.lattice.level[-2]
            counts = np.bincount(places, minlength=self.lattice.n_compositions)
            return CompositionDistribution.on_lattice(self.lattice, counts / len(places), len(places))
        averaged = CompositionDistribution.on_lattice(self.lattice, self.weights(indices))
        return averaged if which == "averaged" else averaged.smoothed(self.n_classes)

    def answer_fields(self) -> dict[str, Any]:
        """Return the possible and the observed number of different answers, as plain values for JSON."""
        return {"n_classes": self.n_classes, "most_different_answers": self.n_answers}

    def describe_answers(self) -> str:
        """Describe how many different answers there are."""
        return f"up to {self.n_answers} different answers per item"


def _tokens_by_count(codes: IntArray, tokens: FloatArray, counts: IntArray) -> FloatArray:
    """Return the mean tokens of the votes for answers of each distinct count, the largest count first."""
    count_of_vote = counts[codes]
    return np.array([tokens[count_of_vote == count].mean() for count in np.unique(count_of_vote)[::-1]])

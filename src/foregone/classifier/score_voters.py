"""Voters of any kind that add up scores, each asked only about the rows that are still undecided."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from foregone.classifier.voters import Voters
from foregone.errors import InvalidInputError
from foregone.forest.link import Link
from foregone.forest.scored import ScoreOutcome
from foregone.scores import ScoreStrategy

__all__ = ["ScoreVoters"]

Scores = npt.NDArray[np.float64]


class ScoreVoters:
    """Fitted two-class classifiers whose scores are added up; the counterpart of `ScoredForest`.

    The score of a voter is its weight times (the probability it gives to yes, less one half), or, where
    votes are weighed, its weight with the sign of its vote. The full sum says yes if it is above 0. Sums
    are made in float64, one voter after another.

    Parameters
    ----------
    voters : Voters
        Whom to ask, and on which columns.
    weights : sequence of float
        One for each; their sum is above 0.
    averages : bool
        Whether voters are asked for probabilities; otherwise for votes.
    link : Link or None
        How a full sum becomes the ensemble's own probability of yes; None if it tells none.
    in_order : bool
        Whether voters are best asked in the order given, as those of a boosted ensemble are.
    """

    start = 0.0

    def __init__(
        self,
        voters: Voters,
        weights: npt.ArrayLike,
        averages: bool,
        link: Link | None = None,
        in_order: bool = False,
    ) -> None:
        self.voters = voters
        self.weights = _check_weights(weights, voters.n_voters)
        self.averages = averages
        self.link = link
        self.in_order = in_order
        if averages:
            for place, member in enumerate(voters.members):
                if not hasattr(member, "predict_proba"):
                    raise InvalidInputError(
                        f"voter {place} ({type(member).__name__}) has no predict_proba to average: use "
                        'voting="hard", which counts votes'
                    )

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.voters.n_voters

    @property
    def classes(self) -> npt.NDArray[Any]:
        """Labels for no and yes."""
        return self.voters.classes

    @property
    def columns(self) -> list[npt.NDArray[np.intp] | slice] | None:
        """For each voter the columns it is given; None if all of them get all."""
        return self.voters.columns

    def __repr__(self) -> str:
        return f"{self.voters!r}".replace(" voters: ", " voters with scores: ")

    def refuse_values(self, X: Any) -> None:
        """Let a voter raise its error for NaN or infinity."""
        self.voters.refuse_values(X)

    def ask(self, voter: int, X: Any) -> Scores:
        """Return one voter's score on every row of X."""
        weight = self.weights[voter]
        if not self.averages:
            return np.asarray(np.where(self.voters.ask(voter, X), weight, -weight))
        return np.asarray(weight * (self._probability(voter, X) - 0.5))

    def _probability(self, voter: int, X: Any) -> Scores:
        if self.columns is not None:
            X = X[:, self.columns[voter]]
        member = self.voters.members[voter]
        shares = np.asarray(member.predict_proba(X), np.float64)
        known = np.asarray(member.classes_)
        if shares.shape != (X.shape[0], len(known)):
            raise InvalidInputError(
                f"voter {voter} ({type(member).__name__}) must tell the probability of {len(known)} classes "
                f"for each of {X.shape[0]} rows, its probabilities have shape {shares.shape}"
            )
        place = np.flatnonzero(known == self.voters.yes_label)
        # A member of a bag that saw one class only knows only that one.
        return shares[:, place[0]] if len(place) else np.zeros(len(shares))

    def scores(self, X: Any) -> Scores:
        """Return every voter's score on every row, shape (n_rows, n_voters)."""
        scores = np.empty((X.shape[0], self.n_voters))
        for voter in range(self.n_voters):
            scores[:, voter] = self.ask(voter, X)
        return scores

    def full_scores(self, X: Any) -> Scores:
        """Return the sum of all scores, for each row."""
        return self.run(X, None).score

    def run(self, X: Any, strategy: ScoreStrategy | None, *, n_threads: int | None = None) -> ScoreOutcome:
        """Ask voters until the strategy stops, for each row; everything as in `ScoredForest.run`.

        ``n_threads`` is accepted and left to the voters themselves. A score that is NaN leaves a row
        undecided to the end, and then it is answered with no.
        """
        if strategy is None:
            strategy = ScoreStrategy.ask_all(self.n_voters)
        elif strategy.n_voters != self.n_voters:
            raise InvalidInputError(
                f"the strategy is for {strategy.n_voters} voters, there are {self.n_voters}: "
                f"solve for {self.n_voters}"
            )
        n_rows = X.shape[0]
        answers = np.zeros(n_rows, np.bool_)
        asked = np.zeros(n_rows, np.int32)
        score = np.full(n_rows, strategy.start)
        undecided = np.arange(n_rows)
        for step in range(self.n_voters + 1):
            running = score[undecided]
            no, yes = running <= strategy.lower[step], running >= strategy.upper[step]
            answers[undecided[yes & ~no]] = True
            undecided = undecided[~(no | yes)]
            if len(undecided) == 0 or step == self.n_voters:
                break
            part = X if len(undecided) == n_rows else _safe_indexing(X, undecided)
            score[undecided] += self.ask(int(strategy.order[step]), part)
            asked[undecided] = step + 1
        return ScoreOutcome(answers, asked, score)


def _check_weights(weights: npt.ArrayLike, n_voters: int) -> Scores:
    given = np.asarray(weights, np.float64)
    if given.shape != (n_voters,) or not np.isfinite(given).all() or not given.sum() > 0:
        raise InvalidInputError(
            f"weights must be finite numbers, one for each of the {n_voters} voters, with a sum above 0: got "
            f"{given.tolist()}"
        )
    return given

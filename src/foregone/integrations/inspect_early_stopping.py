"""Inspect: an early stopping manager that stops the epochs of a sample once its majority is settled."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from foregone.ballot import Ballot, Followed, Verdict
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.kinds import promise_in_words, strategy_of
from foregone.polling.voter_queue import derive_seed
from foregone.strategy import StoppingStrategy
from foregone.tally import shorten

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import SampleScore
    from inspect_ai.util import EarlyStop

__all__ = ["ForegoneEarlyStopping"]

SampleId = str | int
VoteOfScores = Callable[[Mapping[str, "SampleScore"]], Any]

_VOTES = {"C": True, "I": False, "N": False, 1: True, 0: False}  # Inspect's CORRECT, INCORRECT, NOANSWER


class ForegoneEarlyStopping:
    """Stop each sample of an Inspect eval once the majority of its epochs is settled.

    Pass it as ``Task(early_stopping=...)``. Every epoch of a sample is a vote. Votes are counted in the order
    of the epochs, not in the order of completion, which is not random: a fast epoch waits for slower ones
    before it. Once a sample has a verdict, its remaining epochs are not started. Running epochs finish and
    are logged, but not counted.

    Parameters
    ----------
    strategy : Solution, StoppingStrategy, PluralitySolution or PluralityStrategy
        When to stop and what to answer, for at most as many voters as the eval has epochs.
    vote : callable, optional
        Function that maps the scores of one epoch, a dict of scorer -> ``SampleScore``, to its vote; None
        means no vote, and the next epoch counts instead. By default the vote comes from the only scorer: for
        strategies with two answers whether it is correct ("C" and 1 are yes; "I", "N" and 0 are no),
        otherwise the ``answer`` of its score.
    seed : int, optional
        For randomised stops; random by default.

    Attributes
    ----------
    verdicts : dict
        Sample id -> `Verdict`, in the eval started last. Samples without a verdict ran all epochs.

    Notes
    -----
    Inspect calls the four methods. Evals are counted separately, so several models can share one manager. An
    epoch that ends in an error, or without a score, is a failed voter and does not count. The protocol does
    not report such epochs, so a hook is registered with Inspect when the first eval starts.

    Examples
    --------
    >>> from foregone import solve
    >>> from foregone.integrations import ForegoneEarlyStopping
    >>> ForegoneEarlyStopping(solve("minimixed", 41, 0.01))
    <ForegoneEarlyStopping: 41 voters per sample, 0 verdicts>
    """

    def __init__(
        self, strategy: Followed, *, vote: VoteOfScores | None = None, seed: int | None = None
    ) -> None:
        self.n_voters: int = Ballot(strategy).n_voters
        if vote is not None and not callable(vote):
            raise InvalidInputError(f"vote must be a function from scores to a vote, got {shorten(vote)}")
        self._strategy, self._seed, self._vote = strategy, seed, vote
        self._last = _EvalVotes({}, 0)

    @property
    def verdicts(self) -> dict[SampleId, Verdict]:
        """Sample id -> verdict, in the eval started last."""
        return self._last.verdicts

    def __repr__(self) -> str:
        return f"<ForegoneEarlyStopping: {self.n_voters} voters per sample, {len(self.verdicts)} verdicts>"

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Open a ballot for every sample and return the name of this manager.

        Raises
        ------
        InvalidInputError
            If there are fewer epochs than the strategy has voters, or several scorers and no ``vote``.
        """
        if epochs < self.n_voters:
            raise InvalidInputError(
                f"the strategy is for {self.n_voters} voters, but the eval has only {epochs} epochs: run it "
                f"with --epochs {self.n_voters}, or solve for {epochs}"
            )
        scorers = [scorer.name for scorer in task.scorers or []]
        if self._vote is None and len(scorers) != 1:
            raise InvalidInputError(
                f"expected one scorer, got {len(scorers)}{': ' if scorers else ''}{', '.join(scorers)}. Pass "
                "vote=, a function from the scores of one epoch to its vote"
            )
        _listen_for_errors()
        self._last = _EvalVotes(
            {
                sample.id: _SampleVotes(Ballot(self._strategy, derive_seed(self._seed, "stop", sample.id)))
                for sample in samples
            },
            epochs,
        )
        _CURRENT.set(self._last)
        return "foregone"

    async def schedule_sample(self, id: SampleId, epoch: int) -> EarlyStop | None:
        """Stop an epoch of a sample that already has a verdict."""
        return self._current.refusal(id, epoch, self.n_voters)

    async def complete_sample(self, id: SampleId, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Record the vote of an epoch, and count all votes that can be counted now.

        Raises
        ------
        InvalidInputError
            If the epoch's value is not a vote.
        """
        sample = self._current.samples[id]
        try:
            vote = self._default_vote(scores) if self._vote is None else self._vote(scores)
            checked = None if vote is None else sample.ballot.check(vote)
        except InvalidInputError as error:
            raise InvalidInputError(f"sample {id!r}, epoch {epoch}: {error}") from None
        sample.hear(epoch, checked)

    async def complete_task(self) -> dict[str, Any]:
        """Return a summary of verdicts and saved epochs, for the log."""
        ended = self._current
        _CURRENT.set(None)
        return {
            "strategy": f"{type(self._strategy).__name__} for {self.n_voters} voters",
            "promise": promise_in_words(self._strategy),
            **ended.summary(),
        }

    @property
    def _current(self) -> _EvalVotes:
        return _CURRENT.get() or self._last

    def _default_vote(self, scores: Mapping[str, SampleScore]) -> Any:
        if len(scores) != 1:
            return None
        (sample_score,) = scores.values()
        score = sample_score.score
        if isinstance(score.value, float) and math.isnan(score.value):
            return None  # Inspect's value for a missing score
        if not isinstance(strategy_of(self._strategy), StoppingStrategy):
            return score.answer
        try:
            return _VOTES[score.value]
        except (KeyError, TypeError):
            raise InvalidInputError(
                f'expected a score of "C", "I", "N", 1 or 0, got {shorten(score.value)}: pass vote=, such as '
                'lambda scores: scores["SCORER"].score.as_float() > 0.5'
            ) from None


class _SampleVotes:
    """The epochs of one sample, each counted once all epochs before it have ended."""

    def __init__(self, ballot: Ballot) -> None:
        self.ballot = ballot
        self.n_failed = 0
        self.refused: set[int] = set()
        self.ended: set[int] = set()
        self.problem: str | None = None  # why no more votes are counted
        self._next = 1
        self._held: dict[int, Any] = {}  # epoch -> vote, None if it failed

    def hear(self, epoch: int, vote: Any) -> None:
        """Record a checked vote, or None for an epoch without one, and count what can be counted."""
        self.ended.add(epoch)
        self._held[epoch] = vote
        while self.problem is None and self.ballot.verdict is None and self._next in self._held:
            vote = self._held.pop(self._next)
            self._next += 1
            if vote is None:
                self.n_failed += 1
                continue
            try:
                self.ballot.cast(vote)
            except InvalidInputError as error:  # too many different answers: the sample is not stopped early
                self.problem = str(error)


class _EvalVotes:
    """The samples of one eval, with their votes."""

    def __init__(self, samples: dict[SampleId, _SampleVotes], epochs: int) -> None:
        self.samples = samples
        self.epochs = epochs

    @property
    def verdicts(self) -> dict[SampleId, Verdict]:
        """Sample id -> verdict."""
        found = ((id, sample.ballot.verdict) for id, sample in self.samples.items())
        return {id: verdict for id, verdict in found if verdict is not None}

    def refusal(self, id: SampleId, epoch: int, n_voters: int) -> EarlyStop | None:
        """Return an early stop if the epoch is not needed, otherwise None."""
        sample = self.samples[id]
        verdict = sample.ballot.verdict
        if verdict is None:
            return None
        sample.refused.add(epoch)
        early_stop: type[EarlyStop] = _inspect("inspect_ai.util").EarlyStop
        return early_stop(
            id=id,
            epoch=epoch,
            reason=f"foregone: {shorten(verdict.answer)} after {verdict.asked} of {n_voters} votes",
            metadata={**_fields(verdict), "n_voters": n_voters},
        )

    def summary(self) -> dict[str, Any]:
        """Return counts of the eval, and all verdicts."""
        samples, verdicts = list(self.samples.values()), self.verdicts
        problems = {str(id): sample.problem for id, sample in self.samples.items() if sample.problem}
        return {
            "samples": len(samples),
            "samples_with_verdict": len(verdicts),
            "samples_stopped_early": sum(bool(sample.refused) for sample in samples),
            "epochs_planned": len(samples) * self.epochs,
            "epochs_saved": sum(len(sample.refused) for sample in samples),
            "epochs_counted": sum(sample.ballot.asked for sample in samples),
            "epochs_failed": sum(sample.n_failed for sample in samples),
            "epochs_not_needed": sum(
                len(sample.ended) - sample.ballot.asked - sample.n_failed for sample in samples
            ),
            "verdicts": {str(id): _fields(verdict) for id, verdict in verdicts.items()},
            **({"problems": problems} if problems else {}),
        }


# The eval of the running task. Inspect runs each eval in its own context, and samples in copies of it, so one
# manager can serve several evals at once although the protocol does not identify them.
_CURRENT: ContextVar[_EvalVotes | None] = ContextVar("foregone_current_eval", default=None)


@functools.cache
def _listen_for_errors() -> None:
    """Register a hook, once, that is called for epochs that end without scores."""
    hooks = _inspect("inspect_ai.hooks")

    @hooks.hooks(name="foregone", description="Tells early stopping about epochs that end without scores.")
    class EndedWithoutScores(hooks.Hooks):  # type: ignore[misc, name-defined]  # hooks is only known when run
        def enabled(self) -> bool:
            return _CURRENT.get() is not None

        async def on_sample_end(self, data: Any) -> None:
            current = _CURRENT.get()
            if current is not None and not data.sample.scores and data.sample.id in current.samples:
                current.samples[data.sample.id].hear(data.sample.epoch, None)


def _inspect(module: str) -> Any:
    """Import a module of Inspect."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError("inspect_ai", "inspect", "Stopping an Inspect eval") from None


def _fields(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as stored in the log."""
    answer = verdict.answer if isinstance(verdict.answer, bool | int | float | str) else str(verdict.answer)
    return {"answer": answer, "asked": verdict.asked, "yes": verdict.yes, "risk": verdict.risk}

"""DSPy: a module that samples any program until the majority answer is settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from foregone.ballot import Ballot, Followed, Verdict
from foregone.checks import check_whole
from foregone.errors import InvalidInputError, MissingExtraError
from foregone.polling.asking import run_to_end
from foregone.polling.in_parallel import poll_async
from foregone.tally import shorten

try:
    import dspy
except ImportError:
    raise MissingExtraError("dspy", "dspy", "Voting on samples of a DSPy program") from None

__all__ = ["MajorityVote"]

if TYPE_CHECKING:

    class Module:
        """What type checkers know of `dspy.Module`, which has no type information."""

        def __call__(self, *args: Any, **inputs: Any) -> Any:
            """Run the module."""

else:
    Module = dspy.Module


class MajorityVote(Module):
    """Sample a DSPy program repeatedly, and return the majority prediction once it is settled.

    Each sample runs a copy of the program whose language models have a separate ``rollout_id``. So DSPy's
    cache returns different samples, and the same ones when the program is called again. Models without a
    temperature, or with temperature 0, are sampled at temperature 1.

    Parameters
    ----------
    program : dspy.Module
        The program to sample.
    strategy : Solution, StoppingStrategy, PluralitySolution or PluralityStrategy
        When to stop and what to answer. The first two need a field that is True or False.
    field : str
        The field of the program's prediction that is the vote.
    key : callable, optional
        Function that maps the field's value to the vote, so that equivalent answers become equal; None means
        that the sample has no answer and is replaced. By default strings are stripped.
    seed : int, optional
        For randomised stops; random by default.
    n_parallel : int
        Number of simultaneous samples. Up to ``n_parallel - 1`` of them are wasted at the verdict.
    max_failures : int
        How many samples may raise an error, or have no answer, before a `PollError`.

    Examples
    --------
    >>> import dspy
    >>> from dspy.utils import DummyLM
    >>> from foregone.integrations import MajorityVote
    >>> from foregone.plurality import rules
    >>> answers = [{"answer": text} for text in ("42", "41", "42", " 42", "42", "42", "42")]
    >>> program = MajorityVote(dspy.Predict("question -> answer"), rules.lead(9, 3))
    >>> with dspy.context(lm=DummyLM(answers)):
    ...     prediction = program(question="What is six times seven?")
    >>> prediction.answer, prediction.verdict
    ('42', Verdict(answer='42', asked=5, yes=4, risk=None))
    """

    def __init__(
        self,
        program: Any,
        strategy: Followed,
        *,
        field: str = "answer",
        key: Callable[[Any], Any] | None = None,
        seed: int | None = None,
        n_parallel: int = 1,
        max_failures: int = 10,
    ) -> None:
        super().__init__()
        Ballot(strategy, seed)  # raises if strategy or seed is invalid
        if not isinstance(program, dspy.Module):
            raise InvalidInputError(f"program must be a dspy.Module, got {shorten(program)}")
        if key is not None and not callable(key):
            raise InvalidInputError(f"key must be a function of a field value, got {shorten(key)}")
        self.program = program
        self.strategy = strategy
        self.field = field
        self.key = key
        self.seed = seed
        self.n_parallel: int = check_whole(n_parallel, "n_parallel")
        self.max_failures: int = check_whole(max_failures, "max_failures", 0)

    def forward(self, **inputs: Any) -> Any:
        """Sample the program until there is a verdict; call the module itself, not this method.

        Returns
        -------
        dspy.Prediction
            The first sample with the majority answer, with the `Verdict` in its field ``verdict``. If no
            sample gave the strategy's answer, a prediction with only the answer and the verdict.

        Raises
        ------
        PollError
            If too many samples fail; its ``votes`` holds the votes so far.
        InvalidInputError
            If an answer is not a valid vote for the strategy.
        """
        samples: dict[int, _Sample] = {}

        def ask(voter: int) -> Any:
            sample = samples[voter] = _Sample(self.program, voter)
            with dspy.context(lm=sample.lm, trace=sample.trace):
                return self._vote(sample, sample.program(**inputs))

        return self._chosen(samples, run_to_end(self._poll(ask)))

    async def aforward(self, **inputs: Any) -> Any:
        """Asynchronous version of `forward`, which samples the program's ``acall``."""
        samples: dict[int, _Sample] = {}

        async def ask(voter: int) -> Any:
            sample = samples[voter] = _Sample(self.program, voter)
            with dspy.context(lm=sample.lm, trace=sample.trace):
                return self._vote(sample, await sample.program.acall(**inputs))

        return self._chosen(samples, await self._poll(ask))

    async def _poll(self, ask: Callable[[int], Any]) -> Verdict:
        return await poll_async(
            ask,
            self.strategy,
            concurrency=self.n_parallel,
            retries=0,  # a new sample is as good as a retry
            max_failures=self.max_failures,
            seed=self.seed,
        )

    def _vote(self, sample: _Sample, prediction: Any) -> Any:
        """Return the vote of a prediction. Raises an error if it has no answer, which fails the voter."""
        value = prediction[self.field]
        vote = (self.key or _strip)(value)
        if vote is None:
            raise ValueError(f"the field {self.field!r} has no answer: {shorten(value)}")
        sample.vote, sample.prediction = vote, prediction
        return vote

    def _chosen(self, samples: dict[int, _Sample], verdict: Verdict) -> Any:
        """Return the first sample with the majority answer, and add its trace to DSPy's trace."""
        for _, sample in sorted(samples.items()):
            if sample.prediction is not None and sample.vote == verdict.answer:
                if dspy.settings.trace is not None:
                    dspy.settings.trace.extend(sample.original_trace())
                return sample.prediction.copy(verdict=verdict)
        return dspy.Prediction(**{self.field: verdict.answer, "verdict": verdict})


class _Sample:
    """One run of a copy of the program, whose language models give a new sample."""

    def __init__(self, program: Any, rollout: int) -> None:
        originals = _predictors(program)
        self.program = program.deepcopy()
        self.lm = _anew(dspy.settings.lm, rollout)  # for predictors without their own model
        self.trace: list[Any] = []
        self.vote: Any = None
        self.prediction: Any = None
        self._original_of = {}
        for original, fresh in zip(originals, _predictors(self.program), strict=True):
            fresh.lm = _anew(original.lm, rollout)
            self._original_of[id(fresh)] = original

    def original_trace(self) -> list[Any]:
        """Return the trace with the original predictors, which optimizers expect."""
        return [(self._original_of.get(id(step[0]), step[0]), *step[1:]) for step in self.trace]


def _strip(value: Any) -> Any:
    """Strip a string; return anything else unchanged."""
    return value.strip() if isinstance(value, str) else value


def _predictors(program: Any) -> list[Any]:
    """Return all predictors, including those of compiled parts, which ``predictors()`` leaves out."""
    return [predictor for _, predictor in program.named_sub_modules(type_=dspy.Predict)]


def _anew(lm: Any, rollout: int) -> Any:
    """Return a language model that samples separately from other rollouts in the cache."""
    if lm is None:
        return None
    start = lm.kwargs.get("rollout_id") or 0
    return lm.copy(rollout_id=start + rollout, temperature=lm.kwargs.get("temperature") or 1.0)

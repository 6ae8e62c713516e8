"""What polls cost: replies that say how many tokens they took, prices, and a running account."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from foregone.checks import as_float, check_whole
from foregone.errors import InvalidInputError
from foregone.polling.budget_promise import BudgetPromise
from foregone.tally import Verdict

__all__ = ["Account", "Costs", "Prices", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request gave, with the tokens it took: returned by ``ask`` or ``ask_batch`` instead of votes.

    Attributes
    ----------
    votes : any
        What would have been returned without it: a vote by ``ask``, a list of votes by ``ask_batch``. None,
        or an exception, where there is no vote in the reply: the voter is asked again.
    prompt_tokens, completion_tokens : int
        What the server says it read and wrote; `poll_many` adds them up.

    Examples
    --------
    >>> from foregone.polling import Reply
    >>> Reply([True, True, False], prompt_tokens=120, completion_tokens=9).votes
    [True, True, False]
    """

    votes: Any
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __post_init__(self) -> None:
        check_whole(self.prompt_tokens, "prompt_tokens", 0)
        check_whole(self.completion_tokens, "completion_tokens", 0)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a request, a token read and a token written cost, in any currency.

    Examples
    --------
    >>> from foregone.polling import Prices
    >>> prices = Prices(prompt_token=0.15e-6, completion_token=0.60e-6)   # 0.15 and 0.60 a million
    """

    request: float = 0.0
    prompt_token: float = 0.0
    completion_token: float = 0.0

    def __post_init__(self) -> None:
        for name, price in asdict(self).items():
            if not 0 <= as_float(price) < math.inf:  # also True for NaN
                raise InvalidInputError(
                    f"the price of a {name} must be a number of at least 0, got {price!r}"
                )


@dataclass(frozen=True, slots=True)
class Costs:
    """What was spent, or saved.

    Attributes
    ----------
    requests : int
        Calls of ``ask`` or ``ask_batch``, those that failed included.
    votes : int
        Votes that came back, counted or not.
    prompt_tokens, completion_tokens : int
        As replies stated them.
    rounds : int
        How often a question had to wait for votes before more of them were asked for, summed over questions.
    money : float or None
        None without prices.
    """

    requests: int = 0
    votes: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    rounds: int = 0
    money: float | None = None

    def __add__(self, other: Costs) -> Costs:
        return Costs(
            self.requests + other.requests,
            self.votes + other.votes,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.rounds + other.rounds,
        )

    def priced(self, prices: Prices | None) -> Costs:
        """Return the same with the money it takes."""
        if prices is None:
            return self
        tokens = self.prompt_tokens * prices.prompt_token + self.completion_tokens * prices.completion_token
        return replace(self, money=self.requests * prices.request + tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it by name, as JSON can hold it."""
        return asdict(self)

    def __str__(self) -> str:
        money = "" if self.money is None else f", {self.money:.4g} in money"
        tokens = self.prompt_tokens + self.completion_tokens
        return f"{self.requests:,} requests, {self.votes:,} votes, {tokens:,} tokens{money}"


class Account:
    """What polls have spent so far, and what they saved on the questions that are finished.

    Parameters
    ----------
    prices : Prices or None
        What things cost.
    n_voters : int
        How many votes a full vote takes.
    in_batches : bool
        Whether a request may ask for several votes.
    recorded : Costs
        What was spent in earlier runs.
    """

    def __init__(
        self, prices: Prices | None, n_voters: int, *, in_batches: bool, recorded: Costs | None = None
    ) -> None:
        self._prices = prices
        self._n_voters = n_voters
        self._in_batches = in_batches
        self._total = recorded or Costs()
        self._finished = Costs()
        self._n_finished = self._n_cut_short = 0
        self._risk = self._cut_risk = 0.0  # of all verdicts, of those cut short; NaN if one is not known

    def pay(self, cost: Costs, *, finished: bool) -> None:
        """Take down what a request has cost, and whether its question had a verdict already."""
        self._total += cost
        if finished:
            self._finished += cost

    def finish(self, cost: Costs, verdict: Verdict) -> None:
        """Take down the verdict on a question, and what it has cost."""
        self._finished += cost
        self._n_finished += 1
        self._n_cut_short += verdict.cut_short
        risk = math.nan if verdict.risk is None else verdict.risk
        self._risk += risk
        self._cut_risk += risk if verdict.cut_short else 0.0

    def promise(self, limit: float | None) -> BudgetPromise:
        """Return what can be said about the verdicts so far, given the limit of the strategy."""
        n = max(self._n_finished, 1)
        ended = 0.0 if self._n_cut_short == self._n_finished > 0 else limit
        bound = None if ended is None or math.isnan(self._cut_risk) else ended + self._cut_risk / n
        mean = None if math.isnan(self._risk) else self._risk / n
        return BudgetPromise(self._n_finished, self._n_cut_short, limit, mean, bound)

    @property
    def spent(self) -> Costs:
        """All that was spent, in earlier runs with the same journal, too."""
        return self._total.priced(self._prices)

    @property
    def saved(self) -> Costs:
        """What a full vote on every finished question would have cost, less what was spent on them.

        A full vote is taken to be asked at once, in one round: with ``ask_batch`` by one request, else by
        one request for each voter. A request is taken to read as many tokens, and a vote to take as many
        written ones, as on average so far. Where a question is asked in several rounds and a full vote
        would be one request, requests and prompt tokens come out below 0: stopping early costs those.
        """
        total, n = self._total, self._n_finished
        n_requests = n if self._in_batches else n * self._n_voters
        read = total.prompt_tokens / max(total.requests, 1)
        written = total.completion_tokens / max(total.votes, 1)
        return Costs(
            n_requests - self._finished.requests,
            n * self._n_voters - self._finished.votes,
            round(n_requests * read) - self._finished.prompt_tokens,
            round(n * self._n_voters * written) - self._finished.completion_tokens,
            n - self._finished.rounds,
        ).priced(self._prices)

    def unit_costs(self) -> tuple[float, float] | None:
        """Return what a request and what a vote in it are expected to cost; None if nothing is known yet.

        In money, or in votes where there are no prices.
        """
        if self._prices is None:
            return 0.0, 1.0
        total, prices = self._total, self._prices
        if not total.votes:
            return None
        return (
            prices.request + prices.prompt_token * total.prompt_tokens / total.requests,
            prices.completion_token * total.completion_tokens / total.votes,
        )

"""Costs of polls: replies with token counts, prices, and a running account."""

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
    """The votes and token counts of one request; return it from ``ask`` or ``ask_batch`` instead of votes.

    Attributes
    ----------
    votes : any
        What ``ask`` (a vote) or ``ask_batch`` (a list of votes) would otherwise return. Use None or an
        exception for a missing vote: the voter is then asked again.
    prompt_tokens, completion_tokens : int
        Tokens read and written, as the server reports them; `poll_many` sums them.

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
    """Prices of a request, a prompt token and a completion token, in any currency.

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
    """Requests, votes, tokens, rounds and money that were spent or saved.

    Attributes
    ----------
    requests : int
        Calls of ``ask`` or ``ask_batch``, including failed ones.
    votes : int
        Votes received, counted or not.
    prompt_tokens, completion_tokens : int
        As reported by the replies.
    rounds : int
        Sequential rounds of requests, summed over questions.
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
        """Return these costs with ``money`` computed from prices."""
        if prices is None:
            return self
        tokens = self.prompt_tokens * prices.prompt_token + self.completion_tokens * prices.completion_token
        return replace(self, money=self.requests * prices.request + tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dictionary that JSON can store."""
        return asdict(self)

    def __str__(self) -> str:
        money = "" if self.money is None else f", {self.money:.4g} in money"
        tokens = self.prompt_tokens + self.completion_tokens
        return f"{self.requests:,} requests, {self.votes:,} votes, {tokens:,} tokens{money}"


class Account:
    """Running account of what polls spent so far, and saved on finished questions.

    Parameters
    ----------
    prices : Prices or None
        Prices of requests and tokens.
    n_voters : int
        Votes in a full vote.
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
        """Record the costs of a request, and whether its question already had a verdict."""
        self._total += cost
        if finished:
            self._finished += cost

    def finish(self, cost: Costs, verdict: Verdict) -> None:
        """Record the verdict on a question, and its costs."""
        self._finished += cost
        self._n_finished += 1
        self._n_cut_short += verdict.cut_short
        risk = math.nan if verdict.risk is None else verdict.risk
        self._risk += risk
        self._cut_risk += risk if verdict.cut_short else 0.0

    def promise(self, limit: float | None) -> BudgetPromise:
        """Return how far the verdicts so far may be from full votes, given the limit of the strategy."""
        n = max(self._n_finished, 1)
        ended = 0.0 if self._n_cut_short == self._n_finished > 0 else limit
        bound = None if ended is None or math.isnan(self._cut_risk) else ended + self._cut_risk / n
        mean = None if math.isnan(self._risk) else self._risk / n
        return BudgetPromise(self._n_finished, self._n_cut_short, limit, mean, bound)

    @property
    def spent(self) -> Costs:
        """Everything spent, including earlier runs with the same journal."""
        return self._total.priced(self._prices)

    @property
    def saved(self) -> Costs:
        """Costs of full votes on all finished questions, minus what was spent on them.

        Assumes that a full vote takes one round: one request with ``ask_batch``, otherwise one request for
        each voter. Also assumes the mean prompt tokens per request and completion tokens per vote so far.
        With ``ask_batch`` and several rounds, requests and prompt tokens may be negative: early stopping
        then costs more of those.
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
        """Return the expected costs of a request and of a vote in it; None if nothing is known yet.

        In money, or in votes if there are no prices.
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

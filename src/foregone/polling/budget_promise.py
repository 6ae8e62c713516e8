"""BudgetPromise: what can still be said about the verdicts of polls whose budget was spent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["BudgetPromise"]


@dataclass(frozen=True)
class BudgetPromise:
    """How far verdicts may be from full votes; ``str()`` says it in words.

    A question that the strategy ended has the verdict that it would have without a budget. So all of these
    together differ from the full vote on no more questions than the strategy's limit allows for *all*
    questions. Which share of *them* that is, the limit does not say, because those that ended early are not
    a random part. About verdicts that were cut short only their risks are known, and those rest on the
    distribution that the strategy was solved for.

    Attributes
    ----------
    n_questions : int
        Questions with a verdict.
    n_cut_short : int
        Those of them that the budget ended.
    limit : float or None
        The strategy's limit; None for a strategy without one.
    expected_disagreement : float or None
        Mean risk of all verdicts: the share that is expected to differ from the full vote, if votes are
        distributed as those that the strategy was solved for. None if a risk is not known.
    bound : float or None
        ``limit``, if the strategy ended any question, plus the risks of the verdicts cut short, as a share
        of all questions. It needs the distribution only for those that were cut short.

    Examples
    --------
    >>> print(BudgetPromise(1000, 200, 0.01, 0.034, 0.037))  # doctest: +NORMALIZE_WHITESPACE
    800 of 1,000 questions ended by the strategy, 200 were cut short. Of all, at most 0.037 are expected
    to differ from the full vote: 0.01 by the strategy's limit, the rest by the risks of those cut short.
    """

    n_questions: int
    n_cut_short: int
    limit: float | None
    expected_disagreement: float | None
    bound: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it by name, as JSON can hold it."""
        return asdict(self)

    def __str__(self) -> str:
        ended = (
            f"{self.n_questions - self.n_cut_short:,} of {self.n_questions:,} questions ended by the strategy"
        )
        if not self.n_cut_short:
            limit = "" if self.limit is None else f", whose limit is {self.limit:g}"
            return f"{ended}{limit}; none was cut short."
        if self.bound is None:
            known = "How many of those differ from the full vote is not known."
        else:
            known = f"Of all, at most {self.bound:.2g} are expected to differ from the full vote"
            if self.n_cut_short < self.n_questions:
                known += f": {self.limit:g} by the strategy's limit, the rest by the risks of those cut short"
            known += "."
        return f"{ended}, {self.n_cut_short:,} were cut short. {known}"

"""BudgetPromise: how far verdicts may be from full votes when polls ran with a budget."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["BudgetPromise"]


@dataclass(frozen=True)
class BudgetPromise:
    """How far the verdicts of polls with a budget may be from full votes; ``str()`` states it in words.

    A question that the strategy ended has the same verdict as without a budget. So the number of these
    verdicts that differ from the full vote is at most what the strategy's limit allows for *all* questions.
    The limit does not bound their share among the questions that ended, because these are not a random
    sample. Of verdicts that the budget cut short only the risks are known, and they assume the distribution
    that the strategy was solved for.

    Attributes
    ----------
    n_questions : int
        Questions with a verdict.
    n_cut_short : int
        Verdicts that the budget cut short.
    limit : float or None
        The strategy's limit; None for a strategy without one.
    expected_disagreement : float or None
        Mean risk of all verdicts: the share that is expected to differ from the full vote, if votes are
        distributed as those that the strategy was solved for. None if a risk is not known.
    bound : float or None
        ``limit``, if the strategy ended any question, plus the risks of the verdicts cut short, as a share
        of all questions. Only the part for verdicts cut short assumes the distribution.

    Examples
    --------
    >>> print(BudgetPromise(1000, 200, 0.01, 0.034, 0.037))  # doctest: +NORMALIZE_WHITESPACE
    The strategy ended 800 of 1,000 questions, the budget cut 200 short. At most 0.037 of all verdicts are
    expected to differ from the full vote: 0.01 by the strategy's limit, the rest from verdicts cut short.
    """

    n_questions: int
    n_cut_short: int
    limit: float | None
    expected_disagreement: float | None
    bound: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dictionary that JSON can store."""
        return asdict(self)

    def __str__(self) -> str:
        ended = (
            f"The strategy ended {self.n_questions - self.n_cut_short:,} of {self.n_questions:,} questions"
        )
        if not self.n_cut_short:
            limit = "" if self.limit is None else f", with a limit of {self.limit:g}"
            return f"{ended}{limit}; the budget cut none short."
        if self.bound is None:
            known = "How many of those cut short differ from the full vote is unknown."
        else:
            known = f"At most {self.bound:.2g} of all verdicts are expected to differ from the full vote"
            if self.n_cut_short < self.n_questions:
                known += f": {self.limit:g} by the strategy's limit, the rest from verdicts cut short"
            known += "."
        return f"{ended}, the budget cut {self.n_cut_short:,} short. {known}"

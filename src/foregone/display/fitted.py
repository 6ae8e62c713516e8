"""What displays take from a fitted classifier, whichever kind of ours it is."""

from __future__ import annotations

from typing import Any

from foregone.errors import InvalidInputError
from foregone.scores import ScoreStrategy
from foregone.strategy import StoppingStrategy

__all__ = ["fitted", "vote_strategy"]


def fitted(estimator: Any, attribute: str) -> Any:
    """Return a fitted attribute, or say what kind of estimator has one."""
    if not hasattr(estimator, attribute):
        raise InvalidInputError(
            f"{type(estimator).__name__} has no {attribute}: give a fitted EarlyStoppingClassifier, such as "
            "foregone.early_stop returns"
        )
    return getattr(estimator, attribute)


def vote_strategy(strategy: Any, display: str) -> StoppingStrategy:
    """Return the strategy if it counts votes, or say that this display has nothing to show of others."""
    if isinstance(strategy, StoppingStrategy):
        return strategy
    if isinstance(strategy, ScoreStrategy):
        hint = "a ScoreStrategy adds up scores; draw it with EnvelopeDisplay or SavingsDisplay"
    else:
        hint = f"not {type(strategy).__name__}; of a Solution, give its .strategy"
    raise InvalidInputError(f"{display} needs a StoppingStrategy, which counts votes: {hint}")

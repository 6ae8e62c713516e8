"""What displays take from a fitted classifier, whichever kind of ours it is."""

from __future__ import annotations

from typing import Any

from foregone.errors import InvalidInputError
from foregone.plurality import PluralityStrategy
from foregone.scores import ScoreStrategy
from foregone.strategy import StoppingStrategy

__all__ = ["MANY_CLASSES", "fitted", "vote_strategy"]

MANY_CLASSES = "with more than two classes, use SavingsDisplay.from_estimator, which shows the votes asked"


def fitted(estimator: Any, attribute: str) -> Any:
    """Return a fitted attribute, or say what kind of estimator has one."""
    if not hasattr(estimator, attribute):
        if attribute == "votes_" and isinstance(getattr(estimator, "strategy_", None), ScoreStrategy):
            raise InvalidInputError(
                "This classifier adds up scores, so there are no yes votes to draw: use EnvelopeDisplay or "
                'SavingsDisplay, or fit it with voting="hard"'
            )
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
    elif isinstance(strategy, PluralityStrategy):
        hint = f"a PluralityStrategy is for many answers; {MANY_CLASSES}"
    else:
        hint = f"not {type(strategy).__name__}; of a Solution, give its .strategy"
    raise InvalidInputError(f"{display} needs a StoppingStrategy, which counts votes: {hint}")

"""Ask the voters of an ensemble one by one; stop, provably optimally, once the outcome is foregone."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foregone import rules
from foregone.ballot import Ballot, Verdict
from foregone.errors import ForegoneError
from foregone.evaluation import Evaluation, evaluate
from foregone.planning import Plan, plan
from foregone.scores import ScoreStrategy, solve_scores
from foregone.solving import Certificate, Solution, certify, solve
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from foregone.classifier import EarlyStoppingClassifier, early_stop
    from foregone.polling import poll, poll_async, poll_many

__all__ = [
    "Ballot",
    "Certificate",
    "EarlyStoppingClassifier",
    "Evaluation",
    "ForegoneError",
    "Plan",
    "ScoreStrategy",
    "Solution",
    "StoppingStrategy",
    "Verdict",
    "VoteDistribution",
    "certify",
    "early_stop",
    "evaluate",
    "plan",
    "poll",
    "poll_async",
    "poll_many",
    "rules",
    "solve",
    "solve_scores",
]

__version__ = "0.1.0"


# What is imported when it is first asked for: scikit-learn alone takes a second, asyncio its share of one.
_LATER = {
    "EarlyStoppingClassifier": "classifier",
    "early_stop": "classifier",
    "poll": "polling",
    "poll_async": "polling",
    "poll_many": "polling",
}


def __getattr__(name: str) -> Any:
    """Import a front when it is first asked for."""
    if name in _LATER:
        globals()[name] = getattr(import_module(f"foregone.{_LATER[name]}"), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

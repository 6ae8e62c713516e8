"""Ask the voters of an ensemble one by one; stop, provably optimally, once the outcome is foregone."""

from typing import TYPE_CHECKING, Any

from foregone import rules
from foregone.errors import ForegoneError
from foregone.evaluation import Evaluation, evaluate
from foregone.planning import Plan, plan
from foregone.plurality import PluralityStrategy, solve_plurality
from foregone.scores import ScoreStrategy, solve_scores
from foregone.solving import Certificate, Solution, certify, solve
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

if TYPE_CHECKING:
    from foregone.classifier import EarlyStoppingClassifier, early_stop

__all__ = [
    "Certificate",
    "EarlyStoppingClassifier",
    "Evaluation",
    "ForegoneError",
    "Plan",
    "PluralityStrategy",
    "ScoreStrategy",
    "Solution",
    "StoppingStrategy",
    "VoteDistribution",
    "certify",
    "early_stop",
    "evaluate",
    "plan",
    "rules",
    "solve",
    "solve_plurality",
    "solve_scores",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the scikit-learn front when it is first asked for: scikit-learn alone takes a second."""
    if name in ("EarlyStoppingClassifier", "early_stop"):
        from foregone import classifier

        globals()[name] = getattr(classifier, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

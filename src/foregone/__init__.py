"""Ask the voters of an ensemble one by one and stop, provably optimally, once the outcome is settled."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foregone import answers as answers
    from foregone import display as display
    from foregone import errors as errors
    from foregone import forest as forest
    from foregone import integrations as integrations
    from foregone import monitoring as monitoring
    from foregone import plurality as plurality
    from foregone import rules
    from foregone import scores as scores
    from foregone.ballot import Ballot, Verdict
    from foregone.classifier import EarlyStoppingClassifier, early_stop
    from foregone.errors import ForegoneError
    from foregone.kinds import certify, evaluate, solve
    from foregone.labelled_votes import LabelledVotes
    from foregone.monitoring import Monitor
    from foregone.planning import Plan, plan
    from foregone.plurality import PluralityStrategy, solve_plurality
    from foregone.polling import poll, poll_async, poll_many
    from foregone.saved_file import load
    from foregone.scores import ScoreStrategy, solve_scores
    from foregone.solving import Certificate, Solution
    from foregone.strategy import Evaluation, StoppingStrategy
    from foregone.votes import VoteDistribution

__all__ = [
    "Ballot",
    "Certificate",
    "EarlyStoppingClassifier",
    "Evaluation",
    "ForegoneError",
    "LabelledVotes",
    "Monitor",
    "Plan",
    "PluralityStrategy",
    "ScoreStrategy",
    "Solution",
    "StoppingStrategy",
    "Verdict",
    "VoteDistribution",
    "certify",
    "early_stop",
    "evaluate",
    "load",
    "plan",
    "poll",
    "poll_async",
    "poll_many",
    "rules",
    "solve",
    "solve_plurality",
    "solve_scores",
]

__version__ = "0.1.0"

# The module of each public name, as imported above for type checkers; a test compares this with __all__. The
# modules are available without importing them by name: foregone.display.EnvelopeDisplay.
_MODULES = (
    "answers",
    "display",
    "errors",
    "forest",
    "integrations",
    "monitoring",
    "plurality",
    "rules",
    "scores",
)
_HOMES = {
    "ballot": ("Ballot", "Verdict"),
    "classifier": ("EarlyStoppingClassifier", "early_stop"),
    "errors": ("ForegoneError",),
    "kinds": ("certify", "evaluate", "solve"),
    "labelled_votes": ("LabelledVotes",),
    "monitoring": ("Monitor",),
    "planning": ("Plan", "plan"),
    "plurality": ("PluralityStrategy", "solve_plurality"),
    "polling": ("poll", "poll_async", "poll_many"),
    "saved_file": ("load",),
    "scores": ("ScoreStrategy", "solve_scores"),
    "solving": ("Certificate", "Solution"),
    "strategy": ("Evaluation", "StoppingStrategy"),
    "votes": ("VoteDistribution",),
}

if not TYPE_CHECKING:  # otherwise a type checker would accept any attribute name

    def __getattr__(name: str) -> Any:
        """Import a public name on first use: numba, scipy and scikit-learn take seconds to import."""
        if name in _MODULES:
            return importlib.import_module(f"foregone.{name}")
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = getattr(importlib.import_module(f"foregone.{home}"), name)
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Ask the voters of an ensemble one by one; stop, provably optimally, once the outcome is foregone."""

from foregone import rules
from foregone.errors import ForegoneError
from foregone.evaluation import Evaluation, evaluate
from foregone.solving import Certificate, Solution, certify, solve
from foregone.strategy import StoppingStrategy
from foregone.votes import VoteDistribution

__all__ = [
    "Certificate",
    "Evaluation",
    "ForegoneError",
    "Solution",
    "StoppingStrategy",
    "VoteDistribution",
    "certify",
    "evaluate",
    "rules",
    "solve",
]

__version__ = "0.1.0"

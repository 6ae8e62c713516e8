"""Strategies: what every kind shares, and those for votes between two answers, with cost, risk and files."""

from foregone.strategy.base import SolvedStrategy, Strategy
from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.strategy.stopping import StoppingStrategy

__all__ = ["Evaluation", "SolvedStrategy", "StoppingStrategy", "Strategy", "evaluate"]

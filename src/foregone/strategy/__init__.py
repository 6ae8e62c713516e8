"""Stopping strategies: the base of every kind, and those for two answers, with cost, risk and files."""

from foregone.strategy.base import SolvedStrategy, Strategy
from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.strategy.stopping import StoppingStrategy

__all__ = ["Evaluation", "SolvedStrategy", "StoppingStrategy", "Strategy", "evaluate"]

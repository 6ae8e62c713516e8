"""Strategies for votes between two answers: when to stop, what that costs and risks, how it is saved."""

from foregone.strategy.evaluation import Evaluation, evaluate
from foregone.strategy.stopping import StoppingStrategy

__all__ = ["Evaluation", "StoppingStrategy", "evaluate"]

"""Many answers."""
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.evaluation import evaluate_plurality
from foregone.plurality.strategy import PluralityStrategy

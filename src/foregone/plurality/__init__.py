"""Many answers: optimal early stopping of plurality votes, on the lattice of sorted counts.

The leader after all voters have been asked is correct; if several lead, each of them is. At a stop the answer
is the leader so far; among several, the one that was cast first.
"""

from foregone.plurality import rules
from foregone.plurality.bet import Bet
from foregone.plurality.class_votes import ClassVotes
from foregone.plurality.compositions import CompositionDistribution
from foregone.plurality.lattice import Lattice, lattice_of
from foregone.plurality.lattice_certificate import certify_plurality
from foregone.plurality.plurality_evaluation import PluralityEvaluation, evaluate_plurality
from foregone.plurality.plurality_solution import Evidence, PluralitySolution
from foregone.plurality.plurality_strategy import PluralityStrategy
from foregone.plurality.solve_plurality import solve_plurality

__all__ = [
    "Bet",
    "ClassVotes",
    "CompositionDistribution",
    "Evidence",
    "Lattice",
    "PluralityEvaluation",
    "PluralitySolution",
    "PluralityStrategy",
    "certify_plurality",
    "evaluate_plurality",
    "lattice_of",
    "rules",
    "solve_plurality",
]

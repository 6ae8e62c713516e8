"""Scores instead of votes: add them up in a fixed order and stop once the answer is settled."""

from foregone.scores import rules
from foregone.scores.class_scores import ClassScores
from foregone.scores.score_certificate import ScoreCertificate
from foregone.scores.score_rows import ScoreRows
from foregone.scores.score_strategy import ScoreStrategy
from foregone.scores.solve_scores import CannotCertifyWarning, ScoreEstimate, estimate_scores, solve_scores

__all__ = [
    "CannotCertifyWarning",
    "ClassScores",
    "ScoreCertificate",
    "ScoreEstimate",
    "ScoreRows",
    "ScoreStrategy",
    "estimate_scores",
    "rules",
    "solve_scores",
]

"""Scores instead of votes: add them up in one fixed order and stop when the sign of the sum is foregone."""

from foregone.scores import rules
from foregone.scores.score_certificate import ScoreCertificate
from foregone.scores.score_rows import ScoreRows
from foregone.scores.score_strategy import ScoreStrategy
from foregone.scores.solve_scores import CannotCertifyWarning, ScoreEstimate, estimate_scores, solve_scores

__all__ = [
    "CannotCertifyWarning",
    "ScoreCertificate",
    "ScoreEstimate",
    "ScoreRows",
    "ScoreStrategy",
    "estimate_scores",
    "rules",
    "solve_scores",
]

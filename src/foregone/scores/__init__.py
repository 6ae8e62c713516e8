"""Scores instead of votes: add them up in one fixed order and stop when the sign of the sum is foregone."""

from foregone.scores import rules
from foregone.scores.certificate import ScoreCertificate
from foregone.scores.solve import CannotCertifyWarning, solve_scores
from foregone.scores.strategy import ScoreStrategy

__all__ = ["CannotCertifyWarning", "ScoreCertificate", "ScoreStrategy", "rules", "solve_scores"]

"""Rules on scores to stand next to `solve_scores`; each returns a ScoreStrategy that promises nothing."""

from foregone.scores.rules.constant_margin import constant_margin
from foregone.scores.rules.lightgbm_margin import lightgbm_margin
from foregone.scores.rules.qwyc import qwyc

__all__ = ["constant_margin", "lightgbm_margin", "qwyc"]

"""Which family of thresholds to use, and how bold: decided by cross-validation within the learning half."""

from __future__ import annotations

import numpy as np

from foregone.scores.families import CANDIDATES, RATIOS, Family, everywhere
from foregone.scores.paths import IntArray
from foregone.scores.strategy import ScoreStrategy
from foregone.scores.trial import Trial

__all__ = ["choose_family"]

FOLDS = 3
HALVINGS = 7


def choose_family(learn: Trial, steps: IntArray) -> tuple[Family, float]:
    """Return the family that asks fewest voters where it would just be certified, and that boldness.

    Every family is learned on all folds but one and tried on that one. The folds together are as many rows
    as there will be to certify on, so that the same bound shows how bold one may hope to be. The boldness is
    found by halving, as if disagreement only grew with it: nothing that is promised depends on that.
    """
    fold_of = np.arange(len(learn.running)) % FOLDS
    parts = [
        (learn.part(np.flatnonzero(fold_of != fold)), learn.part(np.flatnonzero(fold_of == fold)))
        for fold in range(FOLDS)
    ]
    order = np.arange(learn.n_voters, dtype=np.int64)
    best = np.inf, CANDIDATES[0], 0.0
    for family in _candidates(learn):
        rules = [(family.learn(rest.running, steps, learn.limit), tried) for rest, tried in parts]
        bold_enough, too_bold, cost = 0.0, 1.0, np.inf
        for _ in range(HALVINGS):
            boldness = (bold_enough + too_bold) / 2
            outcomes = [
                tried.outcome(ScoreStrategy(order, 0.0, *everywhere(learn.n_voters, steps, rule(boldness))))
                for rule, tried in rules
            ]
            judged = learn.judge(outcomes, 0)
            if judged.is_kept:
                bold_enough, cost = boldness, judged.mean_asked
            else:
                too_bold = boldness
        if cost < best[0]:
            best = cost, family, bold_enough
    return best[1], best[2]


def _candidates(learn: Trial) -> tuple[Family, ...]:
    """Return the families to choose from; with a limit for each answer, also how the two are weighed."""
    if not learn.by_class:
        return CANDIDATES
    chances = [family for family in CANDIDATES if family.name == "chance"]
    return CANDIDATES + tuple(Family("chance", chances[-1].late, ratio) for ratio in RATIOS)

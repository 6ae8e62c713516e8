"""The public names: a name added or lost is a decision, so it is made here too."""

from __future__ import annotations

import importlib
import pkgutil

import foregone
from foregone import plurality, rules, scores

PUBLIC = [
    "Certificate",
    "EarlyStoppingClassifier",
    "Evaluation",
    "ForegoneError",
    "Plan",
    "PluralityStrategy",
    "ScoreStrategy",
    "Solution",
    "StoppingStrategy",
    "VoteDistribution",
    "certify",
    "early_stop",
    "evaluate",
    "plan",
    "rules",
    "solve",
    "solve_plurality",
    "solve_scores",
]

RULES = ["adaptive_consistency", "curtailment", "e_process", "esc", "ibep", "lead", "schwing"]


def test_the_public_names_are_these():
    assert foregone.__all__ == PUBLIC


def test_the_rules_are_these():
    assert rules.__all__ == RULES


def test_every_public_name_exists_and_is_documented():
    for home in (foregone, rules, scores, scores.rules, plurality, plurality.rules):
        for name in home.__all__:
            assert getattr(home, name).__doc__, name


def test_every_name_a_module_exports_exists():
    found = [
        *pkgutil.walk_packages(plurality.__path__, "foregone.plurality."),
        *pkgutil.walk_packages(rules.__path__, "foregone.rules."),
        *pkgutil.walk_packages(scores.__path__, "foregone.scores."),
    ]
    names = ["errors", "evaluation", "strategy", "strategy_file", "votes"]
    modules = [f"foregone.{name}" for name in names] + [module.name for module in found]
    assert len(modules) > len(names)
    for module in map(importlib.import_module, modules):
        for name in module.__all__:
            assert hasattr(module, name), f"{module.__name__}.{name}"

"""The public names: a name added or lost is a decision, so it is made here too."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import foregone
from foregone import plurality, rules, scores

PUBLIC = [
    "Ballot",
    "Certificate",
    "EarlyStoppingClassifier",
    "Evaluation",
    "ForegoneError",
    "LabelledVotes",
    "Monitor",
    "Plan",
    "PluralityStrategy",
    "ScoreStrategy",
    "Solution",
    "StoppingStrategy",
    "Verdict",
    "VoteDistribution",
    "certify",
    "early_stop",
    "evaluate",
    "load",
    "plan",
    "poll",
    "poll_async",
    "poll_many",
    "rules",
    "solve",
    "solve_plurality",
    "solve_scores",
]

RULES = [
    "adaptive_consistency",
    "cite",
    "curtailment",
    "e_process",
    "esc",
    "ibep",
    "lead",
    "learned_prior",
    "quorum",
    "schwing",
]


def test_the_public_names_are_these():
    assert foregone.__all__ == PUBLIC


def test_every_public_name_is_the_one_that_its_home_exports():
    homes = {name: home for home, names in foregone._HOMES.items() for name in names}
    assert sorted([*homes, "rules"]) == foregone.__all__
    for name, home in homes.items():
        assert getattr(foregone, name) is getattr(importlib.import_module(f"foregone.{home}"), name)


def test_the_modules_with_public_names_are_reached_without_importing_them():
    code = "import foregone; print(foregone.display.EnvelopeDisplay.__name__, foregone.scores.rules.__name__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["EnvelopeDisplay", "foregone.scores.rules"]
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        foregone.bogus  # noqa: B018  # to ask for it is the test


def test_the_rules_are_these():
    assert rules.__all__ == RULES


def test_every_public_name_exists_and_is_documented():
    for home in (foregone, rules, scores, scores.rules, plurality, plurality.rules):
        for name in home.__all__:
            assert getattr(home, name).__doc__, name


def test_every_name_a_module_exports_exists():
    optional = ("foregone.scale.dask", "foregone.scale.spark", "foregone.integrations", "foregone.__main__")
    found = [module.name for module in pkgutil.walk_packages(foregone.__path__, "foregone.")]
    modules = [name for name in found if not name.startswith(("foregone._", *optional))]
    assert len(modules) > 100
    for module in map(importlib.import_module, modules):
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{module.__name__}.{name}"

"""Integrations: early stopping in Inspect evals and DSPy programs.

Each needs its own package, so names are imported on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foregone.integrations.dspy_module import MajorityVote
    from foregone.integrations.inspect_early_stopping import ForegoneEarlyStopping

__all__ = ["ForegoneEarlyStopping", "MajorityVote"]

_HOMES = {"ForegoneEarlyStopping": "inspect_early_stopping", "MajorityVote": "dspy_module"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import one of the two names; the package of the other need not be installed."""
        if name in _HOMES:
            return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Packed forests: trees as compact arrays, asked one by one until a strategy stops.

`PackedForest` counts votes between two classes, `PluralityForest` counts votes among any number of classes,
and `ScoredForest` adds up scores. All are subclasses of `Forest`: made from a fitted model by an importer
(one file per kind of model), run by compiled loops, saved without pickle.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foregone.forest.forest import Forest
    from foregone.forest.packed import PackedForest
    from foregone.forest.plurality_forest import PluralityForest, PluralityOutcome
    from foregone.forest.schedule import FixedOrder
    from foregone.forest.scored import ScoredForest, ScoreOutcome

__all__ = [
    "FixedOrder",
    "Forest",
    "PackedForest",
    "PluralityForest",
    "PluralityOutcome",
    "ScoreOutcome",
    "ScoredForest",
]

# Where each name lives, as imported above for type checkers: a kind of forest needs nothing of the others.
_HOMES = {
    "FixedOrder": "schedule",
    "Forest": "forest",
    "PackedForest": "packed",
    "PluralityForest": "plurality_forest",
    "PluralityOutcome": "plurality_forest",
    "ScoreOutcome": "scored",
    "ScoredForest": "scored",
}

if not TYPE_CHECKING:  # a type checker would take it for a promise of every name there could be

    def __getattr__(name: str) -> Any:
        """Import a name when it is first asked for."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        return globals()[name]

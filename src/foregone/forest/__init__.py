"""Packed forests: trees as compact arrays, asked one by one until a strategy stops.

`PackedForest` counts votes between two classes, `PluralityForest` among any number of them, `ScoredForest`
adds up scores; all are a `Forest`. Each is made from a fitted model by an importer (one file per kind of
model), run by compiled loops, saved without pickle.
"""

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

"""The names of the paper's datasets, what the paper says of them, and their numbers at UCI and OpenML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from foregone.errors import InvalidInputError

__all__ = ["KNOWN", "KnownDataset", "check_names"]


class KnownDataset(NamedTuple):
    """What the paper says of a dataset, and where it is to be had."""

    name: str
    paper_name: str
    group: str
    identifier: int
    rows: int
    features: int
    classes: int
    share_of_largest: float


_UCI = (
    ("ground_cover", "Ground Cover", 31, 581_012, 54, 7, 0.488),
    ("income", "Income", 117, 199_523, 41, 2, 0.938),
    ("diabetes", "Diabetes", 891, 253_680, 21, 2, 0.861),
    ("skin", "Skin", 229, 245_057, 3, 2, 0.792),
    ("sepsis", "Sepsis", 827, 110_341, 3, 2, 0.926),
    ("dota2", "Dota2", 367, 102_944, 115, 2, 0.527),
    ("hospitalization", "Hospitalization", 296, 101_766, 47, 3, 0.539),
    ("shuttle", "Shuttle", 148, 58_000, 7, 7, 0.786),
)
# The balanced sets for classification of Grinsztajn, Oyallon and Varoquaux (2022), with OpenML's numbers.
_BENCHMARK = (
    ("credit", 44089, 16_714, 10),
    ("california", 44090, 20_634, 8),
    ("wine", 44091, 2_554, 11),
    ("electricity", 44156, 38_474, 8),
    ("covertype", 44159, 423_680, 54),
    ("pol", 44122, 10_082, 26),
    ("house_16H", 44123, 13_488, 16),
    ("kdd_ipums_la_97-small", 44124, 5_188, 20),
    ("MagicTelescope", 44125, 13_376, 10),
    ("bank-marketing", 44126, 10_578, 7),
    ("phoneme", 44127, 3_172, 5),
    ("MiniBooNE", 44128, 72_998, 50),
    ("Higgs", 44129, 940_160, 24),
    ("eye_movements", 44157, 7_608, 23),
    ("jannis", 44131, 57_580, 54),
    ("KDDCup09_upselling", 44158, 5_128, 49),
    ("rl", 44160, 4_970, 12),
    ("road-safety", 44161, 111_762, 32),
    ("compass", 44162, 16_644, 17),
)

KNOWN: Mapping[str, KnownDataset] = MappingProxyType(
    {row[0]: KnownDataset(row[0], row[1], "uci", *row[2:]) for row in _UCI}
    | {row[0]: KnownDataset(row[0], row[0], "benchmark", *row[1:], 2, 0.5) for row in _BENCHMARK}
)


def check_names(names: Iterable[str]) -> list[str]:
    """Return the names in the paper's order, each once, or say which ones there are."""
    wanted = {name.strip() for name in names}
    unknown = sorted(wanted - KNOWN.keys())
    if unknown or not wanted:
        found = f"no dataset is called {', '.join(map(repr, unknown))}" if unknown else "name a dataset"
        raise InvalidInputError(f"{found}; there are {', '.join(KNOWN)}")
    return [name for name in KNOWN if name in wanted]

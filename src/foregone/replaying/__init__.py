"""Replay recorded votes: how many votes each stopping rule would have asked, and how often it disagrees."""

from foregone.replaying.items import Items, Measured, PluralityItems, YesNoItems
from foregone.replaying.recorded import RecordedVotes, are_yes_or_no
from foregone.replaying.recorded_files import read_votes
from foregone.replaying.splits import Curve, Replay, ReplayRow, replay
from foregone.rules.methods import Method
from foregone.rules.registry import REPLAYED, choose_methods, rule_names

METHOD_NAMES, USUAL_METHODS = rule_names(), REPLAYED["two"]  # for two answers

__all__ = [
    "METHOD_NAMES",
    "USUAL_METHODS",
    "Curve",
    "Items",
    "Measured",
    "Method",
    "PluralityItems",
    "RecordedVotes",
    "Replay",
    "ReplayRow",
    "YesNoItems",
    "are_yes_or_no",
    "choose_methods",
    "read_votes",
    "replay",
]

"""Replaying recorded votes: what each way to stop would have asked, and how often it would have disagreed."""

from foregone.replaying.file import read_votes
from foregone.replaying.many_answers import PluralityItems
from foregone.replaying.methods import (
    METHOD_NAMES,
    PLURALITY,
    USUAL_METHODS,
    YES_NO,
    Catalogue,
    Method,
    choose_methods,
)
from foregone.replaying.recorded import RecordedVotes
from foregone.replaying.splits import Curve, Measured, Replay, ReplayRow, replay
from foregone.replaying.two_answers import YesNoItems, are_yes_or_no

__all__ = [
    "METHOD_NAMES",
    "PLURALITY",
    "USUAL_METHODS",
    "YES_NO",
    "Catalogue",
    "Curve",
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

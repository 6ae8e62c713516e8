"""Replaying recorded votes: what each way to stop would have asked, and how often it would have disagreed."""

from foregone.replaying.file import read_votes
from foregone.replaying.methods import METHOD_NAMES, USUAL_METHODS, Method, choose_methods
from foregone.replaying.recorded import RecordedVotes
from foregone.replaying.replay import Curve, Measured, Replay, ReplayRow, replay
from foregone.replaying.yes_no import YesNoItems

__all__ = [
    "METHOD_NAMES",
    "USUAL_METHODS",
    "Curve",
    "Measured",
    "Method",
    "RecordedVotes",
    "Replay",
    "ReplayRow",
    "YesNoItems",
    "choose_methods",
    "read_votes",
    "replay",
]

"""Pictures of stopping strategies, plans and replays: as text for a terminal, and with matplotlib."""

from foregone.display.envelope import EnvelopeDisplay
from foregone.display.replay import ReplayDisplay
from foregone.display.shape import EnvelopeShape, envelope_shape
from foregone.display.terminal import envelope_picture
from foregone.display.tradeoff import TradeoffDisplay

__all__ = [
    "EnvelopeDisplay",
    "EnvelopeShape",
    "ReplayDisplay",
    "TradeoffDisplay",
    "envelope_picture",
    "envelope_shape",
]

"""Pictures of stopping strategies: as text for a terminal, and with matplotlib."""

from foregone.display.envelope import EnvelopeDisplay
from foregone.display.shape import EnvelopeShape, envelope_shape
from foregone.display.terminal import envelope_picture

__all__ = ["EnvelopeDisplay", "EnvelopeShape", "envelope_picture", "envelope_shape"]

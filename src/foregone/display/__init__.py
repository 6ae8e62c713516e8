"""Pictures of stopping strategies, votes, plans and replays: as text for a terminal, and with matplotlib.

The displays are made in scikit-learn's manner: ``from_estimator``, ``from_strategy`` and others compute and
draw, ``plot`` draws again, ``figure_`` and ``ax_`` are what was drawn into.
"""

from foregone.display.envelope import EnvelopeDisplay
from foregone.display.replay_display import ReplayDisplay
from foregone.display.risk import RiskDisplay
from foregone.display.savings import SavingsDisplay
from foregone.display.shape import EnvelopeShape, ScoreShape, envelope_shape, score_shape
from foregone.display.state_flow import StateFlow, state_flow
from foregone.display.state_graph import StateGraphDisplay
from foregone.display.terminal import envelope_picture
from foregone.display.tradeoff import TradeoffDisplay
from foregone.display.tradeoff_curves import TradeoffCurve
from foregone.display.vote_distribution import VoteDistributionDisplay

__all__ = [
    "EnvelopeDisplay",
    "EnvelopeShape",
    "ReplayDisplay",
    "RiskDisplay",
    "SavingsDisplay",
    "ScoreShape",
    "StateFlow",
    "StateGraphDisplay",
    "TradeoffCurve",
    "TradeoffDisplay",
    "VoteDistributionDisplay",
    "envelope_picture",
    "envelope_shape",
    "score_shape",
    "state_flow",
]

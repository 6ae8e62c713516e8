"""Plots of stopping strategies, votes, plans, replays and monitors: as text, and with matplotlib.

The displays follow scikit-learn's display API: ``from_estimator``, ``from_strategy`` and others compute and
draw, ``plot`` draws again, ``figure_`` and ``ax_`` hold the figure and axes.
"""

from foregone.display.envelope import EnvelopeDisplay
from foregone.display.monitor_curves import EvidenceCurve, VoteSpread
from foregone.display.monitor_display import MonitorDisplay
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
    "EvidenceCurve",
    "MonitorDisplay",
    "ReplayDisplay",
    "RiskDisplay",
    "SavingsDisplay",
    "ScoreShape",
    "StateFlow",
    "StateGraphDisplay",
    "TradeoffCurve",
    "TradeoffDisplay",
    "VoteDistributionDisplay",
    "VoteSpread",
    "envelope_picture",
    "envelope_shape",
    "score_shape",
    "state_flow",
]

"""Watching a promise in use: whether rows stop where they did, and answers agree with those of everyone."""

from foregone.monitoring.monitor import Monitor, MonitorWarning
from foregone.monitoring.monitor_state import Alarm, Moment, MonitorState
from foregone.monitoring.stops import Stops

__all__ = ["Alarm", "Moment", "Monitor", "MonitorState", "MonitorWarning", "Stops"]

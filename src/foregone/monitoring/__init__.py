"""Watching a promise in use: do rows still stop where they did, and do answers still agree with everyone's?"""

from foregone.monitoring.monitor import Monitor, MonitorWarning
from foregone.monitoring.monitor_state import Alarm, MonitorState, Moment
from foregone.monitoring.stops import Stops

__all__ = ["Alarm", "Moment", "Monitor", "MonitorState", "MonitorWarning", "Stops"]

"""Monitor a promise in production: whether rows stop as at calibration, and answers match full votes."""

from foregone.monitoring.monitor import Monitor, MonitorWarning
from foregone.monitoring.monitor_state import Alarm, Moment, MonitorState
from foregone.monitoring.stops import Stops

__all__ = ["Alarm", "Moment", "Monitor", "MonitorState", "MonitorWarning", "Stops"]

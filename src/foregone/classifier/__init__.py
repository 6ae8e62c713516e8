"""The scikit-learn interface: turns an ensemble into a classifier that stops asking its voters early."""

from foregone.classifier.calibration_warnings import CalibrationWarning, HardVoteWarning, RareClassWarning
from foregone.classifier.early_stop import early_stop
from foregone.classifier.estimator import EarlyStoppingClassifier
from foregone.scores import CannotCertifyWarning

__all__ = [
    "CalibrationWarning",
    "CannotCertifyWarning",
    "EarlyStoppingClassifier",
    "HardVoteWarning",
    "RareClassWarning",
    "early_stop",
]

"""Link: from the sums of all scores to the probabilities that the estimator itself would return."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are loaded when first used, and take a while

from foregone.strategy.json_file import Fields

__all__ = ["Calibration", "Link"]


LinkKind = Literal["mean", "logistic", "softmax"]
CalibrationMethod = Literal["sigmoid", "isotonic", "temperature"]

SMALLEST = 1e-12  # what scikit-learn adds to probabilities before it takes their logarithm


class Calibration(NamedTuple):
    """How a calibrated model of two classes turns its ensemble's output into probabilities.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
        The curve, as `sklearn.calibration.CalibratedClassifierCV` names it.
    numbers : tuple of float
        The fitted parameters: slope and intercept of "sigmoid"; the inverse "temperature"; for "isotonic" the
        positions of the knots, ascending, followed by their values.
    slope : float or None
        The curve is applied to the ensemble's sum times this; None if it is applied to its probability.

    Examples
    --------
    >>> Calibration("isotonic", (0.2, 0.6, 0.0, 1.0), None).curve(np.array([0.1, 0.3, 0.9]))
    array([0.  , 0.25, 1.  ])
    """

    method: CalibrationMethod
    numbers: tuple[float, ...]
    slope: float | None

    def curve(self, response: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the calibrated probability of yes, given the ensemble's response."""
        if self.method == "sigmoid":
            slope, intercept = self.numbers
            return np.asarray(scipy.special.expit(-(slope * response + intercept)))
        if self.method == "temperature":
            log_odds = 2 * response
            if self.slope is None:
                log_odds = np.log(response + SMALLEST) - np.log(1 - response + SMALLEST)
            return np.asarray(scipy.special.expit(self.numbers[0] * log_odds))
        positions, values = np.array(self.numbers).reshape(2, -1)
        return np.asarray(np.interp(response, positions, values))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        return {**self._asdict(), "numbers": list(self.numbers)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Calibration:
        """Check the output of `to_fields` and make the calibration."""
        method = fields.text("method")
        if method not in get_args(CalibrationMethod):
            raise fields.error("method", 'must be "sigmoid", "isotonic" or "temperature"')
        numbers = fields.numbers("numbers", {"sigmoid": 2, "temperature": 1}.get(method))
        if method == "isotonic" and (len(numbers) < 2 or len(numbers) % 2):
            raise fields.error("numbers", "must hold the positions of the knots and one value for each")
        if method == "isotonic" and (np.diff(numbers[: len(numbers) // 2]) < 0).any():
            raise fields.error("numbers", "must hold the positions of the knots in ascending order")
        slope = fields.number("slope") if "slope" in fields else None
        return cls(cast(CalibrationMethod, method), tuple(numbers.tolist()), slope)


class Link(NamedTuple):
    """How full sums are turned into probabilities.

    Attributes
    ----------
    kind : {"mean", "logistic", "softmax"}
        For two classes, the sum is one of probabilities minus one half ("mean"), or log odds. For more, each
        class's sum is one of its probabilities ("mean"), or its log odds against all others ("logistic"), or
        the sums are the inputs of a softmax.
    scale : float
        Factor applied to the sums first: one over the sum of the weights, for a mean.
    calibration : Calibration or None
        How the probability is then calibrated, for two classes; None if it is not.
    shift : float
        For two classes: what was added to the ensemble's own sums so that those above 0 say yes. It is
        subtracted again before anything else.

    Examples
    --------
    >>> Link("mean", 0.25).probability(np.array([-2.0, 0.0, 1.0]))
    array([0.  , 0.5 , 0.75])
    >>> Link("mean", 0.25, shift=1.0).probability(np.array([0.0]))
    array([0.25])
    >>> Link("softmax", 1.0).probability(np.log([[1.0, 2.0, 5.0]])).round(3)
    array([[0.125, 0.25 , 0.625]])
    """

    kind: LinkKind
    scale: float
    calibration: Calibration | None = None
    shift: float = 0.0

    def probability(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the probability of yes for each full sum, or of each class for sums of many classes."""
        if self.shift:
            scores = scores - self.shift
        if self.calibration is not None:
            if self.calibration.slope is not None:
                return self.calibration.curve(self.calibration.slope * scores)
            return self.calibration.curve(Link(self.kind, self.scale).probability(scores))
        scaled = self.scale * scores
        if self.kind == "softmax":
            return np.asarray(scipy.special.softmax(scaled, axis=-1))
        if self.kind == "logistic":
            return np.asarray(scipy.special.expit(scaled))
        return scaled if scores.ndim == 2 else np.clip(0.5 + scaled, 0.0, 1.0)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        fields: dict[str, Any] = {"kind": self.kind, "scale": self.scale}
        if self.calibration is not None:
            fields["calibration"] = self.calibration.to_fields()
        if self.shift:
            fields["shift"] = self.shift
        return fields

    @classmethod
    def from_fields(cls, fields: Fields) -> Link:
        """Check the output of `to_fields` and make the link."""
        if fields.text("kind") not in get_args(LinkKind):
            raise fields.error("kind", 'must be "mean", "logistic" or "softmax"')
        scale = fields.number("scale")
        if scale <= 0:
            raise fields.error("scale", "must be above 0")
        calibration, shift = None, fields.number("shift") if "shift" in fields else 0.0
        if "calibration" in fields:
            section = fields.section("calibration")
            calibration = Calibration.from_fields(section)
            shift = section.number("shift") if "shift" in section else shift  # where older files have it
        return cls(cast(LinkKind, fields.text("kind")), scale, calibration, shift)

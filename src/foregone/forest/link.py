"""Link: from the sums of all scores to the probabilities that an estimator itself would tell."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from foregone.strategy.json_file import Fields

__all__ = ["Link"]


Kind = Literal["mean", "logistic", "softmax"]


class Link(NamedTuple):
    """How full sums become probabilities.

    Attributes
    ----------
    kind : {"mean", "logistic", "softmax"}
        Of two classes: the sum is that of probabilities less one half, or it is a log odds. Of more: each
        class's sum is that of its probabilities, or of its log odds against all others taken alone, or the
        sums are log odds of one class to another.
    scale : float
        What sums are multiplied with first: one over the sum of the weights, for a mean.

    Examples
    --------
    >>> Link("mean", 0.25).probability(np.array([-2.0, 0.0, 1.0]))
    array([0.  , 0.5 , 0.75])
    >>> Link("softmax", 1.0).probability(np.log([[1.0, 2.0, 5.0]])).round(3)
    array([[0.125, 0.25 , 0.625]])
    """

    kind: Kind
    scale: float

    def probability(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the probability of yes for each full sum, or of each class for sums of many classes."""
        scaled = self.scale * scores
        if self.kind == "softmax":
            return np.asarray(softmax(scaled, axis=-1))
        if self.kind == "logistic":
            return np.asarray(expit(scaled))
        return scaled if scores.ndim == 2 else np.clip(0.5 + scaled, 0.0, 1.0)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        return self._asdict()

    @classmethod
    def from_fields(cls, fields: Fields) -> Link:
        """Check what `to_fields` gave and make the link."""
        if fields.text("kind") not in get_args(Kind):
            raise fields.error("kind", 'must be "mean", "logistic" or "softmax"')
        scale = fields.number("scale")
        if scale <= 0:
            raise fields.error("scale", "must be above 0")
        return cls(cast(Kind, fields.text("kind")), scale)

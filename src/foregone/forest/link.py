"""Link: from the sum of all scores to the probability that an estimator itself would tell."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from foregone.strategy.json_file import Fields

__all__ = ["Link"]


class Link(NamedTuple):
    """How a full sum becomes the probability of yes.

    Attributes
    ----------
    kind : {"mean", "logistic"}
        The sum is that of probabilities less one half, or it is a log odds.
    scale : float
        What the sum is multiplied with first: one over the sum of the weights, for a mean.

    Examples
    --------
    >>> Link("mean", 0.25).probability(np.array([-2.0, 0.0, 1.0]))
    array([0.  , 0.5 , 0.75])
    """

    kind: Literal["mean", "logistic"]
    scale: float

    def probability(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the probability of yes for each full sum."""
        scaled = self.scale * scores
        if self.kind == "logistic":
            return np.asarray(expit(scaled))
        return np.clip(0.5 + scaled, 0.0, 1.0)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        return self._asdict()

    @classmethod
    def from_fields(cls, fields: Fields) -> Link:
        """Check what `to_fields` gave and make the link."""
        if fields.text("kind") not in ("mean", "logistic"):
            raise fields.error("kind", 'must be "mean" or "logistic"')
        scale = fields.number("scale")
        if scale <= 0:
            raise fields.error("scale", "must be above 0")
        return cls(cast(Literal["mean", "logistic"], fields.text("kind")), scale)

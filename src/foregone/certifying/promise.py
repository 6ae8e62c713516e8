"""Promise: the guarantee of a classifier, as values and in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from foregone.certifying.parts import Judged, by_part
from foregone.strategy.json_file import Fields, is_finite_number
from foregone.strategy.limits import Criterion, Limits, MaxDisagreement, as_given, by_side, traits_of

__all__ = ["About", "Loss", "Promise"]

About = Literal["classifier", "orders"]
Loss = Literal[
    "disagreement", "disagreement of every row", "values", "values of every row", "accuracy", "cost"
]


@dataclass(frozen=True)
class Promise:
    """The guarantee of a classifier; ``str()`` returns it as one sentence.

    Attributes
    ----------
    about : {"classifier", "orders"}
        Whether the guarantee is about the classifier as it runs, in its own order of voters, or about the
        mean over random orders of the voters, of which it uses one or a few.
    loss : {"disagreement", "disagreement of every row", "values", "values of every row", "accuracy", "cost"}
        What is limited. "disagreement": the share of rows whose answer differs from the full vote;
        "... of every row": the probability of this for every single row. "values": the same, weighted by the
        given values. "accuracy": how far the accuracy is below that of the full vote. "cost": how far the
        mean cost of a row is above that of the full vote.
    limit : float or dict
        The largest allowed loss; with limits by class, one for each label. Disagreement is limited among
        rows with this full vote, accuracy among rows with this true class.
    confidence : float or None
        The probability, over the sample of calibration rows, that the limit holds on new rows. 1 if it always
        holds; None if the calibration rows are treated as the true distribution, or no rows are needed.
    bound : float or dict
        The upper bound that was compared with the limit; by class, by group, or by both. The strategy was
        chosen by this bound, so the guarantee is the limit, not the bound.
    n_rows : int
        Number of certification rows, or of calibration rows; 0 if the guarantee needs none.
    groups : tuple
        The groups that each keep the limit.
    in_clusters : bool
        Whether each cluster of dependent rows counts as one observation.
    rows_to_certify : int or None
        Number of calibration rows needed to certify the classifier itself, if it is not certified.

    Examples
    --------
    >>> promise = Promise("classifier", "disagreement", 0.001, 0.95, 0.0008, 16_000)
    >>> print(promise)  # doctest: +NORMALIZE_WHITESPACE
    With 95 % confidence, this classifier disagrees with its full vote on at most 0.001 of new rows,
    if they are like the 16,000 it was certified on.
    """

    about: About
    loss: Loss
    limit: float | dict[Any, float]
    confidence: float | None
    bound: float | dict[Any, float]
    n_rows: int
    groups: tuple[Any, ...] = ()
    in_clusters: bool = False
    rows_to_certify: int | None = None

    @classmethod
    def certified(
        cls,
        judged: tuple[Judged, ...],
        confidence: float,
        n_rows: int,
        *,
        about: About = "classifier",
        loss: Loss = "disagreement",
        unit: float = 1.0,
        **how: Any,
    ) -> Promise:
        """Return the promise that follows from the certification rows.

        ``unit`` is the size of a loss of 1; ``how`` holds whether rows are in clusters.
        """
        return cls(
            about,
            loss,
            as_given({part.side: part.limit * unit for part in judged}),
            confidence,
            by_part({(part.side, part.group): part.bound * unit for part in judged}),
            n_rows,
            tuple(dict.fromkeys(part.group for part in judged if part.group is not None)),
            **how,
        )

    @classmethod
    def certain(cls, limit: float | dict[Any, float]) -> Promise:
        """Return the promise of a strategy that stops only when the rest cannot change the answer."""
        return cls("classifier", "disagreement of every row", limit, 1.0, 0.0, 0)

    @classmethod
    def over_orders(
        cls,
        criterion: Criterion,
        limit: MaxDisagreement,
        confidence: float | None,
        bound: MaxDisagreement,
        n_rows: int,
        rows_to_certify: int | None = None,
        loss: Loss = "disagreement",
    ) -> Promise:
        """Return the promise on average over random orders of the voters, for a criterion."""
        if not traits_of(criterion).bounds_the_mean:
            every: Loss = "values of every row" if loss == "values" else "disagreement of every row"
            return cls("orders", every, limit, None, bound, 0)
        return cls("orders", loss, limit, confidence, bound, n_rows, rows_to_certify=rows_to_certify)

    @property
    def is_by_rows(self) -> bool:
        """Whether rows certify it, rather than the proof of a solution."""
        by_labels = self.loss in ("accuracy", "cost") and self.confidence is not None
        return self.about == "classifier" or by_labels

    def labelled(self, classes: Sequence[Any]) -> Promise:
        """Return the promise with the keys "no" and "yes" replaced by class labels."""
        names = dict(zip(("no", "yes"), classes, strict=False))

        def renamed(given: Any) -> Any:
            if not isinstance(given, dict) or not isinstance(self.limit, dict):
                return given
            return {
                (names[key[0]], key[1]) if isinstance(key, tuple) else names[key]: value
                for key, value in given.items()
            }

        return replace(self, limit=renamed(self.limit), bound=renamed(self.bound))

    # In words --------------------------------------------------------------------------------

    def __str__(self) -> str:
        sure = "" if self.confidence is None else f"with {100 * self.confidence:g} % confidence, "
        if self.confidence == 1:
            said = (
                "this classifier always agrees with its full vote: it stops only when the voters not yet "
                "asked cannot change the answer"
            )
        elif self.about == "classifier":
            counted = ", counting each cluster once" if self.in_clusters else ""
            groups = f" in each of {len(self.groups)} groups" if self.groups else ""
            like = f"like the {self.n_rows:,} it was certified on{counted}"
            said = f"{sure}{self._kept_by('this classifier')}{groups}, if they are {like}"
        elif self.loss in ("accuracy", "cost"):
            groups = f" in each of {len(self.groups)} groups" if self.groups else ""
            rows = "new rows" if self.confidence else f"the {self.n_rows:,} rows observed"
            like = f", if they are like the {self.n_rows:,} observed" if self.confidence else ""
            said = (
                f"{sure}{self._kept_by('stopping early', rows, 'the')}{groups}{like}, on average over random "
                "orders of the voters"
            )
        else:
            inputs = f"new inputs like the {self.n_rows:,} observed"
            if self.confidence is None:
                inputs = f"the {self.n_rows:,} inputs observed" if self.n_rows else "the inputs assumed"
            whom = (
                "for every input, on average"
                if self.loss.endswith("of every row")
                else f"on average over {inputs} and"
            )
            what = "the disagreement with the full vote"
            if self.loss.startswith("values"):
                what = f"the loss, {what} times its value,"
            said = f"{sure}{what} is at most {self._limits()}, {whom} over random orders of the voters"
        if self.rows_to_certify is not None:
            said += f"; {self.rows_to_certify:,} calibration rows would certify the classifier itself"
        return f"{said[0].upper()}{said[1:]}."

    def _kept_by(self, whom: str, rows: str = "new rows", whose: str = "its") -> str:
        """Return the limited quantity and the limit in words."""
        if self.loss == "accuracy":
            lost = f"at most {self._limits()} below that of {whose} full vote"
            return f"the accuracy of {whom} on {rows} is {lost}"
        if self.loss == "cost":
            lost = f"at most {self._limits()} above that of {whose} full vote"
            return f"the mean cost of {whom} on {rows} is {lost}"
        return f"{whom} disagrees with its full vote on at most {self._limits(rows)}"

    def _limits(self, rows: str = "") -> str:
        """Return the limit, or the limits of the classes, in words, with the rows that they are shares of."""
        of_rows = f" of {rows}" if rows else ""
        if not isinstance(self.limit, Mapping):
            return f"{self.limit:g}{of_rows}"
        if self.loss == "accuracy":
            return " and ".join(f"{limit:g} for class {label!r}" for label, limit in self.limit.items())
        verb = "voted" if rows else "for inputs voted"
        return " and ".join(f"{limit:g}{of_rows} {verb} {label!r}" for label, limit in self.limit.items())

    # Files -----------------------------------------------------------------------------------

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file, with limits by "yes" and "no"."""
        return {
            "about": self.about,
            "loss": self.loss,
            "limit": self.limit,
            "confidence": self.confidence,
            "bound": [[*self._part_of(key), value] for key, value in by_side(self.bound).items()],
            "n_rows": self.n_rows,
            "in_clusters": int(self.in_clusters),
            "rows_to_certify": self.rows_to_certify,
        }

    def _part_of(self, key: Any) -> tuple[str, Any]:
        """Return the side and the group of a bound."""
        if isinstance(key, tuple):
            return key
        return ("all", key) if self.groups else (key, None)

    @classmethod
    def from_fields(cls, fields: Fields) -> Promise:
        """Make a promise from the fields of a file, with checks."""
        about, loss = (
            _choice(fields, key, get_args(known)) for key, known in (("about", About), ("loss", Loss))
        )
        most = 1.0 if loss != "cost" else math.inf
        limit = fields.number("limit", 0) if loss == "cost" else Limits.from_field(fields, "limit").given
        sides = set(by_side(limit))
        bounds: dict[tuple[str, Any], float] = {}
        for side, group, bound in fields.rows("bound", 3):
            known = isinstance(group, str | int | float | None) and isinstance(side, str)
            if not (known and side in sides | {"all"} and is_finite_number(bound) and 0 <= bound <= most):
                raise fields.error("bound", "must hold sides, groups and bounds from 0 to 1")
            bounds[side, group] = float(bound)
        if not bounds:
            raise fields.error("bound", "is empty")
        confidence = fields.number("confidence", 0, 1) if "confidence" in fields else None
        return cls(
            about,
            loss,
            limit,
            confidence,
            by_part(bounds),
            fields.whole("n_rows", 0),
            tuple(dict.fromkeys(group for _, group in bounds if group is not None)),
            in_clusters=bool(fields.whole("in_clusters", 0, 1)),
            rows_to_certify=fields.whole("rows_to_certify", 1, 2**62)
            if "rows_to_certify" in fields
            else None,
        )


def _choice(fields: Fields, key: str, known: tuple[str, ...]) -> Any:
    found = fields.text(key)
    if found not in known:
        raise fields.error(key, f"must be one of {', '.join(known)}")
    return found

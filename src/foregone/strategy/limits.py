"""Limits on the disagreement, and the criteria that determine which inputs they bound."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from foregone.checks import check_choice, check_share
from foregone.errors import InvalidInputError
from foregone.strategy.json_file import Fields

__all__ = [
    "CRITERIA",
    "Criterion",
    "CriterionTraits",
    "Limits",
    "MaxDisagreement",
    "Side",
    "as_given",
    "by_label",
    "by_side",
    "traits_of",
]

Criterion = Literal["minimax", "minimean", "minimixed"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
# Limits in user form: one for all inputs, or one for each answer of the full vote.
MaxDisagreement = float | dict[str, float]
# The inputs whose disagreement is limited: all, or those with this full vote.
Side = Literal["all", "yes", "no"]

Value = TypeVar("Value")


class CriterionTraits(NamedTuple):
    """Whether a criterion minimises and bounds the mean over inputs, or the worst input."""

    minimises_the_worst: bool
    bounds_the_mean: bool


_TRAITS: dict[str, CriterionTraits] = {
    "minimax": CriterionTraits(minimises_the_worst=True, bounds_the_mean=False),
    "minimean": CriterionTraits(minimises_the_worst=False, bounds_the_mean=True),
    "minimixed": CriterionTraits(minimises_the_worst=False, bounds_the_mean=False),
}


def traits_of(criterion: Any) -> CriterionTraits:
    """Return the traits of a criterion. Raises InvalidInputError if the criterion does not exist.

    Examples
    --------
    >>> traits_of("minimixed")
    CriterionTraits(minimises_the_worst=False, bounds_the_mean=False)
    """
    known = _TRAITS.get(criterion) if isinstance(criterion, str) else None
    return known or _TRAITS[check_choice(criterion, "criterion", CRITERIA)]


@dataclass(frozen=True)
class Limits:
    """Limits on the disagreement with the full vote: one for all inputs, or one for each answer.

    Attributes
    ----------
    parts : tuple of (str, float)
        ``(("all", limit),)``, or one for each full vote, "yes" and "no"; each from 0 to 1, which means no
        limit.

    Examples
    --------
    >>> Limits.of(1e-3).given, Limits.of({"no": 1, "yes": 1e-3}).given
    (0.001, {'yes': 0.001, 'no': 1.0})
    >>> Limits.of_labels({"spam": 1e-4, "ham": 0.01}, ["ham", "spam"]).given
    {'yes': 0.0001, 'no': 0.01}
    """

    parts: tuple[tuple[Side, float], ...]

    @classmethod
    def of(cls, given: Any, name: str = "max_disagreement") -> Limits:
        """Make limits from user input: a number, or a mapping with one for each of "yes" and "no"."""
        return cls._checked(given, {"yes": "yes", "no": "no"}, 'of "yes" and "no"', name)

    @classmethod
    def of_labels(cls, given: Any, classes: Sequence[Any], name: str = "max_disagreement") -> Limits:
        """Make limits from user input: a number, or a mapping with one for each of two class labels."""
        if not isinstance(given, Mapping):
            return cls.of(given, name)
        no, yes = classes
        return cls._checked(given, {"yes": yes, "no": no}, f"of the labels {no!r} and {yes!r}", name)

    @classmethod
    def _checked(cls, given: Any, keys: dict[Side, Any], whose: str, name: str) -> Limits:
        if isinstance(given, Limits):
            return given
        if not isinstance(given, Mapping):
            return cls((("all", check_share(given, name)),))
        if len(given) != 2 or any(key not in given for key in keys.values()):
            raise InvalidInputError(
                f"{name} must be a number, or a mapping with one for each {whose} (1 for no limit), got "
                f"{given!r}"
            )
        return cls(tuple((side, check_share(given[key], f"{name}[{key!r}]")) for side, key in keys.items()))

    @classmethod
    def for_each(cls, limit: float) -> Limits:
        """Return the same limit for each of "yes" and "no"."""
        return cls((("yes", limit), ("no", limit)))

    @classmethod
    def from_field(cls, fields: Fields, key: str = "max_disagreement") -> Limits:
        """Read the limits from a field that holds them as `given`."""
        if not fields.is_section(key):
            return cls.of(fields.number(key, 0, 1))
        section = fields.section(key)
        return cls.of({side: section.number(side, 0, 1) for side in ("yes", "no")})

    @property
    def by_answer(self) -> bool:
        """Whether there is a limit for each answer."""
        return len(self.parts) > 1

    @property
    def loosest(self) -> float:
        """The limit, or the larger one."""
        return max(limit for _, limit in self.parts)

    @property
    def given(self) -> MaxDisagreement:
        """The limits in the form that users pass and files contain."""
        return as_given(dict(self.parts))

    def labelled(self, classes: Sequence[Any]) -> float | dict[Any, float]:
        """Return the limits keyed by class label, in the order of ``classes``; a single limit as a number."""
        return by_label(dict(self.parts), classes) if self.by_answer else self.loosest

    def scaled(self, share: float) -> Limits:
        """Return the limits times ``share``, at most 1; a limit of 1 (no limit) is unchanged."""
        return Limits(tuple((side, 1.0 if limit == 1 else min(share * limit, 1.0)) for side, limit in self))

    def without(self, sides: Collection[str]) -> Limits:
        """Return the limits with those of the given sides set to 0."""
        return Limits(tuple((side, 0.0 if side in sides else limit) for side, limit in self.parts))

    def __iter__(self) -> Iterator[tuple[Side, float]]:
        return iter(self.parts)

    def __getitem__(self, side: str) -> float:
        return next(limit for whose, limit in self.parts if whose == side)


def by_label(by_side: Mapping[str, Value], classes: Sequence[Any]) -> dict[Any, Value]:
    """Return values for "yes" and "no" keyed by label, in the order of ``classes``, no and yes."""
    no, yes = classes
    return {no: by_side["no"], yes: by_side["yes"]}


def by_side(given: Value | dict[str, Value]) -> dict[str, Value]:
    """Return a single value or one for each answer as a dict by side: "all", or "yes" and "no"."""
    return given if isinstance(given, dict) else {"all": given}


def as_given(by_side: Mapping[Any, Value]) -> Value | dict[str, Value]:
    """Return values by side in user form: the single value, or a dict."""
    return by_side["all"] if "all" in by_side else dict(by_side)

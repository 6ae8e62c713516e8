"""Parse numbers given on the command line: 11:121:10, 0,1e-6,...,0.1, yes=1e-3,no=1e-2."""

from __future__ import annotations

from fractions import Fraction

from foregone.checks import check_max_disagreement, check_n_voters
from foregone.errors import InvalidInputError
from foregone.solving import MaxDisagreement

__all__ = [
    "parse_confidence",
    "parse_costs",
    "parse_limits",
    "parse_looks",
    "parse_rates",
    "parse_share",
    "parse_voters",
]

MOST_NUMBERS = 1_000


def parse_voters(text: str) -> list[int]:
    """Return the numbers of voters that ``text`` lists.

    Numbers and ranges ``start:stop`` or ``start:stop:step``, the stop included, separated by commas.

    Examples
    --------
    >>> parse_voters("5,11:41:10")
    [5, 11, 21, 31, 41]
    """
    numbers: list[int] = []
    for part in text.split(","):
        try:
            bounds = [int(bound) for bound in part.split(":")]
        except ValueError:
            raise _bad_voters(part) from None
        if len(bounds) == 1:
            numbers.append(bounds[0])
            continue
        start, stop, step = bounds if len(bounds) == 3 else (*bounds[:2], 1)
        if len(bounds) > 3 or step < 1 or stop < start:
            raise _bad_voters(part)
        if (stop - start) // step >= MOST_NUMBERS:
            raise InvalidInputError(
                f"--voters: {part!r} has more than {MOST_NUMBERS:,} numbers; use larger steps"
            )
        numbers.extend(range(start, stop + 1, step))
    return sorted({check_n_voters(number) for number in numbers})


def _bad_voters(part: str) -> InvalidInputError:
    return InvalidInputError(
        "--voters: expected a list of numbers such as 11,21,31 or a range start:stop:step such as 11:121:10, "
        f"got {part!r}"
    )


def parse_limits(text: str, option: str = "--max-disagreement") -> MaxDisagreement:
    """Return the limit in ``text``, or the two limits for yes and no.

    Examples
    --------
    >>> parse_limits("1e-3"), parse_limits("no=0.01, yes=1e-3")
    (0.001, {'yes': 0.001, 'no': 0.01})
    """
    message = (
        f"{option}: expected a number from 0 to 1, such as 1e-3, or one each for yes and no, such as "
        f"yes=1e-3,no=1e-2, got {text!r}"
    )
    try:
        if "=" not in text:
            return check_max_disagreement(float(text))
        pairs = [part.split("=") for part in text.split(",")]
        limits = {side.strip(): check_max_disagreement(float(value)) for side, value in pairs}
        if len(pairs) == 2:
            return {side: limits[side] for side in ("yes", "no")}
    except (ValueError, KeyError):
        pass
    raise InvalidInputError(message)


def parse_confidence(text: str) -> float | None:
    """Return a probability, or None for "none".

    Examples
    --------
    >>> parse_confidence("0.95"), parse_confidence("none")
    (0.95, None)
    """
    try:
        return None if text == "none" else float(text)
    except ValueError:
        raise InvalidInputError(
            f"--confidence: expected a number between 0 and 1, such as 0.95, or none, got {text!r}"
        ) from None


def parse_share(text: str, option: str = "--threshold") -> float:
    """Return a share from 0 to 1, written as a decimal or a fraction.

    Examples
    --------
    >>> parse_share("0.2"), parse_share("2/3") == 2 / 3
    (0.2, True)
    """
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise InvalidInputError(f"{option}: expected a share from 0 to 1, such as 0.2 or 2/3, got {text!r}")
    return float(share)


def parse_costs(text: str) -> list[list[float]]:
    """Return a matrix of costs: one row per true class, one number per answer.

    Examples
    --------
    >>> parse_costs("0,1;10,0")
    [[0.0, 1.0], [10.0, 0.0]]
    """
    try:
        costs = [[float(cell) for cell in row.split(",")] for row in text.split(";")]
    except ValueError:
        costs = []
    if not costs or len({len(costs), *map(len, costs)}) != 1:
        raise InvalidInputError(
            "--costs: expected a square matrix such as '0,1;10,0', with one row per true class and one "
            f"number per answer, got {text!r}"
        )
    return costs


def parse_looks(text: str | None) -> int | list[int] | None:
    """Return the looks: one number for a look after every that many votes, several for exactly these.

    Examples
    --------
    >>> parse_looks("10"), parse_looks("5,10,20"), parse_looks(None)
    (10, [5, 10, 20], None)
    """
    if text is None:
        return None
    try:
        looks = [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            "--looks: expected an integer or a list of integers, such as 10 (stop only after every 10 votes) "
            f"or 5,10,20 (only after these), got {text!r}"
        ) from None
    return looks[0] if len(looks) == 1 else looks


def parse_rates(text: str, option: str = "--max-disagreement") -> list[float]:
    """Return the rates of disagreement that ``text`` lists.

    Numbers are separated by commas. Three dots continue the numbers before them up to the one after, with the
    factor between the last two; the factor is 10 if there is only one number, or a zero before it.

    Examples
    --------
    >>> parse_rates("0,1e-4,...,0.1")
    [0.0, 0.0001, 0.001, 0.01, 0.1]
    >>> parse_rates("0.01,0.02,...,0.16")
    [0.01, 0.02, 0.04, 0.08, 0.16]
    """
    exact: list[Fraction] = []  # fractions, so that ten times 1e-6 is 1e-5 and not its neighbour
    parts = [part.strip() for part in text.replace("…", "...").split(",")]
    for place, part in enumerate(parts):
        if part != "...":
            exact.append(_rate(part, option))
        elif place in (0, len(parts) - 1) or "..." in (parts[place - 1], parts[place + 1]):
            raise InvalidInputError(
                f"{option}: three dots need a number before and after, as in 1e-6,...,0.1"
            )
        else:
            exact.extend(_between(exact, _rate(parts[place + 1], option), option))
    return sorted({float(rate) for rate in exact})


def _rate(part: str, option: str) -> Fraction:
    try:
        check_max_disagreement(float(part))
        return Fraction(part)
    except (ValueError, InvalidInputError):
        raise InvalidInputError(
            f"{option}: expected numbers from 0 to 1, such as 0,1e-3,0.1, got {part!r}"
        ) from None


def _between(before: list[Fraction], end: Fraction, option: str) -> list[Fraction]:
    """Return the numbers that three dots stand for."""
    factor = before[-1] / before[-2] if len(before) > 1 and before[-2] > 0 else Fraction(10)
    if before[-1] <= 0 or factor <= 1:
        raise InvalidInputError(f"{option}: three dots continue positive, rising numbers, as in 1e-6,...,0.1")
    found: list[Fraction] = []
    following = before[-1] * factor
    while following < end:
        if len(found) == MOST_NUMBERS:
            raise InvalidInputError(
                f"{option}: the three dots stand for more than {MOST_NUMBERS:,} numbers; use larger steps"
            )
        found.append(following)
        following *= factor
    if following != end:
        raise InvalidInputError(
            f"{option}: the three dots do not reach {float(end):g}, because each number is "
            f"{float(factor):g} times the one before; list all numbers instead"
        )
    return found

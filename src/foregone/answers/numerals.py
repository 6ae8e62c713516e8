"""Extract numbers, exactly and in one spelling: from prose, and from LaTeX boxes."""

from __future__ import annotations

import re
from fractions import Fraction

from foregone.answers.wording import normal
from foregone.checks import is_a

__all__ = ["boxed", "number"]

_MOST_CHARACTERS = 300  # of a number in its canonical form; longer ones are ignored
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
_WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,20}(?![0-9])|[0-9]{1,2}(?:,[0-9]{2}){1,20},[0-9]{3}(?![0-9])|[0-9]+)"
_SPACED = re.compile(r"(?<![\w.,/])[0-9]{1,3}(?: [0-9]{3}){1,20}(?![\w/]|,[0-9]| [0-9])")
_DECIMAL = rf"(?:{_WHOLE}(?:\.[0-9]+)?|\.[0-9]+)"
_NUMBER = re.compile(
    rf"""
    (?<![\w.^/])(?<!\^[-+])              # not inside of a word, a decimal, an exponent, a date
    (?P<sign>(?<![)\]}}])[-+])?          # in "(a)-5", it subtracts
    (?: (?P<mixed>[0-9]+)[ ](?P<part>[0-9]+)/(?P<parts>[0-9]+)(?![\w/])(?!\.[0-9])
      | (?P<decimal>{_DECIMAL})
        (?: [eE](?P<e>[-+]?[0-9]+)(?!\w)
          | \s?[*x]\s?10\^(?P<ten>[-+]?[0-9]+)
          | \^(?P<power>[-+]?[0-9]+)
          | \s?/\s?(?P<divisor>{_DECIMAL})(?![\w/])(?!\.[0-9])
        )?
    )
    """,
    re.VERBOSE,
)
_LATEX: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\{,\}|,\\!", ","),
        (r"\\!|\\left\b|\\right\b|\\displaystyle\b|\^\{?\\circ\}?|°|\\degree\b", ""),
        (r"(?<=[0-9])\\[,:; ](?=[0-9]{3}(?![0-9]))", ","),
        (r"\\[,:; ]|~|\\quad\b", " "),
        (r"\\([$%])", r"\1"),
        (r"\\(?:times|cdot)\b|\u00d7|\u00b7", "*"),
        (r"\\[dtc]frac\b", r"\\frac"),
        (r"\\frac\s?([0-9])\s?([0-9])(?![0-9])", r"\\frac{\1}{\2}"),
        (r"\\sqrt\s?([0-9A-Za-z])", r"\\sqrt{\1}"),
        (r"\\(?:text|mathrm|textbf|mathbf|textrm|mbox|operatorname)\s?\{([^{}]*)\}", r"\1"),
        (r"\^\{\s?([-+]?[0-9]+)\s?\}", r"^\1"),
        (rf"([0-9])\\frac\{{({_DECIMAL})\}}\{{({_DECIMAL})\}}", r"\1 \2/\3"),
        (rf"\\frac\{{([-+]?{_DECIMAL})\}}\{{({_DECIMAL})\}}", r"\1/\2"),
        (r"(?<=\w)[$€£¥₹]\s?(?=[-+]?\.?[0-9])", " "),
        (r"[$€£¥₹]\s?(?=[-+]?\.?[0-9])", ""),
    )
)


def number(reply: str) -> str | None:
    r"""Return the last number of the reply, exactly: as a decimal if it is finite, otherwise as a fraction.

    Supports thousands separators (``1,234``, ``1{,}234``, ``1 234``), fractions (``1/2``, ``\frac{1}{2}``,
    ``1 1/2``), ``1.2e3``, ``1.2 \times 10^3`` and ``2^{10}``, with any minus sign. Currency signs, percent
    signs and units are dropped: ``50%`` is 50. The decimal sign is the point; a comma that does not separate
    groups of digits ends a number. Numbers of more than 300 characters are ignored.

    Examples
    --------
    >>> from foregone.answers import number
    >>> number("Each has 3, so together $1,234.50."), number("42.0") == number("−−> 42"), number("none")
    ('1234.5', True, None)
    >>> number(r"\frac{1}{2}") == number("0.5") == number("½") == "0.5", number("2/3")
    (True, '2/3')
    """
    matches = list(_NUMBER.finditer(_plain(reply)))
    return next(filter(None, map(_canonical, reversed(matches))), None)


def _plain(reply: str) -> str:
    """Return the text with numbers in plain ASCII, without LaTeX or special Unicode digits."""
    if is_a(reply, str) and not reply.isascii():
        reply = re.sub(f"[{_SUPERSCRIPTS}]+", lambda run: "^" + run.group(), reply)
        reply = re.sub(r"(?<=[0-9])(?=[\u00bc-\u00be\u2150-\u215e])", " ", reply)
    plain = normal(reply).translate(_DASHES).replace("\u2044", "/")
    plain = _SPACED.sub(lambda run: run.group().replace(" ", ","), plain)
    for pattern, instead in _LATEX:
        plain = pattern.sub(instead, plain)
    return plain


def _canonical(match: re.Match[str]) -> str | None:
    """Return the canonical form of a matched number; None if it is too long or undefined."""
    part = match.groupdict()
    if any(len(given) > 3 * _MOST_CHARACTERS for given in part.values() if given):
        return None
    if part["mixed"]:
        value = _quotient(Fraction(part["part"]), Fraction(part["parts"]))
        value = None if value is None or value >= 1 else value + int(part["mixed"])
    else:
        value = Fraction(part["decimal"].replace(",", ""))
        exponent = int(part["e"] or part["ten"] or 0)
        if abs(exponent) > _MOST_CHARACTERS:
            return None
        value *= Fraction(10) ** exponent
        if part["power"]:
            value = _power(value, int(part["power"]))
        elif part["divisor"]:
            value = _quotient(value, Fraction(part["divisor"].replace(",", "")))
    if value is None:
        return None
    spelled = _spell(-value if part["sign"] == "-" else value)
    return spelled if len(spelled) <= _MOST_CHARACTERS else None


def _quotient(value: Fraction, divisor: Fraction) -> Fraction | None:
    return value / divisor if divisor else None


def _power(value: Fraction, exponent: int) -> Fraction | None:
    size = max(value.numerator.bit_length(), value.denominator.bit_length())
    if size * abs(exponent) > 4 * _MOST_CHARACTERS or (not value and exponent < 0):
        return None
    return value**exponent


def _spell(value: Fraction) -> str:
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest > 1:
        return str(value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if value < 0 else "") + whole + ("." + decimals if decimals else "")


def boxed(reply: str) -> str | None:
    r"""Return the content of the last ``\boxed{...}``: a number as from `number`, otherwise without spaces.

    Units in ``\text{}``, a leading ``x =``, and layout commands (``\dfrac``, ``\left``, ``\,``) are dropped.
    Other expressions are compared literally: ``\frac{\pi}{2}`` and ``0.5\pi`` are different answers. Returns
    None if there is no box, or the last one is not closed.

    Examples
    --------
    >>> from foregone.answers import boxed
    >>> boxed(r"so $x = \boxed{\dfrac{1}{2}}$."), boxed(r"\boxed{1{,}000\text{ cm}}")
    ('0.5', '1000')
    >>> boxed(r"\boxed{x^{2} + 1}") == boxed(r"\boxed{ x^2+1 }")
    True
    """
    normal(reply)  # raises if it is not a string
    content = _boxed_content(reply)
    if content is None:
        return None
    unit = re.search(r"\\(?:text|mathrm|mbox)\s?\{[^{}]*\}(?:\^\{?[0-9]\}?)?\s*$", content)
    if unit and content[: unit.start()].strip():
        content = content[: unit.start()]
    plain = " ".join(_plain(content).split()).lstrip("$ ").rstrip("$ .")
    name, equals, value = plain.partition("=")
    if equals and "=" not in value and len(name.strip()) <= 2 and value.strip():
        plain = value.strip()
    if match := _NUMBER.fullmatch(plain.rstrip("% ")):
        return _canonical(match) or plain.replace(" ", "")
    return plain.replace(" ", "") or None


def _boxed_content(reply: str) -> str | None:
    start = max(reply.rfind("\\boxed"), reply.rfind("\\fbox"))
    if start < 0:
        return None
    rest = reply[start:].partition("box")[2].removeprefix("ed").lstrip()
    if not rest.startswith("{"):
        return re.split(r"[\s$]", rest, maxsplit=1)[0] or None
    depth = 0
    for brace in re.finditer(r"\\.|[{}]", rest, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(brace.group(), 0)
        if depth == 0 and brace.group() == "}":
            return rest[1 : brace.start()]
    return None

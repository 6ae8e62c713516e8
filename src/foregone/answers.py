r"""From the reply of a language model to the answer that is counted.

An extractor is a plain function from a text to a canonical form, or to None if the text has no such answer.
Two answers are the same exactly if their canonical forms are equal. Canonical forms are texts and booleans:
they can be counted, printed and kept in a journal. Any function of one text is an extractor, too.

What is the same follows the common evaluation harnesses: the last number, the last ``\boxed{}``, "answer is
(C)", signs of currency and percent dropped. It is text that is compared. Nothing is simplified but numbers.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import unicodedata
from collections.abc import Awaitable, Callable
from fractions import Fraction
from typing import Any, Literal

from foregone.checks import check_choice
from foregone.errors import InvalidInputError, NoVoteError

__all__ = [
    "UNPARSABLE",
    "Extractor",
    "boxed",
    "choice",
    "first_of",
    "is_refusal",
    "json_field",
    "number",
    "reading",
    "text",
    "yes_no",
]

Extractor = Callable[[str], "str | bool | None"]

UNPARSABLE = "(unparsable)"  # the answer that all unreadable replies count for, if they are to count

_MOST_CHARACTERS = 300  # of a number in its canonical form: longer ones are not read as numbers
_MOST_OBJECTS = 1000  # places in a reply where JSON is looked for


def _normal(reply: str) -> str:
    """Return the text in Unicode's NFKC, and raise InvalidInputError if it is not a text."""
    if not isinstance(reply, str):
        raise InvalidInputError(
            f"an answer is read from a text, not from a {type(reply).__name__}: pass the text of the reply"
        )
    return reply if reply.isascii() else unicodedata.normalize("NFKC", reply)


# Words ---------------------------------------------------------------------------------------

_QUOTES = "\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a"
_AROUND = " \t\r\n\v\f*" + _QUOTES  # asterisks and backticks are Markdown's
_QUOTED = re.compile(f"[*{_QUOTES}]")
_AFTER = _AROUND + ".,;:!?\u3001\u3002"


def text(reply: str) -> str | None:
    """Return the whole reply without what does not matter: case, spaces, quotes, final punctuation.

    Unicode is normalised (NFKC), runs of spaces are one, quotes, asterisks and backticks around it are
    dropped. ``text(text(reply)) == text(reply)``; None if nothing is left.

    Examples
    --------
    >>> from foregone.answers import text
    >>> text('**New  York.**'), text("“new york”"), text(" ... ")
    ('new york', 'new york', None)
    """
    folded, before = _normal(reply), ""
    while folded != before:  # folding can undo the normal form of a few letters, and at most twice
        before = folded
        folded = unicodedata.normalize("NFKC", folded.casefold())
    return " ".join(folded.split()).lstrip(_AROUND).rstrip(_AFTER) or None


_YES_WORDS, _NO_WORDS = ("yes", "y", "true"), ("no", "n", "false")
_FIRST_WORD = re.compile(r"(?:yes|no|true|false)\b(?!\s*\w)|yes\b|[yn]$")  # not the "no" of "no reason"
_SAID_YES_OR_NO = re.compile(r"\banswer\b(?:\s+is)?\s*[:=]?\s*(yes|no|true|false)\b")


def yes_no(reply: str) -> bool | None:
    r"""Return True for yes and False for no, which strategies for two answers take as votes.

    Read is a yes or no that the reply begins with, else what follows the last "answer is" or "answer:", else
    a last line of one word. True and y are yes, false and n are no.

    Examples
    --------
    >>> from foregone.answers import yes_no
    >>> yes_no("Yes, because ..."), yes_no("Let us see.\nAnswer: **No**"), yes_no("No reason is given.")
    (True, False, None)
    """
    plain = _QUOTED.sub("", _normal(reply)).casefold().strip()
    first, said = _FIRST_WORD.match(plain), _SAID_YES_OR_NO.findall(plain)
    last_line = plain.rpartition("\n")[2].strip(_AFTER)
    for word in (first.group() if first else "", said[-1] if said else "", last_line):
        if word in (*_YES_WORDS, *_NO_WORDS):
            return word in _YES_WORDS
    return None


def choice(reply: str, letters: str = "ABCDE") -> str | None:
    r"""Return the letter of a multiple choice, as a capital.

    Read is what follows the last "answer is", "answer:", "option is" or the like, or the last ``\boxed{}``;
    else the letter that the whole reply or its last line begins with, if the reply names no other option.

    Parameters
    ----------
    reply : str
        What was said.
    letters : str
        The options; ``functools.partial(choice, letters="ABCDEFGHIJ")`` is an extractor for ten.

    Examples
    --------
    >>> from foregone.answers import choice
    >>> choice("So the answer is (C)."), choice("b) Paris"), choice(r"\boxed{\text{D}}"), choice("A or B")
    ('C', 'B', 'D', None)
    """
    if not (isinstance(letters, str) and letters.isascii() and letters.isalpha()):
        raise InvalidInputError(f"letters must be some of A to Z, such as 'ABCD', not {letters!r}")
    said, begins, option = _choice_patterns(letters.upper())
    plain = re.sub(r"[*`$]", "", _normal(reply)).replace("\\boxed", " answer: ")
    plain = re.sub(r"\\[A-Za-z]+\s?\{", "{", plain).strip()
    if found := said.findall(plain):
        return "".join(found[-1]).upper()
    if len({mark.upper() for mark in option.findall(plain)}) > 1:
        return None
    for line in (plain, plain.rpartition("\n")[2]):
        if match := begins.match(line):
            return "".join(match.groups("")).upper()
    return None


@functools.cache
def _choice_patterns(capitals: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what says that a letter is the answer, what begins with one, and what marks an option."""
    big, any_case = f"[{capitals}]", f"[{capitals}{capitals.lower()}]"
    bracketed = rf"[(\[{{]{{1,3}}\s?({any_case})\s?[)\]}}]"
    article = r"(?<=A)\s+(?!because|since|as\b|based|due|with)[a-z]"  # "the answer is A matter of ..."
    another = rf"[)\]}}]*\s?(?:,|/|&|and\b|or\b)\s?[(\[{{]*{any_case}\b"
    said = (
        r"(?i:\b(?:answer|choice|option)\b)(?:\s+\w+){0,6}?\s*(?i:\bis\b|:|=)\s*:?\s*"
        rf"(?i:(?:option|choice|letter)\s*)?(?:{bracketed}|({big})\b(?!{article}))(?!{another})"
    )
    begins = rf"(?:{bracketed}|({any_case})\s?(?:\)|[.:]?\s*$)|({big})[.:]\s)(?!{another})"
    return re.compile(said), re.compile(begins), re.compile(rf"(?<!\w)({any_case})[).:]")


_REFUSAL = re.compile(
    r"(?:(?:i am|i'm|im)?\s?(?:very |so |really )?sorry|unfortunately|apologies|i apologi[sz]e)?"
    r"[,.!]?\s?(?:but |however,? )?(?:as an ai(?: language)?(?: model| assistant)?,? )?"
    r"i(?: |')(?:can(?:not|'t| not)|a?m (?:unable|not able|not comfortable)"
    r"|won't|will not|must decline|have to decline|decline|(?:do not|don't) feel comfortable)\b"
)


def is_refusal(reply: str) -> bool:
    """Whether the reply begins as refusals in English do.

    It looks at the first words only, and may be wrong: a reply that begins so and answers all the same is a
    refusal to it, and one in other words or another language is not recognised.

    Examples
    --------
    >>> from foregone.answers import is_refusal
    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Sorry to say so, but it is 7.")
    (True, False)
    """
    plain = " ".join(_normal(reply).replace("\u2019", "'").casefold().split()).lstrip(_AROUND)
    return _REFUSAL.match(plain) is not None


# Numbers -------------------------------------------------------------------------------------

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
    r"""Return the last number of the reply, exactly, as a decimal if it has an end and else as a fraction.

    Read are thousands separators (``1,234``, ``1{,}234``, ``1 234``), fractions (``1/2``, ``\frac{1}{2}``,
    ``1 1/2``), ``1.2e3``, ``1.2 \times 10^3`` and ``2^{10}``, with any minus sign. Signs of currency and
    percent, and units, are dropped: ``50%`` is 50. A comma that does not separate groups of digits ends a
    number: the decimal sign is the point. Numbers of more than 300 characters are not read.

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
    """Return the text with numbers written plainly: no LaTeX around them, no Unicode of their own."""
    if isinstance(reply, str) and not reply.isascii():
        reply = re.sub(f"[{_SUPERSCRIPTS}]+", lambda run: "^" + run.group(), reply)
        reply = re.sub(r"(?<=[0-9])(?=[\u00bc-\u00be\u2150-\u215e])", " ", reply)
    plain = _normal(reply).translate(_DASHES).replace("\u2044", "/")
    plain = _SPACED.sub(lambda run: run.group().replace(" ", ","), plain)
    for pattern, instead in _LATEX:
        plain = pattern.sub(instead, plain)
    return plain


def _canonical(match: re.Match[str]) -> str | None:
    """Return the canonical form of a matched number; None for one that is too long, or none at all."""
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
    r"""Return what the last ``\boxed{...}`` holds: a number as `number` gives it, else LaTeX without spaces.

    Units in ``\text{}``, ``x =`` before the answer, and what changes only its looks (``\dfrac``, ``\left``,
    ``\,``) are dropped. Other expressions are compared as they are written: ``\frac{\pi}{2}`` and
    ``0.5\pi`` are two answers. None if there is no box, or the last one does not end.

    Examples
    --------
    >>> from foregone.answers import boxed
    >>> boxed(r"so $x = \boxed{\dfrac{1}{2}}$."), boxed(r"\boxed{1{,}000\text{ cm}}")
    ('0.5', '1000')
    >>> boxed(r"\boxed{x^{2} + 1}") == boxed(r"\boxed{ x^2+1 }")
    True
    """
    _normal(reply)  # a text?
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


# Structured replies, and several ways to read one ---------------------------------------------


def json_field(path: str, extract: Extractor = text) -> Extractor:
    r"""Return an extractor of one field of a JSON object in the reply, alone, in prose or in a fenced block.

    The last object that has the field counts.

    Parameters
    ----------
    path : str
        Name of the field; dots lead into objects, and numbers into lists: ``"result.answers.0"``.
    extract : callable
        What to make of its value, which it gets as a text: ``json_field("total", number)``. A list or an
        object is compared as it is, whatever the order of its keys. Null is no answer.

    Examples
    --------
    >>> from foregone.answers import json_field, number
    >>> read = json_field("answer.total", number)
    >>> read('Here it is:\n```json\n{"answer": {"total": "$12.00"}}\n```'), read('{"answer": null}')
    ('12', None)
    """
    if not isinstance(path, str) or not path:
        raise InvalidInputError(f"path must be the name of a field, such as 'answer', not {path!r}")

    def field(reply: str) -> str | bool | None:
        value = None
        for found in _objects(_normal(reply)):
            inner = _inside(found, path)
            value = value if inner is None else inner
        if value is None:
            return None
        if isinstance(value, str):
            return extract(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    field.__name__ = f"json_field({path!r})"
    return field


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def _objects(reply: str) -> list[Any]:
    """Return the JSON objects that are not inside of others, with numbers as they are spelled."""
    found, end = [], 0
    for tried, start in enumerate(re.finditer(r"\{\s*[\"}]", reply)):
        if tried == _MOST_OBJECTS:
            break
        if start.start() < end:
            continue
        try:
            value, end = _DECODER.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            continue
        found.append(value)
    return found


def _inside(value: Any, path: str) -> Any:
    """Return what is at the end of a path, true and false as texts; None if there is nothing."""
    if isinstance(value, dict) and path in value:  # also a name with a dot in it
        found = value[path]
        return str(found).lower() if isinstance(found, bool) else found
    name, _, rest = path.partition(".")
    if isinstance(value, dict):
        inner = value.get(name)
    elif isinstance(value, list) and name.isdecimal() and len(name) < 9 and int(name) < len(value):
        inner = value[int(name)]
    else:
        return None
    if rest:
        return _inside(inner, rest)
    return str(inner).lower() if isinstance(inner, bool) else inner


def first_of(*extractors: Extractor) -> Extractor:
    r"""Return an extractor that tries several in turn and takes the first answer that there is.

    Examples
    --------
    >>> from foregone.answers import boxed, first_of, number
    >>> read = first_of(boxed, number)
    >>> read(r"In 3 steps: \boxed{\frac{6}{4}}"), read("In 3 steps: 1.5"), read("I do not know.")
    ('1.5', '1.5', None)
    """
    if not extractors or not all(map(callable, extractors)):
        raise InvalidInputError("first_of takes one extractor or more, such as first_of(boxed, number)")

    def first(reply: str) -> str | bool | None:
        answers = (extract(reply) for extract in extractors)
        return next((answer for answer in answers if answer is not None), None)

    return first


# Polls ---------------------------------------------------------------------------------------


def reading(
    ask: Callable[..., Any],
    extract: Extractor,
    *,
    unparsable: Literal["no_vote", "answer"] = "no_vote",
    refused: Callable[[str], bool] | None = None,
) -> Callable[..., Any]:
    """Return ``ask`` with its replies read: a function that returns the answer to count.

    For `foregone.poll`, `foregone.poll_async` and `foregone.poll_many`, or for a loop of your own.

    Parameters
    ----------
    ask : callable
        Returns the reply as a text, or a coroutine that does; of any arguments.
    extract : callable
        From the reply to the canonical form of the answer, or None.
    unparsable : {"no_vote", "answer"}
        What a reply without an answer is. With "no_vote" it raises a `NoVoteError`, and a poll takes it for
        a failed call: the voter is asked again up to ``retries`` times, then another one instead, up to
        ``max_failures`` times. With "answer" all such replies are one answer, `UNPARSABLE`, which may win.
        Which one you choose decides what the full vote is that the limit is about.
    refused : callable, optional
        Replies for which it is true have no answer, whatever can be read in them, such as `is_refusal`.

    Examples
    --------
    >>> from foregone import poll
    >>> from foregone.answers import number, reading
    >>> from foregone.plurality import rules
    >>> replies = iter(["It is 7.", "I would say 7.0", "Who knows?", "7!"])
    >>> ask = reading(lambda: next(replies), number)
    >>> poll([ask] * 5, rules.lead(5, 3)).answer
    '7'
    """
    check_choice(unparsable, "unparsable", ("no_vote", "answer"))
    if not (callable(ask) and callable(extract)):
        raise InvalidInputError("reading takes two functions: one that asks, and one that reads the reply")

    def read(reply: Any) -> Any:
        answer = None if reply is None or (refused is not None and refused(reply)) else extract(reply)
        if answer is not None:
            return answer
        if unparsable == "answer":
            return UNPARSABLE
        said = repr(reply)
        raise NoVoteError(f"no answer in {said if len(said) <= 80 else said[:77] + '...'}")

    async def read_later(reply: Awaitable[Any]) -> Any:
        return read(await reply)

    if inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(getattr(ask, "__call__", None)):  # noqa: B004  # an object whose __call__ is async

        @functools.wraps(ask)
        async def answer_async(*args: Any, **kwargs: Any) -> Any:
            return read(await ask(*args, **kwargs))

        return answer_async

    @functools.wraps(ask)
    def answer(*args: Any, **kwargs: Any) -> Any:
        reply = ask(*args, **kwargs)
        return read_later(reply) if inspect.isawaitable(reply) else read(reply)

    return answer

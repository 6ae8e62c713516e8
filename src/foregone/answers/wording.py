"""Extractors for text, yes or no, and multiple choice; and detection of refusals."""

from __future__ import annotations

import functools
import re
import unicodedata

from foregone.checks import is_a
from foregone.errors import InvalidInputError

__all__ = ["choice", "is_refusal", "normal", "text", "yes_no"]


def normal(reply: str) -> str:
    """Return the string in Unicode NFKC. Raises InvalidInputError if it is not a string."""
    if not isinstance(reply, str):
        raise InvalidInputError(
            f"expected the reply as a string, got {type(reply).__name__}: pass the text of the reply"
        )
    return reply if reply.isascii() else unicodedata.normalize("NFKC", reply)


_QUOTES = "\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a"
_AROUND = " \t\r\n\v\f*" + _QUOTES  # asterisks and backticks for Markdown
_QUOTED = re.compile(f"[*{_QUOTES}]")
_AFTER = _AROUND + ".,;:!?\u3001\u3002"


def text(reply: str) -> str | None:
    """Return the whole reply, normalised in case, spaces, quotes and final punctuation.

    Unicode is normalised (NFKC), runs of spaces become one, and quotes, asterisks and backticks around the
    text are dropped. ``text(text(reply)) == text(reply)``. Returns None if nothing is left.

    Examples
    --------
    >>> from foregone.answers import text
    >>> text('**New  York.**'), text("“new york”"), text(" ... ")
    ('new york', 'new york', None)
    """
    folded, before = normal(reply), ""
    while folded != before:  # case folding can denormalise a few letters, at most twice
        before = folded
        folded = unicodedata.normalize("NFKC", folded.casefold())
    return " ".join(folded.split()).lstrip(_AROUND).rstrip(_AFTER) or None


_YES_WORDS, _NO_WORDS = ("yes", "y", "true"), ("no", "n", "false")
_FIRST_WORD = re.compile(r"(?:yes|no|true|false)\b(?!\s*\w)|yes\b|[yn]$")  # not the "no" of "no reason"
_SAID_YES_OR_NO = re.compile(r"\banswer\b(?:\s+is)?\s*[:=]?\s*(yes|no|true|false)\b")


def yes_no(reply: str) -> bool | None:
    r"""Return True for yes and False for no, the votes of strategies for two answers.

    Looks for yes or no at the start of the reply, then after the last "answer is" or "answer:", then as the
    only word of the last line. "True" and "y" count as yes, "false" and "n" as no.

    Examples
    --------
    >>> from foregone.answers import yes_no
    >>> yes_no("Yes, because ..."), yes_no("Let us see.\nAnswer: **No**"), yes_no("No reason is given.")
    (True, False, None)
    """
    plain = _QUOTED.sub("", normal(reply)).casefold().strip()
    first, said = _FIRST_WORD.match(plain), _SAID_YES_OR_NO.findall(plain)
    last_line = plain.rpartition("\n")[2].strip(_AFTER)
    for word in (first.group() if first else "", said[-1] if said else "", last_line):
        if word in (*_YES_WORDS, *_NO_WORDS):
            return word in _YES_WORDS
    return None


def choice(reply: str, letters: str = "ABCDE") -> str | None:
    r"""Return the letter of a multiple-choice answer, in upper case.

    Looks for a letter after the last "answer is", "answer:", "option is" or similar, or in the last
    ``\boxed{}``; then at the start of the reply or of its last line, if the reply names no other option.

    Parameters
    ----------
    reply : str
        The reply.
    letters : str
        The options; ``functools.partial(choice, letters="ABCDEFGHIJ")`` is an extractor for ten.

    Examples
    --------
    >>> from foregone.answers import choice
    >>> choice("So the answer is (C)."), choice("b) Paris"), choice(r"\boxed{\text{D}}"), choice("A or B")
    ('C', 'B', 'D', None)
    """
    if not (is_a(letters, str) and letters.isascii() and letters.isalpha()):
        raise InvalidInputError(
            f"letters must be a string of letters from A to Z, such as 'ABCD', got {letters!r}"
        )
    said, begins, option = _choice_patterns(letters.upper())
    plain = re.sub(r"[*`$]", "", normal(reply)).replace("\\boxed", " answer: ")
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
    """Return patterns for a stated answer, for a line that begins with a letter, and for a named option."""
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
    """Whether the reply begins like a typical refusal in English.

    It checks only the first words and may be wrong: a reply that starts like a refusal but still answers
    counts as one, and refusals in other words or languages are not detected.

    Examples
    --------
    >>> from foregone.answers import is_refusal
    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Sorry to say so, but it is 7.")
    (True, False)
    """
    plain = " ".join(normal(reply).replace("\u2019", "'").casefold().split()).lstrip(_AROUND)
    return _REFUSAL.match(plain) is not None

r"""Extract answers to count from the replies of a language model.

An extractor is a function from a string to a canonical form, or to None if the string has no such answer.
Two answers are equal if their canonical forms are equal. Canonical forms are strings and booleans, which can
be counted, printed and stored in a journal. Any function of one string can be an extractor.

The rules follow common evaluation harnesses: the last number, the last ``\boxed{}``, "answer is (C)", without
currency and percent signs. Answers are compared as text; only numbers are simplified.
"""

from foregone.answers.numerals import boxed, number
from foregone.answers.reading_replies import UNPARSABLE, reading
from foregone.answers.structured import Extractor, first_of, json_field
from foregone.answers.wording import choice, is_refusal, text, yes_no

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

r"""From the reply of a language model to the answer that is counted.

An extractor is a plain function from a text to a canonical form, or to None if the text has no such answer.
Two answers are the same exactly if their canonical forms are equal. Canonical forms are texts and booleans:
they can be counted, printed and kept in a journal. Any function of one text is an extractor, too.

What is the same follows the common evaluation harnesses: the last number, the last ``\boxed{}``, "answer is
(C)", signs of currency and percent dropped. It is text that is compared. Nothing is simplified but numbers.
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

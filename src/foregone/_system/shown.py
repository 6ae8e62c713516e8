"""Text from elsewhere (labels, keys, names of files and columns), made harmless where it is shown."""

from __future__ import annotations

import unicodedata

__all__ = ["shown"]


def shown(text: str) -> str:
    r"""Return ``text`` with all that is not seen, or changes what is, written as an escape.

    That is what ``repr`` escapes: control characters, which terminals obey, bidirectional marks and other
    invisible ones. Spaces, tabs and ends of lines stay.

    Examples
    --------
    >>> print(shown("größe\x1b[31m \u202egpj.exe"))
    größe\x1b[31m \u202egpj.exe
    """
    return text if text.isprintable() else "".join(map(_shown_character, text))


def _shown_character(character: str) -> str:
    if character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()

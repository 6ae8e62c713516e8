"""Escaping untrusted text (labels, keys, names of files and columns) before it is shown."""

from __future__ import annotations

import unicodedata

__all__ = ["shown"]


def shown(text: str) -> str:
    r"""Return ``text`` with invisible and control characters written as escapes.

    It escapes what ``repr`` escapes: control characters, which terminals interpret, bidirectional marks and
    other invisible characters. Spaces, tabs and line ends are kept.

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

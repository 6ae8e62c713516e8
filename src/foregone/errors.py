"""Exceptions of foregone. Every message states what was wrong and what to do next."""

from collections.abc import Hashable, Mapping
from typing import Any

__all__ = [
    "FileFormatError",
    "ForegoneError",
    "InvalidInputError",
    "JournalError",
    "MissingExtraError",
    "NoVoteError",
    "PollError",
    "PollManyError",
    "SolverError",
]


class ForegoneError(Exception):
    """Base class of all foregone exceptions."""


class InvalidInputError(ForegoneError, ValueError):
    """An argument has an invalid value, shape or type."""


class FileFormatError(ForegoneError, ValueError):
    """A file is damaged, truncated, of an unknown version, or not a foregone file."""


class SolverError(ForegoneError, RuntimeError):
    """A solver found no result that it can guarantee."""


class PollError(ForegoneError, RuntimeError):
    """A poll ended without a verdict because too few voters answered.

    Attributes
    ----------
    votes : dict
        The votes so far: voter -> vote, in the order asked.
    """

    def __init__(self, message: str, votes: Mapping[int, Any]) -> None:
        super().__init__(message)
        self.votes: dict[int, Any] = dict(votes)


class PollManyError(ForegoneError, RuntimeError):
    """One or more of many polls ended without a verdict.

    Attributes
    ----------
    failed : dict
        Question id -> the `PollError` of its poll.
    """

    def __init__(self, message: str, failed: Mapping[Hashable, PollError]) -> None:
        super().__init__(message)
        self.failed: dict[Hashable, PollError] = dict(failed)


class JournalError(ForegoneError, OSError):
    """A journal cannot be written, or another process is writing to it."""


class NoVoteError(ForegoneError, ValueError):
    """A reply contains no answer that can be counted; polls treat it as a failed call."""


class MissingExtraError(ForegoneError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str
        The extra of foregone that installs it.
    purpose : str
        The feature that needs it, as the start of a sentence.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}: install it with  pip install 'foregone[{extra}]', or in a checkout "
            f"of foregone with  pip install '.[{extra}]'"
        )

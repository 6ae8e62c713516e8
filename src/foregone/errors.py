"""What can go wrong, by kind. Every message says what was wrong and what to do next."""

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
    """Base of every error this library raises on purpose."""


class InvalidInputError(ForegoneError, ValueError):
    """An argument is not usable: wrong range, shape or kind."""


class FileFormatError(ForegoneError, ValueError):
    """A file is damaged, truncated, of an unknown version, or not one of ours."""


class SolverError(ForegoneError, RuntimeError):
    """A solver ended without an answer it can vouch for."""


class PollError(ForegoneError, RuntimeError):
    """A poll ended without a verdict because too few voters answered.

    Attributes
    ----------
    votes : dict
        What was answered so far: voter -> vote, in the order in which they were asked.
    """

    def __init__(self, message: str, votes: Mapping[int, Any]) -> None:
        super().__init__(message)
        self.votes = dict(votes)


class PollManyError(ForegoneError, RuntimeError):
    """Some of many polls ended without a verdict.

    Attributes
    ----------
    failed : dict
        Question id -> the `PollError` that its poll ended with.
    """

    def __init__(self, message: str, failed: Mapping[Hashable, PollError]) -> None:
        super().__init__(message)
        self.failed = dict(failed)


class JournalError(ForegoneError, OSError):
    """A journal cannot be written to, or another process is writing to it."""


class NoVoteError(ForegoneError, ValueError):
    """A reply has no answer that could be counted; polls take it for a failed call."""


class MissingExtraError(ForegoneError, ImportError):
    """An optional dependency is needed and not installed.

    Parameters
    ----------
    package : str
        What could not be imported.
    extra : str
        The extra of foregone that brings it.
    purpose : str
        What it is needed for, as the start of a sentence.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}: install it with  pip install 'foregone[{extra}]', or in a checkout "
            f"of foregone with  pip install '.[{extra}]'"
        )

"""What can go wrong, by kind. Every message says what was wrong and what to do next."""

__all__ = [
    "FileFormatError",
    "ForegoneError",
    "InvalidInputError",
    "MissingExtraError",
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
        super().__init__(f"{purpose} needs {package}: install it with  pip install 'foregone[{extra}]'")

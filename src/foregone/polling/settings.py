"""Checks on the settings that polls share."""

from __future__ import annotations

from foregone.errors import InvalidInputError

__all__ = ["at_least", "check_timeout", "check_voters"]


def at_least(least: int, **settings: int) -> None:
    """Raise unless every setting is a whole number of at least ``least``."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInputError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_timeout(timeout: float | None) -> None:
    """Raise unless it is a number of seconds above 0, or None."""
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and timeout > 0):
        raise InvalidInputError(f"timeout must be a number of seconds above 0, or None, not {timeout!r}")


def check_voters(voters: int | None, n_voters: int) -> None:
    """Raise unless there are as many voters as the strategy is for, or more, or no end of them."""
    if voters is None:
        return
    at_least(1, voters=voters)
    if voters < n_voters:
        raise InvalidInputError(
            f"the strategy is for {n_voters} voters, and there are only {voters}: solve for {voters}"
        )

"""For functions that numba overloads by the types of their arguments."""

__all__ = ["compiled_only"]


def compiled_only():
    """Refuse to be run by Python: numba compiles an overload of the caller, which is only a name for it."""
    raise TypeError("for compiled code only")

"""Marks of tests that not every operating system can run."""

import os

import pytest

__all__ = ["posix"]

posix = pytest.mark.skipif(os.name != "posix", reason="needs permissions, links or signals as POSIX has them")

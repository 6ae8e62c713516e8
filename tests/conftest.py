"""Settings for every test."""

import os
import sys

# Tests run side by side, one on each core. OpenMP threads that wait for each other would take up to a hundred
# times as long. This must be set before scikit-learn is imported; foregone's own threads do not depend on it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

# No deadline: a slow machine is no failure. The same examples every time: a failure can be repeated.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

# Whichever test starts Spark's Java process first, its workers are to be this Python.
os.environ["PYSPARK_PYTHON"] = sys.executable


@pytest.fixture(autouse=True)
def _same_luck_every_time() -> None:
    """Seed what ``random_state=None`` draws from, so that a failure can be repeated."""
    np.random.seed(0)  # noqa: NPY002  # scikit-learn draws from this one

"""Settings for every test."""

import os
import sys

# Tests run side by side, one on each core. Threads of OpenMP that wait for each other would take a hundred times as
# long. This must be set before scikit-learn is imported; threads of foregone do not depend on it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402  # after the setting above
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# No deadline: a slow machine is no failure. The same examples every time: a failure can be repeated.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

# Whichever test starts Spark's Java process first, its workers are to be this Python.
os.environ["PYSPARK_PYTHON"] = sys.executable


@pytest.fixture(autouse=True)
def _same_luck_every_time() -> None:
    """Seed what ``random_state=None`` draws from, so that a failure can be repeated."""
    np.random.seed(0)  # noqa: NPY002  # scikit-learn draws from this one

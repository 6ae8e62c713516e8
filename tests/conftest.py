"""Settings for every test."""

import os
import sys

from hypothesis import settings

# No deadline: a slow machine is no failure. The same examples every time: a failure can be repeated.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

# Whichever test starts Spark's Java process first, its workers are to be this Python.
os.environ["PYSPARK_PYTHON"] = sys.executable

"""Killing processes needs the signals of POSIX."""

import os

collect_ignore = [] if os.name == "posix" else ["test_kills.py", "careless_jobs.py"]

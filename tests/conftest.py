"""Settings for every test."""

from hypothesis import settings

# No deadline: a slow machine is no failure. The same examples every time: a failure can be repeated.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

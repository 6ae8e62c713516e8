"""Settings for every test."""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

# Tests run side by side, one on each core. OpenMP threads that wait for each other would take up to a hundred
# times as long. This must be set before scikit-learn is imported; foregone's own threads do not depend on it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

LIBRARIES = {"catboost", "lightgbm", "treelite", "xgboost", "ydf"}  # importers are named after them

# No limits of time: a slow machine is no failure. The same examples every time: a failure can be repeated.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

# Whichever test starts Spark's Java process first: its workers are to be this Python, and it ends before
# optimised code would pay.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(autouse=True)
def _same_luck_every_time() -> None:
    """Seed what ``random_state=None`` draws from, so that a failure can be repeated."""
    np.random.seed(0)  # noqa: NPY002  # scikit-learn draws from this one


@pytest.fixture(scope="session", autouse=True)
def _brief() -> Iterator[None]:
    """Let reports measure speed for less long: no test looks at how fast anything was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("foregone.report.speed.SECONDS", 0.005)
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the examples of importers without their libraries; let workers begin with the slow files.

    With the slow files first, no worker is left with one at the end.
    """
    for item in items:
        library = item.path.stem
        if item.path.parent.name == "importers" and library in LIBRARIES and find_spec(library) is None:
            item.add_marker(pytest.mark.skip(reason=f"{library} is not installed"))
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist it is no hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of a file to one worker: what they share is made once, not once by each worker."""
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if group == nodeid else group

    config.option.loadscopereorder = False
    return ByFile(config, log)

"""States of monitors: of two classes and of three, with true labels and without, after an alarm or not."""

from __future__ import annotations

import json
import shutil
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from foregone import Monitor, solve
from foregone.certifying import Promise
from foregone.errors import InvalidInputError
from foregone.monitoring import MonitorState, Stops
from fuzzing.formats.forgeries import forge_from, many_stops
from fuzzing.formats.format import Format, all_of_it, put
from fuzzing.formats.seals import of_all, reseal_strategy

__all__ = ["FORMATS"]

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "monitor-v3.json"
NAME = "state.json"


@cache
def _monitors() -> tuple[Monitor, ...]:
    """Return monitors that have seen some rows, of which the last has none to compare with."""
    draws = np.random.default_rng(0)
    three = draws.integers(0, 60, (3, 8))
    by_accuracy = Promise("classifier", "accuracy", 0.02, 0.95, 0.01, 500)
    made = (
        Monitor(solve("minimean", 5, 0.05), reference=Stops(draws.integers(5, 90, (2, 6)))),
        Monitor(by_accuracy, reference=Stops(three, n_differing=9), classes=["ant", "bee", "cow"]),
        Monitor(solve("minimixed", 5, 0.01)),
    )
    for monitor in made:
        _watch(monitor)
    return made


def _watch(monitor: Monitor) -> None:
    """Let a monitor see some rows; the last ones are all alike."""
    draws, classes = np.random.default_rng(1), np.array(monitor.classes, object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for asked in ([1, 2, 3, 4, 5], [5]):
            labels = classes[draws.integers(0, len(classes), 60)]
            if monitor.reference is not None:
                monitor.update(draws.choice(asked, 60), labels=labels)
            monitor.audited(
                labels, np.roll(labels, 1), labels if monitor.promise.loss == "accuracy" else None
            )


def _write(folder: Path) -> None:
    for number, state in enumerate([*(monitor.state for monitor in _monitors()), GOLDEN]):
        (folder / str(number)).mkdir(parents=True)
        file = folder / str(number) / NAME
        shutil.copy(state, file) if isinstance(state, Path) else state.save(file)


def _load(sample: Path, home: Path) -> MonitorState:
    return MonitorState.load(sample / NAME)


def _content(state: MonitorState) -> str:
    return json.dumps(state.to_fields(), sort_keys=True)


def _use(state: MonitorState) -> None:
    """Go on from a state, where a monitor takes it; add it to itself."""
    repr(state + state)
    for monitor in _monitors():
        own = monitor.state
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                monitor.state = state
                _watch(monitor)
                monitor.state = sum([monitor.state, state])
            json.dumps(monitor.to_dict(), allow_nan=False)
            monitor.metrics()
        except InvalidInputError:  # of another monitor
            pass
        finally:
            monitor.state = own


FORMATS = (
    Format(
        "monitor state", _write, _load, _content, _use, of_all(reseal_strategy),
        forge_from(many_stops), json=(all_of_it, put),
    ),
)  # fmt: skip

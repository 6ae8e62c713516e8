"""Files of states: what was saved comes back, for ever, and nothing else is taken for one."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foregone import solve
from foregone.errors import FileFormatError
from foregone.monitoring import Monitor, MonitorState, MonitorWarning, Stops
from foregone.strategy.json_file import write_file

GOLDEN = Path(__file__).parents[1] / "golden" / "monitor-v3.json"


def golden_monitor() -> Monitor:
    """Make the monitor whose state is in the golden file; ``golden_monitor().state.save(...)`` wrote it."""
    counts = np.array([[0, 300, 200, 100, 50, 20], [0, 250, 150, 100, 50, 30]])
    monitor = Monitor(solve("minimean", 5, 0.05), reference=Stops(counts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MonitorWarning)
        monitor.update([1, 1, 2, 3, 5] * 40, labels=[False, True, True, False, True] * 40)
        monitor.audited([False, True, True, False, True] * 20, [False, True, False, False, True] * 20)
        monitor.update([5, 5, 5, 4, 1] * 20, labels=[False, True, True, False, True] * 20)
        assert monitor.state.n_rows == 300  # which has the evidence looked at
    return monitor


def test_a_state_of_version_3_is_read() -> None:
    state = MonitorState.load(GOLDEN)
    assert (state.n_rows, state.n_audited) == (300, 100)
    assert state.stops.tolist() == [[0, 40, 0, 40, 20, 20], [0, 60, 40, 0, 0, 80]]
    assert state.audits.tolist() == [40, 20, 40, 0]
    assert [(alarm.kind, alarm.what, alarm.time) for alarm in state.alarms] == [
        ("disagreement", "disagreement", 200),
        ("spread", "closer", 300),
    ]
    monitor = golden_monitor()
    evidence = monitor.to_dict()["evidence"]
    monitor.state = state  # its own
    assert monitor.to_dict()["evidence"] == pytest.approx(evidence)


def test_what_is_written_is_still_the_golden_file(tmp_path: Path) -> None:
    MonitorState.load(GOLDEN).save(tmp_path / "state.json")
    assert (tmp_path / "state.json").read_bytes() == GOLDEN.read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "strategy"}, 'field "kind" is not "monitor"'),
        ({"n_rows": 299}, 'field "stops" must be of 299 rows'),
        ({"n_rows": -1}, 'field "n_rows" must be an integer of at least 0'),
        ({"shape": [2, 10**12]}, "memory"),
        ({"shape": [-2, -6]}, 'field "shape" must be two numbers of at least 0'),
        ({"stops": [[0, 6, 300]]}, 'field "stops" must hold rows, columns and counts within 2 by 6'),
        ({"stops": [[0, 1, 0.5], [0, 2, 299.5]]}, "must be integers"),
        ({"recent": [[0, 1, -1]]}, 'field "recent" must hold rows, columns and counts'),
        ({"audits": [1, 2, 3, -4]}, 'field "audits"'),
        ({"audits": [40, 20, 40]}, 'field "audits" must be of 100 rows'),
        ({"n_audited": 99}, 'field "audits" must be of 99 rows'),
        ({"capital": {}}, 'field "spread" is missing'),
        ({"history": [[1, 2]]}, 'field "history" must contain only lists of 3'),
        ({"history": [[1, 1.0, 1.0]] * 257}, 'field "history" is longer than 256'),
        ({"alarms": [{"kind": "fire"}]}, 'field "kind" must be one of spread, disagreement'),
    ],
)
def test_a_damaged_state_is_refused_by_the_field(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    fields = json.loads(GOLDEN.read_text())
    for key in ("format", "version", "checksum"):
        del fields[key]
    write_file(tmp_path / "state.json", {**fields, **changes})
    with pytest.raises(FileFormatError, match=message):
        MonitorState.load(tmp_path / "state.json")


def test_a_damaged_digit_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(GOLDEN.read_text().replace('"time": 200', '"time": 201'))
    with pytest.raises(FileFormatError, match="checksum"):
        MonitorState.load(tmp_path / "state.json")

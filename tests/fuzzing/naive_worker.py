"""A worker whose readers have faults for the harness to find: python -m tests.fuzzing.naive_worker."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from fuzzing.formats.format import Format, all_of_it, put

from foregone.errors import FileFormatError
from fuzzing import worker

SAMPLE = {"name": "sample", "numbers": [1, 2, 3], "checksum": 6}


def _write(folder: Path) -> None:
    (folder / "0").mkdir(parents=True)
    (folder / "0" / "file.json").write_text(json.dumps(SAMPLE))


def _parse(sample: Path) -> Any:
    try:
        return json.loads((sample / "file.json").read_bytes())
    except (ValueError, RecursionError):
        raise FileFormatError("not JSON") from None


def _load_careful(sample: Path, home: Path) -> Any:
    content = _parse(sample)
    if content != SAMPLE:
        raise FileFormatError("damaged")
    return content


def _load_blind(sample: Path, home: Path) -> Any:
    """Read everything, whatever the checksum."""
    return _parse(sample)


def _load_raising(sample: Path, home: Path) -> Any:
    """Read without expecting anything else than JSON."""
    return json.loads((sample / "file.json").read_bytes())


def _load_greedy(sample: Path, home: Path) -> Any:
    """Take a lot of memory for whatever is damaged."""
    if _parse(sample) != SAMPLE:
        len(bytearray(b"x") * 300_000_000)
        raise FileFormatError("damaged")
    return SAMPLE


def _load_dying(sample: Path, home: Path) -> Any:
    """End the process for whatever is damaged."""
    if _parse(sample) != SAMPLE:
        os.kill(os.getpid(), signal.SIGSEGV)
    return SAMPLE


def _load_hanging(sample: Path, home: Path) -> Any:
    """Never end for whatever is damaged."""
    while _parse(sample) != SAMPLE:
        time.sleep(0.01)
    return SAMPLE


LOADERS = {
    "careful": _load_careful,
    "blind": _load_blind,
    "raising": _load_raising,
    "greedy": _load_greedy,
    "dying": _load_dying,
    "hanging": _load_hanging,
}
NAIVE = {
    name: Format(name, _write, load, json.dumps, len, json=(all_of_it, put)) for name, load in LOADERS.items()
}

if __name__ == "__main__":
    worker.main(NAIVE, Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))

"""Run the cases on the simulator, in a process of its own: ``python -m tests.gpu.run_simulated [FOLDER]``.

Writes a line of JSON: what went wrong by case, or null. With a folder, its files are classifiers, beside rows
in ``rows.npy``, that are asked on both devices.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

warnings.simplefilter("ignore")  # of whole numbers that wrap around, as they are meant to

from tests.gpu import simulated  # noqa: E402  # the simulator first

simulated.use_small_blocks()

import numpy as np  # noqa: E402  # the simulator first

from foregone import EarlyStoppingClassifier  # noqa: E402  # the simulator first
from foregone.forest import gpu_jobs  # noqa: E402  # the simulator first
from tests.gpu.cases import ALL_CASES, check_classifier  # noqa: E402  # the simulator first

N_ROWS = 13


def _asked_on_both(file: Path, rows: Path) -> None:
    check_classifier(EarlyStoppingClassifier.load(file), np.load(rows)[:N_ROWS])


def main(folder: str | None) -> None:
    gpu_jobs.LANES_TO_STOP, gpu_jobs.LANES_TO_COUNT, gpu_jobs.LANES_TO_ADD = 4, 8, 4
    checks: dict[str, Callable[[], None]] = {
        name: lambda run=run, n_rows=3 * N_ROWS if "in_tiles" in name else N_ROWS: run(n_rows)
        for name, run in ALL_CASES.items()
    }
    if folder is not None:
        files = Path(folder).glob("*.foregone")
        checks = {
            file.stem: lambda file=file: _asked_on_both(file, file.with_suffix(".npy")) for file in files
        }
    found: dict[str, str | None] = {}
    for name, check in checks.items():
        try:
            check()
            found[name] = None
        except BaseException:  # whatever it is, pytest's own failures too
            found[name] = traceback.format_exc(limit=-6)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*(sys.argv[1:] or [None]))

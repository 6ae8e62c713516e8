"""A process that attacks until told to stop: it may die, which is why it is one of its own.

    python -m fuzzing.worker SAMPLES SCRATCH SEED

Each line of input names a format, a first number and one past the last, as JSON; for each number a line says
that it begins, and a line what became of it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from fuzzing.attack import Attack, allowed_memory, limit_memory
from fuzzing.formats.format import Format
from fuzzing.mutations import MOST_BYTES

GUARD = allowed_memory(MOST_BYTES) + (1 << 30)  # of address space, of which much is never touched


def main(formats: Mapping[str, Format], samples: Path, scratch: Path, seed: int) -> None:
    """Serve until the input ends."""
    faulthandler.enable()
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the library prints is no report
    attacks: dict[str, Attack] = {}
    for line in sys.stdin:
        name, start, end = json.loads(line)
        if name not in attacks:
            limit_memory(None)
            attacks[name] = Attack(formats[name], samples / name, scratch, seed)
        limit_memory(GUARD)
        for number in range(start, end):
            report.write(f"{number}\n")
            report.write(json.dumps(attacks[name].run(number)) + "\n")


if __name__ == "__main__":
    from fuzzing.registry import FORMATS

    main(FORMATS, Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))

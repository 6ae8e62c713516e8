"""``python -m fuzzing files`` and ``python -m fuzzing kills``."""

from __future__ import annotations

import sys

COMMANDS = ("files", "kills")


def main(arguments: list[str]) -> int:
    """Run one of the commands."""
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: python -m fuzzing {{{','.join(COMMANDS)}}} [--help]", file=sys.stderr)
        return 2
    if arguments[0] == "files":
        from fuzzing.files import main as run
    else:
        from fuzzing.kills import main as run
    return run(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

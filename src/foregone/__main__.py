"""``python -m foregone``: the same as the command ``foregone``."""

import sys

from foregone.cli import main

if __name__ == "__main__":
    sys.exit(main())

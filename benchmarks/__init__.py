"""The measurements of foregone; to begin, `python -m benchmarks.predict --help`."""

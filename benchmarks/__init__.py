"""What foregone is measured against, and how: `python -m benchmarks.predict --help`."""

"""Reading models of other libraries: one file for each, all of them deliver the same (`found.py`)."""

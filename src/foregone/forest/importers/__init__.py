"""Reading models of other libraries: one file for each, all of them deliver the same (`found.py`).

An importer is a module with a function ``import_model``, and a line in `by_model` for each class it reads.
"""

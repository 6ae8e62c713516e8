"""Importers of models from other libraries: one file per library, each returns a `Found` (`found.py`).

An importer is a module with a function ``import_model``, plus a line in `by_model` for each class it reads.
"""

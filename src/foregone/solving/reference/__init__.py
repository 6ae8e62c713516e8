"""Slow and independent solvers that the fast one is checked against: the paper's two programs."""

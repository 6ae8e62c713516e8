"""Slow, independent solvers to check the fast one against: the paper's two programs."""

"""Attacks on the library: damaged and hostile files (`files`), and jobs killed at any moment (`kills`)."""

"""FORMATS: every file format that the library reads, by name."""

from __future__ import annotations

from fuzzing.formats import forests, runs, states, strategies, tables, votes
from fuzzing.formats.format import Format

__all__ = ["FORMATS"]

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        *strategies.FORMATS,
        *forests.FORMATS,
        *runs.FORMATS,
        *states.FORMATS,
        *votes.FORMATS,
        *tables.FORMATS,
    )
}

"""Every file format that the library reads: how to make samples, load, compare and use them."""

from fuzzing.formats import forests, runs, strategies, votes
from fuzzing.formats.format import Format

__all__ = ["FORMATS", "Format"]

FORMATS: dict[str, Format] = {
    format.name: format for format in (*strategies.FORMATS, *forests.FORMATS, *runs.FORMATS, *votes.FORMATS)
}

"""load(path): read any foregone file; the content, not the file name, determines the kind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from foregone._system.atomic_file import PathLike
from foregone._system.file_reading import cannot_read
from foregone.errors import FileFormatError
from foregone.kinds import promise_fields, promise_of, solution_of
from foregone.monitoring import MonitorState, Stops
from foregone.strategy.json_file import read_file

if TYPE_CHECKING:
    from foregone.classifier import EarlyStoppingClassifier
    from foregone.forest import PackedForest, PluralityForest, ScoredForest
    from foregone.kinds import AnySolution, AnyStrategy

    Content = (
        AnyStrategy
        | AnySolution
        | MonitorState
        | PackedForest
        | PluralityForest
        | ScoredForest
        | EarlyStoppingClassifier
    )

__all__ = ["SavedFile", "load", "open_file"]


class FileKind(NamedTuple):
    """One kind of file content.

    Attributes
    ----------
    words : str
        Its description.
    home : str
        Module and name of its class, imported when such a file is read.
    """

    words: str
    home: str


# Keyed by the field "kind" of a file, and by whether the file holds a solution.
STRATEGIES = {
    ("strategy", False): FileKind(
        "strategy for votes between two answers", "foregone.strategy:StoppingStrategy"
    ),
    ("strategy", True): FileKind("solution for votes between two answers", "foregone.solving:Solution"),
    ("plurality", False): FileKind(
        "strategy for votes among many answers", "foregone.plurality:PluralityStrategy"
    ),
    ("plurality", True): FileKind(
        "solution for votes among many answers", "foregone.plurality:PluralitySolution"
    ),
    ("scores", False): FileKind("strategy for scores", "foregone.scores:ScoreStrategy"),
    ("monitor", False): FileKind("state of a monitor", "foregone.monitoring:MonitorState"),
}
PACKED = {
    "forest": FileKind("forest that votes between two classes", "foregone.forest:PackedForest"),
    "plurality forest": FileKind("forest that votes among many classes", "foregone.forest:PluralityForest"),
    "scored forest": FileKind("forest with scores", "foregone.forest:ScoredForest"),
    "classifier": FileKind("early-stopping classifier", "foregone.classifier:EarlyStoppingClassifier"),
}
READABLE = (
    "foregone reads strategies and solutions (JSON files from their save method or 'foregone solve -o'), and "
    "monitor states, forests and classifiers written by their save method"
)


class SavedFile(NamedTuple):
    """A foregone file: its content and its properties.

    Attributes
    ----------
    content : object
        The object in the file.
    kind : str
        Description of the kind of content.
    version : int
        Version of the file format.
    n_bytes : int
        Size of the file.
    modified : datetime
        When the file was last changed, in local time; files do not record when they were created.
    """

    content: Content
    kind: str
    version: int
    n_bytes: int
    modified: datetime

    @property
    def is_forest(self) -> bool:
        """Whether the content is a forest without a strategy."""
        return hasattr(self.content, "classes")

    def facts(self) -> dict[str, Any]:
        """Return a summary of the content for JSON; None for values that a kind does not have."""
        of_file = {
            "version": self.version,
            "n_bytes": self.n_bytes,
            "modified": self.modified.isoformat(timespec="seconds"),
        }
        if isinstance(self.content, MonitorState):
            return {"kind": self.kind, **_facts_of_state(self.content), **of_file}
        ensemble: Any = getattr(self.content, "ensemble_", self.content)
        classes = getattr(ensemble, "classes", None)
        promise, solution = promise_of(self.content), solution_of(self.content)
        limit = None if promise is None else promise.limit
        return {
            "kind": self.kind,
            "n_voters": ensemble.n_voters,
            "n_answers": getattr(ensemble, "n_classes", 2),
            "classes": None if classes is None else classes.tolist(),
            "n_features": getattr(ensemble, "n_features", None),
            "trees_a_round": getattr(ensemble, "trees_a_round", None),
            "criterion": getattr(solution or self.content, "criterion", None),
            "max_disagreement": {str(key): rate for key, rate in limit.items()}
            if isinstance(limit, Mapping)
            else limit,
            "confidence": None if promise is None else promise.confidence,
            **promise_fields(self.content),
            **of_file,
        }


def _facts_of_state(state: MonitorState) -> dict[str, Any]:
    stops, last = Stops(state.stops), state.history[-1] if state.history else None
    differing = state.audits[1 : 2 * stops.n_classes : 2].sum() if stops.n_classes else None
    return {
        "watched": state.watched,
        "n_voters": max(stops.n_voters, 0),
        "n_answers": stops.n_classes,
        "rows": state.n_rows,
        "rows_by_class": stops.answered.tolist(),
        "mean_votes_asked": stops.mean_asked,
        "audited": state.n_audited,
        "audited_disagreements": None if differing is None else int(differing),
        "evidence": None if last is None else {"spread": last.spread, "disagreement": last.disagreement},
        "alarms": [vars(alarm) for alarm in state.alarms],
    }


def load(path: PathLike, *, max_memory: float | None = None) -> Content:
    """Read any foregone file: a strategy, solution, monitor state, forest or classifier.

    The content of the file, not its name, determines the kind. As with the ``load`` of each class, nothing
    is unpickled or executed, and everything is checked.

    Parameters
    ----------
    path : path
        The file to read.
    max_memory : float, optional
        Memory limit in bytes, in addition to 100 times the size of the file; by default 256 MiB.

    Returns
    -------
    StoppingStrategy, Solution, PluralityStrategy, PluralitySolution, ScoreStrategy, MonitorState, \
PackedForest, PluralityForest, ScoredForest or EarlyStoppingClassifier
        The object in the file; a solution if the file holds a strategy with the problem it solves.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, of an unknown version, or not a foregone file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from foregone import load, rules
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rules.lead(21, k=3).save(Path(folder) / "lead.json")
    ...     load(Path(folder) / "lead.json")
    <StoppingStrategy for 21 voters>
    """
    return open_file(path, max_memory=max_memory).content


def open_file(path: PathLike, *, max_memory: float | None = None) -> SavedFile:
    """Read any foregone file as `load` does, and return its content with its properties."""
    try:
        with Path(path).open("rb") as stream:
            start = stream.read(16)
        about = Path(path).stat()
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    read = _read_strategy if start.lstrip()[:1] == b"{" else _read_packed
    content, kind, version = read(path, start, max_memory)
    modified = datetime.fromtimestamp(about.st_mtime).astimezone()
    return SavedFile(content, kind, version, about.st_size, modified)


def _read_strategy(path: PathLike, start: bytes, max_memory: float | None) -> tuple[Any, str, int]:
    fields = read_file(path, max_memory)
    name = fields.text("kind")
    kind = STRATEGIES.get((name, "solution" in fields))
    if kind is None:
        raise fields.error("kind", f"is {name!r}, which this version of foregone does not know: {READABLE}")
    content = resolve_name(kind.home).from_fields(fields)
    fields.check_intact()
    return content, kind.words, fields.version


def _read_packed(path: PathLike, start: bytes, max_memory: float | None) -> tuple[Any, str, int]:
    from foregone.forest import container  # brings the compiled loops

    if start != container.MAGIC:
        raise FileFormatError(f"{path}: not a foregone file: {READABLE}")
    name, version = container.kind_of(path)
    kind = PACKED.get(name)
    if kind is None:
        raise FileFormatError(f"{path}: contains a {name!r}, which cannot be loaded on its own: {READABLE}")
    ours = resolve_name(kind.home)
    limits_memory = name in ("plurality forest", "classifier")  # the others use memory only for parsing
    content = ours.load(path, max_memory=max_memory) if limits_memory else ours.load(path)
    return content, kind.words, version

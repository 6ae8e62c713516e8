"""Read a model from our own format or skops; from joblib or pickle only on request."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from foregone._system.atomic_file import PathLike
from foregone._system.file_reading import cannot_read
from foregone.errors import FileFormatError, InvalidInputError, MissingExtraError
from foregone.report.sound_trees import check_tree_states, check_trees

__all__ = ["read_model"]

OURS, ZIP = b"foregone packed\n", b"PK\x03\x04"
PICKLES = {".pkl", ".pickle", ".joblib", ".sav"}
# skops does not trust it, because wrong numbers inside can misdirect a prediction. We check all of them.
CHECKED = "sklearn.tree._tree.Tree"


def read_model(path: PathLike, *, trust: Iterable[str] = (), trust_pickle: bool = False) -> Any:
    """Load the model in a file.

    Parameters
    ----------
    path : path
        Written by `EarlyStoppingClassifier.save` or ``skops.io.dump``; its first bytes tell which.
    trust : iterable of str
        Types in a skops file to trust beyond those that skops trusts. scikit-learn's trees are trusted after
        all of their nodes have been checked.
    trust_pickle : bool, default=False
        Load other files as pickles, as written by joblib. A pickle can run any code when loaded, so without
        this nothing of it is loaded.

    Raises
    ------
    FileFormatError
        If the file cannot be read or is damaged.
    InvalidInputError
        If it holds types that are not trusted; the message names them and what to do.
    """
    file = Path(path)
    named_pickle = file.suffix.lower() in PICKLES
    start = _first_bytes(file)
    if named_pickle and not trust_pickle:
        start = b""
    if start == OURS:
        from foregone.classifier import EarlyStoppingClassifier

        return EarlyStoppingClassifier.load(file)
    if start.startswith(ZIP) and not named_pickle:
        return _read_skops(file, sorted(set(trust)))
    if not trust_pickle:
        raise InvalidInputError(
            f"{file} is neither a classifier saved by foregone nor a skops file, and was not loaded: a "
            "pickle or joblib file can run any code. Save the model with skops.io.dump(model, 'model.skops') "
            "and use that file; or, if you know where this file comes from, add --trust-pickle"
        )
    return _read_pickle(file)


def _first_bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(len(OURS))
    except (OSError, ValueError) as error:
        raise cannot_read(file, error) from None


def _read_skops(file: Path, trust: list[str]) -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingExtraError("skops", "report", "Reading a skops file") from None
    try:
        unknown = sorted({*skops.io.get_untrusted_types(file=file)} - {CHECKED, *trust})
        if not unknown:
            check_tree_states(file)
            model = skops.io.load(file, trusted=sorted({CHECKED, *trust}))
    except Exception as error:  # whatever a damaged file leads to
        raise FileFormatError(f"cannot read {file} as a skops file: {_brief(error)}") from error
    if unknown:
        raise InvalidInputError(
            f"{file} holds types that are not trusted: {', '.join(unknown)}. Check them; if you know where "
            f"the file comes from, add  --trust {','.join(unknown)}"
        )
    check_trees(model, str(file))
    return model


def _read_pickle(file: Path) -> Any:
    import joblib

    try:
        return joblib.load(file)  # allowed by trust_pickle; reads plain pickles too
    except Exception as error:  # a pickle may raise anything
        raise FileFormatError(f"cannot load {file} as a joblib or pickle file: {_brief(error)}") from error


def _brief(error: Exception) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:200]}" if said else type(error).__name__

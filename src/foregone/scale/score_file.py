"""score_file(model, input, output): predict on a file in bounded memory; a stopped run can resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from foregone._system.atomic_file import PathLike
from foregone._system.gpu import cuda_module
from foregone.checks import check_share
from foregone.errors import ForegoneError, InvalidInputError
from foregone.forest.device_arrays import Device, check_device
from foregone.forest.tables import Columns
from foregone.scale.columns import choose_features, output_names
from foregone.scale.finished_parts import FinishedParts
from foregone.scale.input_files import FilePart, InputFiles, pyarrow
from foregone.scale.model_file import Model, ModelFile, ScoredRows
from foregone.scale.output_table import table_writer

__all__ = ["Engine", "Scored", "Scoring", "score_file"]

Engine = Literal["local", "dask", "spark"]
SUFFIXES = (".parquet", ".csv")


class Scored(NamedTuple):
    """Summary of `score_file`.

    Attributes
    ----------
    rows : int
        Number of rows in the output.
    by_label : dict
        Number of rows with each label.
    mean_votes_asked : float
        Mean voters asked per row; 0 without rows.
    parts, parts_found : int
        Number of parts, and number of parts that an earlier run had finished.
    """

    rows: int
    by_label: dict[Any, int]
    mean_votes_asked: float
    parts: int
    parts_found: int


class Scoring(NamedTuple):
    """A scoring job, as sent to workers; the model is sent separately."""

    files: InputFiles
    parts: tuple[FilePart, ...]
    features: list[str]
    finished: FinishedParts
    audit: float = 0.0

    def score_part(self, number: int, model: ModelFile) -> str | None:
        """Score a part into its file; return an error message, or None."""
        part = self.parts[number]
        try:
            batches = [
                model.answers(Columns(tuple(map(batch.column, self.features))), self.audit)
                for batch in self.files.batches(part, dict(zip(self.features, model.categories, strict=True)))
            ]
            self.finished.write(number, ScoredRows.joined(batches, audited=self.audit > 0))
        except (ForegoneError, ValueError) as error:  # ValueError: scikit-learn's, about values
            return str(error) if part.file in str(error) else f"{part.file}: {error}"
        return None


def score_file(
    model: Model | ModelFile,
    input: PathLike,  # what it is called on the command line
    output: PathLike,
    *,
    features: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    prefix: str = "",
    escape_formulas: bool = False,
    audit: float = 0.0,
    engine: Engine = "local",
    jobs: int | None = None,
    cluster: str | None = None,
    device: Device = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> Scored:
    """Predict for all rows of Parquet or CSV files, and write the answers to one file in the same order.

    Rows are read in batches, so neither input nor output needs to fit in memory. Finished parts are kept in
    the folder ``<output>.parts``; if a run is stopped, repeat the call to resume. The output appears once it
    is complete. Only one process at a time can write an output.

    Categorical columns must hold the same values as the frame that the model was trained on.

    Parameters
    ----------
    model : EarlyStoppingClassifier or path
        A fitted classifier of trees, or the file that its ``save`` wrote.
    input : path
        A Parquet or CSV file (with a header line), or a folder of such files.
    output : path
        A name that ends in ``.parquet`` or ``.csv``.
    features : sequence of str, optional
        Columns that hold the features, in the model's order; by default those it was fitted on.
    keep : sequence of str
        Input columns to copy to the output, such as a key.
    prefix : str, default=""
        Prefix for the names of the new columns, ``label`` and ``votes_asked``.
    escape_formulas : bool, default=False
        Put ``'`` before strings in a CSV output that start with ``=``, ``+``, ``-``, ``@``, a tab or a line
        end, which spreadsheets would run as formulas. By default strings are written unchanged.
    audit : float, default=0.0
        Share of rows that also get a full vote, for `foregone watch` or a `Monitor`. They are chosen by a
        hash of their values, the same rows as `Monitor.predict` chooses. A third new column, ``full_label``,
        holds the label of the full vote; it is null for all other rows.
    engine : {"local", "dask", "spark"}
        What runs the parts: threads of this process, or the workers of a cluster, which must have access to
        the files under the same paths.
    jobs : int, optional
        Number of parts that run in parallel, in threads or in a cluster started here; by default the number
        of cores.
    cluster : str, optional
        Address of a Dask scheduler, a Spark master, or a Spark Connect server (``sc://...``). By default the
        current client or session if there is one; otherwise a cluster is started on this machine.
    device : {"cpu", "cuda"}
        Where trees run, see docs/gpu.md; "cuda" only with the engine local. The output does not depend on it.
    progress : callable, optional
        Called with the number of finished parts, and of all parts.

    Returns
    -------
    Scored
        Counts over the whole output.

    Raises
    ------
    InvalidInputError, FileFormatError
        If the model is of the wrong kind, a column is missing or not numeric, the model does not accept a
        value, or finished parts belong to another job. The message names the file and the column.
    """
    from foregone.scale.engines import score_parts

    output = Path(output).absolute()
    _check_output(output, escape_formulas)
    audit = check_share(audit, "audit")
    shipped = ModelFile.of(model)._replace(device=_check_device(device, engine))
    files = InputFiles.at(Path(input))
    chosen = choose_features(shipped, files.columns, features, str(input))
    kept = list(dict.fromkeys(keep))
    names = output_names(kept, prefix, "the output", audited=audit > 0)
    kinds = dict(zip(chosen, shipped.categories, strict=True))
    schema = _schema(files.kept_schema(kinds, kept), names, shipped)
    parts = tuple(files.parts())
    finished = FinishedParts(
        output,
        {
            "model": shipped.digest,
            "input": files.identity(),
            "parts": parts,
            "features": chosen,
            "keep": kept,
            "label": names,
            **({"audit": audit} if audit > 0 else {}),
        },
    )
    work = Scoring(files, parts, chosen, finished, audit)
    with finished.opened():
        missing = [k for k in range(len(parts)) if not finished.is_finished(k, len(shipped.classes))]
        done = len(parts) - len(missing)
        if progress is not None:
            progress(done, len(parts))
        for problem in score_parts(engine, work, missing, shipped, jobs, cluster):
            if problem is not None:
                raise InvalidInputError(problem)
            done += 1
            if progress is not None:
                progress(done, len(parts))
        with finished.joining() as joined, table_writer(joined, output, schema, escape_formulas) as write:
            counts = _join(work, kinds, kept, shipped, schema, write)
    return Scored(*counts, len(parts), len(parts) - len(missing))


def _join(
    work: Scoring,
    kinds: dict[str, str],
    kept: list[str],
    model: ModelFile,
    schema: Any,
    write: Callable[[Any], None],
) -> tuple[int, dict[Any, int], float]:
    """Write all rows with kept columns and labels; return counts, by label, and the mean votes asked."""
    pa = pyarrow()
    labels = _labels(model)
    by_class, asked = np.zeros(len(model.classes), np.int64), 0
    for number, part in enumerate(work.parts):
        scored = work.finished.read(number, len(model.classes))
        by_class += np.bincount(scored.answers, minlength=len(by_class))
        asked += int(scored.asked.sum(dtype=np.int64))
        start, n_rows = 0, len(scored.answers)
        for columns in work.files.kept_batches(part, kinds, kept) if kept else iter([[]]):
            end = start + len(columns[0]) if kept else n_rows
            if end > n_rows:
                break
            new = [labels.take(pa.array(scored.answers[start:end])), pa.array(scored.asked[start:end])]
            if scored.full is not None:
                full = scored.full[start:end]
                new.append(labels.take(pa.array(full, mask=full < 0)))
            write(pa.record_batch([*columns, *new], schema=schema))
            start = end
        if start != n_rows:
            raise InvalidInputError(f"{part.file} changed while it was scored: run again")
    n_rows = int(by_class.sum())
    return n_rows, dict(zip(model.classes.tolist(), by_class.tolist(), strict=True)), asked / max(n_rows, 1)


def _check_device(device: Any, engine: str) -> Device:
    """Return where trees run. Raises an error if the device is not available."""
    if check_device(device) == "cuda":
        if engine != "local":
            raise InvalidInputError(
                f'device="cuda" needs engine="local", got {engine!r}: the workers of a cluster run on CPUs'
            )
        cuda_module()
    return check_device(device)


def _schema(kept: Any, names: tuple[str, ...], model: ModelFile) -> Any:
    pa, label = pyarrow(), _labels(model).type
    types = (label, pa.int32(), label)
    return pa.schema([*kept, *(pa.field(*column) for column in zip(names, types, strict=False))])


def _labels(model: ModelFile) -> Any:
    pa = pyarrow()
    try:
        return pa.array(model.classes.tolist())
    except pa.ArrowException:
        raise InvalidInputError(
            f"the labels {model.classes.tolist()} have several types, but a column needs one: train with "
            "labels of one type"
        ) from None


def _check_output(output: Path, escape_formulas: bool) -> None:
    if "\0" in str(output):
        raise InvalidInputError(f"cannot write {str(output)!r}: a file name cannot have a NUL character")
    if output.suffix not in SUFFIXES:
        raise InvalidInputError(
            f"the name of the output must end in {' or '.join(SUFFIXES)}, got {output.name}"
        )
    if output.is_dir():
        raise InvalidInputError(f"cannot write {output}: it is a folder; give the name of a file in it")
    if not output.parent.is_dir():
        raise InvalidInputError(
            f"cannot write {output}: the folder {output.parent} does not exist; create it first"
        )
    if escape_formulas and output.suffix != ".csv":
        raise InvalidInputError("escape_formulas is only for CSV outputs: leave it out for Parquet")

"""score_file(model, input, output): stream a file through the engine in bounded memory, resumably."""

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
    """What a scoring came to.

    Attributes
    ----------
    rows : int
        Number of rows of the output.
    by_label : dict
        How many of them have each label.
    mean_votes_asked : float
        Voters asked for a row, on average; 0 where there is no row.
    parts, parts_found : int
        Number of parts, and how many of them an earlier run had finished.
    """

    rows: int
    by_label: dict[Any, int]
    mean_votes_asked: float
    parts: int
    parts_found: int


class Scoring(NamedTuple):
    """What is to be done, as it is sent to those who do it; all but the model, which is shipped by itself."""

    files: InputFiles
    parts: tuple[FilePart, ...]
    features: list[str]
    finished: FinishedParts
    audit: float = 0.0

    def score_part(self, number: int, model: ModelFile) -> str | None:
        """Score a part into its file; return what is wrong with it, if something is."""
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
    """Score the rows of Parquet or CSV files into one file, in their order.

    Rows are read in batches, so neither input nor output needs to fit in memory. Finished parts are kept in
    the folder ``<output>.parts``; when a run was stopped, the same call goes on from them. The output
    appears when it is whole. One process at a time can write an output.

    Columns of categories hold them as the model knows them: the values of the frame that it was trained on.

    Parameters
    ----------
    model : EarlyStoppingClassifier or path
        A fitted classifier of trees, or the file that its ``save`` wrote.
    input : path
        A Parquet or CSV file (with a line of names), or a folder of such files.
    output : path
        A name that ends in ``.parquet`` or ``.csv``.
    features : sequence of str, optional
        Columns that hold the features, in the model's order; by default those it was fitted on.
    keep : sequence of str
        Columns of the input to repeat in the output, such as a key.
    prefix : str, default=""
        Put before the names of the new columns, ``label`` and ``votes_asked``.
    escape_formulas : bool, default=False
        Put ``'`` before texts in a CSV output that start with ``=``, ``+``, ``-``, ``@``, a tab or
        the end of a line, which spreadsheets would run as formulas. By default texts are written as they are.
    audit : float, default=0.0
        Share of rows about which all voters are asked as well, for `foregone watch` or a `Monitor`. They are
        chosen by a hash of their values, the same rows as `Monitor.predict` chooses. What all voters are for
        is in a third new column, ``full_label``, which is null for the other rows.
    engine : {"local", "dask", "spark"}
        Who does the parts: threads of this process, or the workers of a cluster, which must see the files
        under the same names as this process does.
    jobs : int, optional
        How many parts are done at a time by threads or by a cluster started here; by default as many as
        there are cores.
    cluster : str, optional
        Address of a Dask scheduler, a Spark master, or a Spark Connect server (``sc://...``). By default the
        current client or session is used if there is one, or else a cluster is started on this machine.
    device : {"cpu", "cuda"}
        Where trees are asked, see docs/gpu.md; "cuda" for the engine local. No output depends on it.
    progress : callable, optional
        Called with how many parts are finished, and of how many.

    Returns
    -------
    Scored
        Counts over the whole output.

    Raises
    ------
    InvalidInputError, FileFormatError
        For a model of the wrong kind, a column that is missing or holds no numbers, values that the model
        cannot take, or finished parts of other work. The message names the file and the column.
    """
    from foregone.scale.engines import do_parts

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
        for problem in do_parts(engine, work, missing, shipped, jobs, cluster):
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
    """Write all rows, what is kept of the input beside their labels; count them, by label and votes asked."""
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
            raise InvalidInputError(f"{part.file} changed while it was scored: run this again")
    n_rows = int(by_class.sum())
    return n_rows, dict(zip(model.classes.tolist(), by_class.tolist(), strict=True)), asked / max(n_rows, 1)


def _check_device(device: Any, engine: str) -> Device:
    """Return where trees are asked; raise at once if they cannot be."""
    if check_device(device) == "cuda":
        if engine != "local":
            raise InvalidInputError(
                f'device="cuda" is for the engine local, not {engine}: the workers of a cluster ask on CPUs'
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
            f"the labels {model.classes.tolist()} are of several types, which a column cannot hold: train "
            "with labels of one type"
        ) from None


def _check_output(output: Path, escape_formulas: bool) -> None:
    if "\0" in str(output):
        raise InvalidInputError(f"cannot write {str(output)!r}: a name cannot hold a NUL character")
    if output.suffix not in SUFFIXES:
        raise InvalidInputError(f"{output.name}: give the output a name that ends in {' or '.join(SUFFIXES)}")
    if output.is_dir():
        raise InvalidInputError(f"cannot write {output}: it is a folder; give the name of a file in it")
    if not output.parent.is_dir():
        raise InvalidInputError(
            f"cannot write {output}: the folder {output.parent} does not exist; make it first"
        )
    if escape_formulas and output.suffix != ".csv":
        raise InvalidInputError("escape_formulas is for outputs that end in .csv: leave it out for Parquet")

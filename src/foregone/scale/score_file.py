"""score_file(model, input, output): stream a file through the engine in bounded memory, resumably."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from foregone.atomic_file import PathLike
from foregone.errors import ForegoneError, InvalidInputError
from foregone.scale.columns import as_rows, choose_features, output_names
from foregone.scale.finished_parts import FinishedParts
from foregone.scale.input_files import InputFiles, Part, pyarrow
from foregone.scale.model_file import Model, ModelFile

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
    parts: tuple[Part, ...]
    features: list[str]
    kept: list[str]
    schema: Any
    output: Path

    def score_part(self, number: int, model: ModelFile) -> str | None:
        """Score a part into its file; return what is wrong with it, if something is."""
        try:
            FinishedParts(self.output).write(number, self.schema, self._scored(self.parts[number], model))
        except (ForegoneError, ValueError) as error:  # ValueError: scikit-learn's, about values
            where = self.parts[number].file
            return str(error) if where in str(error) else f"{where}: {error}"
        return None

    def _scored(self, part: Part, model: ModelFile) -> Iterator[Any]:
        pa = pyarrow()
        classes = pa.array(model.classes.tolist(), self.schema.types[-2])
        for batch in self.files.batches(part, self.features, self.kept):
            rows = as_rows([_numbers(batch.column(name)) for name in self.features])
            labels, asked = model.predict_with_votes(rows)
            said_yes = pa.array((labels == model.classes[1]).astype(np.int8))
            columns = [batch.column(name) for name in self.kept]
            yield pa.record_batch([*columns, classes.take(said_yes), pa.array(asked)], schema=self.schema)


def score_file(
    model: Model | ModelFile,
    input: PathLike,  # what it is called on the command line
    output: PathLike,
    *,
    features: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    prefix: str = "",
    engine: Engine = "local",
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Scored:
    """Score the rows of Parquet or CSV files into one file, in their order.

    Rows are read in batches, so neither input nor output needs to fit in memory. Finished parts are kept in
    the folder ``<output>.parts``; when a run was stopped, the same call goes on from them. The output
    appears when it is whole.

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
    engine : {"local", "dask", "spark"}
        Who does the parts: threads of this process, or the workers of a cluster, which must see the files
        under the same names as this process does.
    jobs : int, optional
        How many parts are done at a time by threads or by a cluster started here; by default as many as
        there are cores.
    cluster : str, optional
        Address of a Dask scheduler, a Spark master, or a Spark Connect server (``sc://...``). By default the
        current client or session is used if there is one, or else a cluster is started on this machine.
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

    pa = pyarrow()
    output = Path(output).absolute()
    _check_output(output)
    shipped = ModelFile.of(model)
    files = InputFiles.at(Path(input))
    chosen = choose_features(shipped, files.columns, features, str(input))
    kept = list(dict.fromkeys(keep))
    names = output_names(kept, prefix, "the output")
    fields = [
        *files.kept_schema(chosen, kept),
        pa.field(names[0], pa.array(shipped.classes.tolist()).type),
        pa.field(names[1], pa.int32()),
    ]
    work = Scoring(files, tuple(files.parts()), chosen, kept, pa.schema(fields), output)
    finished = FinishedParts(output)
    finished.start(
        {
            "model": shipped.digest,
            "input": files.identity(),
            "parts": work.parts,
            "features": chosen,
            "keep": kept,
            "label": names,
        }
    )
    n_parts = len(work.parts)
    missing = [number for number in range(n_parts) if not finished.file(number).exists()]
    done = n_parts - len(missing)
    if progress is not None:
        progress(done, n_parts)
    for problem in do_parts(engine, work, missing, shipped, jobs, cluster):
        if problem is not None:
            raise InvalidInputError(problem)
        done += 1
        if progress is not None:
            progress(done, n_parts)
    return _summary(finished.join(n_parts, work.schema), shipped, names, n_parts, len(missing))


def _check_output(output: Path) -> None:
    if output.suffix not in SUFFIXES:
        raise InvalidInputError(f"{output.name}: give the output a name that ends in {' or '.join(SUFFIXES)}")
    if output.is_dir():
        raise InvalidInputError(f"cannot write {output}: it is a folder; give the name of a file in it")
    if not output.parent.is_dir():
        raise InvalidInputError(
            f"cannot write {output}: the folder {output.parent} does not exist; make it first"
        )


def _numbers(column: Any) -> Any:
    """Return a column as numbers, a null as NaN."""
    pa = pyarrow()
    if column.null_count or pa.types.is_boolean(column.type):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def _summary(
    batches: Iterator[Any], model: ModelFile, names: tuple[str, str], n_parts: int, n_missing: int
) -> Scored:
    from pyarrow import compute

    rows = asked = yes = 0
    for batch in batches:
        rows += batch.num_rows
        asked += compute.sum(batch.column(names[1])).as_py() or 0
        said_yes = compute.equal(batch.column(names[0]), model.classes.tolist()[1])
        yes += compute.sum(said_yes).as_py() or 0
    no_label, yes_label = model.classes.tolist()
    by_label = {no_label: rows - yes, yes_label: yes}
    return Scored(rows, by_label, asked / max(rows, 1), n_parts, n_parts - n_missing)

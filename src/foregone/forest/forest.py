"""Forest: the base class of packed trees, whatever their leaves hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
from numpy import ndarray

from foregone._kernels.compiled import entry_point, n_compiled
from foregone._kernels.looping_walk import SIDE_BY_SIDE, fill_leaf_matrix
from foregone._system.atomic_file import PathLike
from foregone.errors import InvalidInputError
from foregone.forest import container, forest_file
from foregone.forest.batch_trees import BatchTrees
from foregone.forest.device_arrays import Device, check_device
from foregone.forest.execution import MOST_BYTES, Scratch, block_bytes, for_each_block
from foregone.forest.gpu_forest import GpuForest
from foregone.forest.gpu_jobs import Job, job_for, matrix_job
from foregone.forest.gpu_trees import GpuTrees
from foregone.forest.importers.found import Found, LeafKind
from foregone.forest.layout import NodeArray, find_payloads, pack
from foregone.forest.rows import FLOATS, RowFormat, Rows
from foregone.forest.schedule import BaseSchedule, Order
from foregone.strategy.json_file import Fields

__all__ = ["NO_CATEGORIES", "Forest"]

StrategyT = TypeVar("StrategyT")
OutcomeT = TypeVar("OutcomeT", bound=tuple[npt.NDArray[Any], npt.NDArray[np.int32], npt.NDArray[Any]])

NO_CATEGORIES = np.empty(0, np.uint32)
FEW = 4  # rows
NODES_A_ROW = 200  # that are laid out for batches in the time that one row takes to be run
NO_SCHEDULE = BaseSchedule(object(), 0, "shared", None)  # that of nobody's strategy


class Forest(ABC, Generic[StrategyT, OutcomeT]):
    """Trees as compact arrays, for prediction only, run in full or until a strategy stops.

    `PackedForest`, `PluralityForest` and `ScoredForest` define what their leaves mean. How closely each
    matches the predictions of the model's own library is in docs/forests_from_elsewhere.md.

    Attributes
    ----------
    nodes, tree_start : ndarray
        The trees, see `foregone.forest.layout.pack`. Read-only, and checked: every walk through them ends.
    n_trees, n_features : int
        Number of voters, and of columns in each row.
    classes : ndarray
        The labels; for two classes, those of no and yes.
    rows : RowFormat
        Format of the rows it accepts.
    categories : ndarray of uint32
        The sets of categories that splits send left.
    """

    _leaf: ClassVar[LeafKind]
    _file_kind: ClassVar[str]
    _most_classes: ClassVar[int] = 2
    _row_kernels: ClassVar[tuple[Callable[..., Any], ...]]  # for keys of 32 bits, and of 64

    def __init__(
        self,
        nodes: NodeArray,
        tree_start: npt.NDArray[np.int64],
        classes: npt.NDArray[Any],
        rows: RowFormat,
        categories: npt.NDArray[np.uint32],
    ) -> None:
        self.nodes = nodes
        self.tree_start = tree_start
        self.n_trees: int = len(tree_start) - 1
        self.n_features: int = rows.n_features
        self.classes = classes
        self.rows = rows
        self.categories = categories
        self._prepare()

    def _prepare(self) -> None:
        """Set up what follows from the attributes and is neither saved nor pickled."""
        for array in (self.nodes, self.tree_start, self.categories):
            array.setflags(write=False)
        self._trees = (self.nodes, self.categories) if len(self.categories) else self.nodes
        self._block_bytes = block_bytes(self.nodes.nbytes // self.n_trees)
        self._run_row = self._row_kernels[self.rows.key_bits == 64]
        # Type of a row that can be run as it is; None if categories have to be looked up.
        self._row_shape = None if self.rows.encodes_arrays else (self.n_features,)
        self._schedule = self._former = NO_SCHEDULE  # the last one used, and the one before
        self._batch = self._new_batch()
        self._rows_alone = 0  # that came together, and were run one by one
        self._gpu: GpuForest | None = None  # made when first asked for

    def _new_batch(self) -> BatchTrees:
        return BatchTrees(self.nodes, self.tree_start, self.rows.key_bits, self.categories, self.leaf)

    @property
    def leaf(self) -> LeafKind:
        """What a leaf means."""
        return self._leaf

    @property
    def n_voters(self) -> int:
        """Number of voters: one per tree."""
        return self.n_trees

    @property
    def n_steps(self) -> int:
        """The largest number of steps: one tree each, or one per class if classes have separate trees."""
        return self.n_trees

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def takes_missing(self) -> bool:
        """Whether rows may hold NaN."""
        return self.rows.takes_missing

    @property
    def nbytes(self) -> int:
        """Memory of the packed trees, in bytes.

        Batches use copies of the trees in other formats, which take up to three times as much, see
        `nbytes_of_batches`.
        """
        return self.nodes.nbytes + self.tree_start.nbytes + self.categories.nbytes

    @property
    def nbytes_of_batches(self) -> int:
        """Memory of the copies of the trees made for batches so far, in bytes."""
        return self._batch.nbytes

    def __repr__(self) -> str:
        size = f"{self.n_trees} tree{'s' if self.n_trees > 1 else ''}, {self.n_features} features"
        classes = f", {self.n_classes} classes" if self.n_classes > 2 or self.leaf is LeafKind.CLASS else ""
        return f"<{type(self).__name__} of {size}{classes}, {self.nbytes / 1e6:.3g} MB>"

    # Making one ------------------------------------------------------------------------------

    @classmethod
    def from_imported(cls, found: Found) -> Self:
        """Pack the trees that an importer read from a model.

        Raises
        ------
        InvalidInputError
            If the trees do not have the leaves that this kind of forest needs, or if the nodes are invalid.
        """
        forest = cls._packed(found)
        forest._check()
        return forest

    @classmethod
    def _packed(cls, found: Found) -> Self:
        return cls._packed_as(cls._leaf, found)

    @classmethod
    def _packed_as(cls, leaf: LeafKind, found: Found, **besides: Any) -> Self:
        """Pack leaves of this kind."""
        found.check_leaves(leaf)
        nodes, tree_start = pack(found.trees, found.n_features, found.key_bits, leaf)
        return cls._made(
            nodes,
            tree_start,
            np.asarray(found.classes),
            found.row_format(cls.__name__),
            np.array(found.categories, np.uint32),
            **cls._found_besides(found),
            **besides,
        )

    @classmethod
    def _made(
        cls,
        nodes: NodeArray,
        tree_start: npt.NDArray[np.int64],
        classes: npt.NDArray[Any],
        rows: RowFormat,
        categories: npt.NDArray[np.uint32],
        **besides: Any,
    ) -> Self:
        """Return a forest; ``besides`` is what `_found_besides` or `_read_besides` returned."""
        return cls(
            nodes=nodes, tree_start=tree_start, classes=classes, rows=rows, categories=categories, **besides
        )

    @classmethod
    def _found_besides(cls, found: Found) -> dict[str, Any]:
        """Return what this kind of forest keeps of a model besides its trees."""
        return {}

    @classmethod
    def _read_besides(cls, fields: Fields, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
        """Return the same from a file."""
        return {}

    @abstractmethod
    def _check(self) -> None:
        """Raise InvalidInputError if a walk could leave its tree, or a leaf holds an invalid value."""

    def _payloads(self) -> tuple[NodeArray, npt.NDArray[np.int64]]:
        """Return all leaves' payloads and where those of each tree begin; raise if nodes are invalid."""
        found = find_payloads(
            self.nodes, self.tree_start, self.n_features, self.rows.key_bits, self.categories
        )
        if found is None:
            raise InvalidInputError("the nodes do not form valid trees: the model or file is damaged")
        return found

    @classmethod
    def from_treelite(cls, model: Any, classes: Sequence[Any] | None = None) -> Self:
        """Pack a treelite model; see `foregone.forest.importers.treelite`.

        Parameters
        ----------
        model : treelite.Model, or path of a checkpoint that ``Model.serialize`` wrote
            Trees with margins (boosted models, random forests of XGBoost and LightGBM) do not vote: use
            `ScoredForest` for them.
        classes : sequence of labels, optional
            Labels of the classes, in the model's order; treelite does not store them. By default 0, 1, ...
        """
        from foregone.forest.importers.treelite import import_model

        return cls.from_imported(import_model(model, classes))

    @classmethod
    def from_ydf(cls, model: Any) -> Self:
        """Pack a random forest of ydf; see `foregone.forest.importers.ydf`.

        Parameters
        ----------
        model : ydf.RandomForestModel, or path of the folder that its ``save`` wrote
            Its columns are expected in the order of ``model.input_feature_names()``.
        """
        from foregone.forest.importers.ydf import import_model

        return cls.from_imported(import_model(model))

    @classmethod
    def from_spark(
        cls, folder: PathLike, classes: Sequence[Any] | None = None, *, max_memory: float | None = None
    ) -> Self:
        """Pack a RandomForestClassificationModel of Spark ML; see `importers.spark_ml`.

        Parameters
        ----------
        folder : path
            Folder that the model's ``save`` wrote, in a local file system. Needs neither Spark nor Java.
        classes : sequence of labels, optional
            Labels of the classes, such as those of the StringIndexer that numbered them. By
            default Spark's numbers: 0.0, 1.0, ...
        max_memory : float, optional
            Bytes that may be used in addition to 100 times the size of the files; by default 256 MiB.
        """
        from foregone.forest.importers.spark_ml import import_model

        return cls.from_imported(import_model(folder, classes, max_memory))

    @classmethod
    def from_ranger(cls, path: PathLike) -> Self:
        """Pack a forest trained with R's ranger; see `foregone.forest.importers.ranger`.

        Parameters
        ----------
        path : path
            JSON file, exported from R as described in docs/forests_from_elsewhere.md.
        """
        from foregone.forest.importers.ranger import import_model

        return cls.from_imported(import_model(path))

    # Running ---------------------------------------------------------------------------------

    def _run(
        self,
        X: Any,
        strategy: StrategyT | None,
        seed: int,
        order: Order,
        n_threads: int | None,
        device: Device = "cpu",
    ) -> OutcomeT:
        """Ask trees until the strategy stops, for each row."""
        if check_device(device) == "cuda":
            schedule = self._schedule_for(strategy, seed, order)
            make = partial(self._gpu_job, schedule=schedule)
            return self._as_outcome(self._on_gpu().run(X, schedule, make))
        rows = self.rows.as_rows(X)
        outcome = self._new_outcome(len(rows))
        schedule = self._schedule_for(strategy, seed, order)
        if self._are_few(len(rows)):
            for row in range(len(rows)):
                x = np.array(rows[row])
                kernel = schedule.kernels.get(x.dtype) or self._kernel_for(x, schedule)
                found = kernel(x, self._trees, schedule.packed)
                if found[1] < 0:
                    self.rows.refuse(rows)
                for part, value in zip(outcome, found, strict=True):
                    part[row] = value
            return outcome
        schedule.record.n_rows += len(rows)

        def work(start: int, end: int, scratch: Scratch) -> None:
            self._run_block(schedule, rows[start:end], scratch, [part[start:end] for part in outcome])
            schedule.record.add(outcome[1][start:end])

        # With many orders, few rows of a block walk through a tree at a time.
        most_bytes = MOST_BYTES if order == "dealt" else self._block_bytes
        for_each_block(work, rows, self.rows, most_bytes, n_threads)
        return outcome

    def _on_gpu(self) -> GpuForest:
        """Return the same trees in the memory of a GPU."""
        if self._gpu is None:
            self._gpu = GpuForest(
                self.nodes, self.categories, self.tree_start, self.rows, not self.leaf.is_payload
            )
        return self._gpu

    def _gpu_job(self, trees: GpuTrees, schedule: Any) -> Job:
        """Return the job that follows a schedule on a GPU."""
        return job_for(trees, schedule)

    @staticmethod
    @abstractmethod
    def _as_outcome(parts: list[Any]) -> OutcomeT:
        """Return answers, numbers of trees asked and their votes or scores as an outcome."""

    def _are_few(self, n_rows: int) -> bool:
        """Whether rows are best run one by one: too few so far to pay for the trees for batches."""
        if n_rows > FEW and not self._batch.are_made:
            self._rows_alone += n_rows
            return self._rows_alone * NODES_A_ROW < len(self.nodes)
        return n_rows <= FEW

    def _run_one(self, x: Any, strategy: StrategyT | None, seed: int, order: Order) -> Any:
        """Ask trees about a single row until the strategy stops."""
        # Full checks would take half of the time, so this does a few, and the full ones only if these fail.
        if not (type(x) is ndarray and x.shape == self._row_shape and x.flags.carray):
            x = self.rows.as_row(x)
        schedule = self._schedule
        if schedule.strategy is not strategy or schedule.seed != seed or schedule.order is not order:
            schedule = self._schedule_for(strategy, seed, order)
        kernel = schedule.kernels.get(x.dtype)
        if kernel is None:
            x = x if x.dtype in FLOATS else self.rows.as_row(x)
            kernel = self._kernel_for(x, schedule)
        outcome = kernel(x, self._trees, schedule.packed)
        if outcome[1] < 0:
            self.rows.refuse(x)
        return outcome

    def _kernel_for(self, x: npt.NDArray[Any], schedule: BaseSchedule) -> Callable[..., Any]:
        """Return the kernel for a single contiguous, writable row of this type, and remember it.

        If it has to be compiled, the kernel for batches is compiled too: later rows may come in batches.
        """
        n_before = n_compiled()
        _, asked, _ = self._run_row(x, self._trees, schedule.packed)
        if n_compiled() > n_before and asked >= 0:
            block = np.repeat(x[None], SIDE_BY_SIDE, axis=0)
            scratch, outcome = Scratch(self.rows, len(block)), self._new_outcome(len(block))
            self._run_block(schedule, block, scratch, list(outcome))
            self._batch = self._new_batch()  # there may never be a batch, and its trees take memory
        schedule.kernels[x.dtype] = entry_point(self._run_row, x, self._trees, schedule.packed)
        return schedule.kernels[x.dtype]

    def _schedule_for(self, strategy: StrategyT | None, seed: int, order: Order) -> Any:
        """Return the schedule, from a cache of the last two: making one takes a while.

        Two, because an audit alternates between stopping early and asking all trees.
        """
        for schedule in (self._schedule, self._former):
            if schedule.strategy is strategy and schedule.seed == seed and schedule.order is order:
                break
        else:
            schedule = self._new_schedule(strategy, seed, order)
        if schedule is not self._schedule:
            self._schedule, self._former = schedule, self._schedule
        return schedule

    @abstractmethod
    def _new_schedule(self, strategy: StrategyT | None, seed: int, order: Order) -> BaseSchedule:
        """Check a strategy against the trees and lay it out."""

    @abstractmethod
    def _new_outcome(self, n_rows: int) -> OutcomeT:
        """Return arrays for answers, numbers of trees asked, and their votes or scores."""

    @abstractmethod
    def _run_block(self, schedule: Any, block: Rows, scratch: Scratch, outcome: list[Any]) -> None:
        """Fill the outcome of a block of rows."""

    def _leaf_matrix(self, X: Any, device: Device = "cpu") -> npt.NDArray[Any]:
        """Return every tree's output on every row, shape (n_rows, n_trees), in the model's order."""
        if check_device(device) == "cuda":
            make = partial(matrix_job, dtype=self.leaf.dtype, tree_start=self.tree_start)
            made: npt.NDArray[Any] = self._on_gpu().run(X, "matrix", make)[0]
            return made
        rows = self.rows.as_rows(X)
        matrix = np.empty((len(rows), self.n_trees), self.leaf.dtype)

        def work(start: int, end: int, scratch: Scratch) -> None:
            matrix[start:end] = self._leaf_block(rows[start:end], scratch).T

        for_each_block(work, rows, self.rows, self._block_bytes, 1)
        return matrix

    def _leaf_block(self, block: Rows, scratch: Scratch) -> npt.NDArray[Any]:
        """Return every tree's output on a block of rows, shape (n_trees, n_rows)."""
        carried = np.empty((self.n_trees, len(block)), self.leaf.dtype)
        loaded = self._batch.load(block, scratch)
        fill_leaf_matrix(loaded.batch, loaded.shift, *loaded.lists, carried)
        return carried

    def refuse_values(self, X: npt.ArrayLike) -> None:
        """Raise InvalidInputError if X holds values that are not accepted, without asking a tree."""
        rows = self.rows.as_rows(X)

        def work(start: int, end: int, scratch: Scratch) -> None:
            scratch.load(rows[start:end])

        for_each_block(work, rows, self.rows, self._block_bytes, 1)

    # Files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the forest to one file, atomically. `load` reads it without the model and without pickle."""
        container.write(path, self._file_kind, *self.to_parts())

    @classmethod
    def load(cls, path: PathLike, *, max_memory: float | None = None) -> Self:
        """Read a forest that `save` wrote.

        Everything is checked, so that even a damaged or malicious file cannot make a walk leave its tree.

        Parameters
        ----------
        path : path
            Of the file.
        max_memory : float, optional
            Bytes that may be used in addition to 100 times the size of the file; by default 256 MiB.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, of an unknown version, or holds another kind of object.
        """
        return cls.from_parts(*container.read(path, cls._file_kind, max_memory))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fields and arrays of a file, for files that hold a forest and more."""
        return forest_file.to_parts(self.nodes, self.tree_start, self.classes, self.rows, self.categories)

    @classmethod
    def from_parts(cls, fields: Fields, arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """Check the output of `to_parts` and make the forest."""
        parts = forest_file.from_parts(fields, arrays, cls.__name__, cls._most_classes)
        besides = cls._read_besides(fields, arrays)
        try:
            forest = cls._made(*parts, **besides)
            forest._check()
        except InvalidInputError as error:
            raise fields.error("nodes", f"cannot be used: {error}") from None
        return forest

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name[0] != "_"}
        if self.rows.is_plain:  # nothing but arrays and numbers, which skops takes unasked
            del state["rows"], state["categories"]
            state["takes_missing"] = self.takes_missing
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = {name: value for name, value in state.items() if name[0] != "_" and name != "takes_missing"}
        if "rows" not in kept:
            kept["rows"] = RowFormat(type(self).__name__, state["n_features"], state["takes_missing"])
            kept["categories"] = NO_CATEGORIES
        self.__dict__.update(kept)
        self._prepare()

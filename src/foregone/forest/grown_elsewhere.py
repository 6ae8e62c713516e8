"""GrownElsewhere: how packed and scored forests are made of forests that other libraries have grown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from foregone._system.atomic_file import PathLike

if TYPE_CHECKING:
    from foregone.forest.importers.found import ImportedScores

__all__ = ["GrownElsewhere"]


class GrownElsewhere(ABC):
    """What `PackedForest`, which counts votes, and `ScoredForest`, which averages, have in common.

    What each library does itself, and how exactly it is met, is in docs/forests_from_elsewhere.md.
    """

    @classmethod
    @abstractmethod
    def from_imported(cls, found: ImportedScores) -> Self:
        """Pack what an importer found."""

    @classmethod
    def from_treelite(cls, model: Any, classes: Sequence[Any] = (0, 1)) -> Self:
        """Pack a two-class model of treelite; see `foregone.forest.importers.treelite`.

        Parameters
        ----------
        model : treelite.Model, or path of a checkpoint that ``Model.serialize`` wrote
            Trees with margins (boosted ones, random forests of XGBoost and LightGBM) do not vote: they
            make a `ScoredForest` only.
        classes : sequence of two labels
            What no and yes are called; treelite does not keep it.
        """
        from foregone.forest.importers.treelite import import_scores

        return cls.from_imported(import_scores(model, classes))

    @classmethod
    def from_ydf(cls, model: Any) -> Self:
        """Pack a two-class random forest of ydf; see `foregone.forest.importers.ydf`.

        Parameters
        ----------
        model : ydf.RandomForestModel, or path of the folder that its ``save`` wrote
            Its columns are expected in the order of ``model.input_feature_names()``.
        """
        from foregone.forest.importers.ydf import import_scores

        return cls.from_imported(import_scores(model))

    @classmethod
    def from_spark(
        cls, folder: PathLike, classes: Sequence[Any] = (0.0, 1.0), *, max_memory: float | None = None
    ) -> Self:
        """Pack a two-class RandomForestClassificationModel of Spark ML; see `importers.spark_ml`.

        Parameters
        ----------
        folder : path
            What the model's ``save`` wrote, in a local file system. Neither Spark nor Java is needed.
        classes : sequence of two labels
            What no and yes are called, such as the labels of the StringIndexer that numbered them.
        max_memory : float, optional
            Bytes that may be used besides 100 times the size of the folder's files; by default 256 MiB.
        """
        from foregone.forest.importers.spark_ml import import_scores

        return cls.from_imported(import_scores(folder, classes, max_memory))

    @classmethod
    def from_ranger(cls, path: PathLike) -> Self:
        """Pack a two-class forest of R's ranger; see `foregone.forest.importers.ranger`.

        Parameters
        ----------
        path : path
            A JSON file, written in R as docs/forests_from_elsewhere.md says.
        """
        from foregone.forest.importers.ranger import import_scores

        return cls.from_imported(import_scores(path))

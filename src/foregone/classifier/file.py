"""The file of a classifier: packed forest, strategy, labels, names and calibration in one container."""

from __future__ import annotations

from typing import NamedTuple, cast

from foregone.atomic_file import PathLike
from foregone.forest import PackedForest, container
from foregone.forest.schedule import Order
from foregone.solving import Solution
from foregone.strategy_file import Fields

__all__ = ["Saved", "read", "write"]

KIND = "classifier"


class Saved(NamedTuple):
    """What a file holds: the fitted attributes of a classifier and those parameters that are plain."""

    forest: PackedForest
    solution: Solution
    seed: int
    order: Order
    feature_names: list[str] | None
    hard_soft_disagreement: float
    calibration_disagreement: float
    calibration_size: float
    n_jobs: int | None
    random_state: int | None


def write(path: PathLike, saved: Saved) -> None:
    """Write a classifier's file, atomically."""
    forest_fields, arrays = saved.forest.to_parts()
    fields = {
        "forest": forest_fields,
        "solution": saved.solution.to_fields(),
        "seed": saved.seed,
        "order": saved.order,
        "feature_names": None if saved.feature_names is None else [[name] for name in saved.feature_names],
        "hard_soft_disagreement": saved.hard_soft_disagreement,
        "calibration_disagreement": saved.calibration_disagreement,
        "calibration_size": saved.calibration_size,
        "n_jobs": saved.n_jobs,
        "random_state": saved.random_state,
    }
    container.write(path, KIND, fields, arrays)


def read(path: PathLike) -> Saved:
    """Read what `write` wrote; every part is checked, alone and against the others.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, of an unknown version, or not a classifier.
    """
    fields, arrays = container.read(path, KIND)
    forest = PackedForest.from_parts(fields.section("forest"), arrays)
    solution = Solution.from_fields(fields.section("solution"))
    if solution.n_voters != forest.n_trees:
        raise fields.error(
            "solution", f"is for {solution.n_voters} voters, but the forest has {forest.n_trees} trees"
        )
    if fields.text("order") not in ("shared", "per_row"):
        raise fields.error("order", 'must be "shared" or "per_row"')
    size = fields.number("calibration_size", 0)
    return Saved(
        forest=forest,
        solution=solution,
        seed=fields.whole("seed", 0, 2**64 - 1),
        order=cast(Order, fields.text("order")),
        feature_names=_names(fields, forest.n_features),
        hard_soft_disagreement=fields.number("hard_soft_disagreement", 0, 1),
        calibration_disagreement=fields.number("calibration_disagreement", 0, 1),
        calibration_size=size if size < 1 else int(size),
        n_jobs=fields.whole("n_jobs", -(2**31), 2**31) if "n_jobs" in fields else None,
        random_state=fields.whole("random_state", 0, 2**32 - 1) if "random_state" in fields else None,
    )


def _names(fields: Fields, n_features: int) -> list[str] | None:
    if "feature_names" not in fields:
        return None
    names = [name for (name,) in fields.rows("feature_names", 1)]
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise fields.error("feature_names", f"must hold {n_features} texts")
    return names

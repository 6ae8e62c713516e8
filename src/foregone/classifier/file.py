"""The file of a classifier: packed forest, strategy, labels, names and calibration in one container."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from foregone.atomic_file import PathLike
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, container
from foregone.forest.schedule import Order
from foregone.solving import Multipliers, Problem, Solution
from foregone.strategy import StoppingStrategy
from foregone.strategy_file import Fields, is_finite_number
from foregone.votes import VoteDistribution

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
        "solution": _solution_to_field(saved.solution),
        "seed": saved.seed,
        "order": saved.order,
        "feature_names": None if saved.feature_names is None else [[name] for name in saved.feature_names],
        "hard_soft_disagreement": saved.hard_soft_disagreement,
        "calibration_disagreement": saved.calibration_disagreement,
        "calibration_size": saved.calibration_size,
        "n_jobs": saved.n_jobs,
        "random_state": saved.random_state,
    }
    container.write(path, KIND, fields, {**arrays, "votes": np.asarray(saved.solution.votes.probabilities)})


def read(path: PathLike) -> Saved:
    """Read what `write` wrote; every part is checked, alone and against the others.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, of an unknown version, or not a classifier.
    """
    fields, arrays = container.read(path, KIND)
    forest = PackedForest.from_parts(fields.section("forest"), arrays)
    solution = _solution_from_field(fields, arrays, forest.n_trees)
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


def _solution_to_field(solution: Solution) -> dict[str, Any]:
    prices = solution.multipliers
    return {
        "strategy": {"kind": "strategy", **solution.strategy.to_fields()},
        "criterion": solution.criterion,
        "max_disagreement": solution.max_disagreement,
        "n_observations": solution.votes.n_observations,
        "lower_bound": solution.lower_bound,
        "method": solution.method,
        "mean_disagreement_price": prices.mean_disagreement,
        "disagreement_prices": [list(pair) for pair in prices.disagreement_at],
        "cost_weights": [list(pair) for pair in prices.cost_at],
    }


def _solution_from_field(fields: Fields, arrays: dict[str, Any], n_trees: int) -> Solution:
    """Return the solution; its cost and risk are computed anew, not taken from the file."""
    section = fields.section("solution")
    strategy = StoppingStrategy.from_fields(section.section("strategy"))
    if strategy.n_voters != n_trees:
        raise section.error("strategy", f"is for {strategy.n_voters} voters, the forest has {n_trees} trees")
    probabilities = arrays.get("votes")
    if probabilities is None or probabilities.dtype != np.float64 or probabilities.shape != (n_trees + 1,):
        raise fields.error("votes", f"must hold {n_trees + 1} probabilities")
    if not ((probabilities >= 0).all() and abs(probabilities.sum() - 1) < 1e-9):  # also True for NaN
        raise fields.error("votes", "must hold probabilities that sum to one")
    observed = section.whole("n_observations", 1) if "n_observations" in section else None
    votes = VoteDistribution(probabilities, observed)
    try:
        problem = Problem.check(section.text("criterion"), votes, section.number("max_disagreement"))
    except InvalidInputError as error:
        raise section.error("criterion/max_disagreement", f"is not valid: {error}") from None
    multipliers = Multipliers(
        section.number("mean_disagreement_price", 0),
        _pairs(section, "disagreement_prices", n_trees),
        _pairs(section, "cost_weights", n_trees),
    )
    return Solution.of(problem, strategy, section.number("lower_bound"), multipliers, section.text("method"))


def _pairs(section: Fields, key: str, n_voters: int) -> tuple[tuple[int, float], ...]:
    pairs: list[tuple[int, float]] = []
    for n, weight in section.rows(key, 2):
        if type(n) is not int or not 0 <= n <= n_voters or not (is_finite_number(weight) and weight >= 0):
            raise section.error(key, f"must hold only [n from 0 to {n_voters}, weight of at least 0]")
        pairs.append((n, float(weight)))
    return tuple(pairs)

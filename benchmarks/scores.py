"""Measure averaging forests and boosted trees stopped early: trees asked, disagreement and speed.

    python -m benchmarks.scores
    python -m benchmarks.scores --only income --parts table
    python -m benchmarks.scores --again --write-docs

Models and figures are kept in build/benchmarks, so that a run that was stopped goes on, and one part can be
measured --again. Times are medians of runs in turns, on one thread. Real data are read from FOREGONE_DATA or
../shared/data; what is not there is generated, and said to be. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.datasets import Dataset, data_folder, load
from benchmarks.score_measure import measure
from benchmarks.score_models import DATASETS, MODELS, fitted
from benchmarks.score_run import ROOT, KeptPieces, options_of, publish
from benchmarks.score_splits import REAL, real_splits, simulated
from benchmarks.score_tables import main_table, rules_table, simulation_table, splits_table, targets_of

DOCS = ROOT / "docs" / "measurements" / "scores.md"
SIMULATED = ((0.005, 4_000, 50), (0.01, 2_000, 50), (0.01, 8_000, 100))
PACKAGES = ("foregone", "numpy", "scikit-learn", "lightgbm")


def main(arguments: list[str]) -> int:
    options = options_of(
        arguments, "python -m benchmarks.scores", __doc__, rows=40_000, training_rows=20_000, rounds=15
    )
    run = Run(options)
    results, splits, draws = run.table(), run.splits(), run.simulation()
    return publish(
        options,
        DOCS,
        f"at most {options.training_rows:,} rows to train forests on and {options.boosting_rows:,} for "
        f"boosted trees, {options.rows:,} fresh ones; {options.splits} splits and draws; "
        f"{options.rounds} rounds of timing",
        PACKAGES,
        results,
        targets_of(results, splits, draws),
        {
            "Stopped early": main_table(results),
            "Other rules at the same disagreement": rules_table(results),
            "Random calibrations of real data": splits_table(splits),
            "Simulated calibrations": simulation_table(draws),
        },
    )


class Run(KeptPieces):
    """What is measured of models of two classes."""

    folder = "scores"

    def table(self) -> list[dict[str, Any]]:
        """Return the figures of every model on every dataset that is wanted."""
        found = []
        for dataset in self.wanted(DATASETS):
            for model in MODELS:
                found += self._piece("table", f"table {dataset} {model}", self._measure(dataset, model)) or []
        return found

    def splits(self) -> list[dict[str, Any]]:
        """Return how often limits were exceeded over random calibrations of real data."""
        found = []
        for dataset, model, limit in REAL:
            if dataset in self.wanted(DATASETS):
                piece = self._piece("splits", f"splits {dataset} {model}", self._split(dataset, model, limit))
                found += [{"dataset": dataset, "model": model, **piece}] if piece else []
        return found

    def simulation(self) -> list[dict[str, Any]]:
        """Return how often limits were exceeded over drawn calibrations."""
        pieces = [
            self._piece("simulation", "simulation {:g} {} {}".format(*case), self._simulate(case))
            for case in SIMULATED
        ]
        return [piece for piece in pieces if piece]

    def _data(self, name: str, model: str) -> Dataset:
        options = self.options
        if self.loaded is None or self.loaded[0] != name:
            most = max(options.training_rows, options.boosting_rows)
            self.loaded = name, load(name, options.data or data_folder(), most, options.rows)
        data = self.loaded[1]
        most = options.training_rows if model.startswith("forest") else options.boosting_rows
        return replace(data, X_train=data.X_train[:most], y_train=data.y_train[:most])

    def _measure(self, dataset: str, name: str) -> Callable[[], Any]:
        def work() -> Any:
            data = self._data(dataset, name)
            return measure(
                name, fitted(name, data, self.cache), data, self.options.rounds, self.options.rivals
            )

        return work

    def _split(self, dataset: str, name: str, limit: float) -> Callable[[], Any]:
        def work() -> Any:
            data = self._data(dataset, name)
            return real_splits(fitted(name, data, self.cache), data, limit, self.options.splits)

        return work

    def _simulate(self, case: tuple[float, int, int]) -> Callable[[], Any]:
        return lambda: simulated(*case, self.options.splits)

    def _piece(self, part: str, name: str, work: Callable[[], Any]) -> Any:
        options = self.options
        rows = f"{options.training_rows} {options.boosting_rows} {options.rows}"
        return self.piece(part, name, f"{rows} {options.rounds if part == 'table' else options.splits}", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

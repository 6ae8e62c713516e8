"""Compare one order of the voters with many: cost in time, and spread of the disagreement.

    python -m benchmarks.orders

The number of orders in use, `foregone.forest.schedule.N_ORDERS`, was chosen by these two tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.ensemble import RandomForestClassifier

from benchmarks.markdown import table
from benchmarks.timing import median_times
from foregone import early_stop
from foregone.forest import schedule

NUMBERS = (1, 8, 16, 32, 64)
LIMIT = 1e-3
N_TRAINING, N_CALIBRATION, N_BATCH = 3_000, 20_000, 100_000
N_LARGE = 60_000  # training rows of the forest that is larger than a cache


def main() -> None:
    """Measure, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of timing")
    parser.add_argument("--seeds", type=int, default=60, help="classifiers per number of orders")
    options = parser.parse_args()
    print(
        table(["forest", "a row", *map(_named, NUMBERS), "an order for each row"], [*_speed(options.rounds)])
    )
    head = ["orders", "seeds above the limit", "worst, of the limit", "standard deviation, of the mean"]
    print("\n" + table(head, [*_luck(options.seeds)]))


def _named(n_orders: int) -> str:
    return "one order" if n_orders == 1 else f"{n_orders} orders"


def _forests() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, classifiers and rows to run."""
    n_rows = N_TRAINING + N_CALIBRATION + N_BATCH
    for name, (X, y), n_training in (
        ("two moons, 101 trees", make_moons(n_rows, noise=0.3, random_state=0), N_TRAINING),
        ("20 features, 101 large trees", _classification(n_rows + N_LARGE), N_LARGE),
        ("three classes, 51 trees", _classification(n_rows, n_classes=3), N_TRAINING),
    ):
        forest = RandomForestClassifier(51 if "three" in name else 101, random_state=0, n_jobs=2)
        forest.fit(X[:n_training], y[:n_training])
        seen = X[n_training : n_training + N_CALIBRATION]
        stopped = early_stop(forest, seen, LIMIT, voting="hard", order="shared", random_state=0)
        yield name, stopped, X[-N_BATCH:].astype(np.float32)


def _classification(n_rows: int, n_classes: int = 2) -> Any:
    return make_classification(n_rows, 20, n_informative=8, n_classes=n_classes, random_state=0)


def _speed(rounds: int) -> Iterator[list[str]]:
    """Yield lines: the time of a row in one shared order, and how many times as long it takes in others."""
    for name, stopped, rows in _forests():
        batch = partial(stopped.ensemble_.run, rows, stopped.strategy_, n_threads=1)
        times = median_times({how: _batches(batch, *asked) for how, asked in _orders().items()}, rounds)
        yield _line(f"{name}, in batches", {how: 1e6 * time / len(rows) for how, time in times.items()})
        one = partial(stopped.ensemble_.run_one, strategy=stopped.strategy_)
        times = median_times({how: _alone(one, rows, *asked) for how, asked in _orders().items()}, rounds)
        yield _line(f"{name}, alone", {how: 1e6 * time for how, time in times.items()})


def _orders() -> dict[str, tuple[int, str]]:
    """Return the numbers of orders and their kinds; a seed for each keeps their schedules apart."""
    dealt = {_named(n_orders): (n_orders, "dealt") for n_orders in NUMBERS[1:]}
    return {_named(1): (1, "shared"), **dealt, "an order for each row": (0, "per_row")}


def _batches(run: Any, n_orders: int, order: str) -> Any:
    def call(_: int) -> None:
        schedule.N_ORDERS = n_orders
        run(seed=n_orders, order=order)

    return call


def _alone(run: Any, rows: Any, n_orders: int, order: str) -> Any:
    def call(number: int) -> None:
        schedule.N_ORDERS = n_orders
        run(rows[number], seed=n_orders, order=order)

    return call


def _line(name: str, microseconds: dict[str, float]) -> list[str]:
    shared, *others = microseconds.values()
    return [name, f"{shared:.3g} us", "1", *(f"{time / shared:.2f}" for time in others)]


def _luck(n_seeds: int) -> Iterator[list[str]]:
    """Yield lines: how the disagreement on new rows differs from seed to seed."""
    X, y = make_moons(N_TRAINING + N_CALIBRATION + 500_000, noise=0.3, random_state=0)
    forest = RandomForestClassifier(101, random_state=0, n_jobs=2).fit(X[:N_TRAINING], y[:N_TRAINING])
    seen, new = X[N_TRAINING : N_TRAINING + N_CALIBRATION], X[N_TRAINING + N_CALIBRATION :]
    stopped = early_stop(forest, seen, LIMIT, order="shared", random_state=0)
    packed, full = stopped.ensemble_, stopped.full_predict(new)
    for n_orders in NUMBERS:
        schedule.N_ORDERS = n_orders
        shares = []
        for seed in range(n_seeds):
            answers = packed.run(new, stopped.strategy_, seed=seed, order="dealt")[0]
            shares.append(np.mean(answers != (full == 1)))
        excess = np.array(shares) / LIMIT
        above = f"{np.count_nonzero(excess > 1)} of {n_seeds}"
        yield [_named(n_orders), above, f"{excess.max():.2f}", f"{excess.std() / excess.mean():.3f}"]


if __name__ == "__main__":
    main()

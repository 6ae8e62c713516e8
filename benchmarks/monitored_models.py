"""Fitted classifiers with a monitor: with and without real drift, and the cost in time and memory."""

from __future__ import annotations

import pickle
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.ensemble import RandomForestClassifier

from benchmarks.datasets import Dataset, load
from benchmarks.forests import N_TREES, Cache
from foregone import early_stop
from foregone.monitoring import Alarm

__all__ = ["Cost", "Memory", "Stream", "costs_of", "draw_figure", "memory_of", "streams_of"]

SPLITS = {"ground_cover": "elevation", "income": "age"}  # the first column of each
LIMIT, AUDIT, FALSE_ALARM = 0.005, 0.01, 0.01
BATCH = 250
TRAINING_ROWS, CALIBRATION_ROWS, ROWS_BEFORE, ROWS_AFTER = 30_000, 20_000, 40_000, 100_000
SIZES = (10_000, 200_000)
FEW = 1e-9  # an audit of next to no rows
MEMORY_ROWS = (100_000, 10_000_000)
SHOWN = (1e-5, 1e4)  # of the evidence
LOOKS: dict[str, tuple[str, Any, str]] = {
    "spread": ("#0072B2", "-", "spread: voters asked and answers are not as on the calibration rows"),
    "disagreement": ("#D55E00", (0, (5, 1.5)), "disagreement: above the limit, by 1 % audited rows"),
}


# Real drift ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """The evidence of either alarm, as a share of what gives one, after each batch of rows.

    ``change`` is the number of rows before the feature goes beyond what the model has seen, None where it
    does not; ``disagreement`` the share of rows after it, or of all, whose early answer differs.
    """

    dataset: str
    feature: str
    change: int | None
    rows: list[int]
    evidence: dict[str, list[float]]
    alarms: tuple[Alarm, ...]
    disagreement: float


def streams_of(name: str, folder: Path | None, cache: Cache, n_splits: int) -> list[Stream]:
    """Return streams of random splits, and one that leaves the lower half of the first column."""
    data = load(name, folder, 10**9, 10**9)
    X = np.concatenate([data.X_train, data.X_calibration, data.X_test])
    y = np.concatenate([data.y_train, data.y_calibration, data.y_test])
    model = _forest(f"{name}-all", X, y, data, cache)
    streams = []
    for split in range(n_splits):
        others = np.random.default_rng([3, split]).permutation(np.arange(_n_training(X), len(X)))
        calibration, stream = np.split(others, [CALIBRATION_ROWS])
        streams.append(
            _watch(name, model, X[calibration], X[stream[: ROWS_BEFORE + ROWS_AFTER]], None, seed=split)
        )
    is_lower = X[:, 0] <= np.median(X[:, 0])
    lower, above = X[is_lower], X[~is_lower]
    model = _forest(f"{name}-lower", lower, y[is_lower], data, cache)
    known = lower[_n_training(lower) :]
    before = known[CALIBRATION_ROWS : CALIBRATION_ROWS + ROWS_BEFORE]
    in_order = above[np.argsort(above[:, 0], kind="stable")]
    after = in_order[np.linspace(0, len(in_order) - 1, min(ROWS_AFTER, len(in_order))).astype(int)]
    rows = np.concatenate([before, after])
    streams.append(_watch(name, model, known[:CALIBRATION_ROWS], rows, len(before), seed=0))
    return streams


def _n_training(X: npt.NDArray[Any]) -> int:
    return min(TRAINING_ROWS, len(X) // 3)


def _forest(name: str, X: Any, y: Any, data: Dataset, cache: Cache) -> RandomForestClassifier:
    n = _n_training(X)
    path = cache.path(data, f"monitor-{name}", str(n), sklearn.__version__)
    return cache.model(path, lambda: RandomForestClassifier(N_TREES, random_state=0).fit(X[:n], y[:n]))


def _watch(name: str, model: Any, calibration: Any, rows: Any, change: int | None, seed: int) -> Stream:
    evidence: dict[str, list[float]] = {"spread": [], "disagreement": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # alarms are in the table
        classifier = early_stop(model, calibration, max_disagreement=LIMIT, random_state=seed)
        monitor = classifier.monitor(audit=AUDIT, false_alarm=FALSE_ALARM)
        ends = list(range(BATCH, len(rows) + 1, BATCH))
        for end in ends:
            monitor.predict(rows[end - BATCH : end])
            for kind, threshold in monitor.thresholds.items():
                evidence[kind].append(monitor.evidence_of(kind).value / threshold)
    later = rows[change or 0 :]
    differs = float(np.mean(classifier.predict(later) != classifier.full_predict(later)))
    return Stream(name, SPLITS[name], change, ends, evidence, monitor.alarms, differs)


def draw_figure(found: dict[str, list[Stream]], path: Path) -> None:
    """Draw the evidence over rows: random splits to the left, a split by a feature to the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(10, 2.9 * len(found) + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(found), 2, sharex=True, sharey=True, squeeze=False)
    for (name, streams), (left, right) in zip(found.items(), axes, strict=True):
        randomly = [stream for stream in streams if stream.change is None]
        (drifting,) = [stream for stream in streams if stream.change is not None]
        for stream in randomly:
            _draw_evidence(left, stream, linewidth=0.8, alpha=0.45)
        _draw_evidence(right, drifting, linewidth=2.0)
        left.set_title(f"{name}: {len(randomly)} random splits, nothing changes", loc="left", fontsize=10.5)
        left.set_ylabel("evidence, 1 gives an alarm")
        right.set_title(f"{name}: trained on the lower half by {drifting.feature}", loc="left", fontsize=10.5)
        _explain(right, drifting)
        for ax in (left, right):
            ax.axhline(1, color="#333333", linewidth=1.2)
            ax.text(0.01, 1.3, "alarm", transform=ax.get_yaxis_transform(), fontsize=9, va="bottom")
            ax.set(yscale="log", ylim=SHOWN, xlim=(0, drifting.rows[-1]))
            ax.spines[["top", "right"]].set_visible(False)
            ax.xaxis.set_major_formatter(FuncFormatter(lambda rows, _: f"{rows:,.0f}"))
    for ax in axes[-1]:
        ax.set_xlabel("rows predicted")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _draw_evidence(ax: Any, stream: Stream, **options: Any) -> None:
    for kind, (colour, dashes, title) in LOOKS.items():
        shown = np.clip(stream.evidence[kind], SHOWN[0] / 10, SHOWN[1] * 10)
        ax.plot(stream.rows, shown, color=colour, linestyle=dashes, label=title, **options)


def _explain(ax: Any, stream: Stream) -> None:
    """Write into the axes which rows come when, and how many it takes until either alarm."""
    assert stream.change is not None
    end = stream.rows[-1]
    ax.axvspan(stream.change, end, color="#999999", alpha=0.15, linewidth=0)
    below = {"y": 2 * SHOWN[0], "ha": "center", "va": "bottom", "fontsize": 9}
    ax.text(stream.change / 2, s="new rows of\nthe lower half", **below)
    ax.text((stream.change + end) / 2, s=f"rows of the upper half,\n{stream.feature} rising", **below)
    for alarm in stream.alarms:
        said = f"alarm after\n{alarm.time - stream.change:,} rows"
        height = 100 if alarm.kind == "spread" else 0.05  # clear of the lines
        ax.text(alarm.time + 0.03 * end, height, said, color=LOOKS[alarm.kind][0], fontsize=9)


# What watching costs ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a monitor adds to `predict`, without the audited rows.

    ``own`` is what a row takes by `predict` in batches of each of `SIZES`, ``added`` the share that the
    monitor adds; ``added_auditing`` is that with 1 % of rows audited, less what asking everyone about these
    takes; ``one_row`` and ``one_row_added`` are seconds of single rows.
    """

    model: str
    mean_asked: float
    own: list[float]
    added: list[float]
    added_auditing: list[float]
    one_row: float
    one_row_added: float


def costs_of(folder: Path | None, cache: Cache, rounds: int) -> list[Cost]:
    """Return what a monitor costs for several models."""
    return [_cost(*case, rounds) for case in _models(folder, cache)]


def _models(folder: Path | None, cache: Cache) -> Any:
    """Return names of models, fitted models, their calibration rows and rows to predict."""
    from lightgbm import LGBMClassifier

    data = {name: load(name, folder, TRAINING_ROWS, 10**9) for name in SPLITS}
    several = load("ground_cover", folder, TRAINING_ROWS, 10**9, n_classes=7)

    def kept(dataset: Dataset, what: str, model: Any, X: Any, y: Any) -> Any:
        path = cache.path(dataset, f"monitor-{what}", str(len(X)), sklearn.__version__)
        return cache.model(path, lambda: model.fit(X, y))

    kinds = {
        "forest": lambda: RandomForestClassifier(N_TREES, random_state=0),
        "soft forest": lambda: RandomForestClassifier(N_TREES, min_samples_leaf=5, random_state=0),
        "LightGBM": lambda: LGBMClassifier(n_jobs=1, random_state=0, verbose=-1),
    }
    for name, one in data.items():
        for what, make in kinds.items():
            model = kept(one, what.replace(" ", "-"), make(), one.X_train, one.y_train)
            yield f"{what}, {name}", model, one.X_calibration, one.X_test
    X, y, calibration, test = several.X_train, several.y_train, several.X_calibration, several.X_test
    first = [np.ascontiguousarray(rows[labels < 3]) for rows, labels in (
        (X, y), (calibration, several.y_calibration), (test, several.y_test))]  # fmt: skip
    model = kept(several, "three-classes", kinds["forest"](), first[0], y[y < 3])
    yield "forest of three classes, ground_cover", model, first[1], first[2]


def _cost(name: str, model: Any, calibration: Any, test: Any, rounds: int) -> Cost:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = early_stop(model, calibration, max_disagreement=0.002, random_state=0)
        mostly, auditing = classifier.monitor(audit=FEW), classifier.monitor(audit=AUDIT)
        own, added, added_auditing = [], [], []
        for n_rows in SIZES:
            rows = np.resize(test, (n_rows, test.shape[1]))
            audited = rows[auditing._rows.choose(rows)]
            base, watched, audit, everyone = _cpu_seconds(
                [
                    lambda rows=rows: classifier.predict(rows),
                    lambda rows=rows: mostly.predict(rows),
                    lambda rows=rows: auditing.predict(rows),
                    lambda audited=audited: classifier.full_predict(audited),
                ],
                rounds if n_rows < 50_000 else max(rounds // 3, 3),
            )
            own.append(float(np.median(base)) / n_rows)
            added.append(float(np.median(watched / base)) - 1)
            added_auditing.append(float(np.median((audit - everyone) / base)) - 1)
        singles = [test[k : k + 1] for k in range(min(4096, len(test)))]
        one = _cpu_seconds(
            [lambda: [*map(classifier.predict, singles)], lambda: [*map(mostly.predict, singles)]], rounds
        )
    single, single_added = np.median(one[0]) / len(singles), np.median(one[1] - one[0]) / len(singles)
    asked = float(classifier.expected_votes_)
    return Cost(name, asked, own, added, added_auditing, float(single), float(single_added))


def _cpu_seconds(engines: list[Callable[[], Any]], rounds: int) -> npt.NDArray[np.float64]:
    """Return the processor time of each engine in each round, taking turns; there is one thread.

    Time in which other programs have the processor is not counted. That they use its caches, too, is.
    """
    for engine in engines:
        engine()
    found = np.empty((len(engines), rounds))
    for round_ in range(rounds):
        for place, engine in enumerate(engines):
            began = time.thread_time()
            engine()
            found[place, round_] = time.thread_time() - began
    return found


@dataclass(frozen=True)
class Memory:
    """Bytes after each of `MEMORY_ROWS`: of a monitor's state, pickled, and of all that was allocated."""

    way: str
    state: list[int]
    allocated: list[int]


def memory_of(folder: Path | None, cache: Cache, scale: float = 1.0) -> list[Memory]:
    """Return what 10 million rows leave behind, told by `update` and seen by `predict`."""
    data = load("income", folder, TRAINING_ROWS, 10**9)
    name = "forest"
    path = cache.path(data, f"monitor-{name}", str(len(data.X_train)), sklearn.__version__)
    model = cache.model(
        path, lambda: RandomForestClassifier(N_TREES, random_state=0).fit(data.X_train, data.y_train)
    )
    rows = np.resize(data.X_test, (50_000, data.X_test.shape[1]))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = early_stop(model, data.X_calibration, max_disagreement=0.002, random_state=0)
        _, asked, yes = classifier.predict_with_votes(rows)
        for way in ("update", "predict"):
            monitor = classifier.monitor(audit=1e-4)
            ways: dict[str, Any] = {
                "update": (monitor.update, asked, yes),
                "predict": (monitor.predict, rows),
            }
            step, *given = ways[way]
            step(*given)
            tracemalloc.start()
            state, allocated = [], []
            for most in MEMORY_ROWS:
                while monitor.state.n_rows < scale * most:
                    step(*given)
                state.append(len(pickle.dumps(monitor.state)))
                allocated.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            found.append(Memory(way, state, allocated))
    return found

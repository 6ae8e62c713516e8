"""The cases that `before_after` times. It is run by path, once for each checkout.

It reads the name of a case from each line of standard input and answers with the processor time of a call.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import foregone

SAMPLE_SECONDS = 0.03  # a sample repeats its call until it lasts about this long
MODELS = Path(__file__).parent.parent / "build" / "benchmarks"  # trained ones
FORESTS = ("ground_cover", "income", "diabetes", "skin", "dota2", "hospitalization")
CALIBRATION, TEST = slice(6_000, 16_000), slice(16_000, 36_000)

Case = tuple[str, Callable[[], Any]]


def solving() -> Iterator[Case]:
    """Yield the solvers of every kind, and what is done with a solution."""
    rng = np.random.default_rng(0)
    for n_voters in (101, 1_001):
        for criterion in ("minimean", "minimixed", "minimax"):
            yield f"solve {criterion}, {n_voters:,} voters", _solve(criterion, n_voters)
    yield "solve minimean, 10,001 voters", _solve("minimean", 10_001)
    yes = rng.binomial(101, rng.beta(0.4, 0.4, 5_000))
    votes = foregone.VoteDistribution.from_yes_counts(yes, 101)
    yield (
        "solve with a confidence, 101 voters",
        lambda: foregone.solve("minimean", votes, 1e-2, confidence=0.95),
    )
    by_class = {"yes": 1e-2, "no": 1e-3}
    yield "solve by class, 101 voters", lambda: foregone.solve("minimixed", 101, by_class)
    shares = rng.dirichlet([0.3] * 4, 400)
    counts = np.array([rng.multinomial(12, share) for share in shares])
    yield (
        "solve_plurality, 12 voters, 4 answers",
        lambda: foregone.solve_plurality(counts, 0.05, n_voters=12, n_classes=4),
    )
    scores = rng.normal(rng.normal(size=(8_000, 1)), 1, size=(8_000, 50))
    yield (
        "solve_scores, 8,000 rows, 50 voters",
        lambda: foregone.solve_scores(scores, 0.01, order="given", random_state=0),
    )
    solution = foregone.solve("minimixed", 101, 1e-3)
    yield "evaluate, 101 voters", lambda: foregone.evaluate(solution.strategy)
    yield "certify, 101 voters", lambda: foregone.certify(solution)
    yield "plan, 101 voters", lambda: foregone.plan(votes, [1e-1, 1e-2, 1e-3])


def _solve(criterion: Any, n_voters: int) -> Callable[[], Any]:
    return lambda: foregone.solve(criterion, n_voters, 1e-3)


def _rows(n_classes: int = 2, class_sep: float = 1.0) -> tuple[Any, Any]:
    X, y = make_classification(
        36_000,
        20,
        n_informative=8,
        n_classes=n_classes,
        class_sep=class_sep,
        flip_y=0.05,
        random_state=0,
    )
    return X.astype(np.float32), y


def _predicting(name: str, classifier: Any, X: Any) -> Iterator[Case]:
    batch = np.ascontiguousarray(X[TEST])
    alone = [np.array(batch[row : row + 1]) for row in range(100)]  # in another order one may take longer
    yield f"{name}: a batch", lambda: classifier.predict(batch)
    yield f"{name}: 100 rows one by one", lambda: [classifier.predict(row) for row in alone]
    yield f"{name}: a batch in full", lambda: classifier.full_predict(batch)


def votes() -> Iterator[Case]:
    """Yield forests whose votes are counted."""
    for name, class_sep in (("easy votes", 2.0), ("hard votes", 0.5)):
        X, y = _rows(class_sep=class_sep)
        forest = RandomForestClassifier(101, random_state=0, n_jobs=2).fit(X[:6_000], y[:6_000])
        options: dict[str, Any] = {"max_disagreement": 1e-2, "voting": "hard", "random_state": 0}
        yield from _predicting(name, foregone.early_stop(forest, X[CALIBRATION], **options), X)
    per_row = foregone.early_stop(forest, X[CALIBRATION], order="per_row", **options)
    yield "hard votes, an order for each row: a batch", lambda: per_row.predict(X[TEST])
    yield "early_stop, votes", lambda: foregone.early_stop(forest, X[CALIBRATION], **options)


def scores() -> Iterator[Case]:
    """Yield soft forests and boosted trees."""
    X, y = _rows()
    soft = RandomForestClassifier(101, min_samples_leaf=5, random_state=0, n_jobs=2)
    for name, model in (("soft forest", soft), ("boosted", HistGradientBoostingClassifier(random_state=0))):
        model.fit(X[:6_000], y[:6_000])
        options: dict[str, Any] = {"max_disagreement": 1e-2, "voting": "soft", "random_state": 0}
        yield from _predicting(name, foregone.early_stop(model, X[CALIBRATION], **options), X)
    yield "early_stop, scores", lambda: foregone.early_stop(model, X[CALIBRATION], **options)


def classes() -> Iterator[Case]:
    """Yield a forest of many classes."""
    X, y = _rows(n_classes=4)
    forest = RandomForestClassifier(25, random_state=0, n_jobs=2).fit(X[:6_000], y[:6_000])
    stopped = foregone.early_stop(forest, X[CALIBRATION], 1e-2, voting="hard", random_state=0)
    yield from _predicting("four classes", stopped, X)


def committee() -> Iterator[Case]:
    """Yield voters that are asked through their methods."""
    X, y = _rows()
    members = [
        ("lr", LogisticRegression()),
        ("nb", GaussianNB()),
        *((f"tree{k}", DecisionTreeClassifier(max_features=k, random_state=0)) for k in range(2, 7)),
    ]
    for voting in ("hard", "soft"):
        model = VotingClassifier(members, voting=voting).fit(X[:3_000], y[:3_000])
        stopped = foregone.early_stop(model, X[CALIBRATION], 1e-2, random_state=0)
        yield from _predicting(f"committee, {voting}", stopped, X)


def files() -> Iterator[Case]:
    """Yield saving and loading."""
    X, y = _rows()
    forest = RandomForestClassifier(101, random_state=0, n_jobs=2).fit(X[:6_000], y[:6_000])
    stopped = foregone.early_stop(forest, X[CALIBRATION], 1e-2, voting="hard", random_state=0)
    folder = Path(tempfile.mkdtemp())
    stopped.save(folder / "model.foregone")
    solution = foregone.solve("minimean", 1_001, 1e-3)
    solution.save(folder / "solution.json")
    yield "load a classifier", lambda: foregone.load(folder / "model.foregone")
    yield "load a solution", lambda: foregone.load(folder / "solution.json")
    yield "save a solution", lambda: solution.save(folder / "again.json")


def forests() -> Iterator[Case]:
    """Yield forests of 101 trees on real data, run by the engine and by the classifier in front of it."""
    import pandas as pd

    from benchmarks.datasets import data_folder, load
    from benchmarks.forests import Cache, Task

    for name in FORESTS:
        data = load(name, data_folder(), 100_000, 20_000)
        model = Task(data, Cache(MODELS)).model
        stopped = foregone.early_stop(
            model, data.X_calibration, 1e-3, voting="hard", n_jobs=1, random_state=0
        )
        forest, strategy, X = stopped.ensemble_, stopped.strategy_, data.X_test
        rows = [np.array(row) for row in X[:1000]]
        yield f"{name}: a batch", lambda run=forest.run, s=strategy, X=X: run(X, s, seed=0, n_threads=1)
        yield f"{name}: a batch in full", lambda run=forest.votes, X=X: run(X, n_threads=1)
        yield (
            f"{name}: 1,000 rows by run_one",
            lambda run=forest.run_one, s=strategy, rows=rows: [run(row, s, seed=0) for row in rows],
        )
        alone = [row[None] for row in rows]
        yield (
            f"{name}: 1,000 rows by predict",
            lambda predict=stopped.predict, alone=alone: [predict(row) for row in alone],
        )
        columns = [f"column {k}" for k in range(X.shape[1])]
        model.feature_names_in_ = np.array(columns, object)
        named = foregone.early_stop(model, data.X_calibration, 1e-3, voting="hard", n_jobs=1, random_state=0)
        frame = pd.DataFrame(X[:100], columns=columns)
        frames = [frame.iloc[k : k + 1] for k in range(100)]
        yield (
            f"{name}: 100 rows of a DataFrame",
            lambda predict=named.predict, frames=frames: [predict(frame) for frame in frames],
        )


def boosted() -> Iterator[Case]:
    """Yield boosted trees on real data, stopped early and in full."""
    from benchmarks.boosted import boosted_model
    from benchmarks.datasets import data_folder, load
    from benchmarks.forests import Cache
    from benchmarks.score_run import DATASETS

    for name in DATASETS[:4]:
        data = load(name, data_folder(), 200_000, 20_000)
        for kind in ("LightGBM, 300", "XGBoost, 300"):
            model, _ = boosted_model(data, kind, Cache(MODELS))
            limit = {"max_disagreement": 2e-3, "voting": "soft", "n_jobs": 1, "random_state": 0}
            stopped = foregone.early_stop(model, data.X_calibration, **limit)
            yield f"{name}, {kind}: a batch", lambda run=stopped.predict, X=data.X_test: run(X)
            yield f"{name}, {kind}: a batch in full", lambda run=stopped.full_predict, X=data.X_test: run(X)


KINDS = {
    "solve": solving,
    "votes": votes,
    "scores": scores,
    "classes": classes,
    "committee": committee,
    "files": files,
    "forests": forests,
    "boosted": boosted,
}


def main(kinds: list[str]) -> None:
    """Prepare the cases, say which there are, and time those that are asked for."""
    warnings.simplefilter("ignore")
    cases = dict(case for kind in kinds for case in KINDS[kind]())
    for work in cases.values():
        work()
    _say({"foregone": str(Path(foregone.__file__).parent), "cases": list(cases)})
    gc.collect()
    gc.disable()
    calls: dict[str, int] = {}
    for line in sys.stdin:
        case = line.rstrip("\n")
        if case not in calls:
            calls[case] = max(1, round(SAMPLE_SECONDS / max(_seconds(cases[case], 3), 1e-7)))
        _say({"seconds": _seconds(cases[case], calls[case])})


def _seconds(work: Callable[[], Any], calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - began) / calls


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

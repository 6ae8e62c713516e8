"""The table of kinds by features: what each kind of ensemble can do, and why the rest has no meaning there.

`tests/test_every_kind.py` runs every cell; `python -m tests.kinds` writes the table into docs/kinds.md and a
short form of it into README.md.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import tempfile
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone import EarlyStoppingClassifier, certify, early_stop, evaluate, load, solve
from foregone.classifier.deciding import Settings
from foregone.classifier.given_model import GivenModel
from foregone.cli import main as foregone_command
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from foregone.kinds import strategy_of
from foregone.scores import ScoreRows

LIMIT = 0.05
N_FIT, N_CALIBRATE = 300, 1500
MEMBERS = [(f"m{k}", member) for k, member in enumerate(
    [LogisticRegression(C=0.1), GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0),
     DecisionTreeClassifier(max_depth=6, random_state=1), LogisticRegression(C=10.0)]
)]  # fmt: skip
WEIGHTS = [1, 2, 1, 2, 1]
AVERAGING = RandomForestClassifier(25, min_samples_leaf=5, random_state=0)
SOFT = VotingClassifier(MEMBERS, voting="soft", weights=WEIGHTS)


class Kind(NamedTuple):
    """A kind of ensemble.

    Attributes
    ----------
    name : str
        As the table has it.
    tally : {"votes", "answers", "lead", "scores"}
        What is added up; "lead" are votes among many classes, too many to count in every way they can be
        split.
    n_classes : int
        How many labels there are.
    packed : bool
        Whether its voters are trees that are packed; otherwise they are Python objects.
    model : estimator
        Not fitted.
    """

    name: str
    tally: str
    n_classes: int
    packed: bool
    model: Any

    @property
    def adds_up(self) -> bool:
        """Whether a `ScoreStrategy` stops it."""
        return self.tally in ("scores", "lead")

    @property
    def is_many(self) -> bool:
        """Whether there are more than two classes."""
        return self.n_classes > 2


KINDS = [
    Kind("votes, forest", "votes", 2, True, RandomForestClassifier(25, random_state=0)),
    Kind("votes, committee", "votes", 2, False, VotingClassifier(MEMBERS)),
    Kind("answers, forest", "answers", 3, True, RandomForestClassifier(25, random_state=0)),
    Kind("answers, committee", "answers", 3, False, VotingClassifier(MEMBERS)),
    Kind("scores, forest", "scores", 2, True, AVERAGING),
    Kind("scores, boosted", "scores", 2, True, GradientBoostingClassifier(n_estimators=25, random_state=0)),
    Kind("scores, committee", "scores", 2, False, SOFT),
    Kind("scores of many classes, boosted", "scores", 3, True, HistGradientBoostingClassifier(max_iter=15)),
    Kind("scores of many classes, forest", "scores", 3, True, AVERAGING),
    Kind("scores of many classes, committee", "scores", 3, False, SOFT),
    Kind("votes of many classes by their lead", "lead", 7, True, RandomForestClassifier(60, random_state=0)),
]  # fmt: skip


class Data(NamedTuple):
    """A fitted model, rows to calibrate with, and new rows."""

    model: Any
    X: Any
    y: Any
    calibration: Any
    new: Any


@cache
def data_of(kind: Kind) -> Data:
    X, y = make_classification(
        3000, 6, n_informative=5, n_redundant=0, n_classes=kind.n_classes, class_sep=1.5, random_state=0
    )
    model = clone(kind.model).fit(X[:N_FIT], y[:N_FIT])
    return Data(model, X, y, X[N_FIT:N_CALIBRATE], X[N_CALIBRATE:])


def stopped(kind: Kind, **options: Any) -> EarlyStoppingClassifier:
    """Return a classifier of that kind; options as for `early_stop`."""
    data = data_of(kind)
    settings = {"max_disagreement": LIMIT, "random_state": 0, **options}
    return early_stop(data.model, data.calibration, **settings)


# Features ----------------------------------------------------------------------------------------


def _fit(kind: Kind) -> None:
    data = data_of(kind)
    classifier = EarlyStoppingClassifier(
        clone(kind.model), max_disagreement=0.2, calibration_size=0.5, random_state=0
    ).fit(data.X[:N_CALIBRATE], data.y[:N_CALIBRATE])
    assert classifier.score(data.new, data.y[N_CALIBRATE:]) > 0.6


def _predict(kind: Kind) -> None:
    classifier, data = stopped(kind), data_of(kind)
    labels, asked, _ = classifier.predict_with_votes(data.new)
    np.testing.assert_array_equal(classifier.predict(data.new), labels)
    assert asked.mean() < 0.7 * classifier.ensemble_.n_voters
    assert (labels != classifier.full_predict(data.new)).mean() < 2 * LIMIT
    assert (classifier._decider.scheme == "lead") == (kind.tally == "lead")
    everyone = asked == classifier.ensemble_.n_voters
    np.testing.assert_array_equal(labels[everyone], classifier.full_predict(data.new)[everyone])


def _full_predict(kind: Kind) -> None:
    data = data_of(kind)
    np.testing.assert_array_equal(stopped(kind).full_predict(data.new), data.model.predict(data.new))


def _one_row(kind: Kind) -> None:
    classifier, data = stopped(kind), data_of(kind)
    want = classifier.predict(data.new[:40])
    assert [classifier.predict(data.new[k : k + 1])[0] for k in range(40)] == want.tolist()


def _probability(kind: Kind) -> None:
    classifier, data = stopped(kind), data_of(kind)
    if not hasattr(classifier, "predict_proba"):
        raise InvalidInputError("the estimator itself has no probabilities")
    got = classifier.predict_proba(data.new)
    np.testing.assert_allclose(got, data.model.predict_proba(data.new), atol=1e-9)


def _limits_by_class(kind: Kind) -> None:
    classifier = stopped(kind, max_disagreement={0: 0.1, 1: 0.2})
    assert classifier.disagreement_by_class_[1] <= 0.2


def _stopped_with_labels(kind: Kind, **options: Any) -> EarlyStoppingClassifier:
    """Return a classifier that is calibrated on rows with labels, saved and loaded where it can be."""
    data = data_of(kind)
    labels = data.y[N_FIT:N_CALIBRATE]
    classifier = early_stop(data.model, data.calibration, labels, random_state=0, **options)
    if not kind.packed:
        return classifier
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(Path(folder) / "classifier.foregone")
        return EarlyStoppingClassifier.load(Path(folder) / "classifier.foregone")


def _limit_on_accuracy(kind: Kind) -> None:
    classifier, data = _stopped_with_labels(kind, max_accuracy_loss=LIMIT), data_of(kind)
    truth = data.y[N_CALIBRATE:]
    early, full = (
        np.mean(predict(data.new) == truth) for predict in (classifier.predict, classifier.full_predict)
    )
    assert full - early <= LIMIT
    assert classifier.promise_.loss == "accuracy"


def _accuracy_by_class(kind: Kind) -> None:
    classifier = _stopped_with_labels(kind, max_accuracy_loss={0: 0.1, 1: 0.2})
    assert classifier.promise_.limit == {0: 0.1, 1: 0.2}


def _costs(kind: Kind) -> None:
    costs = np.triu(np.ones((kind.n_classes, kind.n_classes)), 1) + 3 * np.tri(kind.n_classes, k=-1)
    classifier, data = _stopped_with_labels(kind, max_accuracy_loss=0.2, costs=costs), data_of(kind)
    truth = data.y[N_CALIBRATE:]
    early, full = (
        costs[truth, predict(data.new)] for predict in (classifier.predict, classifier.full_predict)
    )
    assert early.mean() - full.mean() <= 0.2


def _threshold(kind: Kind) -> None:
    classifier, data = stopped(kind, max_disagreement=0.1, threshold=0.3), data_of(kind)
    full = classifier.full_predict(data.new)
    if hasattr(data.model, "predict_proba"):
        own = data.model.predict_proba(data.new)[:, 1]
        on_edge = np.isclose(own, 0.3, rtol=0, atol=1e-9)  # sums in another order may differ in the last bit
        assert np.array_equal(full[~on_edge] == 1, own[~on_edge] >= 0.3)
    assert np.mean(full) > np.mean(stopped(kind).full_predict(data.new))
    assert np.mean(classifier.predict(data.new) != full) <= 0.13


def _fixed_threshold(kind: Kind) -> None:
    data = data_of(kind)
    wrapped = FixedThresholdClassifier(FrozenEstimator(data.model), threshold=0.31)
    classifier = early_stop(wrapped, data.calibration, 0.1, random_state=0)
    own = data.model.predict_proba(data.new)[:, 1] >= 0.31
    assert np.mean((classifier.full_predict(data.new) == 1) != own) < 0.002


def _no_confidence(kind: Kind) -> None:
    observed, surely = (stopped(kind, order="shared", confidence=sure) for sure in (None, 0.95))
    assert observed.expected_votes_ <= surely.expected_votes_ + 1e-9


def _looks(kind: Kind) -> None:
    classifier, data = stopped(kind, looks=2), data_of(kind)
    asked, strategy = classifier.predict_with_votes(data.new)[1], classifier.strategy_
    if kind.adds_up:
        assert set(strategy.looks.tolist()) <= {*range(0, strategy.n_steps, 2), strategy.n_steps}
    if kind.adds_up and strategy.drops_classes:  # a step asks one of each class that is left
        return
    assert set(asked.tolist()) <= {*range(0, strategy.n_voters, 2), strategy.n_voters}


def _order_per_row(kind: Kind) -> None:
    classifier, data = stopped(kind, order="per_row"), data_of(kind)
    assert (classifier.predict(data.new) != classifier.full_predict(data.new)).mean() < 2 * LIMIT


def _order_dealt(kind: Kind) -> None:
    classifier, data = stopped(kind, order="dealt"), data_of(kind)
    assert classifier.promise_.about == "orders"
    assert (classifier.predict(data.new) != classifier.full_predict(data.new)).mean() < 2 * LIMIT


def _order_optimized(kind: Kind) -> None:
    classifier, data = stopped(kind, order="optimized"), data_of(kind)
    assert classifier.promise_.about == "classifier"
    assert (classifier.predict(data.new) != classifier.full_predict(data.new)).mean() < 2 * LIMIT


def _promise(kind: Kind) -> None:
    promise = stopped(kind).promise_
    assert (promise.about, promise.limit, promise.confidence) == ("classifier", LIMIT, 0.95)
    assert promise.bound <= LIMIT


def _without_rows(kind: Kind) -> None:
    data = data_of(kind)
    classifier = early_stop(data.model)
    np.testing.assert_array_equal(classifier.predict(data.new), classifier.full_predict(data.new))
    assert classifier.promise_.bound == 0


def _groups(kind: Kind) -> None:
    groups = data_of(kind).calibration[:, 0] > 0
    assert stopped(kind, max_disagreement=0.1, groups=groups).promise_.groups == (False, True)


def _clusters(kind: Kind) -> None:
    clusters = np.arange(len(data_of(kind).calibration)) // 2
    assert stopped(kind, max_disagreement=0.1, clusters=clusters).promise_.in_clusters


def _criteria(kind: Kind) -> None:
    assert stopped(kind, criterion="minimixed").expected_votes_ >= 1


def _plan(kind: Kind) -> None:
    classifier = stopped(kind)
    made = classifier.plan([0.2, LIMIT], X=data_of(kind).calibration)
    assert made.max_disagreement in (0.2, LIMIT)
    assert str(made.max_disagreement) in made.recommendation
    assert made.labels == tuple(classifier.classes_.tolist())
    if kind.adds_up:  # estimated on the learning half
        assert made.rows[1].expected_votes == pytest.approx(classifier.expected_votes_, rel=0.4)
    else:  # on average over orders
        drawn = stopped(kind, order="shared")
        assert made.rows[1].expected_votes == pytest.approx(drawn.expected_votes_)
    assert len(made.chosen.by_class) == kind.n_classes


def _plan_in_accuracy(kind: Kind) -> None:
    data = data_of(kind)
    made = stopped(kind).plan([0.2, LIMIT], X=data.calibration, y=data.y[N_FIT:N_CALIBRATE])
    assert made.loss == "accuracy"
    assert made.max_accuracy_loss in (0.2, LIMIT) or kind.n_classes == 2
    assert len(made.chosen.accuracy_loss_by_class) == kind.n_classes
    assert "accuracy" in made.recommendation


def _solve(kind: Kind) -> None:
    classifier, data = stopped(kind, order="shared"), data_of(kind)
    ensemble, strategy = classifier.ensemble_, classifier.strategy_
    given: Any
    if kind.adds_up:
        own = np.searchsorted(classifier.classes_, data.model.predict(data.calibration))
        given = ScoreRows(
            ensemble.scores(data.calibration),
            start=strategy.start,
            order=strategy.order,
            # Votes are held against the full vote.
            answers=None if kind.tally == "lead" else own if kind.is_many else own == 1,
            random_state=classifier.seed_,
            bounds=ensemble.score_bounds,
            drops_classes=strategy.drops_classes,
        )
    else:
        given = classifier.votes_
    solved = solve("minimean", given, LIMIT, confidence=0.95)
    assert strategy_of(solved).n_voters == ensemble.n_voters
    if kind.tally != "answers":  # a classifier of many classes also settles ties
        assert strategy_of(solved) == strategy


def _tradeoff(kind: Kind) -> None:
    from foregone.display import TradeoffDisplay

    made = stopped(kind).plan([0.2, LIMIT], X=data_of(kind).calibration)
    assert TradeoffDisplay.from_plan(made).figure_ is not None


def _display(kind: Kind) -> None:
    from foregone.display import SavingsDisplay

    data = data_of(kind)
    assert SavingsDisplay.from_estimator(stopped(kind), data.new).figure_ is not None


def _envelope(kind: Kind) -> None:
    from foregone.display import EnvelopeDisplay

    assert EnvelopeDisplay.from_estimator(stopped(kind)).figure_ is not None


def _pickle(kind: Kind) -> None:
    classifier, data = stopped(kind), data_of(kind)
    again = pickle.loads(pickle.dumps(classifier))  # noqa: S301  # our own
    np.testing.assert_array_equal(again.predict(data.new), classifier.predict(data.new))


def _save(kind: Kind) -> None:
    classifier, data = stopped(kind), data_of(kind)
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(Path(folder) / "model")
        again, shown = EarlyStoppingClassifier.load(Path(folder) / "model"), io.StringIO()
        with contextlib.redirect_stdout(shown):
            assert foregone_command(["show", str(Path(folder) / "model"), "--json"]) == 0
    assert again.promise_ == classifier.promise_
    assert json.loads(shown.getvalue())["promise"] == str(classifier.promise_)
    for mine, theirs in zip(
        classifier.predict_with_votes(data.new), again.predict_with_votes(data.new), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def _frame(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list("abcdef"))


def _score(kind: Kind) -> None:
    from foregone.scale import score_file

    classifier, data = stopped(kind), data_of(kind)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _frame(data.new).to_parquet(folder / "rows.parquet")
        score_file(classifier, folder / "rows.parquet", folder / "out.parquet", features=list("abcdef"))
        got = pd.read_parquet(folder / "out.parquet")["label"]
    np.testing.assert_array_equal(got, classifier.predict(data.new))


def _watch(kind: Kind) -> None:
    from foregone.scale import score_file

    classifier, data = stopped(kind), data_of(kind)
    with tempfile.TemporaryDirectory() as name:
        folder, shown = Path(name), io.StringIO()
        classifier.save(folder / "model")
        _frame(data.new).to_parquet(folder / "rows.parquet")
        score_file(
            folder / "model",
            folder / "rows.parquet",
            folder / "out.parquet",
            features=list("abcdef"),
            audit=0.2,
        )
        with contextlib.redirect_stdout(shown):
            command = ["watch", str(folder / "out.parquet"), "--model", str(folder / "model"), "--json"]
            assert foregone_command(command) == 0
    seen = json.loads(shown.getvalue())
    monitor = classifier.monitor(audit=0.2)
    monitor.predict(data.new)
    assert seen["rows"] == len(data.new)
    assert seen["audited"] > 0.1 * len(data.new)
    for figure in ("answers", "mean_votes_asked", "audited", "audited_disagreements"):
        assert seen[figure] == monitor.to_dict()[figure]


def _monitor(kind: Kind) -> None:
    classifier, data = stopped(kind), data_of(kind)
    assert classifier.stops_.n_rows > 100
    whole, first, second = (classifier.monitor(audit=0.2) for _ in range(3))
    np.testing.assert_array_equal(whole.predict(data.new), classifier.predict(data.new))
    labels, asked, _ = classifier.predict_with_votes(data.new)
    full = classifier.full_predict(data.new)
    half = len(labels) // 2
    first.update(asked[:half], labels=labels[:half]).audited(labels[:half], full[:half])
    second.predict(data.new[half:])
    assert first.state.n_audited == half
    assert first.to_dict()["audited_disagreements"] == (labels != full)[:half].sum()
    with tempfile.TemporaryDirectory() as folder:
        first.state.save(Path(folder) / "state")
        both = load(Path(folder) / "state") + second.state
    np.testing.assert_array_equal(both.stops, whole.state.stops)
    whole.state = both
    assert whole.alarm is None


def _monitor_display(kind: Kind) -> None:
    from foregone.display import MonitorDisplay

    monitor = stopped(kind).monitor(audit=1.0)
    monitor.predict(data_of(kind).new)
    display = MonitorDisplay.from_monitor(monitor)
    assert display.figure_ is not None
    assert [spread.name for spread in display.spreads] == ["calibration rows", "recent rows"]


def _dask(kind: Kind) -> None:
    import dask
    import dask.dataframe as dd

    from foregone.scale.dask import predict

    classifier, data = stopped(kind), data_of(kind)
    with dask.config.set(scheduler="synchronous"):
        lazy = dd.from_pandas(_frame(data.new), npartitions=3)
        got = predict(lazy, classifier, features=list("abcdef")).compute()
    np.testing.assert_array_equal(got, classifier.predict(data.new))


def _spark(kind: Kind) -> None:
    pytest.importorskip("pyspark")
    from foregone.scale.spark import predict_udf

    predict_udf(stopped(kind))  # tests/scale/test_spark.py runs such functions of every kind


def _report(kind: Kind) -> None:
    from foregone.report import make_report

    data = data_of(kind)
    report = make_report(data.model, data.calibration)
    assert "Recommendation" in report.html or "recommend" in report.html
    assert report.fields()["promise_values"]["about"] in (
        "classifier",
        "orders",
    )  # by the limit it recommends
    assert report.fields()["promise"][1:] in unescape(report.html)


def _report_in_accuracy(kind: Kind) -> None:
    from foregone.report import make_report

    data = data_of(kind)
    table = pd.DataFrame(data.calibration).add_prefix("x").assign(truth=data.y[N_FIT:N_CALIBRATE])
    report = make_report(data.model, table, target="truth")
    page = unescape(report.html)
    if report.fields()["max_accuracy_loss"] is None:  # the page says why
        raise InvalidInputError(page)
    assert "accuracy" in page
    assert report.fields()["full_accuracy"] > 0.5


def _skops(kind: Kind) -> None:
    from foregone.report import read_model

    data = data_of(kind)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.skops"
        skops.io.dump(data.model, file)
        read = read_model(file, trust=skops.io.get_untrusted_types(file=file))
    assert (early_stop(read, data.calibration, LIMIT, random_state=0).predict(data.new)
            == stopped(kind).predict(data.new)).all()  # fmt: skip


def _show(kind: Kind) -> None:
    strategy = stopped(kind).strategy_
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "strategy.json"
        strategy.save(file)
        again, shown = load(file), io.StringIO()
        with contextlib.redirect_stdout(shown):
            assert foregone_command(["show", str(file), "--json"]) == 0
    assert type(again) is type(strategy)
    assert again.n_voters == strategy.n_voters
    assert json.loads(shown.getvalue())["n_voters"] == strategy.n_voters


def _evaluate(kind: Kind) -> None:
    classifier = stopped(kind) if kind.adds_up else stopped(kind, confidence=None)
    assert 0 < evaluate(classifier).worst().expected_votes <= classifier.ensemble_.n_voters


def _certify(kind: Kind) -> None:
    certified = stopped(kind)
    with pytest.raises(InvalidInputError, match="promise_"):
        certify(certified)
    assert certify(stopped(kind, order="shared")).holds


def _import(kind: Kind) -> None:
    data = data_of(kind)
    packed: Any = {"votes": PackedForest, "answers": PluralityForest}.get(kind.tally, ScoredForest)
    read = packed.from_model if packed is ScoredForest else packed.from_sklearn
    of_votes = {"of_votes": True} if kind.tally == "lead" else {}
    got = early_stop(read(data.model, **of_votes), data.calibration, LIMIT, random_state=0)
    np.testing.assert_array_equal(got.predict(data.new), stopped(kind).predict(data.new))


@cache
def _simulated_on_gpu() -> dict[str, str | None]:
    """Return what went wrong with each kind on a simulated GPU, in one process that asks the CPU, too."""
    from tests.gpu.test_simulated import simulate

    with tempfile.TemporaryDirectory() as folder:
        for number, kind in enumerate(KINDS):
            if kind.packed:
                stopped(kind, device="cuda").save(Path(folder) / f"{number}.foregone")
                np.save(Path(folder) / f"{number}.npy", data_of(kind).new[:20])
        return simulate(folder)


def _on_gpu(kind: Kind) -> None:
    classifier = stopped(kind, device="cuda")
    if not kind.packed:
        classifier.predict(data_of(kind).new)
        raise AssertionError("these voters cannot be asked on a GPU")
    problem = _simulated_on_gpu()[str(KINDS.index(kind))]
    assert problem is None, problem


FEATURES: dict[str, Callable[[Kind], None]] = {
    "`fit`": _fit,
    "`early_stop`, `predict`, `predict_with_votes`": _predict,
    "`full_predict` is the model's own `predict`": _full_predict,
    "one row": _one_row,
    "`predict_proba`": _probability,
    "limits by class": _limits_by_class,
    "limit on the loss of accuracy": _limit_on_accuracy,
    "limits on accuracy by class": _accuracy_by_class,
    "`costs`": _costs,
    "decision threshold": _threshold,
    "`FixedThresholdClassifier`": _fixed_threshold,
    "`confidence=None`": _no_confidence,
    "criteria for every input (minimixed, minimax)": _criteria,
    "`looks`": _looks,
    '`order="per_row"`': _order_per_row,
    '`order="dealt"`': _order_dealt,
    '`order="optimized"`': _order_optimized,
    "`promise_` is about the classifier": _promise,
    "no calibration rows": _without_rows,
    "`groups`": _groups,
    "`clusters`": _clusters,
    "`solve` from votes or scores": _solve,
    "`plan`": _plan,
    "`plan` in accuracy": _plan_in_accuracy,
    "`TradeoffDisplay`": _tradeoff,
    "`SavingsDisplay`": _display,
    "`EnvelopeDisplay`": _envelope,
    "`load`, `foregone show` of the strategy": _show,
    "`evaluate`": _evaluate,
    "`certify`": _certify,
    "forests of `foregone.forest`": _import,
    "report": _report,
    "report in accuracy": _report_in_accuracy,
    "skops file of the model": _skops,
    "pickle of the classifier": _pickle,
    "`save`, `load`": _save,
    "`monitor`": _monitor,
    "`MonitorDisplay`": _monitor_display,
    "`foregone score`": _score,
    "`foregone watch`": _watch,
    "Dask": _dask,
    "Spark": _spark,
    '`device="cuda"`': _on_gpu,
}


class Refusal(NamedTuple):
    """Why a feature has no meaning for some kinds: how the error says it, and how the table does."""

    applies: Callable[[Kind], bool]
    message: str
    reason: str


def _is(*tallies: str) -> Callable[[Kind], bool]:
    return lambda kind: kind.tally in tallies


def _adds_up(kind: Kind) -> bool:
    return kind.adds_up


def _not_packed(kind: Kind) -> bool:
    return not kind.packed


PYTHON = Refusal(
    _not_packed,
    "voters are Python objects",
    "voters that are Python objects cannot be saved without pickle",
)
MEANS_OF_MANY = "averages over random orders do not tell which of many classes is the answer"
REFUSALS: dict[str, list[Refusal]] = {
    "`predict_proba`": [
        Refusal(
            lambda kind: kind.tally in ("votes", "answers") and not kind.packed,
            "the estimator itself has no probabilities",
            "a majority of labels has no probabilities",
        )
    ],
    "limits by class": [
        Refusal(lambda kind: kind.is_many, "limits by class need exactly 2 classes", "two classes only")
    ],
    "limits on accuracy by class": [
        Refusal(lambda kind: kind.is_many, "limits by class need exactly 2 classes", "two classes only")
    ],
    "decision threshold": [
        Refusal(lambda kind: kind.is_many, "a threshold needs exactly 2 classes", "two classes only")
    ],
    "`FixedThresholdClassifier`": [
        Refusal(lambda kind: kind.is_many, "needs exactly 2 classes", "two classes only"),
        Refusal(
            lambda kind: kind.tally == "votes" and not kind.packed,
            "has no decision_function",
            "scikit-learn's FixedThresholdClassifier needs probabilities",
        ),
    ],
    "`confidence=None`": [
        Refusal(_adds_up, "certified on rows, at a confidence", "scores are always certified at a confidence")
    ],
    "criteria for every input (minimixed, minimax)": [
        Refusal(_adds_up, "scores have no votes", "there is no single number of yes votes")
    ],
    "`looks`": [
        Refusal(_is("answers"), "looks is not supported", "counted answers are checked after every vote")
    ],
    '`order="per_row"`': [
        Refusal(_adds_up, "order='per_row' is for counted votes", "scores are certified in one order")
    ],
    '`order="dealt"`': [
        Refusal(_adds_up, "order='dealt' is for counted votes", "scores are certified in one order")
    ],
    "`plan` in accuracy": [Refusal(_is("answers"), "cannot limit the loss of accuracy", MEANS_OF_MANY)],
    "report in accuracy": [
        Refusal(_is("answers"), "not on the accuracy loss, although there are labels", MEANS_OF_MANY)
    ],
    "`EnvelopeDisplay`": [Refusal(_is("answers"), "more than two", "there is no single number of yes votes")],
    "`evaluate`": [Refusal(_adds_up, "cannot be evaluated exactly", "what scores cost depends on the rows")],
    "`certify`": [
        Refusal(_adds_up, "[Ss]core", "scores have a certificate of their own: `strategy_.certificate`")
    ],
    "forests of `foregone.forest`": [Refusal(_not_packed, "trees", "there are no trees to pack")],
    "`save`, `load`": [PYTHON],
    "`foregone score`": [PYTHON],
    "`foregone watch`": [PYTHON],
    "Dask": [PYTHON],
    "Spark": [PYTHON],
    '`device="cuda"`': [Refusal(_not_packed, "needs packed trees", "there are no trees to send to a GPU")],
}


def refusal(feature: str, kind: Kind) -> Refusal | None:
    """Return why a feature has no meaning for a kind, None if it has one."""
    if is_counted(feature, kind):
        return None
    return next((one for one in REFUSALS.get(feature, []) if one.applies(kind)), None)


# Of votes whose lead is followed, settings that only counted votes have count them, which takes minutes.
COUNTED: dict[str, dict[str, Any]] = {
    "`confidence=None`": {"confidence": None},
    "criteria for every input (minimixed, minimax)": {"criterion": "minimixed"},
    '`order="per_row"`': {"order": "per_row"},
    '`order="dealt"`': {"order": "dealt"},
}
COUNTED_NOTE = "the votes are then counted, as for answers"


def is_counted(feature: str, kind: Kind) -> bool:
    """Whether a feature turns votes whose lead would be followed into votes that are counted."""
    return kind.tally == "lead" and feature in COUNTED


def check_counted(feature: str, kind: Kind) -> None:
    """Check that they will be counted, without counting them."""
    settings = Settings.of(EarlyStoppingClassifier(None, **COUNTED[feature]))
    model = GivenModel.of(data_of(kind).model)
    assert model.scheme(settings, kind.n_classes) == "plurality"
    assert model.scheme(Settings.of(EarlyStoppingClassifier(None)), kind.n_classes) == "lead"


# The table in the docs -----------------------------------------------------------------------------

PAGE = Path(__file__).parents[1] / "docs" / "kinds.md"
START, END = "<!-- table of kinds: made by python -m tests.kinds -->\n", "<!-- end of the table -->\n"


def table() -> str:
    """Return the table in Markdown, with a note for each reason."""
    notes: list[str] = []
    lines = ["| | " + " | ".join(kind.name for kind in KINDS) + " |", "|---" + "|:-:" * len(KINDS) + "|"]
    for feature in FEATURES:
        cells = []
        for kind in KINDS:
            found = refusal(feature, kind)
            counted = is_counted(feature, kind)
            if found is None and not counted:
                cells.append("yes")
                continue
            note = COUNTED_NOTE if found is None else found.reason
            if note not in notes:
                notes.append(note)
            cells.append(f"{'yes' if counted else 'no'} [{notes.index(note) + 1}]")
        lines.append(f"| {feature} | " + " | ".join(cells) + " |")
    listed = [f"{number}. {reason}" for number, reason in enumerate(notes, 1)]
    return "\n".join([*lines, "", *listed, ""])


# The short form: kinds merged by what a reader has, and the features that are not the same for all of them.
SHORT_KINDS = {
    "forest, 2 classes": ("votes, forest", "scores, forest"),
    "forest, more": (
        "answers, forest",
        "scores of many classes, forest",
        "votes of many classes by their lead",
    ),
    "boosted, 2 classes": ("scores, boosted",),
    "boosted, more": ("scores of many classes, boosted",),
    "committee of any models": (
        "votes, committee",
        "answers, committee",
        "scores, committee",
        "scores of many classes, committee",
    ),
}
SHORT_FEATURES = {
    "`predict`, limit on disagreement": "`early_stop`, `predict`, `predict_with_votes`",
    "limit on accuracy loss": "limit on the loss of accuracy",
    "limits by class": "limits by class",
    "decision threshold": "decision threshold",
    "limit for every input": "criteria for every input (minimixed, minimax)",
    "exact proof: `certify`": "`certify`",
    "`plan`": "`plan`",
    "report": "report",
    "monitor": "`monitor`",
    "saved without pickle": "`save`, `load`",
    "Dask, Spark": "Spark",
    "GPU": '`device="cuda"`',
}


def short_table() -> str:
    """Return the short form in Markdown: "some" where a feature works for some of the merged kinds."""
    by_name = {kind.name: kind for kind in KINDS}
    lines = ["| | " + " | ".join(SHORT_KINDS) + " |", "|---" + "|:-:" * len(SHORT_KINDS) + "|"]
    for label, feature in SHORT_FEATURES.items():
        cells = []
        for names in SHORT_KINDS.values():
            works = {refusal(feature, by_name[name]) is None for name in names}
            cells.append("some" if len(works) > 1 else "yes" if works == {True} else "no")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


README = Path(__file__).parents[1] / "README.md"
TABLES = {PAGE: table, README: short_table}


def page_with_table(page: Path) -> str:
    """Return the page with the table as it is now."""
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    return before + START + "\n" + TABLES[page]() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    for page in TABLES:
        page.write_text(page_with_table(page), encoding="utf-8")

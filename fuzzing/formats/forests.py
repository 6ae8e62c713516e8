"""Forests and classifiers in containers of arrays, and the exports of other libraries they are made of."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from foregone import EarlyStoppingClassifier, ScoreStrategy, early_stop, rules
from foregone.errors import ForegoneError
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from foregone.plurality import rules as plurality_rules
from fuzzing.formats.forgeries import forge_from, many_labels, spark_sizes
from fuzzing.formats.format import Format, all_of_it, none, put
from fuzzing.formats.seals import container_header, of_all, put_container_header, reseal_container

__all__ = ["FORMATS", "grown_forest"]

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
NAME = "model.foregone"
MOST_FEATURES = 100_000  # of rows made here to predict: more would measure our rows, not the model


def _rows(n_classes: int = 2) -> tuple[Any, Any]:
    return make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)


def grown_forest(n_classes: int = 2, **settings: Any) -> RandomForestClassifier:
    """Return a small forest of scikit-learn for five columns."""
    options = {"n_estimators": 7, "max_depth": 4, "random_state": 0, **settings}
    return RandomForestClassifier(**options).fit(*_rows(n_classes))


def _boosted() -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0).fit(*_rows())


def _save(folder: Path, *models: Any) -> None:
    for number, model in enumerate(models):
        (folder / str(number)).mkdir(parents=True)
        file = folder / str(number) / NAME
        shutil.copy(model, file) if isinstance(model, Path) else model.save(file)


def _write_packed(folder: Path) -> None:
    _save(
        folder,
        PackedForest.from_sklearn(grown_forest()),
        PackedForest.from_spark(GOLDEN / "spark-forest"),
        PackedForest.from_ranger(GOLDEN / "ranger-forest" / "ordered-factor.json"),
    )


def _write_scored(folder: Path) -> None:
    _save(
        folder,
        ScoredForest.from_model(_boosted()),
        ScoredForest.from_model(grown_forest()),
        ScoredForest.from_spark(GOLDEN / "spark-forest"),
    )


def _write_plurality(folder: Path) -> None:
    _save(
        folder,
        PluralityForest.from_sklearn(grown_forest(3)),
        PluralityForest.from_sklearn(grown_forest(4, n_estimators=3, max_depth=6)),
    )


def _write_classifiers(folder: Path) -> None:
    X, _ = _rows()
    _save(
        folder,
        early_stop(grown_forest(), X, 0.05, voting="hard", confidence=None, random_state=0),
        early_stop(_boosted(), X, 0.1, random_state=0),
        early_stop(grown_forest(3), X, 0.05, confidence=None, voting="hard", random_state=0),
        GOLDEN / "classifier-v1.foregone",
        GOLDEN / "classifier-v2.foregone",
    )


def _copy(*sources: Path) -> Callable[[Path], None]:
    """Return a function that copies files and folders, each into a sample of its own."""

    def write(folder: Path) -> None:
        for number, source in enumerate(sources):
            if source.is_dir():
                shutil.copytree(
                    source, folder / str(number), ignore=lambda *_: {"three-classes", "predictions.json"}
                )
            else:
                (folder / str(number)).mkdir(parents=True)
                shutil.copy(source, folder / str(number) / "forest.json")

    return write


# What is loaded ---------------------------------------------------------------------------------


def _plain(parts: tuple[dict[str, Any], dict[str, Any]]) -> str:
    fields, arrays = parts
    return repr(
        (fields, {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()})
    )


def _of_forest(forest: Any) -> str:
    return _plain(forest.to_parts())


def _of_classifier(classifier: EarlyStoppingClassifier) -> str:
    names = getattr(classifier, "feature_names_in_", None)
    return f"{_plain(classifier._decider.to_parts())} {names} {classifier.get_params(deep=False)}"


def _rows_for(n_features: int) -> list[Any]:
    """Return one row, a few, and some with extreme values; none where a row would take all memory."""
    if n_features > MOST_FEATURES:
        return []
    draws = np.random.default_rng(0)
    extreme = draws.choice([0.0, -0.0, 1e300, -1e300, np.inf, -np.inf, np.nan, 3.0], (4, n_features))
    return [draws.normal(0, 2, (n, n_features)) for n in (1, 9)] + [extreme]


def _run(forest: Any, strategy: Any, **settings: Any) -> None:
    """Ask trees about rows one by one and many at a time; rows may be refused, but by name."""
    repr(forest)
    for rows in _rows_for(forest.n_features):
        try:
            forest.run(rows, None, **settings)
            forest.run(rows, strategy, **settings)
            forest.run_one(rows[0], strategy, **settings)
        except ForegoneError:
            pass


def _use_packed(forest: PackedForest) -> None:
    strategy = rules.curtailment(forest.n_trees)
    for order in ("shared", "dealt", "per_row"):
        _run(forest, strategy, seed=1, order=order)


def _use_scored(forest: ScoredForest) -> None:
    _run(forest, ScoreStrategy.ask_all(forest.n_trees, start=forest.start))


def _use_plurality(forest: PluralityForest) -> None:
    try:
        strategy = plurality_rules.curtailment(forest.n_trees, n_classes=forest.n_classes)
    except ForegoneError:  # too many trees or classes for a lattice
        strategy = None
    for order in ("shared", "dealt", "per_row") if strategy else ():
        _run(forest, strategy, seed=1, order=order)


def _use_classifier(classifier: EarlyStoppingClassifier) -> None:
    repr(classifier)
    for rows in _rows_for(classifier.n_features_in_):
        for some in (rows, rows[:1]):
            try:
                classifier.predict(some)
                classifier.predict_with_votes(some)
                classifier.monitor(audit=0.5).predict(some)
            except ValueError:  # scikit-learn's, about values
                pass


def _container(name: str, write: Callable[[Path], None], kind: Any, content: Any, use: Any) -> Format:
    def load(sample: Path, home: Path) -> Any:
        return kind.load(sample / NAME)

    places = (container_header, put_container_header)
    forge = forge_from(many_labels)
    return Format(name, write, load, content, use, of_all(reseal_container), forge, json=places)


# Exports of others ------------------------------------------------------------------------------


def _load_ranger(sample: Path, home: Path) -> ScoredForest:
    return ScoredForest.from_ranger(sample / "forest.json")


def _load_spark(sample: Path, home: Path) -> ScoredForest:
    return ScoredForest.from_spark(sample)


def _metadata(content: bytes) -> list[slice]:
    return all_of_it(content) if content.lstrip().startswith(b"{") else none(content)


RANGER = tuple(GOLDEN / "ranger-forest" / f"{name}.json" for name in ("votes", "shares", "ordered-factor"))

FORMATS = (
    _container("packed forest", _write_packed, PackedForest, _of_forest, _use_packed),
    _container("scored forest", _write_scored, ScoredForest, _of_forest, _use_scored),
    _container("plurality forest", _write_plurality, PluralityForest, _of_forest, _use_plurality),
    _container("classifier", _write_classifiers, EarlyStoppingClassifier, _of_classifier, _use_classifier),
    Format(
        "ranger export", _copy(*RANGER), _load_ranger, _of_forest, _use_scored,
        checked=False, json=(all_of_it, put),
    ),
    Format(
        "Spark ML folder", _copy(GOLDEN / "spark-forest"), _load_spark, _of_forest, _use_scored,
        forge=forge_from(spark_sizes), checked=False, json=(_metadata, put),
    ),
)  # fmt: skip

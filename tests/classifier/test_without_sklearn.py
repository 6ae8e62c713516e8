"""A saved classifier is loaded and predicts without scikit-learn, and is an estimator when that is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    X, y = make_classification(3_000, random_state=0)
    models = {
        "votes": RandomForestClassifier(11, random_state=0),
        "scores": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    }
    for name, model in models.items():
        stopped = early_stop(model.fit(X[:500], y[:500]), X[500:2_500], 0.05, random_state=0)
        stopped.save(folder / name)
        np.save(folder / f"{name}.npy", stopped.predict(X[2_500:]))
    np.save(folder / "X.npy", X[2_500:])
    return folder


def run(code: str, *words: str) -> str:
    """Run code in a fresh process, in which ``imported()`` lists the slow packages that were imported."""
    head = (
        "import sys, numpy as np\n"
        "def imported():\n"
        "    slow = ('sklearn', 'joblib', 'pandas', 'scipy.special', 'scipy.stats', 'rich')\n"
        "    return [name for name in slow if name in sys.modules]\n"
        "import foregone\n"
        "folder = sys.argv[1]\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", head + code, *words], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


# The bound of a certificate is computed again.
@pytest.mark.parametrize(("name", "slow"), [("votes", []), ("scores", ["scipy.special"])])
def test_loading_and_predicting_do_not_import_scikit_learn(folder: Path, name: str, slow: list[str]) -> None:
    said = run(
        "classifier = foregone.EarlyStoppingClassifier.load(folder + '/' + sys.argv[2])\n"
        "X = np.load(folder + '/X.npy')\n"
        "one = [classifier.predict(X[row : row + 1])[0] for row in range(3)]\n"
        "labels, asked, _ = classifier.predict_with_votes(X)\n"
        "assert (labels == np.load(f'{folder}/{sys.argv[2]}.npy')).all() and (labels[:3] == one).all()\n"
        "assert classifier.promise_ and classifier.classes_.tolist() == [0, 1]\n"
        "print(imported())",
        str(folder),
        name,
    )
    assert said == str(slow)


def test_packed_forests_import_nothing_of_it_either(folder: Path) -> None:
    assert run("from foregone.forest import PackedForest\nprint(imported())", str(folder)) == "[]"


@pytest.mark.parametrize(
    "use",
    [
        "classifier.get_params()",
        "classifier.set_params(n_jobs=2)",
        "classifier.score(X, labels)",
        "repr(classifier)",
        "classifier.__sklearn_tags__()",
        "import sklearn.base; sklearn.base.clone(classifier)",
    ],
)
def test_it_becomes_an_estimator_when_scikit_learn_is_needed(folder: Path, use: str) -> None:
    run(
        "classifier = foregone.EarlyStoppingClassifier.load(folder + '/votes')\n"
        "X = np.load(folder + '/X.npy')\n"
        "labels = classifier.predict(X)\n"
        "assert not imported()\n"
        f"{use}\n"
        "from sklearn.base import BaseEstimator, is_classifier\n"
        "assert isinstance(classifier, BaseEstimator) and is_classifier(classifier)\n"
        "assert (classifier.predict(X) == labels).all()\n"
        "assert not hasattr(classifier, 'no_such_thing')",
        str(folder),
    )


def test_it_is_an_estimator_from_the_beginning_where_scikit_learn_was_imported_before(folder: Path) -> None:
    run(
        "from sklearn.base import BaseEstimator\n"
        "from foregone import EarlyStoppingClassifier\n"
        "assert issubclass(EarlyStoppingClassifier, BaseEstimator)\n"
        "assert hasattr(EarlyStoppingClassifier, 'set_fit_request')",
        str(folder),
    )


def test_making_one_or_deriving_from_it_makes_estimators(folder: Path) -> None:
    run(
        "from foregone import EarlyStoppingClassifier\n"
        "assert not imported()\n"
        "class Mine(EarlyStoppingClassifier):\n"
        "    pass\n"
        "from sklearn.base import BaseEstimator\n"
        "assert issubclass(Mine, BaseEstimator) and hasattr(Mine, 'set_fit_request')",
        str(folder),
    )
    run(
        "from foregone import EarlyStoppingClassifier\n"
        "made = EarlyStoppingClassifier(None)\n"
        "from sklearn.base import BaseEstimator\n"
        "assert isinstance(made, BaseEstimator)",
        str(folder),
    )


def test_pickling_a_loaded_one_needs_no_scikit_learn(folder: Path) -> None:
    run(
        "import pickle, copy\n"
        "classifier = foregone.EarlyStoppingClassifier.load(folder + '/votes')\n"
        "X = np.load(folder + '/X.npy')\n"
        "for made in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier)):\n"
        "    assert (made.predict(X) == classifier.predict(X)).all()\n"
        "assert not imported()",
        str(folder),
    )


def test_not_fitted_is_said_in_scikit_learns_words() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        EarlyStoppingClassifier(RandomForestClassifier()).predict(np.zeros((3, 2)))


@pytest.mark.parametrize("name", ["votes", "scores"])
def test_a_loaded_one_has_every_parameter(folder: Path, name: str) -> None:
    loaded = EarlyStoppingClassifier.load(folder / name)
    assert loaded.get_params(deep=False).keys() == EarlyStoppingClassifier(None).get_params(deep=False).keys()
    assert vars(clone(loaded)).keys() <= vars(loaded).keys()
    assert isinstance(loaded, BaseEstimator)
    assert isinstance(loaded, ClassifierMixin)
    assert is_classifier(loaded)

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from foregone import EarlyStoppingClassifier, early_stop
from tests.classifier import models


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Rows of mixed types; `key` is no feature."""
    X = models.fresh()[:1200]
    frame = pd.DataFrame(X, columns=["a", "b", "c.d", "e", "f", "g"])
    frame["b"] = frame["b"].astype(np.float32)
    frame["e"] = (frame["e"] * 10).astype(np.int64)
    frame["f"] = frame["f"] > 0
    frame["key"] = [f'row "{k}",\n' for k in range(len(frame))]
    return frame


@pytest.fixture(scope="session")
def classifier(frame: pd.DataFrame) -> EarlyStoppingClassifier:
    """It knows the names of its features, has texts for labels and leaves some stops to chance."""
    X, y = frame.drop(columns="key"), (frame["a"] + frame["b"] + frame["e"] / 20 > 0).to_numpy()
    labels = np.array(["ham", "spam"])[y.astype(int)]
    forest = RandomForestClassifier(25, random_state=0).fit(X[:100], labels[:100])
    return early_stop(
        forest, X[100:600], max_disagreement=0.05, confidence=None, order="per_row", random_state=0
    )


@pytest.fixture(scope="session")
def expected(frame: pd.DataFrame, classifier: EarlyStoppingClassifier) -> pd.DataFrame:
    """What one machine says."""
    labels, asked, _ = classifier.predict_with_votes(frame.drop(columns="key"))
    assert set(labels) == {"ham", "spam"}
    assert len(set(asked)) > 3
    return pd.DataFrame({"label": labels, "votes_asked": asked})


@pytest.fixture(scope="session")
def model_path(classifier: EarlyStoppingClassifier, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "forest.foregone"
    classifier.save(path)
    return str(path)

from __future__ import annotations

import pickle
import pickletools

import numpy as np
import pytest

from foregone import solve
from foregone.classifier import early_stop
from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest.tables import Columns
from foregone.scale.model_file import MOST_LOADED, ModelFile, n_loads
from tests.classifier import models


def test_a_classifier_and_its_file_are_shipped_as_the_same_bytes(classifier, model_path):
    from_object, from_path = ModelFile.of(classifier), ModelFile.of(model_path)
    assert from_object.digest == from_path.digest
    assert from_object.content == from_path.content
    assert from_path.feature_names == ("a", "b", "c.d", "e", "f", "g")
    assert from_path.classes.tolist() == ["ham", "spam"]
    assert ModelFile.of(from_path) is from_path


def test_what_is_pickled_names_no_class_of_a_model(model_path):
    content = pickle.dumps(ModelFile.of(model_path))
    named = {argument for _, argument, _ in pickletools.genops(content) if isinstance(argument, str)}
    assert "foregone.scale.model_file" in named
    assert not any("sklearn" in name or "classifier" in name or "forest" in name for name in named)


def test_a_process_loads_a_model_once_and_predicts_without_a_warning_of_names(frame, expected, model_path):
    before = n_loads()
    for start in (0, 400, 800):
        shipped = pickle.loads(pickle.dumps(ModelFile.of(model_path)))  # noqa: S301  # our own
        rows = frame.drop(columns="key")[start : start + 400]
        answers, asked, _ = shipped.answers(Columns(tuple(rows[name] for name in rows)))
        assert shipped.classes[answers].tolist() == expected["label"][start : start + 400].tolist()
        assert asked.tolist() == expected["votes_asked"][start : start + 400].tolist()
    assert n_loads() - before <= 1


def test_only_a_few_models_are_kept_loaded():
    X = models.fresh()
    shipped = [
        ModelFile.of(early_stop(models.forest(), X[:500], max_disagreement=0.05, random_state=seed))
        for seed in range(MOST_LOADED + 1)
    ]
    loads = []
    for _ in range(3):
        before = n_loads()
        for one in shipped:
            one.answers(X[:5])
        loads.append(n_loads() - before)
    # In turn, so that each was dropped before it came again. Other tests may have loaded one before.
    assert loads[1:] == [len(shipped)] * 2


def test_no_rows_give_no_labels(model_path):
    answers, asked, _ = ModelFile.of(model_path).answers(np.empty((0, 6)))
    assert (len(answers), len(asked)) == (0, 0)


def test_a_file_of_the_wrong_kind_is_named(tmp_path, classifier):
    strategy, packed = tmp_path / "strategy.json", tmp_path / "forest.packed"
    solve("minimean", 11, 0.01).save(strategy)
    classifier.ensemble_.save(packed)
    with pytest.raises(FileFormatError, match=r"strategy\.json: not a foregone file"):
        ModelFile.of(strategy)
    with pytest.raises(FileFormatError, match=r"forest\.packed: expected a 'classifier', found a 'forest'"):
        ModelFile.of(packed)
    with pytest.raises(FileFormatError, match=r"cannot read .*nothing\.here"):
        ModelFile.of(tmp_path / "nothing.here")


def test_what_cannot_be_shipped_is_refused():
    with pytest.raises(InvalidInputError, match="early_stop first"):
        ModelFile.of(models.forest())
    voters = early_stop(models.bag_of_lines(), models.fresh()[:300], max_disagreement=0.1, random_state=0)
    with pytest.raises(InvalidInputError, match="only forests of decision trees"):
        ModelFile.of(voters)

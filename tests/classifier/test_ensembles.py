"""One table says of every kind of model who votes in it, how it decides, and what can be told beforehand."""

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from foregone.classifier.ensembles import KINDS
from foregone.classifier.given_model import GivenModel
from foregone.classifier.voters import PluralityVoters, ScoreVoters, Voters
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from tests.classifier import models

COMMITTEE = VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression()), ("gone", "drop")])


def fitted(model):
    return model.fit(*models.to_fit())


# A model of each kind, what it is asked as for votes of two classes, of many, and for scores, and how many
# voters it will have.
EXAMPLES = {
    "packed forest": (lambda: PackedForest.from_sklearn(models.forest()), [PackedForest], None),
    "list": (models.several_models, [Voters, PluralityVoters, ScoreVoters], None),
    "forest": (
        lambda: fitted(ExtraTreesClassifier(7)),
        [PackedForest, PluralityForest, ScoredForest],
        7,
    ),
    "tree": (lambda: fitted(DecisionTreeClassifier()), [PackedForest, PluralityForest, ScoredForest], 1),
    "bag": (
        lambda: fitted(BaggingClassifier(LogisticRegression(), 5)),
        [Voters, PluralityVoters, ScoreVoters],
        5,
    ),
    "committee": (lambda: fitted(COMMITTEE), [Voters, PluralityVoters], 2),
    "adaboost": (
        lambda: fitted(AdaBoostClassifier(GaussianNB(), n_estimators=4)),
        [None, None, ScoreVoters],
        4,
    ),
    "booster": (
        lambda: fitted(lightgbm.LGBMClassifier(n_estimators=6, verbose=-1)).booster_,
        [None, None, ScoredForest],
        None,
    ),
    "boosted trees": (
        lambda: fitted(HistGradientBoostingClassifier(max_iter=8)),
        [None, None, ScoredForest],
        8,
    ),
}


def test_there_is_an_example_of_every_kind():
    assert [*EXAMPLES, "none of them"] == list(KINDS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_says_who_votes(name):
    make, asked_as, planned = EXAMPLES[name]
    model = GivenModel.of(make())
    assert model.kind is KINDS[name]
    model.check()
    for scheme, expected in zip(("hard", "plurality", "soft"), asked_as, strict=False):
        if expected is not None:
            ensemble = model.voters(scheme)
            assert type(ensemble) is expected
            np.testing.assert_array_equal(ensemble.classes, [0, 1])
    assert model.is_fitted_already == (planned is None)
    if planned is not None:
        assert model.kind.n_voters(model.inside) == planned == ensemble.n_voters
    assert model.has_votes == (asked_as[0] is not None)


def test_trees_are_packed_whatever_holds_them():
    for model in (RandomForestClassifier(3), BaggingClassifier(n_estimators=3), AdaBoostClassifier()):
        assert GivenModel.of(model).will_be_packed
    for model in (COMMITTEE, BaggingClassifier(GaussianNB()), AdaBoostClassifier(GaussianNB()), GaussianNB()):
        assert not GivenModel.of(model).will_be_packed
    assert isinstance(GivenModel.of(fitted(BaggingClassifier(n_estimators=3))).voters("soft"), ScoredForest)

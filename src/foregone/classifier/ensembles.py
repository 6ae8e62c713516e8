"""From models to voters: the supported kinds of model, and how each of them decides.

Each kind of model is one row of ``KINDS`` and the functions that it names.
`foregone.classifier.given_model.GivenModel` calls them before a model is fitted, for what is known then, and
afterwards for the voters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.model_selection._search import BaseSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from foregone.classifier.deciding import Labels, Scheme
from foregone.classifier.voters import Members, PluralityVoters, ScoreVoters, Voters
from foregone.errors import InvalidInputError
from foregone.forest import Forest, PackedForest, PluralityForest, ScoredForest
from foregone.forest.importers.by_model import importer_of

__all__ = [
    "KINDS",
    "ModelKind",
    "is_boosted",
    "is_booster",
    "kind_of_model",
    "leaves_are_pure",
    "scheme_at_threshold",
    "will_be_packed",
]


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda model: value


_is_so, _is_not = (_always(value) for value in (True, False))


def _n_estimators(model: Any) -> int:
    if hasattr(model, "estimators_"):
        return len(model.estimators_)
    planned = getattr(model, "max_iter", getattr(model, "n_estimators", 1))
    if importer_of(model) == "catboost":
        planned = _iterations(model)
    if planned is None:
        planned = 100  # XGBoost's own default
    # Invalid values, here and elsewhere, are left for the model's own fit to reject.
    return int(planned) if isinstance(planned, int | np.integer) and planned >= 1 else 1


def _iterations(model: Any) -> int:
    """Return how many trees CatBoost has, or will have at most; its parameter has several names."""
    if model.is_fitted():
        return int(model.tree_count_)
    given = model.get_params()
    names = ("iterations", "n_estimators", "num_boost_round", "num_trees")
    return next((given[name] for name in names if name in given), 1000)


class ModelKind(NamedTuple):
    """A kind of model; every function takes a model, fitted or not unless stated otherwise.

    Attributes
    ----------
    takes : callable
        Whether a model is of this kind.
    own_scheme : callable
        How its own ``predict`` decides, by votes if this is equivalent; None if it depends on members that
        are not fitted yet.
    voters : callable
        The voters or scores of a fitted model; also takes the scheme.
    is_of_trees : callable
        Whether it consists of decision trees only.
    no_votes : callable
        Why its votes cannot be counted, as a reason and as a sentence; None if they can be.
    n_voters : callable
        How many voters it will have.
    check : callable
        Raises InvalidInputError if it cannot be used.
    is_fitted : bool
        Whether models of this kind are always fitted.
    """

    takes: Callable[[Any], bool]
    own_scheme: Callable[[Any], Scheme | None]
    voters: Callable[[Any, Scheme], Any]
    is_of_trees: Callable[[Any], bool] = _is_not
    no_votes: Callable[[Any], tuple[str, str] | None] = _always(None)
    n_voters: Callable[[Any], int] = _n_estimators
    check: Callable[[Any], None] = _always(None)
    is_fitted: bool = False


# Functions of the kinds --------------------------------------------------------------------------


def _pack(model: Any, scheme: Scheme) -> PackedForest | PluralityForest | ScoredForest:
    _check_fitted(model)
    if scheme == "soft":
        return ScoredForest.from_model(model)
    if scheme == "lead":
        return ScoredForest.from_model(model, of_votes=True)
    return PackedForest.from_sklearn(model) if scheme == "hard" else PluralityForest.from_sklearn(model)


def _ask(members: Members, scheme: Scheme, **scoring: Any) -> Voters | PluralityVoters | ScoreVoters:
    if scheme == "soft":
        return ScoreVoters(members, **scoring)
    if scheme == "lead":
        return ScoreVoters(members, averages=False, tells="mean", adds_votes=True)
    return Voters(members) if scheme == "hard" else PluralityVoters(members)


def _scheme_of_forest(forest: Any) -> Scheme:
    if isinstance(forest, ScoredForest):
        return "lead" if forest.adds_votes else "soft"
    return "plurality" if isinstance(forest, PluralityForest) else "hard"


def _check_list(members: Sequence[Any]) -> None:
    if len(members) == 0:
        raise InvalidInputError("expected at least one fitted classifier as voter, got an empty list")
    for member in members:
        if not (_is_classifier(member) or (hasattr(member, "predict") and hasattr(member, "classes_"))):
            raise InvalidInputError(f"The estimator {type(member).__name__} should be a classifier.")


def _voters_of_list(members: Sequence[Any], scheme: Scheme) -> Any:
    for member in members:
        if not hasattr(member, "classes_"):
            check_is_fitted(
                member,
                msg="This %(name)s instance is not fitted yet: fit the voters of a list first. If the list "
                "was cloned, wrap each voter in FrozenEstimator, which stays fitted when cloned.",
            )
    classes = np.asarray(members[0].classes_)
    for member in members:
        if not np.array_equal(member.classes_, classes):
            raise InvalidInputError(
                f"all voters must have the same classes, got {classes!r} and {member.classes_!r}: fit them "
                "on the same labels"
            )
    _check_number_of(classes)
    return _ask(Members(members, classes, classes), scheme, averages=True)


def _by_leaves(model: Any) -> Scheme | None:
    """Count votes if every leaf is pure, because this is then equivalent to the average."""
    if not hasattr(model, "estimators_") and not hasattr(model, "tree_"):
        return None
    return "hard" if leaves_are_pure(model) else "soft"


def _by_members(bag: Any) -> Scheme | None:
    """Count votes of members without probabilities, as BaggingClassifier does."""
    members = getattr(bag, "estimators_", ())
    if _are_trees(members):
        return _by_leaves(bag)
    return "soft" if any(hasattr(member, "predict_proba") for member in members) else "hard"


def _voters_of_bag(bag: Any, scheme: Scheme) -> Any:
    _check_fitted(bag)
    if _are_trees(bag.estimators_):
        return _pack(bag, scheme)
    numbers = np.arange(len(bag.classes_))
    members = Members(bag.estimators_, bag.classes_, numbers, bag.estimators_features_)
    averages = all(hasattr(member, "predict_proba") for member in bag.estimators_)
    return _ask(members, scheme, averages=averages, tells="mean")


def _n_members(committee: Any) -> int:
    named = committee.estimators if isinstance(committee.estimators, list | tuple) else []
    return max(1, len([voter for *_, voter in named if voter != "drop"]))


def _weights_differ(committee: Any) -> tuple[str, str] | None:
    if committee.weights is None or len(set(np.asarray(committee.weights).tolist())) <= 1:
        return None
    return (
        "this VotingClassifier has unequal weights, which add up to a score",
        "votes are counted only if every voter has one vote, but this VotingClassifier has unequal weights",
    )


def _voters_of_committee(committee: Any, scheme: Scheme) -> Any:
    _check_fitted(committee)
    members = Members(committee.estimators_, committee.classes_, np.arange(len(committee.classes_)))
    weights = committee._weights_not_none  # without the weights of members that were dropped
    averages = committee.voting == "soft"
    return _ask(members, scheme, weights=weights, averages=averages, tells="mean" if averages else None)


def _voters_of_adaboost(boosted: Any, scheme: Scheme) -> Any:
    _check_fitted(boosted)
    if _holds_trees(boosted):
        return _pack(boosted, scheme)
    # Its members get arrays with all columns, even if X is a frame.
    everything = [slice(None)] * len(boosted.estimators_)
    members = Members(boosted.estimators_, boosted.classes_, boosted.classes_, everything)
    weights = boosted.estimator_weights_[: len(members)]
    return _ask(
        members,
        scheme,
        weights=weights,
        averages=False,
        tells="logistic",
        in_order=True,
        against_others=len(boosted.classes_) > 2,
    )


def _adds_scores(model: Any) -> tuple[str, str]:
    name = type(model).__name__
    return f"{name} adds up scores", f"the members of {name} do not vote, they add to a score"


def _is_boosted_trees(model: Any) -> bool:
    return importer_of(model) in ("gradient_boosting", "hist_boosting", "lightgbm", "xgboost", "catboost")


def is_booster(model: Any) -> bool:
    """Whether a model is a Booster of LightGBM or XGBoost: trained, but without labels or ``fit``."""
    return _is_boosted_trees(model) and not hasattr(model, "fit")


def _holds_trees(model: Any) -> bool:
    return model.estimator is None or _are_trees([model.estimator])


def _are_trees(members: Sequence[Any]) -> bool:
    return all(isinstance(member, DecisionTreeClassifier) for member in members)


def leaves_are_pure(model: Any) -> bool:
    """Whether every leaf of every tree has a single class, so that its probabilities are 0 or 1."""
    for member in getattr(model, "estimators_", [model]):
        tree = member.tree_
        shares = tree.value[tree.children_left == -1]
        if not np.all((shares == 0) | (shares == 1)):
            return False
    return True


def _check_fitted(model: Any) -> None:
    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise InvalidInputError(
            f"Only one output is supported. The model has {model.n_outputs_} outputs: fit one ensemble for "
            "each, for example with MultiOutputClassifier(EarlyStoppingClassifier(estimator))"
        )
    _check_number_of(np.asarray(model.classes_))


def _check_number_of(classes: Labels) -> None:
    if len(classes) == 1:
        raise InvalidInputError(
            f"Expected a model of 2 or more classes, got 1 class: {classes!r}. Fit it on rows of all classes."
        )


def _refuse(model: Any) -> None:
    if model is None:
        raise InvalidInputError(
            "there is no estimator to fit. A classifier loaded from a file has none, so it can only predict: "
            "make a new one with EarlyStoppingClassifier or early_stop"
        )
    if isinstance(model, BaseSearchCV):
        raise InvalidInputError(
            f"this {type(model).__name__} has refit=False, so it has no best_estimator_ to stop early: use "
            "refit=True, or pass an estimator that you fitted with its best_params_"
        )
    if not _is_classifier(model):
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InvalidInputError(f"The estimator {name} should be a classifier.")
    for kinds, reason in REFUSED.items():
        if isinstance(model, kinds):
            raise InvalidInputError(f"{type(model).__name__} {reason}")
    raise InvalidInputError(
        f"{type(model).__name__} has no members to ask one by one: use a "
        "RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier, VotingClassifier, "
        "DecisionTreeClassifier, AdaBoostClassifier, GradientBoostingClassifier, "
        "HistGradientBoostingClassifier, a classifier of CatBoost, a classifier or Booster of LightGBM or "
        "XGBoost, a list of fitted classifiers, or a pipeline, search, CalibratedClassifierCV, "
        "FixedThresholdClassifier or TunedThresholdClassifierCV with one of these inside"
    )


def _is_classifier(model: Any) -> bool:
    known = hasattr(model, "__sklearn_tags__") and not isinstance(model, type)
    return known and bool(is_classifier(model))


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda model: isinstance(model, types)


# Models that contain ensembles, but do not decide by one sum of votes or scores.
REFUSED: dict[tuple[type, ...], str] = {
    (OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier): (
        "compares the probabilities of several ensembles of two classes each, which needs every voter: pass "
        "the ensemble itself, which can be stopped early for any number of classes"
    ),
    (MultiOutputClassifier,): (
        "predicts several outputs with an ensemble for each: stop each of them early, "
        "MultiOutputClassifier(EarlyStoppingClassifier(estimator))"
    ),
    (ClassifierChain,): (
        "predicts several outputs with an ensemble for each, which takes the earlier answers as input: stop "
        "each of them early, ClassifierChain(EarlyStoppingClassifier(estimator))"
    ),
    (StackingClassifier,): (
        "decides by a model of its members' predictions, not by their sum: stop an ensemble inside it early, "
        "as final_estimator=EarlyStoppingClassifier(estimator), or as a member with stack_method='predict'"
    ),
}


# The supported kinds -----------------------------------------------------------------------------

_BOOSTED: Any = {"own_scheme": _always("soft"), "no_votes": _adds_scores}

KINDS = {
    "packed forest": ModelKind(_is(Forest), _scheme_of_forest, lambda model, _: model, is_fitted=True),
    "list": ModelKind(
        _is(list, tuple), _always("hard"), _voters_of_list, n_voters=len, check=_check_list, is_fitted=True
    ),
    "forest": ModelKind(
        _is(RandomForestClassifier, ExtraTreesClassifier), _by_leaves, _pack, is_of_trees=_is_so
    ),
    "tree": ModelKind(_is(DecisionTreeClassifier), _always("hard"), _pack, is_of_trees=_is_so),
    "bag": ModelKind(_is(BaggingClassifier), _by_members, _voters_of_bag, is_of_trees=_holds_trees),
    "committee": ModelKind(
        _is(VotingClassifier),
        lambda model: "hard" if model.voting == "hard" and _weights_differ(model) is None else "soft",
        _voters_of_committee,
        no_votes=_weights_differ,
        n_voters=_n_members,
    ),
    "adaboost": ModelKind(
        _is(AdaBoostClassifier), voters=_voters_of_adaboost, is_of_trees=_holds_trees, **_BOOSTED
    ),
    "booster": ModelKind(
        is_booster,
        voters=lambda model, _: ScoredForest.from_model(model),
        is_of_trees=_is_so,
        is_fitted=True,
        **_BOOSTED,
    ),
    "boosted trees": ModelKind(_is_boosted_trees, voters=_pack, is_of_trees=_is_so, **_BOOSTED),
    "none of them": ModelKind(_is_so, _always(None), _pack, check=_refuse),
}


def kind_of_model(model: Any) -> ModelKind:
    """Return the kind of a model, fitted or not."""
    return next(kind for kind in KINDS.values() if kind.takes(model))


def scheme_at_threshold(model: Any) -> Scheme | None:
    """Return how a model decides by a threshold: as without, but trees by probability instead of votes."""
    kind = kind_of_model(model)
    return _by_leaves(model) if kind is KINDS["tree"] else kind.own_scheme(model)


def is_boosted(model: Any) -> bool:
    """Whether a model, fitted or not, is boosted: each member corrects the members before it."""
    return kind_of_model(model).no_votes is _adds_scores


def will_be_packed(model: Any) -> bool:
    """Whether a model, fitted or not, consists of decision trees only."""
    return kind_of_model(model).is_of_trees(model)


def averages_pure_trees(model: Any) -> bool:
    """Whether a fitted model averages trees whose leaves are all pure."""
    members = getattr(model, "estimators_", None)
    averages = kind_of_model(model).own_scheme in (_by_leaves, _by_members)
    return averages and members is not None and _are_trees(members) and leaves_are_pure(model)

"""How an ensemble decides: by votes that are counted, or by scores that are added up."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.tree import DecisionTreeClassifier

from foregone.classifier.ensembles import is_boosted
from foregone.errors import InvalidInputError
from foregone.forest import PackedForest, PluralityForest, ScoredForest

__all__ = ["check_votes_can_be_counted", "leaves_are_pure", "scores_only", "votes_or_scores"]


def votes_or_scores(model: Any, voting: Any) -> Literal["hard", "soft"] | None:
    """Return how a model shall be asked; None as long as that depends on leaves that are not grown yet.

    Parameters
    ----------
    model : object
        Of a supported kind, fitted or not.
    voting : {"auto", "hard", "soft"}
        As in `EarlyStoppingClassifier`. With "auto" the answer of everyone is the model's own ``predict``.
    """
    if isinstance(model, PackedForest | ScoredForest):
        return _way_of_forest(model, voting)
    if voting == "hard":
        _check_every_voter_has_one_vote(model)
    return _own_way(model) if voting == "auto" else voting


def _way_of_forest(
    forest: PackedForest | PluralityForest | ScoredForest, voting: Any
) -> Literal["hard", "soft"]:
    way: Literal["hard", "soft"] = "soft" if isinstance(forest, ScoredForest) else "hard"
    if voting not in ("auto", way):
        needed = "ScoredForest" if way == "hard" else "PackedForest"
        raise InvalidInputError(f"voting={voting!r} needs a {needed}, not a {type(forest).__name__}")
    return way


def scores_only(model: Any, voting: Any) -> str | None:
    """Return in words why votes of a model, fitted or not, are not counted; None if they can be."""
    if voting == "soft":
        return 'voting="soft" adds up scores'
    if is_boosted(model):
        return f"{type(model).__name__} adds up scores"
    if isinstance(model, VotingClassifier) and _has_weights(model):
        return "this VotingClassifier has weights that differ, which add up to a score"
    return None


def check_votes_can_be_counted(model: Any, voting: Any, n_classes: int) -> None:
    """Raise unless a model, fitted or not, that knows more than two classes has votes to count."""
    if isinstance(model, PluralityForest):
        _way_of_forest(model, voting)
        return
    reason = scores_only(model, voting)
    if reason is not None:
        raise InvalidInputError(
            "Only binary classification is supported. The type of the target is multiclass. "
            f"That is so for scores: {reason}, and there are {n_classes} classes. Votes can be counted for "
            'any number of classes: those of forests, bags, committees, lists, with voting="hard" or "auto"'
        )


def _own_way(model: Any) -> Literal["hard", "soft"] | None:
    if isinstance(model, list | tuple | DecisionTreeClassifier):
        return "hard"
    if isinstance(model, VotingClassifier):
        return "hard" if model.voting == "hard" and not _has_weights(model) else "soft"
    if is_boosted(model):
        return "soft"
    if not hasattr(model, "estimators_"):
        return None
    return "hard" if _votes_are_all_there_is(model) else "soft"


def _votes_are_all_there_is(model: Any) -> bool:
    """Whether averaging what the members say is the same as counting votes."""
    if isinstance(model, BaggingClassifier) and not all(
        isinstance(member, DecisionTreeClassifier) for member in model.estimators_
    ):
        # A bag averages probabilities, and counts votes where its members know none.
        return not any(hasattr(member, "predict_proba") for member in model.estimators_)
    return leaves_are_pure(model)


def leaves_are_pure(model: Any) -> bool:
    """Whether every leaf of every tree is of one class alone, so that its probability is 0 or 1."""
    for member in model.estimators_:
        tree = member.tree_
        shares = tree.value[tree.children_left == -1]
        if not np.all((shares == 0) | (shares == 1)):
            return False
    return True


def _has_weights(model: VotingClassifier) -> bool:
    return model.weights is not None and len(set(np.asarray(model.weights).tolist())) > 1


def _check_every_voter_has_one_vote(model: Any) -> None:
    if isinstance(model, VotingClassifier) and _has_weights(model):
        raise InvalidInputError(
            "every voter must have one vote to be counted, and this VotingClassifier has weights that "
            'differ: leave it to voting="auto", which adds them up'
        )
    if is_boosted(model):
        raise InvalidInputError(
            f"the members of {type(model).__name__} have no vote each, they add to a score: leave it to "
            'voting="auto", which adds them up'
        )

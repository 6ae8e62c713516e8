"""Transformed: an ensemble behind the fitted transformers of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import scipy  # whose parts are loaded when first used, and take a while

from foregone.forest import Forest

__all__ = ["Transformed"]


class Transformed:
    """An ensemble that is asked about what transformers make of the rows.

    All else that is known of the ensemble, such as its classes, is known of this.

    Parameters
    ----------
    transformers : sequence of fitted transformers
        Each is given what the one before it returned.
    ensemble : PackedForest, PluralityForest, ScoredForest, Voters, PluralityVoters or ScoreVoters
        What is asked.
    """

    columns = None  # the first transformer picks columns itself

    def __init__(self, transformers: Sequence[Any], ensemble: Any) -> None:
        self.transformers: list[Any] = list(transformers)
        self.ensemble = ensemble

    def __getattr__(self, name: str) -> Any:
        if name == "ensemble" or name.startswith("__"):  # while a copy is made there is none yet
            raise AttributeError(name)
        return getattr(self.ensemble, name)

    def __repr__(self) -> str:
        names = [name for step in self.transformers for name in _names(step)]
        return f"<{', '.join(names)}, then {self.ensemble!r}>"

    def transform(self, X: Any) -> Any:
        """Return rows as the ensemble takes them; packed trees take no sparse ones."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        if isinstance(self.ensemble, Forest):
            return X.toarray() if scipy.sparse.issparse(X) else X
        if self.ensemble.columns is None and hasattr(X, "columns"):
            return X
        from sklearn.utils import check_array

        return check_array(X, dtype=None, accept_sparse="csr", ensure_all_finite=False)

    def votes(self, X: Any, **options: Any) -> Any:
        """Return what the ensemble's ``votes`` are."""
        return self.ensemble.votes(self.transform(X), **options)

    def scores(self, X: Any) -> Any:
        """Return what the ensemble's ``scores`` are."""
        return self.ensemble.scores(self.transform(X))

    def compact_scores(self, X: Any) -> Any:
        """Return what the ensemble's ``compact_scores`` are."""
        return self.ensemble.compact_scores(self.transform(X))

    def full_scores(self, X: Any) -> Any:
        """Return what the ensemble's ``full_scores`` are."""
        return self.ensemble.full_scores(self.transform(X))

    def run(self, X: Any, strategy: Any, **options: Any) -> Any:
        """Ask until the strategy stops, as the ensemble's ``run`` does."""
        return self.ensemble.run(self.transform(X), strategy, **options)


def _names(transformer: Any) -> list[str]:
    """Return the kinds of the steps of a pipeline, or of a single transformer."""
    steps = getattr(transformer, "steps", [("", transformer)])
    return [step if isinstance(step, str) else type(step).__name__ for _, step in steps]

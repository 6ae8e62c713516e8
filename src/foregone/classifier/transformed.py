"""Transformed: an ensemble behind the fitted transformers of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import scipy  # its submodules are imported on first use, because that is slow

from foregone.forest import Forest

__all__ = ["Transformed"]


class Transformed:
    """An ensemble behind transformers, which runs on transformed rows.

    All other attributes, such as the classes, are those of the ensemble.

    Parameters
    ----------
    transformers : sequence of fitted transformers
        Each gets the output of the one before it.
    ensemble : PackedForest, PluralityForest, ScoredForest, Voters, PluralityVoters or ScoreVoters
        The ensemble to run.
    """

    columns = None  # the first transformer picks columns itself

    def __init__(self, transformers: Sequence[Any], ensemble: Any) -> None:
        self.transformers: list[Any] = list(transformers)
        self.ensemble = ensemble

    def __getattr__(self, name: str) -> Any:
        if name == "ensemble" or name.startswith("__"):  # not set yet while copying
            raise AttributeError(name)
        return getattr(self.ensemble, name)

    def __repr__(self) -> str:
        names = [name for step in self.transformers for name in _names(step)]
        return f"<{', '.join(names)}, then {self.ensemble!r}>"

    def transform(self, X: Any) -> Any:
        """Return rows in a form for the ensemble; dense for packed trees."""
        for transformer in self.transformers:
            X = transformer.transform(X)
        if isinstance(self.ensemble, Forest):
            return X.toarray() if scipy.sparse.issparse(X) else X
        if self.ensemble.columns is None and hasattr(X, "columns"):
            return X
        from sklearn.utils import check_array

        return check_array(X, dtype=None, accept_sparse="csr", ensure_all_finite=False)

    def votes(self, X: Any, **options: Any) -> Any:
        """Return the ensemble's ``votes`` on the transformed rows."""
        return self.ensemble.votes(self.transform(X), **options)

    def scores(self, X: Any) -> Any:
        """Return the ensemble's ``scores`` on the transformed rows."""
        return self.ensemble.scores(self.transform(X))

    def compact_scores(self, X: Any) -> Any:
        """Return the ensemble's ``compact_scores`` on the transformed rows."""
        return self.ensemble.compact_scores(self.transform(X))

    def full_scores(self, X: Any) -> Any:
        """Return the ensemble's ``full_scores`` on the transformed rows."""
        return self.ensemble.full_scores(self.transform(X))

    def run(self, X: Any, strategy: Any, **options: Any) -> Any:
        """Ask until the strategy stops, as the ensemble's ``run`` does."""
        return self.ensemble.run(self.transform(X), strategy, **options)


def _names(transformer: Any) -> list[str]:
    """Return the type names of the steps of a pipeline, or of a single transformer."""
    steps = getattr(transformer, "steps", [("", transformer)])
    return [step if isinstance(step, str) else type(step).__name__ for _, step in steps]

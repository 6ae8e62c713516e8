"""SklearnLater: adds scikit-learn's base classes to a classifier when scikit-learn is first needed.

A saved classifier loads and predicts without scikit-learn, whose import takes longer than everything else.
The base classes are added at once if scikit-learn is already imported; otherwise at the first fit, or at the
first use of a scikit-learn method such as ``get_params`` or ``score``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from types import MethodType
from typing import Any, Never

__all__ = ["SklearnLater", "available_if", "become_estimators", "check_is_fitted", "n_threads_of"]

_LOCK = Lock()


class _NoBases:
    """A class between a class and ``object``; without it, Python does not allow changing bases."""


class SklearnLater(_NoBases):
    """Base of `EarlyStoppingClassifier`: has no bases at first, and later those of an estimator."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] != __name__.partition(".")[0]:
            become_estimators()  # a subclass of the classifier needs to be an estimator

    def __getattr__(self, name: str) -> Any:
        is_of_python = name.startswith("__") and not name.startswith("__sklearn")
        if not is_of_python and become_estimators():
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def become_estimators(*, if_imported: bool = False) -> bool:
    """Give `SklearnLater` the base classes of a scikit-learn estimator; return False if it has them already.

    With ``if_imported``, only if scikit-learn is already imported.
    """
    if if_imported and "sklearn.base" not in sys.modules:
        return False
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin

    with _LOCK:
        if BaseEstimator in SklearnLater.__mro__:
            return False
        del SklearnLater.__getattr__, SklearnLater.__init_subclass__
        SklearnLater.__bases__ = (ClassifierMixin, MetaEstimatorMixin, BaseEstimator)
        for kind in SklearnLater.__subclasses__():
            super(SklearnLater, kind).__init_subclass__()  # as if it were made now
    return True


class available_if:  # noqa: N801  # a decorator, as scikit-learn's of the same name
    """Hide a method unless a condition holds.

    Parameters
    ----------
    condition : callable
        Takes the object and returns whether it has the method.
    """

    def __init__(self, condition: Callable[[Any], bool]) -> None:
        self._condition = condition

    def __call__(self, method: Callable[..., Any]) -> available_if:
        """Wrap the method."""
        self._method = method
        self.__doc__ = method.__doc__
        self.__name__: str = method.__name__
        return self

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self._method
        if not self._condition(owner):
            raise AttributeError(f"This {type(owner).__name__!r} has no attribute {self.__name__!r}")
        return MethodType(self._method, owner)


def check_is_fitted(classifier: Any) -> None:
    """Raise scikit-learn's NotFittedError unless the classifier is fitted."""
    if "ensemble_" not in vars(classifier):
        _raise_not_fitted(classifier)


def _raise_not_fitted(classifier: Any) -> Never:
    from sklearn.utils.validation import check_is_fitted as sklearns

    become_estimators()
    sklearns(classifier, "ensemble_")
    raise AssertionError("scikit-learn takes it for fitted")


def n_threads_of(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``, as in joblib."""
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):  # a context would be joblib's
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))

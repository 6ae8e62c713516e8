"""The file of a classifier: packed trees, strategy, labels, names and calibration in one container."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from foregone._system.atomic_file import PathLike
from foregone.classifier.counted_votes import CountedVotes
from foregone.classifier.deciding import Decider, Scheme, parameters_of
from foregone.classifier.summed_scores import SummedScores
from foregone.classifier.transformed import Transformed
from foregone.errors import InvalidInputError
from foregone.forest import Forest, container
from foregone.forest.execution import usable_cores
from foregone.strategy.json_file import Fields

__all__ = ["DECIDERS", "Saved", "read", "write"]

KIND = "classifier"
DECIDERS: dict[Scheme, type[Decider]] = {
    "hard": CountedVotes,
    "soft": SummedScores,
    "plurality": CountedVotes,
    "lead": SummedScores,
}


class Saved(NamedTuple):
    """The content of a file: the decider, the features, and the plain parameters."""

    decider: Decider
    n_features: int
    feature_names: list[str] | None
    parameters: dict[str, Any]


def write(path: PathLike, classifier: Any) -> None:
    """Write a fitted classifier's file, atomically."""
    decider, state = classifier._decider, classifier.random_state
    if isinstance(decider.ensemble, Transformed):
        raise InvalidInputError(
            "a classifier of a pipeline cannot be saved, because its first steps are Python objects that a "
            f"file without pickle cannot contain ({decider.ensemble!r}). Use skops.io.dump(classifier, "
            "path), or early_stop(pipeline[-1], pipeline[:-1].transform(X_calibration)) and save the result."
        )
    if not isinstance(decider.ensemble, Forest):
        raise InvalidInputError(
            "only forests of decision trees can be saved. These voters are Python objects that a file "
            f"without pickle cannot contain ({decider.ensemble!r}). Use skops.io.dump(classifier, path) for "
            "the whole classifier, or classifier.strategy_.save(path) for the strategy alone."
        )
    names = getattr(classifier, "feature_names_in_", None)
    own_fields, arrays = decider.to_parts()
    fields = {
        **own_fields,
        "way": decider.scheme,
        "feature_names": None if names is None else [[name] for name in names],
        "voting": classifier.voting,
        "on_failure": classifier.on_failure,
        "calibration_size": classifier.calibration_size,
        "n_jobs": None if classifier.n_jobs is None else int(classifier.n_jobs),
        "random_state": int(state) if isinstance(state, int | np.integer) else None,
    }
    container.write(path, KIND, fields, arrays)


def read(path: PathLike, max_memory: float | None = None) -> Saved:
    """Read a file that `write` wrote, with checks of each part and of their consistency.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, of an unknown version, or not a classifier.
    """
    fields, arrays = container.read(path, KIND, max_memory)
    # Files from before scores existed do not contain the scheme, the voting and on_failure.
    scheme: Any = _one_of(fields, "way", tuple(DECIDERS))
    decider = DECIDERS[scheme].from_parts(fields, arrays, scheme)
    size = fields.number("calibration_size", 0)
    parameters = {
        **parameters_of(decider),
        "voting": _one_of(fields, "voting", ("hard", "soft", "auto")),
        "on_failure": _on_failure(fields),
        "calibration_size": size if size < 1 else int(size),
        "n_jobs": _n_jobs(fields) if "n_jobs" in fields else None,
        "random_state": fields.whole("random_state", 0, 2**32 - 1) if "random_state" in fields else None,
    }
    n_features = decider.ensemble.n_features
    return Saved(decider, n_features, _names(fields, n_features), parameters)


def _on_failure(fields: Fields) -> str:
    """Return ``on_failure``; classifiers in older files asked all voters instead of curtailing."""
    found = _one_of(fields, "on_failure", ("curtail", "raise", "ask_all"))
    return "curtail" if found == "ask_all" else found


def _n_jobs(fields: Fields) -> int:
    """Return the number of threads, limited to the cores of this machine."""
    n_jobs = fields.whole("n_jobs", -(2**31), 2**31)
    if n_jobs == 0:
        raise fields.error("n_jobs", "must not be 0")
    return min(n_jobs, usable_cores())


def _one_of(fields: Fields, key: str, choices: tuple[str, ...]) -> str:
    """Return a string that is one of the choices; the first choice if the field is missing."""
    if key not in fields:
        return choices[0]
    if fields.text(key) not in choices:
        raise fields.error(key, f"must be one of {', '.join(choices)}")
    return fields.text(key)


def _names(fields: Fields, n_features: int) -> list[str] | None:
    if "feature_names" not in fields:
        return None
    names = [name for (name,) in fields.rows("feature_names", 1)]
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise fields.error("feature_names", f"must contain {n_features} strings")
    return names

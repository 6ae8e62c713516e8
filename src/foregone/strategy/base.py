"""Base classes of strategies and solutions of every kind: saving, loading, equality."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from foregone._system.atomic_file import PathLike
from foregone.strategy.json_file import Fields, read_file, write_file
from foregone.strategy.limits import Criterion, MaxDisagreement

__all__ = ["SavedAsJson", "SolvedStrategy", "Strategy"]


class SavedAsJson(ABC):
    """Base of classes that save to readable JSON; a subclass has a ``KIND`` and converts its fields."""

    KIND: ClassVar[str]

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file, without those that every file has."""

    @classmethod
    @abstractmethod
    def _from_fields(cls, fields: Fields) -> Self:
        """Make an object from the checked fields of a file of this kind."""

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Make an object from the fields of a file, with checks."""
        if fields.text("kind") != cls.KIND:
            raise fields.error("kind", f'is not "{cls.KIND}": use foregone.load to read files of any kind')
        return cls._from_fields(fields)

    def save(self, path: PathLike) -> None:
        """Write this object to ``path`` as readable JSON, atomically; `load` restores it.

        The ``load`` of the strategy's class also reads the file of a solution, and returns its strategy.
        """
        write_file(path, {"kind": self.KIND, **self.to_fields()})

    @classmethod
    def load(cls, path: PathLike, *, max_memory: float | None = None) -> Self:
        """Read a file that `save` wrote. Cost and risk of a solution are computed again, not read.

        Parameters
        ----------
        path : path
            The file to read.
        max_memory : float, optional
            Memory limit in bytes, in addition to 100 times the size of the file; by default 256 MiB. Only
            votes among many answers need more: strategies of thousands of voters, or solutions of more than
            50.

        Raises
        ------
        FileFormatError
            If the file is invalid or of another kind; for a solution, also if it holds a strategy without
            the problem it solves.
        """
        fields = read_file(path, max_memory)
        content = cls.from_fields(fields)
        fields.check_intact()
        return content


class Strategy(SavedAsJson):
    """Base of all stopping strategies. Two are equal if they behave the same; arrays are read-only."""

    if TYPE_CHECKING:  # at run time a dataclass would use the property as the default of such a field

        @property
        def n_voters(self) -> int:
            """Number of voters in the ensemble."""

    @abstractmethod
    def _digest(self) -> bytes:
        """Return a digest of the strategy's behaviour."""

    def __eq__(self, other: object) -> bool:
        """Whether both strategies behave the same."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._digest() == other._digest()

    def __hash__(self) -> int:
        return hash(self._digest())

    @property
    def fingerprint(self) -> str:
        """A hexadecimal name that equal strategies share, stable across processes and releases."""
        return self._digest().hex()[:32]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the arrays read-only again after unpickling or copying."""
        self.__dict__.update(state)
        self.__post_init__()

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


class SolvedStrategy(SavedAsJson):
    """A strategy with the problem it solves; files hold the problem in a section beside the strategy."""

    strategy: Strategy
    criterion: Criterion
    max_disagreement: MaxDisagreement
    confidence: float | None

    if TYPE_CHECKING:  # as above

        @property
        def distribution(self) -> Any:
            """The distribution of full votes that the strategy was solved for."""

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.strategy.n_voters

    def __getstate__(self) -> dict[str, Any]:
        """Leave the evaluation out of pickles and skops files, because it can be computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "evaluation"}

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file that holds the strategy and the evidence."""
        return {"kind": self.KIND, **self.strategy.to_fields(), "solution": self._solution_fields()}

    @abstractmethod
    def _solution_fields(self) -> dict[str, Any]:
        """Return the fields of the section about the problem and the evidence."""

    @staticmethod
    def _solution_section(fields: Fields) -> Fields:
        """Return this section. Raises FileFormatError if the file holds a strategy alone."""
        if "solution" not in fields:
            raise fields.error(
                "solution", "is missing: the file holds a strategy alone. Read it with foregone.load"
            )
        return fields.section("solution")

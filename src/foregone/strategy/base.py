"""What strategies of every kind have in common, alone and with the problem that they solve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from foregone._system.atomic_file import PathLike
from foregone.strategy.json_file import Fields, read_file, write_file
from foregone.strategy.limits import Criterion, MaxDisagreement

__all__ = ["SavedAsJson", "SolvedStrategy", "Strategy"]


class SavedAsJson(ABC):
    """What can be saved as a readable file: a class states its ``KIND``, and its fields both ways."""

    KIND: ClassVar[str]

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file, all but those that every file has."""

    @classmethod
    @abstractmethod
    def _from_fields(cls, fields: Fields) -> Self:
        """Check the fields of a file of this kind and make what they describe."""

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Check the fields of a file and make what they describe."""
        if fields.text("kind") != cls.KIND:
            raise fields.error("kind", f'is not "{cls.KIND}": the file holds something else')
        return cls._from_fields(fields)

    def save(self, path: PathLike) -> None:
        """Write it to ``path`` as readable JSON, atomically; `load` gives back the same.

        What a solution saves, its strategy's ``load`` reads as well: the strategy alone.
        """
        write_file(path, {"kind": self.KIND, **self.to_fields()})

    @classmethod
    def load(cls, path: PathLike, *, max_memory: float | None = None) -> Self:
        """Read what `save` wrote. Of a solution, cost and risk are computed anew, not taken from the file.

        Parameters
        ----------
        path : path
            Of the file.
        max_memory : float, optional
            Bytes that may be used besides 100 times the size of the file; by default 256 MiB. Only votes
            among many answers need more: strategies of thousands of voters, or solutions of more than 50.

        Raises
        ------
        FileFormatError
            If the file is not valid or holds something else; of a solution, also if it holds a strategy
            without the problem it solves.
        """
        fields = read_file(path, max_memory)
        content = cls.from_fields(fields)
        fields.check_intact()
        return content


class Strategy(SavedAsJson):
    """When to stop asking. Two are equal if they do the same; a copy comes back with read-only arrays."""

    if TYPE_CHECKING:  # a dataclass would take a real one for the default of a field of this name

        @property
        def n_voters(self) -> int:
            """Number of voters in the ensemble."""

    @abstractmethod
    def _digest(self) -> bytes:
        """Return a digest of all that the strategy ever does."""

    def __eq__(self, other: object) -> bool:
        """Whether both do the same."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._digest() == other._digest()

    def __hash__(self) -> int:
        return hash(self._digest())

    @property
    def fingerprint(self) -> str:
        """A name in hexadecimal that equal strategies share, today and in every other process."""
        return self._digest().hex()[:32]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied one, whose arrays come back writable."""
        self.__dict__.update(state)
        self.__post_init__()

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


class SolvedStrategy(SavedAsJson):
    """A strategy with the problem it solves, which a file holds in a section beside the strategy's fields."""

    strategy: Strategy
    criterion: Criterion
    max_disagreement: MaxDisagreement
    confidence: float | None

    if TYPE_CHECKING:  # as above

        @property
        def distribution(self) -> Any:
            """The distribution of full votes that it was solved for."""

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.strategy.n_voters

    def __getstate__(self) -> dict[str, Any]:
        """Leave the evaluation out of pickles and skops files: it can be made again."""
        return {name: value for name, value in self.__dict__.items() if name != "evaluation"}

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file that holds the strategy and the evidence."""
        return {"kind": self.KIND, **self.strategy.to_fields(), "solution": self._solution_fields()}

    @abstractmethod
    def _solution_fields(self) -> dict[str, Any]:
        """Return the fields of the section about the problem and the evidence."""

    @staticmethod
    def _solution_section(fields: Fields) -> Fields:
        """Return that section. Raises FileFormatError if the file holds a strategy alone."""
        if "solution" not in fields:
            raise fields.error(
                "solution", "is missing: the file does not say what its strategy is optimal for"
            )
        return fields.section("solution")

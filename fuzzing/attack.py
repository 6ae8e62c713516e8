"""One attack: make a mutant, load it, judge what the reader did, and use what it accepted."""

from __future__ import annotations

import contextlib
import shutil
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import NamedTuple

from foregone._system.file_reading import MEMORY, MEMORY_PER_BYTE
from foregone.errors import ForegoneError
from fuzzing.formats.format import Format, write_folder
from fuzzing.mutations import Files, mutate

__all__ = [
    "BAD",
    "OUTCOMES",
    "USED",
    "Attack",
    "Result",
    "allowed_memory",
    "make_mutant",
]

SHARE_RESEALED = 0.7  # of the mutants of a format with checksums
SHARE_FORGED = 0.02

USED = "used"  # of another valid content: without an error
GOOD = ("refused", "same", "other")
BAD = ("silent", "crash", "memory", "died", "hang")
OUTCOMES = (*GOOD, *BAD)


class Result(NamedTuple):
    """What became of one mutant.

    Attributes
    ----------
    format, number : str, int
        Which mutant: with the seed they say what is in it.
    outcome : str
        ``refused`` by an error of ours; ``same`` content as a valid sample; another valid content (``other``)
        that could be used; or what must not be: a difference that went unseen although a checksum should
        have told (``silent``), another exception (``crash``), too much memory, the end of the process
        (``died``), no end (``hang``).
    detail : str
        What there is to say about it.
    seconds, memory, size : float, int, int
        Time for all, growth of memory while reading, size of the mutant.
    """

    format: str
    number: int
    outcome: str
    detail: str = ""
    seconds: float = 0.0
    memory: int = 0
    size: int = 0


def allowed_memory(size: int) -> int:
    """Return how much memory reading a file of this size may take."""
    return MEMORY + MEMORY_PER_BYTE * size


def make_mutant(
    format: Format, samples: list[Files], forged: list[Files], seed: int, number: int
) -> tuple[Files, bool]:
    """Return a mutant, the same for the same arguments, and whether it may rightly say something else.

    First come the forgeries as they are, then mutants of samples and now and then of a forgery.
    """
    chance = Random(f"{seed} {format.name} {number}")
    if number < len(forged):
        return _reseal(format, forged[number])[0], True
    is_forgery = forged and chance.random() < SHARE_FORGED
    mutant = mutate(chance, forged if is_forgery else samples, format.json)
    if format.reseal is None or chance.random() > SHARE_RESEALED:
        return mutant, bool(is_forgery)
    return _reseal(format, mutant)


def _reseal(format: Format, files: Files) -> tuple[Files, bool]:
    """Return files with their checksums made to fit, if they have any, and whether that was done."""
    try:
        return (format.reseal(files), True) if format.reseal else (files, False)
    except (ValueError, RecursionError, OverflowError):
        return files, False


class Attack:
    """Attacks on one format, in this process.

    Parameters
    ----------
    format : Format
        Whose reader.
    home : Path
        Where its samples were written.
    scratch : Path
        Where mutants go.
    seed : int
        Decides them, with their numbers.
    """

    def __init__(self, format: Format, home: Path, scratch: Path, seed: int) -> None:
        self.format = format
        self.samples = self.format.read_samples(home)
        self._forged = self.format.forge(self.samples)
        self._home, self._scratch, self._seed = home, scratch, seed
        self._valid = []
        for sample in self.samples:  # also compiles what will be used, which is not to be counted
            self._put(sample)
            loaded = self.format.load(self._scratch, home)
            self._valid.append(self.format.content(loaded))
            self.format.use(loaded)

    def run(self, number: int) -> Result:
        """Make a mutant and attack with it."""
        mutant, resealed = make_mutant(self.format, self.samples, self._forged, self._seed, number)
        self._put(mutant)
        size = sum(map(len, mutant.values()))
        began, before, self._memory = time.perf_counter(), _reset_peak(), 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome, detail = self._judge(resealed, before, size)
        except MemoryError as error:
            outcome, detail = "memory", _where(error)
        except Exception as error:  # whatever a reader raises that is not ours
            outcome, detail = "crash", _where(error)
        return Result(
            self.format.name, number, outcome, detail, time.perf_counter() - began, self._memory, size
        )

    def _judge(self, resealed: bool, before: int, size: int) -> tuple[str, str]:
        try:
            loaded = self.format.load(self._scratch, self._home)
            detail = ""
        except ForegoneError as error:
            loaded, detail = None, str(error)
        finally:
            self._memory = max(0, _peak() - before)
        if self._memory > allowed_memory(size):
            return "memory", f"{self._memory / 1e6:.0f} MB to read {size:,} bytes"
        if loaded is None:
            return "refused", detail
        content = self.format.content(loaded)
        if self.format.agrees(content, self._valid):
            return "same", ""
        if self.format.checked and not resealed:
            return "silent", repr(content)[:100]
        try:
            self.format.use(loaded)
        except ForegoneError as error:
            return "other", str(error)
        return "other", USED

    def _put(self, files: Files) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True)
        write_folder(self._scratch, files)


def _where(error: Exception) -> str:
    """Return an error with the last lines of ours that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "foregone" in frame.filename]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[::-1][:3])
    return f"{type(error).__name__}: {str(error)[:200]} ({places})"


def _reset_peak() -> int:
    """Forget the largest memory so far, where the system can, and return the memory now."""
    with contextlib.suppress(OSError), Path("/proc/self/clear_refs").open("w") as file:
        file.write("5")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(field: str) -> int:
    """Return an entry of the system's account of this process, in bytes; 0 where it keeps none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


def limit_memory(most: int | None) -> None:
    """Let this process take so much more address space, and no more; or as much as it wants."""
    import resource

    limit = resource.RLIM_INFINITY if most is None else _status("VmSize") + most
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

"""What stopped runs go on from: journals of polls, finished parts of a scoring, pieces of the paper."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foregone import early_stop, poll_many, rules
from foregone.errors import PollManyError
from foregone.plurality import rules as plurality_rules
from foregone.polling import Polls, Reply
from foregone.polling.journal import FAILED
from foregone.scale import score_file
from fuzzing.formats.forests import grown_forest
from fuzzing.formats.format import Format, all_of_it, put
from fuzzing.formats.seals import (
    container_header,
    of_all,
    put_container_header,
    reseal_container,
    reseal_journal,
    reseal_piece,
)
from fuzzing.mutations import Files
from paper.pieces import PieceStore
from paper.results import Settings
from paper.tasks import ForestTask, StructureTask, Task

__all__ = ["FORMATS"]

# Journals ---------------------------------------------------------------------------------------

QUESTIONS = {f"q{number}": number for number in range(6)}


async def _ask_yes_no(question: int, voter: int) -> bool:
    return (question * 7 + voter * 3) % 5 < 2


async def _ask_word(question: int, voter: int) -> str:
    if (question + voter) % 11 == 0:
        raise OSError("no answer")
    return "abc"[(question * 5 + voter) % 7 % 3]


async def _ask_batch(question: int, voters: list[int]) -> Reply:
    votes = [(question * 7 + voter * 3) % 5 < 2 if (question + voter) % 7 else None for voter in voters]
    return Reply(votes, prompt_tokens=50, completion_tokens=2 * len(votes))


def _polls(journal: Path, seed: int | None = None) -> Polls:
    """Return the polls that a journal of this name is of; the seed is the journal's, if there is one."""
    many = journal.name == "words.jsonl"
    strategy = plurality_rules.lead(9, 2, n_classes=3) if many else rules.lead(9, 3)
    if journal.name == "batches.jsonl":
        return poll_many(
            QUESTIONS, None, strategy, ask_batch=_ask_batch, journal=journal, retries=1, seed=seed
        )
    ask = _ask_word if many else _ask_yes_no
    return poll_many(QUESTIONS, ask, strategy, journal=journal, retries=0, seed=seed)


def _write_journals(folder: Path) -> None:
    for number, name in enumerate(("votes.jsonl", "words.jsonl", "batches.jsonl")):
        (folder / str(number)).mkdir(parents=True)
        _finish(folder / str(number) / name, seed=number)


def _finish(journal: Path, seed: int | None = None) -> None:
    with contextlib.suppress(PollManyError):  # some voters fail, and their questions may
        _polls(journal, seed).run()


def _load_journal(sample: Path, home: Path) -> tuple[Path, int, dict[tuple[Any, int], Any]]:
    path = next(sample.iterdir())
    with _polls(path)._open(path) as journal:
        votes = {
            (key, voter): "failed" if vote is FAILED else vote
            for key, votes in journal.recorded.items()
            for voter, vote in votes.items()
        }
        return path, journal.seed, votes


def _journal_content(loaded: tuple[Path, int, dict[tuple[Any, int], Any]]) -> Any:
    # As text: True is equal to 1.
    return loaded[1], frozenset((repr(place), repr(vote)) for place, vote in loaded[2].items())


def _says_no_more(found: Any, valid: Collection[Any]) -> bool:
    """Whether every vote is a valid one: those that are lost are asked for again; an empty journal is new."""
    return not found[1] or any(found[0] == seed and found[1] <= votes for seed, votes in valid)


def _lines(content: bytes) -> list[slice]:
    ends = [place for place, byte in enumerate(content) if byte == 10]
    return [slice(start, end) for start, end in zip([0, *(end + 1 for end in ends)], ends, strict=False)]


# Finished parts ---------------------------------------------------------------------------------

FEATURES = list("abcde")
AUDITED = "audited.csv"  # of which some rows are audited
MODIFIED = 1_700_000_000  # always, because it stands in the manifest, and mutants should not change


class _StopError(Exception):
    """Ends a run before its parts are joined."""


def _write_parts(home: Path) -> None:
    """Score until all parts are finished, and stop there; of one sample a part is missing."""
    inputs = home / "input"
    inputs.mkdir(parents=True)
    draws = np.random.default_rng(0)
    for number in range(3):
        rows = pd.DataFrame(draws.normal(0, 2, (40, 5)), columns=FEATURES)
        rows.assign(id=range(40), name=[f"row {k}" for k in range(40)]).to_parquet(
            inputs / f"{number}.parquet"
        )
        os.utime(inputs / f"{number}.parquet", (MODIFIED, MODIFIED))
    early_stop(grown_forest(), draws.normal(0, 2, (300, 5)), 0.05, voting="hard", confidence=None).save(
        home / "model"
    )
    for number, name in enumerate(("out.parquet", "out.csv", "out.parquet", AUDITED)):
        (home / str(number)).mkdir()
        with contextlib.suppress(_StopError):
            _score(home, home / str(number) / name, _stop_when_done)
    next((home / "2").rglob("part-000001*")).unlink()


def _stop_when_done(done: int, total: int) -> None:
    if done == total:
        raise _StopError


def _score(home: Path, output: Path, progress: Any = None) -> None:
    score_file(
        home / "model",
        home / "input",
        output,
        features=FEATURES,
        keep=["id", "name"],
        jobs=1,
        progress=progress,
        audit=0.3 if output.name == AUDITED else 0.0,
    )


def _load_parts(sample: Path, home: Path) -> bytes:
    """Go on with the parts to the end, and return the output."""
    names = [file.name for file in sample.iterdir()]
    likely = (name for name in (AUDITED, "out.csv") if any(name in found for found in names))
    name = next(likely, "out.parquet")
    _score(home, sample / name)
    output = (sample / name).read_bytes()
    (sample / name).unlink()
    return output


def _manifest_or_header(content: bytes) -> list[slice]:
    return all_of_it(content) if content.startswith(b"{") else container_header(content)


def _put(content: bytes, place: slice, text: bytes) -> bytes:
    return (put if content.startswith(b"{") else put_container_header)(content, place, text)


def _reseal_parts(files: Files) -> Files:
    return {
        name: reseal_container(content) if "part-" in name else content for name, content in files.items()
    }


# Pieces of the paper -----------------------------------------------------------------------------

TASKS: tuple[Task, ...] = (
    ForestTask("votes", "skin", 0, Settings(5, 1, 0), Path("skin.parquet"), "0" * 64, 0.0, 0.0),
    ForestTask("rounding", "skin", 0, Settings(5, 1, 0), Path("skin.parquet"), "0" * 64, 0.0, 0.0),
    StructureTask((3, 5)),
)
CONTENTS: tuple[dict[str, Any] | None, ...] = (
    {
        "dataset": "skin", "repeat": 0, "n_voters": 5, "n_train": 60,
        "calibration_counts": [9, 1, 0, 2, 1, 7], "test_counts": [[8, 1, 1, 0, 0, 0], [0, 0, 1, 0, 2, 7]],
    },
    {"dataset": "skin", "repeat": 0, "n_voters": 5, "tree_certainty": 0.9, "invariance_to_rounding": 0.99},
    None,
)  # fmt: skip


def _write_pieces(folder: Path) -> None:
    for number, (task, content) in enumerate(zip(TASKS, CONTENTS, strict=True)):
        PieceStore(folder / str(number)).save(task.inputs, content or task.work())


def _load_piece(sample: Path, home: Path) -> Any:
    """Return what a run would go on with; a piece that it takes for damaged is made again."""
    store, file = PieceStore(sample), next(sample.iterdir())
    (task,) = (task for task in TASKS if store.path(task.inputs) == file)
    return store.load(task.inputs, task.result)


FORMATS = (
    Format(
        "journal", _write_journals, _load_journal, _journal_content, lambda loaded: _finish(loaded[0]),
        of_all(reseal_journal), json=(_lines, put), agrees=_says_no_more,
    ),
    Format(
        "finished parts", _write_parts, _load_parts, bytes, len, _reseal_parts,
        json=(_manifest_or_header, _put),
    ),
    Format(
        "paper piece", _write_pieces, _load_piece, repr, repr, of_all(reseal_piece),
        json=(all_of_it, put),
    ),
)  # fmt: skip

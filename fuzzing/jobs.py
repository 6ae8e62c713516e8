"""The jobs that promise to go on after a kill: what they work on, how they run, what must be kept."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from foregone import EarlyStoppingClassifier, early_stop, poll_many, rules
from foregone.cli import main as foregone
from foregone.polling import Reply
from fuzzing.formats.forests import grown_forest
from paper.__main__ import main as paper

__all__ = ["JOBS", "Job"]

FEATURES = list("abcde")
N_PARTS, ROWS_A_PART = 6, 400


@dataclass(frozen=True)
class Job:
    """A job that can be killed.

    Attributes
    ----------
    name : str
        As in the table and on the command line.
    prepare : callable
        Writes what the job works on into a folder, once.
    run : callable
        ``run(inputs, work)`` does the job, or goes on with it, into ``work/out``, and returns an exit status.
        What it prints goes to ``work/printed``.
    warm : callable
        ``warm(inputs)`` imports and compiles what the job needs, without starting threads, so that a fork of
        this process begins with the job itself.
    finished : str
        Pattern of the files in ``work/out`` that are finished work: never made again.
    paid_twice : callable
        ``paid_twice(work, before, kills)``: what a run that came to its end has done again that was done,
        given the finished files before it; an empty text if nothing.
    content : callable
        What of a file's content has to be that of an undisturbed run, by its name and bytes.
    """

    name: str
    prepare: Callable[[Path], None]
    run: Callable[[Path, Path], int]
    warm: Callable[[Path], object]
    finished: str
    paid_twice: Callable[[Path, dict[str, Any], int], str] = lambda work, before, kills: ""
    content: Callable[[str, bytes], Any] = lambda name, content: content


# Polls with a journal ---------------------------------------------------------------------------

N_QUESTIONS, CONCURRENCY = 60, 6
STRATEGY_SIZE = (15, 3)


def _poll(inputs: Path, work: Path) -> int:
    calls = os.open(work / "calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    async def ask(question: int, voter: int) -> bool:
        os.write(calls, f"{question} {voter}\n".encode())
        await asyncio.sleep(0.001)
        return (question * 7 + voter * voter * 3) % 11 < question % 12

    strategy = rules.lead(*STRATEGY_SIZE)
    journal = work / "out" / "journal.jsonl"
    polls = poll_many(range(N_QUESTIONS), ask, strategy, journal=journal, concurrency=CONCURRENCY, seed=1)
    verdicts = {key: [verdict.answer, verdict.asked] for key, verdict in sorted(polls.run().items())}
    (work / "out" / "verdicts.json").write_text(json.dumps(verdicts))
    return 0


def _asked_twice(work: Path, before: dict[str, Any], kills: int) -> str:
    """Return which calls were made again beyond those that a kill may have caught on their way."""
    calls = Counter((work / "calls").read_text().splitlines())
    again = sum(calls.values()) - len(calls)
    return f"{again} calls made again after {kills} kills" if again > kills * CONCURRENCY else ""


def _poll_in_batches(inputs: Path, work: Path) -> int:
    calls = os.open(work / "calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    asked: Counter[tuple[int, int]] = Counter()

    async def ask_batch(question: int, voters: list[int]) -> Reply:
        os.write(calls, (json.dumps(["ask", question, voters]) + "\n").encode())
        await asyncio.sleep(0.001)
        asked.update((question, voter) for voter in voters)
        if voters[0] % 4 == 3 and asked[question, voters[0]] == 1:
            raise ConnectionError("hung up")
        votes = [
            (question * 7 + voter * voter * 3) % 11 < question % 12
            if (question + voter) % 5 or asked[question, voter] > 1
            else None  # no vote at first
            for voter in voters
        ]
        got = [voter for voter, vote in zip(voters, votes, strict=True) if vote is not None]
        os.write(calls, (json.dumps(["got", question, got]) + "\n").encode())
        return Reply(votes, prompt_tokens=100, completion_tokens=3 * len(votes))

    journal = work / "out" / "journal.jsonl"
    polls = poll_many(
        range(N_QUESTIONS), None, rules.lead(*STRATEGY_SIZE), ask_batch=ask_batch,
        journal=journal, concurrency=CONCURRENCY, seed=1,
    )  # fmt: skip
    verdicts = {key: [verdict.answer, verdict.asked] for key, verdict in sorted(polls.run().items())}
    (work / "out" / "verdicts.json").write_text(json.dumps(verdicts))
    return 0


def _paid_twice(work: Path, before: dict[str, Any], kills: int) -> str:
    """Return how many replies held votes that were asked for again, beyond one that each kill may lose.

    Between a reply and its line in the journal nothing else is done, so a kill loses one at most. Replies are
    counted, not the requests made again: after a kill the voters hang up and fall silent anew, so one lost
    reply may take several.
    """
    reply_of: dict[tuple[int, int], int] = {}
    lost: set[int] = set()
    lines = (work / "calls").read_text().splitlines()
    for number, (what, question, voters) in enumerate(map(json.loads, lines)):
        named = [(question, voter) for voter in voters]
        if what == "got":
            reply_of |= dict.fromkeys(named, number)
        else:
            lost |= {reply_of[vote] for vote in named if vote in reply_of}
    return f"votes of {len(lost)} replies asked for again after {kills} kills" if len(lost) > kills else ""


def _journal_content(name: str, content: bytes) -> Any:
    """Return the votes of a journal, whose order depends on who answered first."""
    if not name.endswith(".jsonl"):
        return content
    lines = map(json.loads, content.splitlines())
    return sorted(
        repr([line.get(field) for field in ("format", "question", "voter", "vote")])
        for line in lines
        if "requests" not in line or "voter" in line  # failed requests depend on the kills
    )


# foregone score ---------------------------------------------------------------------------------


def _prepare_rows(inputs: Path, suffix: str) -> None:
    (inputs / "rows").mkdir()
    draws = np.random.default_rng(0)
    for number in range(N_PARTS):
        rows = pd.DataFrame(draws.normal(0, 2, (ROWS_A_PART, len(FEATURES))), columns=FEATURES)
        rows["id"] = np.arange(ROWS_A_PART) + number * ROWS_A_PART
        file = inputs / "rows" / f"{number}{suffix}"
        rows.to_csv(file, index=False) if suffix == ".csv" else rows.to_parquet(file)
    sample = draws.normal(0, 2, (300, len(FEATURES)))
    early_stop(grown_forest(), sample, 0.05, voting="hard", confidence=None, random_state=0).save(
        inputs / "model"
    )


def _score(inputs: Path, work: Path, suffix: str) -> int:
    options = ["--columns", ",".join(FEATURES), "--keep", "id", "--jobs", "1", "--json"]
    output = work / "out" / f"labels{suffix}"
    return foregone(["score", str(inputs / "model"), str(inputs / "rows"), str(output), *options])


def _load_and_predict(inputs: Path) -> None:
    EarlyStoppingClassifier.load(inputs / "model").set_params(n_jobs=1).predict_with_votes(np.zeros((2, 5)))
    _refused("score", str(inputs / "model"), str(inputs / "no rows"), str(inputs / "labels.csv"))


def _scored_twice(work: Path, before: dict[str, Any], kills: int) -> str:
    printed = (work / "printed").read_text()
    reused = json.loads(printed[printed.index("{") :])["parts_found"]
    return f"{reused} of {len(before)} finished parts were used" if reused < len(before) else ""


def _scoring(suffix: str) -> Job:
    return Job(
        f"score {suffix[1:]}",
        lambda inputs: _prepare_rows(inputs, suffix),
        lambda inputs, work: _score(inputs, work, suffix),
        _load_and_predict,
        f"labels{suffix}.parts/part-*",
        _scored_twice,
    )


# foregone precompute, python -m paper ------------------------------------------------------------


PRECOMPUTE = (
    "precompute", "--voters", "5:35:2", "--max-disagreement", "0.01,0.1", "--criterion", "minimixed,minimean",
    "-o", "nowhere",
)  # fmt: skip
PAPER = ("run", "table3", "--datasets", "skin", "--repeats", "4", "--voters", "5")


def _precompute(inputs: Path, work: Path) -> int:
    return foregone([*PRECOMPUTE, "--jobs", "1", "-o", str(work / "out")])


def _prepare_dataset(inputs: Path) -> None:
    draws = np.random.default_rng(0)
    rows = pd.DataFrame(draws.normal(0, 1, (300, 3)), columns=list("abc"))
    rows.assign(target=(rows["a"] + draws.normal(0, 1, 300) > 0).astype(int)).to_parquet(
        inputs / "skin.parquet"
    )


def _paper(inputs: Path, work: Path) -> int:
    return paper([*PAPER, "--jobs", "1", "--data", str(inputs), "-o", str(work / "out")])


def _nothing(inputs: Path) -> None:
    """Prepare or warm what needs none of it."""


def _refused(*arguments: str, command: Callable[[Sequence[str]], int] = foregone) -> None:
    """Import a command by running it with what it refuses."""
    with contextlib.redirect_stderr(io.StringIO()):
        command(arguments)


JOBS: dict[str, Job] = {
    job.name: job
    for job in (
        Job("polls", _nothing, _poll, _nothing, "nothing", _asked_twice, _journal_content),
        Job("batches", _nothing, _poll_in_batches, _nothing, "nothing", _paid_twice, _journal_content),
        _scoring(".parquet"),
        _scoring(".csv"),
        Job(
            "precompute", _nothing, _precompute, lambda inputs: _refused(*PRECOMPUTE, "--jobs", "0"), "*.json"
        ),
        Job(
            "paper",
            _prepare_dataset,
            _paper,
            lambda inputs: _refused(*PAPER, "--jobs", "0", command=paper),
            "pieces/*.json",
        ),
    )
}

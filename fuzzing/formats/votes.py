"""Recorded votes in tables and logs, and counts of votes in text: anybody's files, without checksums."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from foregone import VoteDistribution, plan
from foregone.cli.vote_file import read_counts
from foregone.errors import ForegoneError
from foregone.replaying import RecordedVotes, YesNoItems, choose_methods, read_votes, replay
from fuzzing.formats.forgeries import forge_from, many_rows
from fuzzing.formats.format import Format, all_of_it, put, read_folder
from fuzzing.formats.inspect_zip import DEFLATED, ZSTANDARD, log_members, log_samples, zip_of
from fuzzing.mutations import Files

__all__ = ["FORMATS"]

N_VOTERS = 5
MOST_VOTERS = 200  # that are planned for here: more take long, and rightly so


def _write_votes(folder: Path) -> None:
    draws = np.random.default_rng(0)
    items = np.repeat(np.arange(8), N_VOTERS)
    columns = {
        "item": [f"q{item}" for item in items],
        "draw": list(range(N_VOTERS)) * 8,
        "answer": draws.choice(["yes", "no"], len(items)).tolist(),
        "tokens": draws.integers(1, 900, len(items)).tolist(),
    }
    for number in range(5):
        (folder / str(number)).mkdir(parents=True)
    header = ",".join(columns)
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (folder / "0" / "votes").write_text("\n".join([header, *lines]) + "\n")
    parquet.write_table(pa.table(columns), folder / "1" / "votes")
    answers = pa.array(columns["answer"]).dictionary_encode()
    coded = pa.table({"item": items, "draw": columns["draw"], "answer": answers})
    parquet.write_table(coded, folder / "2" / "votes", compression="none", row_group_size=13)
    crowd = [f"{item},{worker},{answer}" for item, worker, answer, _ in zip(*columns.values(), strict=True)]
    (folder / "3" / "votes").write_text("\n".join(["task,worker,label", *crowd]) + "\n")
    scored = [
        {"item": item, "epoch": epoch, "score": answer}
        for item, epoch, answer, _ in zip(*columns.values(), strict=True)
    ]
    (folder / "4" / "votes").write_text("\n".join(map(json.dumps, scored)) + "\n")


def _load_votes(sample: Path, home: Path) -> RecordedVotes:
    return read_votes(sample / "votes")


def _content(votes: RecordedVotes) -> str:
    tokens = votes.tokens and [one.tolist() for one in votes.tokens]
    return repr(
        (votes.items, votes.labels, [codes.tolist() for codes in votes.answers], tokens, votes.n_missing)
    )


def _use_votes(votes: RecordedVotes) -> None:
    repr(votes)
    items = YesNoItems.of(votes, N_VOTERS, yes="yes", skip_short=True)
    replay(items, choose_methods(["lead:2", "curtailment"]), splits=1)


# Members of a log are attacked one by one, or the checksums of the zip would refuse all; and the zip as well.


def _write_logs(folder: Path) -> None:
    samples = log_samples()
    members = log_members(samples)
    folders = (
        {"log": zip_of(members, ZSTANDARD)},
        {"log": zip_of(members, DEFLATED)},
        {"log": json.dumps({"version": 2, "status": "success", "eval": {}, "samples": samples}).encode()},
        {"members/summaries.json": members["summaries.json"]},
        {f"members/{name}": content for name, content in members.items() if name.startswith("samples/")},
    )
    for number, files in enumerate(folders):
        for name, content in files.items():
            file = folder / str(number) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _load_log(sample: Path, home: Path) -> RecordedVotes:
    log, members = sample / "log", sample / "members"
    if members.exists():
        log.write_bytes(zip_of(read_folder(members), DEFLATED))
    votes = read_votes(log, scorer="match")
    with contextlib.suppress(ForegoneError):  # one of them may be read and the other not
        read_votes(log, scorer="match", count="answer")
    return votes


def _use_log(votes: RecordedVotes) -> None:
    repr(votes)
    YesNoItems.of(votes, N_VOTERS, yes="C", skip_short=True)


def _all_json(content: bytes) -> list[slice]:
    return all_of_it(content) if content.startswith((b"{", b"[")) else []


def _bombs(samples: list[Files]) -> list[Files]:
    """Return zips that unpack to a lot, or claim to, or hold much in little."""
    members = log_members(log_samples())
    contents = (b" " * (32 << 20), b"[" * (5 << 20), b"[" + b"[]," * (10 << 20) + b"[]]")
    many = [{"id": k, "epoch": 1, "scores": {"match": {"value": 1}}} for k in range(50_000)]
    return [
        *(
            {"log": zip_of({name: content})}
            for name in ("summaries.json", *list(members)[:1])
            for content in contents
        ),
        *({"log": zip_of(members, sizes={"summaries.json": size})} for size in (0, 1, 1 << 20, 1 << 31)),
        {"log": zip_of({"summaries.json": json.dumps(many).encode()})},
    ]


def _write_counts(folder: Path) -> None:
    texts = ("n,count\n0,5\n1,0\n2,7\n3,1e2\n", "# votes\n5\n0\n7.5\n100\n", "5; 0; 7; 100; 2\n")
    for number, text in enumerate(texts):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "counts.csv").write_text(text)


def _load_counts(sample: Path, home: Path) -> list[float]:
    return read_counts(sample / "counts.csv")


def _use_counts(counts: list[float]) -> None:
    votes = VoteDistribution.from_counts(counts)
    if votes.n_voters <= MOST_VOTERS:
        plan(votes)


FORMATS = (
    Format(
        "recorded votes",
        _write_votes,
        _load_votes,
        _content,
        _use_votes,
        forge=forge_from(many_rows),
        checked=False,
    ),
    Format(
        "Inspect log",
        _write_logs,
        _load_log,
        _content,
        _use_log,
        forge=_bombs,
        checked=False,
        json=(_all_json, put),
    ),
    Format("vote counts", _write_counts, _load_counts, list, _use_counts, checked=False),
)

"""Recorded votes in CSV and Parquet, and counts of votes in text: anybody's files, without checksums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from foregone import VoteDistribution, plan
from foregone.cli.vote_file import read_counts
from foregone.replaying import RecordedVotes, YesNoItems, choose_methods, read_votes, replay
from fuzzing.formats.forgeries import forge_from, many_rows
from fuzzing.formats.format import Format

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
    for number in range(3):
        (folder / str(number)).mkdir(parents=True)
    header = ",".join(columns)
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (folder / "0" / "votes").write_text("\n".join([header, *lines]) + "\n")
    parquet.write_table(pa.table(columns), folder / "1" / "votes")
    answers = pa.array(columns["answer"]).dictionary_encode()
    coded = pa.table({"item": items, "draw": columns["draw"], "answer": answers})
    parquet.write_table(coded, folder / "2" / "votes", compression="none", row_group_size=13)


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
    Format("vote counts", _write_counts, _load_counts, list, _use_counts, checked=False),
)

"""Logs of Inspect: .eval and .json give the same votes; whatever else a zip can hold is refused."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzzing.formats.inspect_zip import DEFLATED, ZSTANDARD, log_members, log_samples, zip_of

from foregone.errors import FileFormatError, ForegoneError, InvalidInputError, MissingExtraError
from foregone.replaying import RecordedVotes, YesNoItems, read_votes

SAMPLES = log_samples()


def chunked(members: dict[str, bytes]) -> dict[str, bytes]:
    """The form of samples that are kept in parts."""
    return {
        name.replace(".json", "/sample.json") if name.startswith("samples/") else name: content
        for name, content in members.items()
    } | {"samples/1_epoch_1/events/0.json": b"[]"}


def without_summaries(members: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in members.items() if name != "summaries.json"}


MEMBERS = log_members(SAMPLES)
LOGS: dict[str, bytes] = {
    "zstandard": zip_of(MEMBERS, ZSTANDARD),
    "deflated": zip_of(MEMBERS, DEFLATED),
    "stored": zip_of(MEMBERS, 0),
    "chunked": zip_of(chunked(MEMBERS)),
    "interrupted": zip_of(without_summaries(MEMBERS)),
    "json": json.dumps({"version": 2, "eval": {}, "samples": SAMPLES}, indent=2).encode(),
    "json in one line": json.dumps({"version": 2, "eval": {}, "samples": SAMPLES}).encode(),
}


def written(folder: Path, content: bytes) -> Path:
    file = folder / "log"
    file.write_bytes(content)
    return file


def as_lists(votes: RecordedVotes) -> dict[str, list[str]]:
    return {
        item: [votes.labels[code] for code in codes]
        for item, codes in zip(votes.items, votes.answers, strict=True)
    }


def expected(vote: Callable[[dict[str, Any]], Any]) -> dict[str, list[str]]:
    """The votes on each item, epoch by epoch, without reading a file."""
    found: dict[str, list[str]] = {}
    for sample in sorted(SAMPLES, key=lambda one: (str(one["id"]), one["epoch"])):
        said = vote(sample["scores"])
        found.setdefault(str(sample["id"]), []).extend([] if said is None else [str(said)])
    return found


@pytest.mark.parametrize("log", LOGS)
def test_scores_and_answers_are_read_from_every_form_of_a_log(tmp_path, log):
    file = written(tmp_path, LOGS[log])
    scores = read_votes(file, scorer="match")
    assert as_lists(scores) == expected(lambda scores: scores["match"]["value"])
    assert [tokens.tolist() for tokens in scores.tokens] == [[10.0] * 5] * 4
    answers = read_votes(file, scorer="match", count="answer")
    assert as_lists(answers) == expected(lambda scores: scores["match"]["answer"])
    assert answers.n_missing == 4
    one_of_several = read_votes(file, scorer="graded:right")
    assert as_lists(one_of_several) == expected(lambda scores: scores["graded"]["value"]["right"])


def test_the_score_c_counts_as_yes_if_that_is_said(tmp_path):
    votes = read_votes(written(tmp_path, LOGS["zstandard"]), scorer="match")
    assert YesNoItems.of(votes, 5, yes="C").yes.tolist() == [3, 3, 3, 3]
    with pytest.raises(InvalidInputError, match="choose the answer that counts as yes"):
        YesNoItems.of(votes, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"several scorers \(match, graded\): choose one"),
        ({"scorer": "pattern"}, "no scorer 'pattern': choose from match, graded"),
        ({"scorer": "graded"}, r"'graded' gives several values \(fluent, right\): choose one .*graded:KEY"),
        ({"scorer": "graded:wrong"}, "gives several values"),
        ({"scorer": "match:right"}, "'match' gives one value, not 'right'"),
    ],
)
def test_a_scorer_that_cannot_be_meant_is_refused_with_those_there_are(tmp_path, options, message):
    with pytest.raises(FileFormatError, match=message):
        read_votes(written(tmp_path, LOGS["json"]), **options)


def log_of(*samples: Any) -> bytes:
    return json.dumps({"eval": {}, "samples": samples}).encode()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (log_of({"id": 1, "epoch": 1, "scores": None}), {}, "no sample has a score"),
        (log_of(), {}, "no sample has a score"),
        (log_of({"id": 1, "scores": {}}), {}, "a sample has no epoch"),
        (log_of(7), {}, "a sample has no epoch"),
        (log_of({"epoch": 1, "scores": {"m": {"value": 1}}}), {}, "no item"),
        (log_of({"id": 1, "epoch": 1, "scores": {"m": {"value": [1, 2]}}}), {}, "gives a list"),
        (
            log_of({"id": 1, "epoch": 1, "scores": {"m": {"value": 1}}}),
            {"count": "answer"},
            "no sample has an answer of scorer 'm': count scores",
        ),
        (b'{"eval": {}, "samples": null}', {}, "no column item"),
        (b'{"eval": {},\n "status": "started"}', {}, "line 1: not a JSON object"),
        (zip_of({"word/document.xml": b"<w/>"}), {}, "the zip file has no samples"),
        (zip_of({"samples/1_epoch_1.json": b"{"}), {}, "is not valid JSON"),
        pytest.param(zip_of({"samples/1_epoch_1.json": b"[" * 100_000}), {}, "is not valid JSON", id="deep"),
        (zip_of({"summaries.json": b"7"}), {}, "a sample has no epoch"),
        (LOGS["zstandard"][:-30], {}, "damaged, or not an Inspect log"),
        (b"PK and nothing else", {}, "damaged, or not an Inspect log"),
        (zip_of(MEMBERS, sizes={"summaries.json": 10}), {}, "its size or checksum does not match"),
        (zip_of(MEMBERS, sizes={"summaries.json": 10**5}), {}, "its size or checksum does not match"),
        (zip_of(MEMBERS, 12), {}, "which Inspect does not use"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(tmp_path, content, options, message):
    with pytest.raises(FileFormatError, match=message) as error:
        read_votes(written(tmp_path, content), **options)
    assert str(tmp_path / "log") in str(error.value)


@pytest.mark.parametrize("method", [ZSTANDARD, DEFLATED])
def test_a_byte_changed_in_a_member_is_noticed(tmp_path, method):
    content = bytearray(zip_of({"summaries.json": json.dumps(SAMPLES).encode()}, method))
    content[120] ^= 1
    with pytest.raises(FileFormatError, match="damaged"):
        read_votes(written(tmp_path, bytes(content)), scorer="match")


def test_of_an_epoch_that_was_run_again_the_last_one_counts(tmp_path):
    again = [dict(SAMPLES[0], scores={"match": {"value": "P"}}), *SAMPLES[1:]]
    (name, first), *_ = log_members(SAMPLES[:1]).items()
    (_, second), *_ = log_members(again[:1]).items()
    file = tmp_path / "log"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, first)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(name, second)
    assert as_lists(read_votes(file, scorer="match"))["q/0"][0] == "P"
    votes = read_votes(written(tmp_path, log_of(*SAMPLES, again[0])), scorer="match")
    assert as_lists(votes)["q/0"][0] == "P"


def test_an_epoch_without_a_score_is_no_vote(tmp_path):
    failed = [dict(SAMPLES[0], scores=None), dict(SAMPLES[1], scores={"graded": {"value": 1}}), *SAMPLES[2:]]
    votes = read_votes(written(tmp_path, log_of(*failed)), scorer="match")
    assert votes.n_missing == 2
    assert [len(said) for said in as_lists(votes).values()] == [4, 5, 4, 5]


@pytest.mark.parametrize("usage", [None, {}, {"m": {}}, {"m": {"total_tokens": True}}, {"m": 7}])
def test_tokens_are_left_out_unless_they_are_known_of_every_vote(tmp_path, usage):
    samples = [dict(SAMPLES[0], model_usage=usage), *SAMPLES[1:]]
    assert read_votes(written(tmp_path, log_of(*samples)), scorer="match").tokens is None


def test_tokens_of_all_models_are_added_up(tmp_path):
    usage = {"model": {"total_tokens": 5}, "grader": {"total_tokens": 7}}
    sample = {"id": "a", "epoch": 1, "scores": {"m": {"value": 1}}, "model_usage": usage}
    (tokens,) = read_votes(written(tmp_path, log_of(sample))).tokens
    assert tokens.tolist() == [12.0]


# Bombs -------------------------------------------------------------------------------------------

BOMBS = {
    "blank": zip_of({"summaries.json": b" " * (16 << 20)}),
    "lists": zip_of({"summaries.json": b"[" + b"[]," * (6 << 20) + b"[]]"}),
    "deflated": zip_of({"samples/1_epoch_1.json": b" " * (16 << 20)}, DEFLATED),
    "claims": zip_of(MEMBERS, sizes={"summaries.json": 2**31}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_log_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path, bomb):
    file = written(tmp_path, BOMBS[bomb])
    with pytest.raises(FileFormatError, match=r"max_memory to|would decompress"):
        read_votes(file)
    tracemalloc.start()
    with pytest.raises(ForegoneError):
        read_votes(file)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20


def test_many_members_that_unpack_to_too_much_together_are_refused(tmp_path):
    members = {f"samples/{k}_epoch_1.json": b"{}" for k in range(200)}
    with pytest.raises(FileFormatError, match="would decompress to 800 MB, more than 1,000 times its size"):
        read_votes(written(tmp_path, zip_of(members, sizes=dict.fromkeys(members, 4 * 10**6))))


def test_a_large_log_is_read_if_its_memory_is_allowed(tmp_path):
    sample = {"id": 1, "epoch": 1, "scores": {"m": {"value": "C"}}, "messages": [" " * (6 << 20)]}
    file = written(tmp_path, zip_of({"samples/1_epoch_1.json": json.dumps(sample).encode()}))
    with pytest.raises(FileFormatError, match="for its largest part"):
        read_votes(file)
    assert as_lists(read_votes(file, max_memory=1e9)) == {"1": ["C"]}


def test_without_pyarrow_the_extra_is_named_and_other_logs_are_read(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"foregone\[replay\]"):
        read_votes(written(tmp_path, LOGS["zstandard"]), scorer="match")
    assert len(read_votes(written(tmp_path, LOGS["deflated"]), scorer="match").items) == 4

"""The journal: what is in it is not asked again, and what is not its own is refused."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from foregone import Verdict, poll_many, rules, solve
from foregone.errors import FileFormatError, InvalidInputError, JournalError, PollManyError
from foregone.plurality import rules as plurality_rules
from foregone.polling.journal import FAILED, Journal
from tests.polling.simulated import VOTES, Simulated

SOLUTION = solve("minimean", VOTES, 0.01)
GOLDEN = Path(__file__).parents[1] / "golden"  # journals that poll_many wrote in earlier versions
QUESTIONS = {"a": "Is 7 a prime?", 7: ["ja?", 1.5]}
MORE = QUESTIONS | {"b": "new", 8: None}


def check(vote):
    if not isinstance(vote, bool):
        raise InvalidInputError("no vote")
    return vote


def reopen(path, questions=MORE, **settings):
    with Journal(path, questions, check, **settings) as journal:
        return journal.recorded


@pytest.fixture
def path(tmp_path):
    return tmp_path / "votes.jsonl"


@pytest.fixture
def written(path):
    """Return a journal with three lines."""
    with Journal(path, MORE, check, seed=5) as journal:
        journal.vote("a", 0, True)
        journal.vote("a", 1, False)
        journal.failure(7, 0, TimeoutError("too\nlate"))
    return path


def test_what_was_written_is_read_again(written):
    assert reopen(written) == {"a": {0: True, 1: False}, 7: {0: FAILED}}
    assert len(written.read_bytes().splitlines()) == 4


@pytest.mark.slow
def test_cut_off_anywhere_it_keeps_every_whole_line_and_can_be_written_on(written):
    whole = written.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole)):
        written.write_bytes(whole[:length])
        n_votes = sum(length >= end - 1 for end in ends[1:])  # a line without its newline is whole, too
        with Journal(written, MORE, check) as journal:
            assert sum(map(len, journal.recorded.values())) == n_votes
            journal.vote("b", 3, True)
        assert reopen(written)["b"] == {3: True}
        assert sum(map(len, reopen(written).values())) == n_votes + 1


@pytest.mark.slow
def test_every_changed_byte_is_noticed_and_the_file_left_as_it_is(written):
    whole = written.read_bytes()
    for place in range(len(whole)):
        for other in {whole[place] ^ 1 << bit for bit in range(8)} | set(b'\n\r 01"}'):
            content = whole[:place] + bytes([other]) + whole[place + 1 :]
            if content == whole:
                continue
            written.write_bytes(content)
            with pytest.raises((FileFormatError, InvalidInputError)):
                reopen(written)
            assert written.read_bytes() == content


def test_every_line_that_is_removed_repeated_or_moved_is_noticed(written):
    with Journal(written, MORE, check) as journal:
        journal.failure(7, 1, TimeoutError("too\nlate"))
        journal.vote(8, 0, True)
    lines = written.read_bytes().splitlines(keepends=True)
    edits = [lines[:place] + lines[place + 1 :] for place in range(len(lines) - 1)]  # not the last
    edits += [lines[: place + 1] + lines[place:] for place in range(len(lines))]
    edits += [
        [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
        for place in range(len(lines) - 1)
    ]
    for edited in edits:
        written.write_bytes(b"".join(edited))
        with pytest.raises(FileFormatError, match="line"):
            reopen(written)
    written.write_bytes(b"".join(lines[:-1]))
    assert 8 not in reopen(written)


def test_what_a_damaged_journal_says_to_do_is_enough(written):
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(b"".join([lines[0], lines[1], lines[2].replace(b"false", b"true"), lines[3]]))
    with pytest.raises(
        FileFormatError, match=r"line 3: .*checksum does not match.*delete this line and all after"
    ):
        reopen(written)
    written.write_bytes(b"".join(lines[:2]))
    assert reopen(written) == {"a": {0: True}}


def test_a_journal_of_version_1_is_read_and_continued_as_one(path):
    path.write_bytes((GOLDEN / "journal-v1.jsonl").read_bytes())
    with Journal(path, MORE, check) as journal:
        assert journal.recorded == {"a": {0: True, 1: False}, 7: {0: FAILED}}
        assert journal.seed == 5
        journal.vote("a", 2, True)
        journal.vote("b", 0, True)
        journal.vote("b", 1, True)
    assert path.read_bytes() == (GOLDEN / "journal-v1.jsonl").read_bytes() + (
        b'{"question": "a", "voter": 2, "vote": true}\n'
        b'{"question": "b", "voter": 0, "vote": true, "content": "%s"}\n'
        b'{"question": "b", "voter": 1, "vote": true}\n' % hashlib.sha256(b'"new"').hexdigest()[:16].encode()
    )
    assert reopen(path) == {"a": {0: True, 1: False, 2: True}, 7: {0: FAILED}, "b": {0: True, 1: True}}


@pytest.mark.parametrize("version", [1, 2])
def test_a_journal_of_an_older_version_takes_more_questions_and_refuses_others(path, version):
    path.write_bytes((GOLDEN / f"journal-v{version}.jsonl").read_bytes())
    with Journal(path, MORE, check) as journal:
        journal.vote("b", 0, True)
    assert reopen(path, QUESTIONS)["a"] == {0: True, 1: False}
    for questions in (
        {"a": QUESTIONS["a"]},
        dict(reversed(QUESTIONS.items())),
        {"b": "new"} | QUESTIONS,
        QUESTIONS | {"a": "Is 8 a prime?"},
    ):
        with pytest.raises(InvalidInputError, match="questions first, unchanged and in the same order"):
            reopen(path, questions)
    with pytest.raises(InvalidInputError, match="question 'b' has changed"):
        reopen(path, QUESTIONS | {"b": "newer"})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{}", '"question" is missing'),
        ("[1]", "not an object"),
        ("true false", "not valid JSON"),
        ('{"question": true, "voter": 2, "vote": true}', '"question" must be a string or an integer'),
        ('{"question": "a", "voter": -1, "vote": true}', '"voter" must be an integer'),
        (
            '{"question": "a", "voter": 2, "vote": "yes"}',
            '"vote" cannot be counted by this .*: no vote',
        ),
        ('{"question": "a", "voter": 1, "vote": true}', "already voted on this question"),
        ('{"question": "c", "voter": 1, "vote": true}', '"content" is missing'),
        pytest.param("[" * 100_000, "not valid JSON", id="deep"),
    ],
)
def test_a_damaged_line_is_named(path, line, problem):
    old = (GOLDEN / "journal-v1.jsonl").read_bytes()
    content = old + f'{line}\n{{"question": 8, "voter": 0, "vote": true}}\n'.encode()
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"line 5.*{problem}"):
        reopen(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"precious", b"precious\n", b'{"format": "other"}\n', b"\xff\n", b"{}\n"]
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="journal"):
        reopen(path)
    assert path.read_bytes() == content


def test_a_newer_version_is_refused(written):
    written.write_bytes(written.read_bytes().replace(b'"version": 4', b'"version": 5'))
    with pytest.raises(FileFormatError, match="newer foregone"):
        reopen(written)


def test_questions_may_be_added_removed_and_reordered(written):
    recorded = reopen(written)
    for questions in (QUESTIONS, MORE | {"c": 1}, {"a": QUESTIONS["a"]}, dict(reversed(MORE.items())), {}):
        assert reopen(written, questions) == recorded


def test_a_question_that_has_changed_is_refused_and_the_file_left_as_it_is(written):
    before = written.read_bytes()
    with pytest.raises(InvalidInputError, match=r"question 7 has changed .*Give it a new id"):
        reopen(written, MORE | {7: ["nein?", 1.5]})
    assert written.read_bytes() == before
    with Journal(written, {"b": "new"}, check) as journal:
        journal.vote("b", 0, True)
    with pytest.raises(InvalidInputError, match="question 'b' has changed"):
        reopen(written, {"b": "newer"})


@pytest.mark.parametrize(("first", "then"), [(None, 30), (30, None), (30, 31)])
def test_other_voters_are_refused(path, first, then):
    reopen(path, voters=first)
    with pytest.raises(InvalidInputError, match=f"recorded with voters={first}, not voters={then}.*new file"):
        reopen(path, voters=then)


def test_the_seed_of_the_first_run_is_kept(written):
    with Journal(written, MORE, check, seed=6) as journal:
        assert journal.seed == 5


def test_its_repr_says_where_it_is_and_how_much_is_in_it(written):
    with Journal(written, MORE, check) as journal:
        journal.vote("b", 0, True)
        assert repr(journal) == f"<Journal {written}, 4 votes and failures>"


def test_two_at_once_are_refused(written):
    with Journal(written, MORE, check), pytest.raises(JournalError, match="another process"):
        reopen(written)


def test_a_full_disk_is_a_clear_error_and_what_was_written_stays_whole(written, monkeypatch):
    journal = Journal(written, MORE, check)
    before, write, room = written.read_bytes(), os.write, 10

    def full(file, line):
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken, room = min(room, len(line)), 0
        return write(file, line[:taken])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(JournalError, match=r"cannot write .*No space left on device.*free disk space"):
        journal.vote("b", 0, True)
    assert written.read_bytes() == before
    monkeypatch.undo()
    journal.vote("b", 0, True)
    journal.close()
    assert reopen(written)["b"] == {0: True}


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path):
    for place in (tmp_path, tmp_path / "missing" / "votes.jsonl", tmp_path / "\0"):
        with pytest.raises(InvalidInputError, match="cannot write"):
            reopen(place)
    with pytest.raises(InvalidInputError, match="not a regular file"):
        reopen("/dev/null")


# With poll_many ------------------------------------------------------------------------------


class Ask:
    def __init__(self, stop_after=10**9, **options):
        self.simulated, self.calls, self.left = Simulated(3, **options), [], stop_after

    async def __call__(self, question, voter):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.calls.append((question, voter))
        if self.simulated.next_call_fails(question, voter):
            raise ConnectionError
        return self.simulated.vote(question, voter)


@pytest.mark.parametrize("voters", [None, 30])
def test_a_run_that_is_stopped_again_and_again_asks_nobody_twice_and_ends_the_same(path, voters):
    options = {"seed": 4, "voters": voters, "retries": 0, "max_failures": 20}
    whole = Ask(failure_rate=0.2)
    expected = poll_many(range(40), whole, SOLUTION, **options).run()
    calls, found = [], {}
    while not found:
        ask = Ask(stop_after=37, failure_rate=0.2)
        try:
            found = poll_many(range(40), ask, SOLUTION, journal=path, concurrency=5, **options).run()
        except KeyboardInterrupt:
            assert len(ask.calls) == 37
        calls += ask.calls
    assert found == expected
    assert len(set(calls)) == len(calls)
    assert sorted(calls) == sorted(whole.calls)


def test_the_journal_of_a_finished_run_gives_all_verdicts_again_and_asks_nobody(path):
    first = poll_many(range(20), Ask(), SOLUTION, journal=path).run()
    assert poll_many(range(20), None, SOLUTION, journal=path).run() == first
    assert len(path.read_text().splitlines()) == 1 + sum(verdict.asked for verdict in first.values())


def test_questions_without_verdict_are_taken_up_again_with_other_voters(path):
    async def down(question, voter):
        raise ConnectionError

    with pytest.raises(PollManyError):
        poll_many([1, 2], down, SOLUTION, journal=path, retries=0, max_failures=2).run()
    ask = Ask()
    assert len(poll_many([1, 2], ask, SOLUTION, journal=path).run()) == 2
    assert all(voter >= 3 for _, voter in ask.calls)


STRICTER = solve("minimean", VOTES, 0.0001)


@pytest.mark.parametrize("voters", [None, 30])
@pytest.mark.parametrize(
    ("questions", "strategy", "seed"),
    [
        (range(20), STRICTER, 4),
        (range(20), rules.curtailment(5), 4),
        (range(30), SOLUTION, 4),
        (range(15), STRICTER, 4),
        ({key: key for key in reversed(range(5, 25))}, STRICTER, 4),
        (range(20), SOLUTION, 5),
        (range(20), STRICTER, None),
    ],
    ids=["stricter", "for fewer voters", "more", "fewer, stricter", "reordered", "other seed", "no seed"],
)
def test_votes_are_reused_whatever_the_questions_beside_them_the_strategy_and_the_seed(
    path, voters, questions, strategy, seed
):
    first = Ask()
    poll_many(range(20), first, SOLUTION, journal=path, voters=voters, seed=4).run()
    again, anew = Ask(), Ask()
    found = poll_many(questions, again, strategy, journal=path, voters=voters, seed=seed).run()
    expected = poll_many(questions, anew, strategy, voters=voters, seed=4 if seed is None else seed).run()
    assert found == expected
    assert sorted(again.calls) == sorted(set(anew.calls) - set(first.calls))
    assert set(anew.calls) & set(first.calls)


def test_a_stricter_limit_and_back_asks_nobody_twice(path):
    asks = [Ask(), Ask(), Ask()]
    runs = [
        poll_many(range(20), ask, strategy, journal=path, seed=4).run()
        for ask, strategy in zip(asks, (SOLUTION, STRICTER, SOLUTION), strict=True)
    ]
    assert len(asks[1].calls) > 0
    assert asks[2].calls == []
    assert runs[2] == runs[0]


def test_recorded_votes_that_the_strategy_cannot_count_are_an_error_that_says_so(path):
    poll_many([1], lambda *_: "42", plurality_rules.lead(9, 3), journal=path).run()
    with pytest.raises(FileFormatError, match=r'line 2: field "vote" cannot be counted by this strategy'):
        poll_many([1], Ask(), SOLUTION, journal=path).run()


def test_votes_are_in_the_journal_before_anything_is_made_of_them(path):
    seen = []

    async def main():
        async for key, verdict in poll_many(range(30), Ask(), SOLUTION, journal=path, concurrency=4):
            records = [json.loads(line) for line in path.read_text().splitlines()[1:]]
            assert sum(record["question"] == key for record in records) == verdict.asked
            seen.append(key)

    asyncio.run(main())
    assert len(seen) == 30


def test_a_disk_that_is_full_ends_the_run_and_it_can_go_on_later(path, monkeypatch):
    write, room = os.write, [2000]

    def full(file, line):
        room[0] -= len(line)
        if room[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, line)

    monkeypatch.setattr(os, "write", full)
    first = Ask()
    with pytest.raises(JournalError, match="No space left"):
        poll_many(range(30), first, SOLUTION, journal=path, seed=1).run()
    kept = len(path.read_text().splitlines()) - 1
    monkeypatch.undo()
    second = Ask()
    verdicts = poll_many(range(30), second, SOLUTION, journal=path, seed=1).run()
    assert verdicts == poll_many(range(30), Ask(), SOLUTION, seed=1).run()
    assert kept > 10
    assert kept + len(second.calls) == sum(verdict.asked for verdict in verdicts.values())


def test_questions_that_cannot_be_named_in_a_journal_are_refused(path):
    with pytest.raises(InvalidInputError, match="must be a string or an integer"):
        poll_many({(1, 2): "x"}, Ask(), SOLUTION, journal=path).run()
    with pytest.raises(InvalidInputError, match="pass ids as questions"):
        poll_many([object()], Ask(), SOLUTION, journal=path).run()
    assert not path.exists()


def test_ids_and_questions_of_all_alphabets_come_back(path):
    questions = {"größe": {"text": "名前は?"}, 3: ["x", 1.5, None]}
    first = poll_many(questions, lambda *_: True, SOLUTION, journal=path).run()
    assert set(first) == set(questions)
    assert all(isinstance(verdict, Verdict) for verdict in first.values())
    assert poll_many(questions, None, SOLUTION, journal=path).run() == first

"""Strategy files: exact, written whole or not at all, and never read as something they do not say."""

from __future__ import annotations

import json
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import Solution, StoppingStrategy, VoteDistribution, certify, solve
from foregone.errors import FileFormatError, InvalidInputError
from foregone.strategy.json_file import read_file, write_file
from tests.strategies import answering_strategies
from tests.systems import posix

FILES = Path(__file__).parent / "golden"
GOLDEN = FILES / "strategy-v3.json"
QUOTA = FILES / "strategy-v3-quota.json"
OWN_ANSWERS = FILES / "strategy-v2-own-answers.json"
VALUES = FILES / "solution-v3-values.json"


def golden_strategy() -> StoppingStrategy:
    """Make what the golden file holds: curtailment of five voters but for three states.

    ``strategy-v1.json``, ``strategy-v2.json`` and ``strategy-v3.json`` were written by
    ``golden_strategy().save(...)`` in their time, ``strategy-v2-own-answers.json`` by
    ``own_answers().save(...)``, ``strategy-v3-quota.json`` by ``with_a_quota().save(...)`` and
    ``solution-v3-values.json`` by ``with_values().save(...)``. Files outlive releases: they are never written
    anew; a new version of the format gets files of its own.
    """
    return StoppingStrategy.from_thresholds(
        [-1, -1, -1, 0, 1, 2], [1, 2, 3, 3, 3, 3], [(2, 1, 1.0), (3, 1, 0.1), (3, 2, 1 / 3)]
    )


def own_answers() -> StoppingStrategy:
    """Make the same, but yes from the first yes on, and from two of three or four."""
    golden = golden_strategy()
    return StoppingStrategy.from_thresholds(
        golden.lower, golden.upper, golden.exceptions, yes_from=[0, 1, 1, 2, 2, 3]
    )


def with_a_quota() -> StoppingStrategy:
    """Make the same, but two of five are enough for yes."""
    golden = golden_strategy()
    return StoppingStrategy.from_thresholds(
        golden.lower, golden.upper, golden.exceptions, yes_from=[1, 1, 1, 1, 2, 2]
    )


def with_values() -> Solution:
    """Solve for two of five, with disagreements that lose less the closer the vote."""
    votes = VoteDistribution.from_counts([50, 20, 10, 5, 5, 10])
    return solve("minimean", votes, 0.01, quota=2, values=[1, 0.25, 0.125, 0.5, 1, 1])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "strategy.json"


@pytest.fixture
def saved(path: Path) -> Path:
    golden_strategy().save(path)
    return path


def names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def refused(path: Path, content: bytes | str) -> str:
    """Return the message with which a file of this content is refused."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FileFormatError) as caught:
        StoppingStrategy.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# Round trips ---------------------------------------------------------------------------------


@given(strategy=st.integers(1, 7).flatmap(answering_strategies))
def test_loading_gives_exactly_what_was_saved(tmp_path_factory, strategy):
    path = tmp_path_factory.mktemp("round trip") / "strategy.json"
    strategy.save(path)
    loaded = StoppingStrategy.load(path)
    assert loaded == strategy
    np.testing.assert_array_equal(loaded.table(), strategy.table())
    np.testing.assert_array_equal(loaded.yes_from, strategy.yes_from)
    first = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["strategy-v1.json", "strategy-v2.json", "strategy-v3.json"])
def test_a_file_of_any_version_is_read(name):
    strategy = StoppingStrategy.load(FILES / name)
    assert strategy == golden_strategy()
    np.testing.assert_array_equal(strategy.table(), golden_strategy().table())
    np.testing.assert_array_equal(strategy.yes_from, [1, 1, 2, 2, 3, 3])


def test_a_file_with_answers_of_its_own_is_read():
    strategy = StoppingStrategy.load(OWN_ANSWERS)
    assert strategy == own_answers()
    np.testing.assert_array_equal(strategy.yes_from, [0, 1, 1, 2, 2, 3])


def test_a_file_with_a_quota_is_read():
    strategy = StoppingStrategy.load(QUOTA)
    assert strategy == with_a_quota() != golden_strategy()
    np.testing.assert_array_equal(strategy.yes_from, [1, 1, 1, 1, 2, 2])
    assert strategy.quota == 2


def test_a_solution_with_values_is_read_and_its_claim_proven():
    solution, again = Solution.load(VALUES), with_values()
    assert (solution.quota, solution.values) == (2, (1, 0.25, 0.125, 0.5, 1, 1))
    assert solution.expected_votes == pytest.approx(again.expected_votes, rel=1e-12)
    assert solution.disagreement == pytest.approx(again.disagreement, rel=1e-12)
    assert certify(solution).holds
    assert StoppingStrategy.load(VALUES) == solution.strategy


@pytest.mark.parametrize(("make", "golden"), [(golden_strategy, GOLDEN), (with_a_quota, QUOTA)])
def test_what_is_written_is_still_the_golden_file(path, make, golden):
    make().save(path)
    assert path.read_text() == golden.read_text()


@pytest.mark.parametrize("answers", ['"majority"', "[0, 1, 1, 2, 2, 3]"])
def test_a_file_of_version_1_that_gives_answers_is_refused(path, answers):
    text = (FILES / "strategy-v1.json").read_text()
    message = refused(path, text.replace('"kind"', f'"yes_from": {answers}, "kind"'))
    assert 'field "yes_from" is not allowed in a file of version 1' in message


def test_a_file_of_version_2_with_a_quota_is_refused(path):
    text = OWN_ANSWERS.read_text().replace("[0, 1, 1, 2, 2, 3]", "[0, 1, 1, 2, 2, 2]")
    message = refused(path, text)
    assert 'field "yes_from" must end in a majority in a file of version 2, which has no quotas' in message


def test_a_solution_of_version_2_with_values_is_refused(path):
    content = {**json.loads(VALUES.read_text()), "version": 2, "yes_from": "majority"}
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match='"values" is not allowed in a file of version 2'):
        Solution.load(path)


VALUES_THAT_ARE_NONE = [
    [1, 0.25, 0.125, 0.5, 1],
    [1, 0.25, 0.125, 0.5, 1, 1.5],
    [1, 0.25, 0.125, 0.5, 1, -0.5],
    [1, 0.25, 0.125, 0.5, 1, "1"],
    [1, 0.25, 0.125, 0.5, 1, True],
    0.5,
    "one",
    {},
]


@pytest.mark.parametrize("values", VALUES_THAT_ARE_NONE, ids=str)
def test_values_that_are_none_are_refused_by_name(path, values):
    fields = with_values().to_fields()
    write_file(path, {**fields, "solution": {**fields["solution"], "values": values}})
    with pytest.raises(FileFormatError, match="values"):
        Solution.load(path)


def test_values_changed_by_hand_are_noticed(path):
    with_values().save(path)
    path.write_text(path.read_text().replace("[1.0, 0.25, 0.125, 0.5", "[1.0, 0.25, 0.125, 0.25"))
    with pytest.raises(FileFormatError, match="checksum"):
        Solution.load(path)


def test_a_solution_whose_strategy_has_another_quota_than_its_answers_say_is_refused(path):
    fields = with_values().to_fields()
    write_file(path, {**fields, "yes_from": [1, 1, 1, 1, 2, 3]})
    with pytest.raises(FileFormatError, match='"answer" does not match the answers of the strategy'):
        Solution.load(path)


def test_a_file_is_readable_json_with_one_field_a_line(saved):
    lines = saved.read_text().splitlines()
    assert lines[1:3] == ['  "format": "foregone-strategy",', '  "version": 3,']
    assert lines[-1] == "}"
    assert len(lines) == len(json.loads(saved.read_text())) + 2


def test_a_path_may_be_text(path):
    golden_strategy().save(str(path))
    assert StoppingStrategy.load(str(path)) == golden_strategy()


def test_order_and_layout_do_not_matter(saved):
    content = json.loads(saved.read_text())
    saved.write_text(json.dumps(dict(reversed(content.items())), indent=7))
    assert StoppingStrategy.load(saved) == golden_strategy()


# Writing -------------------------------------------------------------------------------------


def test_saving_replaces_the_old_file_and_leaves_nothing_else(saved):
    another = StoppingStrategy.from_rows(2, lambda asked: np.ones(asked + 1))
    another.save(saved)
    assert StoppingStrategy.load(saved) == another
    assert names_in(saved.parent) == [saved.name]


@pytest.mark.parametrize("stage", ["fsync", "replace"])
def test_when_writing_fails_the_old_file_is_kept_and_nothing_is_left_behind(saved, monkeypatch, stage):
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(*((os, "fsync", full) if stage == "fsync" else (Path, "replace", full)))
    with pytest.raises(InvalidInputError, match=r"cannot write .*strategy\.json: No space left"):
        StoppingStrategy.from_rows(2, lambda asked: np.ones(asked + 1)).save(saved)
    assert saved.read_bytes() == before
    assert names_in(saved.parent) == [saved.name]


def test_an_interruption_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    before = saved.read_bytes()
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        golden_strategy().save(saved)
    assert saved.read_bytes() == before
    assert names_in(saved.parent) == [saved.name]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"cannot write .*nowhere.*: \w"):
        golden_strategy().save(tmp_path / "nowhere" / "strategy.json")
    assert names_in(tmp_path) == []


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(InvalidInputError, match=r"cannot write .*: \w"):
        golden_strategy().save(tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(saved):
    with pytest.raises(InvalidInputError, match=r"cannot write .*: \w"):
        golden_strategy().save(saved / "strategy.json")


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="cannot write"):
        golden_strategy().save(f"{tmp_path}/a\0b")
    with pytest.raises(FileFormatError, match="cannot read"):
        StoppingStrategy.load(f"{tmp_path}/a\0b")


def test_a_write_protected_file_is_refused(saved, monkeypatch):
    monkeypatch.setattr(os, "access", lambda target, mode: False)  # a superuser may write anything
    before = saved.read_bytes()
    with pytest.raises(InvalidInputError, match="write-protected"):
        StoppingStrategy.from_rows(2, lambda asked: np.ones(asked + 1)).save(saved)
    assert saved.read_bytes() == before


@posix
def test_a_new_file_gets_the_permissions_of_any_new_file(path):
    before = os.umask(0o027)
    try:
        golden_strategy().save(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix
def test_an_old_file_keeps_its_permissions(saved):
    saved.chmod(0o600)
    golden_strategy().save(saved)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


@posix
def test_a_link_stays_a_link_and_its_target_is_written(saved):
    link = saved.with_name("link.json")
    link.symlink_to(saved)
    another = StoppingStrategy.from_rows(2, lambda asked: np.ones(asked + 1))
    another.save(link)
    assert link.is_symlink()
    assert StoppingStrategy.load(saved) == another


def test_a_device_is_written_to_and_not_replaced():
    golden_strategy().save(os.devnull)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


# Damage --------------------------------------------------------------------------------------


def test_a_file_cut_short_anywhere_is_refused(saved, path):
    whole = saved.read_bytes()
    for length in range(len(whole) - 1):
        refused(path, whole[:length])
    path.write_bytes(whole[:-1])  # only the last line break is missing
    assert StoppingStrategy.load(path) == golden_strategy()


@pytest.mark.slow
def test_a_file_with_any_one_character_damaged_never_gives_another_strategy(saved, path):
    whole = saved.read_bytes()
    survived = 0
    for place in range(len(whole)):
        for flip in (1, 2, 8):
            damaged = bytearray(whole)
            damaged[place] ^= flip
            path.write_bytes(damaged)
            try:
                assert StoppingStrategy.load(path) == golden_strategy()
                survived += 1
            except FileFormatError:
                pass
    assert survived < 100  # white space of one kind for another


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"null", b"[]", b"7", b'"foregone-strategy"', b"{}", b'{"format": "other", "version": 1}'],
)
def test_something_else_is_not_taken_for_a_strategy_file(path, content):
    refused(path, content)


def test_pickles_are_not_opened(path):
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (path.with_name("exploded"),))

    assert "not a text file" in refused(path, pickle.dumps(Bomb()))
    refused(path, pickle.dumps(Bomb(), protocol=0))
    assert not path.with_name("exploded").exists()


def test_a_missing_file_is_named(path):
    with pytest.raises(FileFormatError, match=r"cannot read .*strategy\.json: No such file"):
        StoppingStrategy.load(path)


def test_a_folder_is_no_strategy_file(tmp_path):
    with pytest.raises(FileFormatError, match="cannot read"):
        StoppingStrategy.load(tmp_path)


def test_a_valid_file_with_other_content_than_was_written_is_refused(saved):
    text = saved.read_text()
    changed = text.replace('"lower": [-1, -1, -1, 0', '"lower": [-1, -1, 0, 0')
    assert changed != text
    assert 'field "checksum" does not match the content' in refused(saved, changed)


# Hostile fields ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", ["format", "version", "kind", "n_voters", "lower", "upper", "exceptions", "yes_from", "checksum"]
)
def test_a_missing_field_is_named(saved, key):
    content = json.loads(saved.read_text())
    del content[key]
    assert f'field "{key}"' in refused(saved, json.dumps(content))


HUGE = str(10**400)

WRONG = {
    "version": ["4", "1", "0", "-1", "1.0", "true", '"1"', "null", "[1]", "1e400", HUGE],
    "format": ['"foregone"', "1", "null", "[]"],
    "kind": ['"forest"', "1", "null"],
    "n_voters": ["0", "-5", "5.0", "true", '"5"', "null", "[5]", "{}", "1e400", HUGE],
    "lower": [
        *["null", "3", '"-1"', "{}", "[]", "[-1, -1, -1, 0, 1]"],
        *[f"[-1, -1, -1, 0, 1, {bad}]" for bad in ("true", "2.0", '"2"', "null", "[2]", HUGE)],
        *[f"[{bad}, -1, -1, 0, 1, 2]" for bad in ("-2", "0.5", "1", "1e400", "-9007199254740992")],
    ],
    "upper": [
        *["null", "[1, 2, 3, 3, 3]", "[1, 2, 3, 3, 3, 3, 3]", "[[1, 2, 3, 3, 3, 3]]"],
        *[f"[{bad}, 2, 3, 3, 3, 3]" for bad in ("2", "true", "-1", "1.0", str(2**63), str(2**64))],
        "[1, 2, 3, 3, 3, 4]",  # the last step must stop
    ],
    "exceptions": [
        *["null", "{}", "[[]]", "[3]", "[[2, 1]]", "[[2, 1, 0.5, 0]]", '["210"]'],
        *[f"[[2, 1, {bad}]]" for bad in ("0", "-0.5", "1.5", "true", '"0.5"', "null", "[]")],
        *[f"[[2, 1, {bad}]]" for bad in ("1e400", "-1e400", HUGE, "1e-400")],
        *[f"[[{bad}, 1, 0.5]]" for bad in ("2.0", "true", '"2"', "-2", "6", "99", HUGE)],
        *[f"[[2, {bad}, 0.5]]" for bad in ("1.0", "true", "-1", "3", HUGE, f"-{HUGE}")],
        "[[4, 0, 0.5]]",  # outside the band
        "[[5, 2, 0.5]]",  # the last step must stop
        "[[2, 1, 0.5], [2, 1, 0.5]]",
    ],
    "yes_from": [
        *["null", "3", '"likeliest"', '""', "{}", "[]", "[1, 1, 2, 2, 3]", "[[1, 1, 2, 2, 3, 3]]"],
        *[f"[{bad}, 1, 2, 2, 3, 3]" for bad in ("-1", "2", "true", "1.0", '"1"', "null", str(2**63), HUGE)],
        *[
            f"[1, 1, 2, 2, 3, {bad}]" for bad in ("-1", "6", "7", "true", "2.0")
        ],  # no vote could be yes, or more than all
    ],
    "checksum": ["null", "1", '""', '"0000000000000000"'],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in WRONG for value in WRONG[key]])
def test_a_field_with_a_wrong_value_is_refused_by_name(saved, key, value):
    content = json.loads(saved.read_text())
    content[key] = "PLACE"
    message = refused(saved, json.dumps(content).replace('"PLACE"', value))
    named = message.split('field "', 1)[1].split('"')[0].split("/")
    assert key in named or (key, value, named) == ("version", "1", ["yes_from"])


@pytest.mark.parametrize("n_voters", [4, 6])
def test_lists_of_another_length_than_the_number_of_voters_says_are_refused(saved, n_voters):
    text = saved.read_text().replace('"n_voters": 5', f'"n_voters": {n_voters}')
    assert f'field "lower" must have {n_voters + 1} entries, got 6' in refused(saved, text)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_none_are_refused(saved, constant):
    text = saved.read_text().replace("0.1", constant)
    assert f"{constant} is not a valid number" in refused(saved, text)


def test_a_field_given_twice_is_refused(saved):
    text = saved.read_text().replace('"n_voters": 5,', '"n_voters": 3, "n_voters": 5,')
    assert 'field "n_voters" occurs twice' in refused(saved, text)


@pytest.mark.parametrize("opening", ["[", '{"a": '])
@pytest.mark.parametrize("depth", [900, 100_000])
def test_deep_nesting_is_refused(saved, opening, depth):
    closing = "]" if opening == "[" else "}"
    nested = opening * depth + "1" + closing * depth
    refused(saved, nested)
    refused(saved, saved.read_text().replace('"kind": "strategy"', f'"kind": {nested}'))
    text = GOLDEN.read_text()
    refused(saved, text.replace('"kind": "strategy"', f'"kind": "strategy", "more": {nested}'))
    refused(saved, text.replace('"version": 3', f'"version": {nested}'))


def test_a_huge_number_of_voters_with_short_lists_takes_no_memory(saved):
    text = saved.read_text().replace('"n_voters": 5', '"n_voters": 1000000000000000')
    assert 'field "lower" must have 1000000000000001 entries, got 6' in refused(saved, text)


def test_a_hostile_file_with_a_right_checksum_is_still_refused(path):
    fields = golden_strategy().to_fields()
    write_file(path, {"kind": "strategy", **fields, "exceptions": [[4, 0, 0.5]]})
    read_file(path).check_intact()
    with pytest.raises(
        FileFormatError, match=r'field "exceptions".*between the thresholds, got state \(4, 0\)'
    ):
        StoppingStrategy.load(path)


@given(content=st.binary(max_size=60))
def test_random_bytes_are_refused(tmp_path_factory, content):
    refused(tmp_path_factory.mktemp("bytes") / "file.json", content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    key=st.sampled_from(["kind", "n_voters", "lower", "upper", "exceptions", "yes_from"]), value=json_values
)
def test_any_other_value_of_any_field_is_refused(tmp_path_factory, key, value):
    path = tmp_path_factory.mktemp("values") / "file.json"
    content = json.loads(GOLDEN.read_text())
    if content[key] == value:
        return
    refused(path, json.dumps({**content, key: value}))

"""Files of strategies on scores: exact, infinities spelled out, and never read as what they do not say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone import ScoreStrategy, StoppingStrategy
from foregone.errors import FileFormatError
from foregone.scores import ScoreCertificate
from foregone.strategy.json_file import FORMAT, VERSION, write_file
from tests.scores.test_score_strategy import score_strategies

GOLDEN = Path(__file__).parents[1] / "golden"
INF = math.inf


def golden_strategy() -> ScoreStrategy:
    """Make what the golden file holds; it was written by ``golden_strategy().save(...)`` and never anew."""
    certificate = ScoreCertificate(
        {"yes": 0.1, "no": 0.02}, 0.95, 600, {"yes": 200, "no": 400}, {"yes": 7, "no": 2}, 1.75
    )
    return ScoreStrategy.from_thresholds(
        [-INF, -1.5, -INF, 0],
        [INF, 0.1 + 0.2, INF, 0],
        order=[2, 0, 1],
        start=-1 / 3,
        certificate=certificate,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "strategy.json"


@given(strategy=st.integers(1, 6).flatmap(score_strategies))
def test_loading_gives_exactly_what_was_saved(tmp_path_factory, strategy):
    path = tmp_path_factory.mktemp("round trip") / "strategy.json"
    strategy.save(path)
    first = path.read_bytes()
    loaded = ScoreStrategy.load(path)
    assert loaded == strategy
    loaded.save(path)
    assert path.read_bytes() == first


def test_the_certificate_and_the_reason_are_saved_too(path):
    golden_strategy().save(path)
    assert ScoreStrategy.load(path).certificate == golden_strategy().certificate
    everyone = ScoreStrategy.ask_all(4, reason="too few rows")
    everyone.save(path)
    assert ScoreStrategy.load(path).reason == "too few rows"


@pytest.mark.parametrize("name", ["scores-v2.json", "scores-v3.json"])
def test_a_file_of_this_version_and_of_the_one_before_is_read_for_ever(name):
    strategy = ScoreStrategy.load(GOLDEN / name)
    assert strategy == golden_strategy()
    assert strategy.certificate == golden_strategy().certificate


def test_a_limit_on_disagreement_is_written_as_ever(path):
    golden_strategy().save(path)
    assert path.read_text() == (GOLDEN / "scores-v3.json").read_text()
    now, before = (json.loads(file.read_text()) for file in (path, GOLDEN / "scores-v2.json"))
    assert now["certificate"] == before["certificate"]
    assert now.keys() == before.keys()


def test_infinities_are_spelled_out(path):
    golden_strategy().save(path)
    content = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert content["lower"] == ["-inf", -1.5, "-inf", 0.0]
    assert content["kind"] == "scores"


def test_the_two_kinds_of_strategy_are_not_taken_for_each_other(path):
    golden_strategy().save(path)
    with pytest.raises(FileFormatError, match='"kind" is not "strategy"'):
        StoppingStrategy.load(path)
    StoppingStrategy.from_table([[1, 1], [1, 1]]).save(path)
    with pytest.raises(FileFormatError, match='"kind" is not "scores"'):
        ScoreStrategy.load(path)


def edited(**changes: object) -> dict[str, object]:
    fields = {"kind": "scores", **golden_strategy().to_fields()}
    certificate = {**fields["certificate"], **changes.pop("certificate", {})}
    return {**fields, "certificate": certificate, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lower": ["-inf", "nan", "-inf", 0]}, 'must hold only finite numbers, "inf" and "-inf"'),
        ({"lower": ["-inf", [1], "-inf", 0]}, '"lower" must hold only'),
        ({"lower": ["-inf", True, "-inf", 0]}, '"lower" must hold only'),
        ({"lower": ["-inf", -1.5, 0]}, "must have 4 entries"),
        ({"lower": ["-inf", 10**400, "-inf", 0]}, '"lower" must hold only'),
        ({"upper": ["inf", -9.0, "inf", 0]}, "lower <= upper"),
        ({"upper": ["inf", "-inf", "inf", 0]}, "lower/upper"),
        ({"upper": ["inf", 1.0, "inf", 1.0]}, "last step"),
        ({"order": [0, 0, 1]}, '"order" is not valid'),
        ({"order": [0, 1]}, "must have 3 entries"),
        ({"order": [0.0, 1.0, 2.0]}, "integers"),
        ({"start": None}, '"start" must be a finite number'),
        ({"start": "inf"}, '"start" must be a finite number'),
        ({"n_voters": 0}, '"n_voters" must be'),
        ({"reason": 3}, '"reason" must be a string'),
        ({"certificate": {"confidence": 1.0}}, "confidence"),
        ({"certificate": {"confidence": 2}}, '"confidence" must be'),
        ({"certificate": {"max_disagreement": {"yes": 0.1}}}, '"no" is missing'),
        ({"certificate": {"max_disagreement": 0.1}}, '"n_certified" must be an integer'),
        ({"certificate": {"n_wrong": {"yes": 200, "no": 2}}}, "breaks its own limit"),
        ({"certificate": {"n_wrong": {"yes": -1, "no": 2}}}, '"yes" must be an integer'),
        ({"certificate": {"n_wrong": 3}}, '"n_wrong" must be an object'),
        ({"certificate": {"mean_asked": 99}}, '"mean_asked" must be'),
        ({"certificate": {"wrong_by_class": {"yes": [1, 2]}}}, '"no" is missing'),
        ({"certificate": {"wrong_by_class": {"yes": [3, 2], "no": [0, 1]}}}, '"yes" must hold two counts'),
        ({"certificate": {"wrong_by_class": [1, 2]}}, '"wrong_by_class" must be an object'),
        ({"certificate": {"class_bounds": {"yes": 2, "no": 0}}}, '"yes" must be a finite number from 0 to 1'),
        ({"certificate": {"parts": [["all", None, 0.1, 5, 0.0, 0.1]]}}, '"parts" must hold a side, a group'),
        ({"certificate": {"parts": [["yes", None, 0.1, -1, 0.0, 0.1]]}}, '"parts" must hold a side, a group'),
        ({"certificate": {"parts": [["yes", [], 0.1, 5, 0.0, 0.1]]}}, '"parts" must hold a side, a group'),
        ({"certificate": {"parts": [["yes", "a", 0.1, 5, 0.0, 0.1]]}}, '"parts" must hold one result'),
        (
            {"certificate": {"parts": [["yes", "a", 0.1, 5, 0.0, 0.2], ["no", "a", 0.02, 5, 0.0, 0.0]]}},
            "breaks its own limit",
        ),
        ({"certificate": {"loss": "money"}}, '"loss" must be one of disagreement, accuracy, cost'),
        ({"certificate": {"loss": "accuracy"}}, '"parts" is missing'),
        ({"certificate": {"loss": "cost"}}, '"max_disagreement" must be'),
        ({"certificate": {"parts": [["yes", "a", 0.1, 5, 0.0]]}}, "must contain only lists of 6"),
        ({"certificate": {"in_clusters": 2}}, '"in_clusters" must be'),
    ],
)
def test_hostile_fields_are_refused_by_name_even_with_a_right_checksum(path, changes, message):
    write_file(path, edited(**changes))
    with pytest.raises(FileFormatError) as caught:
        ScoreStrategy.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("key", ["kind", "n_voters", "order", "start", "lower", "upper"])
def test_a_missing_field_is_named(path, key):
    fields = edited()
    del fields[key]
    write_file(path, fields)
    with pytest.raises(FileFormatError, match=f'"{key}" is missing'):
        ScoreStrategy.load(path)


def test_a_changed_digit_is_found_out(path):
    golden_strategy().save(path)
    path.write_text(path.read_text().replace("-1.5", "-1.6"))
    with pytest.raises(FileFormatError, match="damaged or edited"):
        ScoreStrategy.load(path)


@pytest.mark.parametrize(
    "content", ["", "[]", "{", "null", '{"format": "other"}', "\x00", pytest.param("[" * 100_000, id="deep")]
)
def test_files_of_something_else_are_refused(path, content):
    path.write_text(content)
    with pytest.raises(FileFormatError):
        ScoreStrategy.load(path)


def test_infinity_as_a_number_is_refused(path):
    path.write_text(f'{{"format": "{FORMAT}", "version": {VERSION}, "start": Infinity}}')
    with pytest.raises(FileFormatError, match="Infinity is not a valid number"):
        ScoreStrategy.load(path)

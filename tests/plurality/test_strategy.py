"""PluralityStrategy: a checked value with a file of its own, and what a poll needs to know."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from foregone.errors import FileFormatError, InvalidInputError
from foregone.plurality import PluralityStrategy, lattice_of, rules
from tests.plurality.strategies import plurality_strategies

GOLDEN = Path(__file__).parent.parent / "golden" / "plurality-v2.json"


@settings(max_examples=30)
@given(plurality_strategies())
def test_every_strategy_survives_its_file_and_a_copy(tmp_path_factory, strategy):
    file = tmp_path_factory.mktemp("strategy") / "s.json"
    strategy.save(file)
    again = PluralityStrategy.load(file)
    assert again == strategy
    assert hash(again) == hash(strategy)
    assert np.array_equal(again.stop_probabilities(), strategy.stop_probabilities())
    assert pickle.loads(pickle.dumps(strategy)) == copy.deepcopy(strategy) == strategy  # noqa: S301  # our own


@settings(max_examples=30)
@given(plurality_strategies())
def test_the_least_votes_to_a_stop_are_those_of_the_shortest_way(strategy):
    def shortest(counts: tuple[int, ...]) -> int:
        if strategy.stop_probability(counts) > 0:
            return 0
        places = range(min(len(counts) + 1, strategy.lattice.n_classes))
        padded = (*counts, 0)
        return 1 + min(
            shortest(tuple(count + (k == place) for k, count in enumerate(padded) if count or k == place))
            for place in places
        )

    for counts in [(), (1,), (1, 1), (2,), (2, 1)]:
        if sum(counts) <= strategy.n_voters and len(counts) <= strategy.lattice.n_classes:
            assert strategy.votes_needed_at_least(counts) == shortest(counts)


def test_a_run_answers_the_leader_that_was_cast_first():
    strategy = rules.esc(6, 6)
    assert strategy.run(["b", "a", "a", "b", "c", "d"]) == ("b", 6)
    assert rules.lead(9, 2).run(["x", 3, 3, 3]) == (3, 4)
    with pytest.raises(InvalidInputError, match="2 answers are not enough to stop: pass up to 9"):
        rules.lead(9, 2).run(["x", "y"])


def test_chance_decides_as_often_as_it_should():
    lattice = lattice_of(3)
    stop = np.zeros(lattice.n_states)
    stop[1], stop[lattice.level[-2] :] = 0.25, 1
    strategy = PluralityStrategy.from_probabilities(lattice, stop)
    generator = np.random.default_rng(0)
    asked = [strategy.run("abc", generator)[1] for _ in range(2_000)]
    assert np.mean(np.array(asked) == 1) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("kind", "strategy", 'is not "plurality"'),
        ("n_voters", 0, "must be an integer"),
        ("n_voters", 101, "must hold 1857473694 bits"),
        ("n_classes", 0, "must be an integer"),
        ("stops", "????", "bits in base64"),
        ("stops", "AAAA", "must hold 12 bits"),
        ("stops", "AAA=", "is not valid: at least one voter must be asked"),
        ("exceptions", [[1]], "lists of 2"),
        ("exceptions", [[0, 0.5]], "numbers of states"),
        ("exceptions", [[1, 1.0]], "between 0 and 1"),
        ("exceptions", [[1, 0.5], [1, 0.5]], "between 0 and 1 per state"),
        ("checksum", "0", "damaged or edited"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, field, value, message):
    file = tmp_path / "s.json"
    rules.lead(4, 4).save(file)
    content = json.loads(file.read_text())
    if field == "n_voters" and value == 101:
        content["n_classes"] = 101
    file.write_text(json.dumps({**content, field: value}))
    with pytest.raises(FileFormatError, match=message):
        PluralityStrategy.load(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stop: stop[:-1], "one stop probability for each of the 7 states"),
        (lambda stop: stop * 2, "between 0 and 1"),
        (lambda stop: stop * np.nan, "between 0 and 1"),
        (lambda stop: stop * 0, "those of the last level 1"),
        (lambda stop: np.ones(7), "the first stop probability must be 0"),
    ],
)
def test_impossible_stop_probabilities_are_refused(change, message):
    stop = rules.curtailment(3).stop_probabilities()
    with pytest.raises(InvalidInputError, match=message):
        PluralityStrategy.from_probabilities(lattice_of(3), change(stop))


def golden_strategy() -> PluralityStrategy:
    """Make what ``plurality-v2.json`` holds, which ``golden_strategy().save(...)`` wrote in version 2."""
    stop = rules.esc(7, 2, n_classes=3).stop_probabilities()
    return PluralityStrategy.from_probabilities(lattice_of(7, 3), stop)


def test_a_file_of_an_earlier_release_is_still_read():
    assert PluralityStrategy.load(GOLDEN) == golden_strategy()

"""Reading files: within a stated memory, and with one clear error for any name."""

from __future__ import annotations

import base64
import sysconfig
import tracemalloc

import numpy as np
import pytest

from foregone import EarlyStoppingClassifier, ScoreStrategy, Solution, StoppingStrategy
from foregone._system.file_reading import MEMORY, MEMORY_PER_BYTE, Memory
from foregone.cli.options import check_writable
from foregone.cli.vote_file import read_counts
from foregone.errors import FileFormatError, ForegoneError, InvalidInputError
from foregone.forest import PackedForest, PluralityForest, ScoredForest, container
from foregone.plurality import (
    CompositionDistribution,
    PluralitySolution,
    PluralityStrategy,
    rules,
    solve_plurality,
)
from foregone.polling.journal import Journal
from foregone.replaying import read_votes
from foregone.report import read_model, read_rows
from foregone.strategy.json_file import write_file

# Without the GIL, objects are larger.
MOST_PER_BYTE = MEMORY_PER_BYTE * (1.2 if sysconfig.get_config_var("Py_GIL_DISABLED") else 1)
ROWS = 20_000  # of files whose size decides what reading them takes


def peak(read, path):
    """Return the most memory that reading takes, and whether it ended well."""
    tracemalloc.start()
    try:
        read(path)
        read_it = True
    except ForegoneError:
        read_it = False
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most, read_it


def plurality_file(path, n_voters, n_classes, n_bits):
    bits = base64.b64encode(np.packbits(np.arange(n_bits) == n_bits - 1).tobytes()).decode()
    fields = {"kind": "plurality", "n_voters": n_voters, "n_classes": n_classes, "stops": bits}
    write_file(path, {**fields, "exceptions": []})
    return path


@pytest.mark.parametrize(
    ("n_voters", "n_classes", "n_bits"),
    [(16_200, 1, 16_201), (67_000_000, 2, 8), (60_000_000, 60_000_000, 8), (2**53, 1, 8), (2**53, 2**53, 8)],
)
def test_a_small_plurality_file_takes_little_memory_or_is_refused(tmp_path, n_voters, n_classes, n_bits):
    path = plurality_file(tmp_path / "strategy", n_voters, n_classes, n_bits)
    most, read_it = peak(PluralityStrategy.load, path)
    assert not read_it
    assert most < MEMORY


def test_a_strategy_that_needs_more_says_how_much_and_max_memory_allows_it(tmp_path):
    path = plurality_file(tmp_path / "strategy", 5_000, 1, 5_001)
    with pytest.raises(FileFormatError, match=r"needs 401 MB .*limit of 268 MB.*raise max_memory to 401e6"):
        PluralityStrategy.load(path)
    assert PluralityStrategy.load(path, max_memory=401e6).n_voters == 5_000


def test_a_solution_whose_evaluation_takes_more_is_refused_before_it_is_evaluated(tmp_path):
    path = tmp_path / "solution"
    distribution = CompositionDistribution.from_counts([[3, 2], [4, 1], [5, 0]])
    solution = solve_plurality(distribution, 0.05, n_voters=5, confidence=None)
    solution.save(path)
    with pytest.raises(FileFormatError, match="to evaluate its strategy"):
        PluralitySolution.load(path, max_memory=3_000)
    assert PluralitySolution.load(path).strategy == solution.strategy


def test_a_plurality_strategy_is_read_within_the_rule(tmp_path):
    path, strategy = tmp_path / "strategy", rules.lead(40, 3)
    strategy.save(path)
    most, read_it = peak(PluralityStrategy.load, path)
    assert read_it
    assert most < MEMORY_PER_BYTE * path.stat().st_size
    assert PluralityStrategy.load(path) == strategy


def test_exceptions_in_any_order_are_the_same_strategy_and_twice_is_an_error(tmp_path):
    path, lattice = tmp_path / "strategy", rules.lead(5, 2).lattice
    theta = rules.lead(5, 2).stop_probabilities()
    going_on = np.flatnonzero(theta == 0)[1:3]
    theta[going_on] = 0.25, 0.5
    strategy = PluralityStrategy.from_probabilities(lattice, theta)
    fields = {"kind": "plurality", **strategy.to_fields()}
    write_file(path, {**fields, "exceptions": fields["exceptions"][::-1]})
    assert PluralityStrategy.load(path) == strategy
    write_file(path, {**fields, "exceptions": fields["exceptions"] * 2})
    with pytest.raises(FileFormatError, match="between 0 and 1 per state"):
        PluralityStrategy.load(path)


def test_class_labels_of_a_great_width_are_refused_before_memory_is_taken(tmp_path):
    n_labels = 30_000
    fields = {
        "n_trees": 1,
        "n_features": 1,
        "takes_missing": 0,
        "takes_infinite": 0,
        "key_bits": 32,
        "classes": [["U9999", str(place)] for place in range(n_labels)],
        "category_values": None,
    }
    arrays = {
        "nodes": np.zeros(1, np.uint64),
        "tree_start": np.array([0, 1]),
        "rules": np.zeros(0, np.int64),
        "categories": np.zeros(0, np.uint32),
    }
    path = tmp_path / "forest"
    container.write(path, "plurality forest", fields, arrays)
    with pytest.raises(FileFormatError, match="MB of memory for its class labels"):
        PluralityForest.load(path)
    most, _ = peak(PluralityForest.load, path)
    assert most < MEMORY_PER_BYTE * path.stat().st_size


CONTENTS = {
    "objects": '{"format":"foregone-strategy","version":2,"x":[' + ",".join(['{"":[]}'] * ROWS) + "]}",
    "lists": '{"format":"foregone-strategy","version":2,"x":[' + ",".join(["[[[[]]]]"] * ROWS) + "]}",
    "a wide letter": '{"format":"foregone-strategy","version":2,"x":["\U00010000"' + ",[[]]" * ROWS + "]}",
    "counts": "1\n" * ROWS,
    "pairs": "".join(f"{n},1\n" for n in range(ROWS)),
    "votes": "item,draw,answer,tokens\n" + "".join(f"{n:x},0,a,1\n" for n in range(ROWS)),
    "short votes": "item,draw,answer,tokens\n" + "".join(f"{chr(19968 + n)},0,a,1\n" for n in range(ROWS)),
    "columns": ",".join(f"{n:x}" for n in range(ROWS)),
}
READERS = (StoppingStrategy.load, ScoreStrategy.load, PluralityStrategy.load, read_counts, read_votes)


@pytest.mark.slow
@pytest.mark.parametrize("content", CONTENTS)
def test_no_content_takes_more_memory_than_its_size_allows(tmp_path, content):
    path = tmp_path / "file"
    path.write_text(CONTENTS[content], encoding="utf-8")
    for read in READERS:
        read_it_once = peak(read, path)  # what is imported on the way does not count
        assert peak(read, path)[0] < MOST_PER_BYTE * path.stat().st_size, (read, read_it_once)


@pytest.mark.slow
def test_a_small_parquet_file_of_very_many_votes_asks_first(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="needs the extra 'replay'")
    from pyarrow import parquet

    path, n = tmp_path / "votes.parquet", 1_000_000
    answer = pa.DictionaryArray.from_arrays(np.zeros(n, np.int8), ["yes"])
    parquet.write_table(pa.table({"item": answer, "draw": np.zeros(n, np.int8), "answer": answer}), path)
    assert path.stat().st_size < 10_000
    with pytest.raises(FileFormatError, match="needs 800 MB of memory for its 1,000,000 rows"):
        read_votes(path)
    with pytest.raises(FileFormatError, match="occurs twice"):
        read_votes(path, max_memory=1e9)


def test_what_is_taken_adds_up():
    memory = Memory("x", 100)
    memory.take(60, "for this")
    memory.take(40, "for that")
    with pytest.raises(FileFormatError, match="x: needs 1 MB of memory for more"):
        memory.take(1, "for more")


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_a_max_memory_that_is_no_number_of_bytes_is_refused(bad):
    with pytest.raises(InvalidInputError, match="max_memory must be a positive number of bytes"):
        Memory("x", bad)


# Names ---------------------------------------------------------------------------------------

NAMES = {"nul": "a\0b", "lone surrogate": "a\ud800b", "too long": "a" * 5000, "missing": "missing/file"}
OPENED = {
    "StoppingStrategy": StoppingStrategy.load,
    "PluralityStrategy": PluralityStrategy.load,
    "ScoreStrategy": ScoreStrategy.load,
    "Solution": Solution.load,
    "PluralitySolution": PluralitySolution.load,
    "PackedForest": PackedForest.load,
    "PluralityForest": PluralityForest.load,
    "ScoredForest": ScoredForest.load,
    "classifier": EarlyStoppingClassifier.load,
    "counts": read_counts,
    "votes": read_votes,
    "model": read_model,
    "pickle": lambda path: read_model(path.with_name(f"{path.name}.pkl")),
    "rows": read_rows,
    "ranger": PackedForest.from_ranger,
    "spark": lambda path: PackedForest.from_spark(path, classes=(0, 1)),
    "journal": lambda path: Journal(path, {}, lambda vote: vote),
    "to be written": check_writable,
    "strategy to be written": lambda path: rules.lead(3, 1).save(path),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("opened", OPENED)
def test_a_name_that_no_file_can_have_is_a_clear_error(tmp_path, opened, name):
    with pytest.raises(ForegoneError):
        OPENED[opened](tmp_path / NAMES[name])


@pytest.mark.parametrize("opened", [name for name in OPENED if name not in ("rows", "spark")])
def test_a_folder_instead_of_a_file_is_a_clear_error(tmp_path, opened):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "folder.pkl").mkdir()
    with pytest.raises(ForegoneError):
        OPENED[opened](folder)

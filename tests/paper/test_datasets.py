from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foregone.errors import ForegoneError, InvalidInputError
from paper import datasets
from paper.known_datasets import KNOWN, check_names

FRAME = pd.DataFrame(
    {
        "size": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
        "colour": ["red", "blue", "?", "red", "green", "blue"],
        "kind": pd.Categorical(["b", "a", "b", None, "a", "a"]),
        "flag": [True, False, True, False, True, False],
        "target": ["x", "y", "y", "z", "y", "x"],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "local").mkdir()
    return tmp_path / "local"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep downloads of a test to itself, and let none come from the network."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.delenv("FOREGONE_DATA", raising=False)

    def no_network(identifier: int) -> None:
        raise OSError(f"no way to {identifier}\nand more")

    monkeypatch.setattr(datasets, "_from_uci", no_network)
    monkeypatch.setattr(datasets, "_from_openml", no_network)


def test_there_are_eight_uci_sets_and_nineteen_benchmark_sets() -> None:
    groups = [known.group for known in KNOWN.values()]
    assert (groups.count("uci"), groups.count("benchmark")) == (8, 19)
    assert len({(known.group, known.identifier) for known in KNOWN.values()}) == 27


def test_names_come_in_the_papers_order_each_once() -> None:
    assert check_names(["wine", " skin", "income", "wine"]) == ["income", "skin", "wine"]


@pytest.mark.parametrize("names", [["skn"], [""], []])
def test_an_unknown_name_is_answered_with_all_names(names: list[str]) -> None:
    with pytest.raises(InvalidInputError, match=r"ground_cover, income, .*, compass$"):
        check_names(names)


def test_columns_become_numbers_and_all_classes_but_the_largest_are_merged(folder: Path) -> None:
    file = folder / "skin.parquet"
    FRAME.to_parquet(file)
    found = datasets.read(file)
    assert found.classes == 3
    assert found.y.tolist() == [0, 1, 1, 0, 1, 0]
    assert found.X.dtype == np.float32
    # Codes follow the sorted values: ? < blue < green < red; a missing value is -1.
    assert found.X.T.tolist() == [
        [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
        [3, 1, 0, 3, 2, 1],
        [1, 0, 1, -1, 0, 0],
        [1, 0, 1, 0, 1, 0],
    ]


def test_of_classes_equally_large_the_first_in_order_is_yes(folder: Path) -> None:
    file = folder / "skin.parquet"
    pd.DataFrame({"a": [1, 2, 3, 4], "target": [7, 3, 7, 3]}).to_parquet(file)
    assert datasets.read(file).y.tolist() == [0, 1, 0, 1]


def test_the_fingerprint_is_of_the_rows_not_of_the_file(folder: Path) -> None:
    FRAME.to_parquet(folder / "a.parquet")
    FRAME.to_parquet(folder / "b.parquet", compression="gzip")
    FRAME.assign(size=FRAME["size"] + [0, 0, 0, 0, 0, 1]).to_parquet(folder / "c.parquet")
    a, b, c = (datasets.read(folder / f"{name}.parquet").fingerprint() for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("write", "complaint"),
    [
        (lambda file: file.write_bytes(b"PAR1 nonsense"), "cannot be read as parquet"),
        (lambda file: FRAME.drop(columns="target").to_parquet(file), "no column 'target'"),
        (lambda file: FRAME[["target"]].to_parquet(file), "one feature"),
        (lambda file: FRAME.assign(target=1).to_parquet(file), "two classes"),
        (lambda file: FRAME.iloc[:0].to_parquet(file), "two classes"),
        (lambda file: FRAME.assign(size=1e300).to_parquet(file), "infinite"),
    ],
)
def test_a_file_that_is_no_dataset_says_why(
    folder: Path, write: Callable[[Path], object], complaint: str
) -> None:
    file = folder / "skin.parquet"
    write(file)
    with np.errstate(over="ignore"), pytest.raises(ForegoneError, match=complaint):
        datasets.read(file)


def test_the_file_of_the_name_itself_comes_before_variants(folder: Path) -> None:
    for name in ("skin.parquet", "skin_sample.parquet", "skin-2.parquet"):
        FRAME.to_parquet(folder / name)
    assert datasets.obtain("skin", folder).name == "skin.parquet"


def test_a_variant_is_found_and_named_as_one(folder: Path) -> None:
    FRAME.to_parquet(folder / "covertype_44159_rebuilt.parquet")
    file = datasets.obtain("covertype", folder)
    facts = datasets.facts("covertype", file, datasets.read(file), folder)
    assert facts.origin == "covertype_44159_rebuilt.parquet"
    assert facts.note == (
        "a variant of the set, from the file covertype_44159_rebuilt.parquet; 6 rows rather than 423,680; "
        "4 features rather than 54; 3 classes rather than 2"
    )


def test_two_variants_are_not_guessed_between(folder: Path) -> None:
    for name in ("skin_a.parquet", "skin_b.parquet"):
        FRAME.to_parquet(folder / name)
    with pytest.raises(ForegoneError, match=r"skin_a\.parquet, skin_b\.parquet.*skin\.parquet"):
        datasets.obtain("skin", folder)


def test_a_name_that_another_begins_with_is_not_taken_for_it(folder: Path) -> None:
    FRAME.to_parquet(folder / "polish.parquet")
    FRAME.to_parquet(folder / "wines.parquet")
    for name in ("pol", "wine"):
        with pytest.raises(ForegoneError, match="no local file"):
            datasets.obtain(name, folder)


@pytest.mark.parametrize(
    ("name", "source", "origin"), [("skin", "_from_uci", "UCI 229"), ("wine", "_from_openml", "OpenML 44091")]
)
def test_what_is_not_there_is_fetched_once_and_kept(
    name: str, source: str, origin: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    asked: list[int] = []

    def fetch(identifier: int) -> tuple[pd.DataFrame, pd.Series]:
        asked.append(identifier)
        return FRAME.drop(columns="target"), FRAME["target"]

    monkeypatch.setattr(datasets, source, fetch)
    FRAME.to_parquet(folder / "local.parquet")
    expected = datasets.read(folder / "local.parquet")
    for _ in range(2):
        file = datasets.obtain(name, folder)
        found = datasets.read(file)
        assert found.fingerprint() == expected.fingerprint()
        assert datasets.facts(name, file, found, folder).origin == origin
    assert asked == [KNOWN[name].identifier]
    assert [path.name for path in file.parent.iterdir()] == [f"{name}.parquet"]


@pytest.mark.parametrize(("name", "number"), [("skin", "UCI 229"), ("wine", "OpenML 44091")])
def test_what_cannot_be_fetched_says_why_in_one_line(name: str, number: str) -> None:
    with pytest.raises(ForegoneError) as error:
        datasets.obtain(name, None)
    identifier = number.split()[1]
    assert str(error.value) == (
        f"there is no local file, and {number} cannot be fetched: no way to {identifier}"
    )


def test_the_data_folder_is_the_given_one_or_that_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert datasets.check_folder(None) is None
    monkeypatch.setenv("FOREGONE_DATA", str(folder))
    assert datasets.check_folder(None) == folder
    assert datasets.check_folder(folder.parent) == folder.parent
    with pytest.raises(InvalidInputError, match="does not exist"):
        datasets.check_folder(folder / "missing")

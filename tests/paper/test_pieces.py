from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foregone.errors import InvalidInputError
from paper.pieces import PieceStore

INPUTS = {"kind": "votes", "dataset": "skin", "repeat": 3, "seed": 0}
CONTENT = {"counts": [1, 2, 3], "share": 0.1, "name": "skin"}
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(inputs=st.dictionaries(st.text(), plain, max_size=3), content=st.dictionaries(st.text(), plain))
def test_what_is_saved_is_found_again_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, inputs: dict, content: dict
) -> None:
    store = PieceStore(tmp_path_factory.getbasetemp() / "pieces")
    store.save(inputs, content)
    assert store.load(inputs, dict) == content


def test_a_piece_that_foregone_paper_made_is_found(tmp_path: Path) -> None:
    (tmp_path / "votes-skin-3-775a9fdfbd0dd8099a41.json").write_text(
        '{"checksum":"b78933b7e16d6eb1920291d3e1950878510d38b3e60dc76c2241eb51d58f67a0",'
        '"content":{"counts":[1,2,3],"name":"skin","share":0.1},"format":"foregone paper piece 1",'
        '"inputs":{"dataset":"skin","kind":"votes","repeat":3,"seed":0}}\n'
    )
    assert PieceStore(tmp_path).load(INPUTS, dict) == CONTENT


def test_other_inputs_are_another_piece(tmp_path: Path) -> None:
    store = PieceStore(tmp_path)
    store.save(INPUTS, CONTENT)
    for other in ({**INPUTS, "seed": 1}, {**INPUTS, "more": None}, {**INPUTS, "repeat": "3"}):
        assert store.load(other, dict) is None
    assert store.path(INPUTS).name.startswith("votes-skin-3-")


def test_a_file_damaged_anywhere_is_noticed_and_said(tmp_path: Path) -> None:
    store = PieceStore(tmp_path)
    store.save(INPUTS, CONTENT)
    file = store.path(INPUTS)
    whole = file.read_bytes()
    for place in range(len(whole) - 1):  # the last byte is the end of the line
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        said: list[str] = []
        assert store.load(INPUTS, dict, said.append) is None
        assert len(said) == 1
        assert "made again" in said[0]
    for damaged in (b"", whole[: len(whole) // 2], b"[]", b"{}", b"[" * 100_000):
        file.write_bytes(damaged)
        assert store.load(INPUTS, dict) is None
    store.save(INPUTS, CONTENT)
    assert file.read_bytes() == whole


def test_a_piece_under_anothers_name_is_not_taken_for_it(tmp_path: Path) -> None:
    store = PieceStore(tmp_path)
    other = {**INPUTS, "seed": 1}
    store.save(other, CONTENT)
    store.path(other).replace(store.path(INPUTS))
    said: list[str] = []
    assert store.load(INPUTS, dict, said.append) is None
    assert "of another kind" in said[0]


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot make the folder"):
        PieceStore(tmp_path / "file").save(INPUTS, CONTENT)


def test_a_piece_that_no_record_can_be_made_of_is_made_again(tmp_path: Path) -> None:
    store, said = PieceStore(tmp_path), []
    store.save(INPUTS, {"other": 1})
    assert store.load(INPUTS, lambda content: content["rows"], said.append) is None
    assert said == [f"the piece {store.path(INPUTS).name} is damaged: it is made again"]

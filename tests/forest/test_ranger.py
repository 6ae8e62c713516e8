"""Forests of R's ranger, read from an export: every tree says what it says in ranger, on recorded rows.

The forests and what ranger 0.14 says of them come from tests/golden/make_ranger_forest.R.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, ScoredForest

FOLDER = Path(__file__).parent.parent / "golden" / "ranger-forest"


def said(name):
    """Rows as a caller has them, what every tree says of them, and the forest."""
    content = json.loads((FOLDER / f"{name}-predictions.json").read_text())
    rows = [
        [value if value.isalpha() and value != "Inf" else float(value) for value in row]
        for row in content["rows"]
    ]
    return rows, np.array(content["every_tree"], np.float64), content["forest"]


@pytest.mark.parametrize("name", ["votes", "ordered-factor"])
def test_every_tree_votes_as_in_ranger(name):
    rows, every_tree, answers = said(name)
    forest = PackedForest.from_ranger(FOLDER / f"{name}.json")
    assert forest.classes.tolist() == ["healthy", "sick"]
    votes = forest.vote_matrix(rows)
    assert votes.tolist() == (every_tree == 2).tolist()
    assert forest.classes[(2 * forest.votes(rows) > forest.n_trees).astype(int)].tolist() == answers
    assert 0 < votes.mean() < 1


def test_classes_that_are_numbers_are_kept_as_numbers():
    rows, every_tree, answers = said("numbered-classes")
    forest = PackedForest.from_ranger(FOLDER / "numbered-classes.json")
    assert forest.classes.tolist() == [0.0, 1.0]
    assert forest.vote_matrix(rows).tolist() == (every_tree == 1).tolist()
    full = forest.classes[(2 * forest.votes(rows) > forest.n_trees).astype(int)]
    assert full.tolist() == [float(answer) for answer in answers]


def test_a_probability_forest_averages_as_in_ranger_and_votes_by_the_larger_share():
    rows, every_tree, answers = said("shares")
    path = FOLDER / "shares.json"
    scored, packed = ScoredForest.from_ranger(path), PackedForest.from_ranger(path)
    np.testing.assert_allclose(scored.scores(rows) + 0.5, every_tree, rtol=0, atol=1e-16)
    mean = scored.full_scores(rows) / scored.n_trees + 0.5
    np.testing.assert_allclose(mean, np.array(answers, np.float64), rtol=0, atol=1e-15)
    assert packed.vote_matrix(rows).tolist() == (every_tree > 0.5).tolist()


def test_gaps_and_unknown_levels_are_refused():
    forest = PackedForest.from_ranger(FOLDER / "ordered-factor.json")
    for row in ([np.nan, 0.0, "L"], [0.0, 0.0, "XXL"], [0.0, 0.0, None]):
        with pytest.raises(InvalidInputError, match="contains NaN"):
            forest.votes([row])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unordered-factor", "unordered factor 'size' into sets"),
        ("regression", "for regression"),
        ("four-classes", "the forest has 4"),
    ],
)
def test_other_forests_are_refused_by_name(name, message):
    with pytest.raises(InvalidInputError, match=f"{name}.json: .*{message}"):
        PackedForest.from_ranger(FOLDER / f"{name}.json")


def put(*keys_and_value):
    *keys, last, value = keys_and_value

    def change(content):
        for key in keys:
            content = content[key]
        content[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("split.values"), "'split.values' is missing"),
        (put("split.values", 0, 0, 0.123456789012345), "texts of 17 digits"),
        (put("split.values", 0, 0, "one"), "could not convert"),
        (put("split.values", 0, -1, "3"), "a class that is none"),
        (put("split.varIDs", 0, 0, "2"), "a column that is none"),
        (put("split.varIDs", 0, 0, "-1"), "a column that is none"),
        (put("split.varIDs", 0, 0, "0.5"), "not whole"),
        (put("split.varIDs", 0, 0, "nan"), "damaged"),
        (put("child.nodeIDs", 0, 0, 0, "2"), "do not form a tree"),
        (put("child.nodeIDs", 0, 0, 0, "1e300"), "damaged"),
        (put("child.nodeIDs", 0, 0, ["1"]), "differ in length"),
        (put("num.trees", ["6"]), "num.trees"),
        (put("class.values", ["2", "3"]), "numbers of the levels"),
        (put("is.ordered", [True]), "damaged"),
        (put("treetype", 7), "not a text"),
        (put("covariate.levels", {"other": ["x"]}), "covariate.levels"),
    ],
)
def test_damaged_exports_are_refused_by_name(change, message, tmp_path):
    content = json.loads((FOLDER / "votes.json").read_text())
    change(content)
    path = tmp_path / "forest.json"
    path.write_text(json.dumps(content))
    for kind in (PackedForest, ScoredForest):
        with pytest.raises(FileFormatError, match=f"forest.json: .*{message}"):
            kind.from_ranger(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', "[" * 100_000])
def test_other_files_are_refused(text, tmp_path):
    (tmp_path / "file").write_text(text)
    with pytest.raises(FileFormatError, match=r"not an export|not a JSON file"):
        PackedForest.from_ranger(tmp_path / "file")
    with pytest.raises(FileFormatError, match="cannot read"):
        PackedForest.from_ranger(tmp_path / "none")


def test_the_docs_have_the_lines_that_wrote_these_exports():
    script = (FOLDER.parent / "make_ranger_forest.R").read_text()
    lines = script[script.index("export_forest <- ") : script.index("# ---\n")]
    docs = FOLDER.parent.parent.parent / "docs" / "forests_from_elsewhere.md"
    assert lines.strip() in docs.read_text()

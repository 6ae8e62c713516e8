"""Forests of R's ranger, read from an export: every tree says what it says in ranger, on recorded rows.

The forests and what ranger 0.14 says of them come from tests/golden/make_ranger_forest.R.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from foregone.errors import FileFormatError, InvalidInputError
from foregone.forest import PackedForest, PluralityForest, ScoredForest
from foregone.forest.importers.ranger import import_model
from foregone.plurality import rules
from tests.forest.slow_class_scores import assert_packs_the_same, class_scores, class_sums, class_votes

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
    ],
)
def test_other_forests_are_refused_by_name(name, message):
    with pytest.raises(InvalidInputError, match=f"{name}.json: .*{message}"):
        PackedForest.from_ranger(FOLDER / f"{name}.json")


# Many classes --------------------------------------------------------------------------------


def leaf_reached(content, tree, row):
    """The leaf that a row reaches, read off an export of columns that are numbers: as ranger walks."""
    left, right = content["child.nodeIDs"][tree]
    node = 0
    while left[node] != "0":
        value = row[int(content["split.varIDs"][tree][node])]
        goes_left = value <= float(content["split.values"][tree][node])
        node = int((left if goes_left else right)[node])
    return node


def grown_export(rng, kind, values, levels=None, n_trees=9):
    """An export of random trees of two columns, laid out as ranger's are."""
    content = {
        "num.trees": [str(n_trees)],
        "child.nodeIDs": [],
        "split.varIDs": [],
        "split.values": [],
        "is.ordered": [True, True],
        "class.values": [f"{value:.17g}" for value in values],
        "independent.variable.names": ["a", "b"],
        "treetype": [kind],
        "terminal.class.counts": [],
    }
    if levels:
        content["levels"] = levels
    for _ in range(n_trees):
        left, right, n_nodes = [], [], 1
        while len(left) < n_nodes:
            splits = n_nodes < 12 and (rng.random() < 0.7 or n_nodes == 1)
            left.append(n_nodes if splits else 0)
            right.append(n_nodes + 1 if splits else 0)
            n_nodes += 2 * splits
        split = [rng.normal() if child else rng.choice(values) for child in left]
        shares = rng.dirichlet(np.full(len(values), 0.5), n_nodes)
        texts = [[f"{share:.17g}" for share in line] for line in shares]
        content["child.nodeIDs"].append([[str(child) for child in side] for side in (left, right)])
        content["split.varIDs"].append([str(rng.integers(2)) for _ in left])
        content["split.values"].append([f"{value:.17g}" for value in split])
        content["terminal.class.counts"].append(
            [[] if child else line for child, line in zip(left, texts, strict=True)]
        )
    return content


def rows_on_splits(content, rng, n_rows=80):
    splits = [float(text) for texts in content["split.values"] for text in texts]
    rows = rng.normal(size=(n_rows, 2))
    on = rng.choice(splits, (n_rows, 2))
    near = np.choose(rng.integers(0, 3, rows.shape), [on, np.nextafter(on, 9), np.nextafter(on, -9)])
    rows = np.where(rng.random(rows.shape) < 0.5, rows, near)
    rows[:2] = [[np.inf, -np.inf], [-np.inf, np.inf]]
    return rows


def test_four_classes_that_ranger_grew_vote_as_their_export_says():
    content = json.loads((FOLDER / "four-classes.json").read_text())
    rows = rows_on_splits(content, np.random.default_rng(0))
    forest = PluralityForest.from_ranger(FOLDER / "four-classes.json")
    assert forest.classes.tolist() == ["L", "M", "S", "XL"]
    said = [
        [content["split.values"][tree][leaf_reached(content, tree, row)] for tree in (0, 1)] for row in rows
    ]
    votes = forest.vote_matrix(rows)
    assert votes.tolist() == [[int(value) - 1 for value in line] for line in said]
    assert len(np.unique(votes)) == 4
    found = import_model(FOLDER / "four-classes.json")
    assert class_sums(found, rows).tolist() == forest.votes(rows).tolist()
    assert class_votes(found, rows).tolist() == votes.tolist()
    assert found.link.scale == 0.5
    assert_packs_the_same(found, rows)


@pytest.mark.parametrize("levels", [True, False])
@pytest.mark.parametrize("n_classes", [3, 26, 100])
def test_classification_forests_of_many_classes_add_up_their_votes(n_classes, levels, tmp_path):
    rng = np.random.default_rng(n_classes)
    numbers = np.arange(n_classes) + 1.0 if levels else np.arange(n_classes) * 2.5 - 7
    names = [f"class {number:03}" for number in range(n_classes)] if levels else None
    content = grown_export(rng, "Classification", rng.permutation(numbers), names)
    (tmp_path / "forest.json").write_text(json.dumps(content))
    rows = rows_on_splits(content, rng)
    found = import_model(tmp_path / "forest.json")
    assert found.classes.tolist() == (names or numbers.tolist())
    expected = [
        [numbers.tolist().index(float(content["split.values"][tree][leaf_reached(content, tree, row)]))
         for tree in range(9)]
        for row in rows
    ]  # fmt: skip
    assert class_votes(found, rows).tolist() == expected
    assert_packs_the_same(found, rows)
    assert class_scores(found, rows).tolist() == np.eye(n_classes)[expected].tolist()
    forest = PluralityForest.from_ranger(tmp_path / "forest.json")
    assert forest.vote_matrix(rows).tolist() == expected
    assert forest.votes(rows).tolist() == class_sums(found, rows).tolist()
    strategy = rules.lead(9, 3)
    outcome = np.array(forest.run(rows, strategy, seed=1))
    assert np.array([forest.run_one(row, strategy, seed=1) for row in rows]).T.tolist() == outcome.tolist()


@pytest.mark.parametrize("n_classes", [3, 26])
def test_probability_forests_of_many_classes_add_up_the_shares_of_their_leaves(n_classes, tmp_path):
    rng = np.random.default_rng(n_classes)
    values = rng.permutation(n_classes) + 1.0
    names = [f"class {number:03}" for number in range(n_classes)]
    content = grown_export(rng, "Probability estimation", values, names)
    (tmp_path / "forest.json").write_text(json.dumps(content))
    rows = rows_on_splits(content, rng)
    found = import_model(tmp_path / "forest.json")
    shares = np.array(
        [
            [content["terminal.class.counts"][tree][leaf_reached(content, tree, row)] for tree in range(9)]
            for row in rows
        ],
        np.float64,
    )[:, :, np.argsort(values)]
    np.testing.assert_array_equal(class_scores(found, rows), shares)
    sums = np.zeros((len(rows), n_classes))
    for tree in range(9):
        sums += shares[:, tree]
    np.testing.assert_array_equal(class_sums(found, rows), sums)
    np.testing.assert_allclose(found.link.probability(sums), sums / 9, rtol=1e-15)
    assert_packs_the_same(found, rows)
    forest = PluralityForest.from_ranger(tmp_path / "forest.json")
    assert forest.vote_matrix(rows).tolist() == shares.argmax(axis=2).tolist()


def test_trees_whose_scores_would_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("foregone.forest.importers.votes_as_scores.MEMORY", 100)
    with pytest.raises(InvalidInputError, match="nodes and 4 classes is too large"):
        PluralityForest.from_ranger(FOLDER / "four-classes.json")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda content: content.update({"class.values": ["3", "4", "2"]}), FileFormatError, "match the le"),
        (lambda content: content.update(levels=["L", "M", "S", "S"]), FileFormatError, "not unique"),
        (lambda content: content.update(levels=["L"]), InvalidInputError, "the forest has 1"),
        (
            lambda content: content["split.values"][0].__setitem__(-1, "5"),
            FileFormatError,
            "unknown class",
        ),
    ],
)
def test_damaged_exports_of_many_classes_are_refused_by_name(change, error, message, tmp_path):
    content = json.loads((FOLDER / "four-classes.json").read_text())
    change(content)
    (tmp_path / "forest.json").write_text(json.dumps(content))
    with pytest.raises(error, match=f"forest.json: .*{message}"):
        PluralityForest.from_ranger(tmp_path / "forest.json")


def test_shares_that_are_not_those_of_the_classes_are_refused(tmp_path):
    content = grown_export(np.random.default_rng(0), "Probability estimation", [1.0, 2.0, 3.0], list("abc"))
    listed = content["terminal.class.counts"][0]
    place = next(place for place, shares in enumerate(listed) if shares)
    for wrong in (["0.5", "0.5"], ["0.5", "nan", "0.5"], ["1", "-1", "1"]):
        listed[place] = wrong
        (tmp_path / "forest.json").write_text(json.dumps(content))
        with pytest.raises(FileFormatError, match=r"forest.json: damaged"):
            PluralityForest.from_ranger(tmp_path / "forest.json")


def test_votes_between_two_classes_are_refused_of_a_forest_of_four():
    with pytest.raises(InvalidInputError, match="expected a model of two classes, got 4"):
        PackedForest.from_ranger(FOLDER / "four-classes.json")


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
        (put("split.values", 0, -1, "3"), "an unknown class"),
        (put("split.varIDs", 0, 0, "2"), "an unknown column"),
        (put("split.varIDs", 0, 0, "-1"), "an unknown column"),
        (put("split.varIDs", 0, 0, "0.5"), "not an integer"),
        (put("split.varIDs", 0, 0, "nan"), "damaged"),
        (put("child.nodeIDs", 0, 0, 0, "2"), "do not form a tree"),
        (put("child.nodeIDs", 0, 0, 0, "1e300"), "damaged"),
        (put("child.nodeIDs", 0, 0, ["1"]), "differ in length"),
        (put("num.trees", ["6"]), "num.trees"),
        (put("class.values", ["2", "3"]), "match the levels"),
        (put("is.ordered", [True]), "damaged"),
        (put("treetype", 7), "expected a text"),
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


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', pytest.param("[" * 100_000, id="deep")])
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

import csv
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper import published, tables
from paper.results import Results, Structure
from tests.paper.samples import sample_results

CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8)


@pytest.fixture(scope="module")
def results():
    return sample_results()


def read(file):
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def cells(file):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in file.read_text("utf-8").splitlines()]


def test_table_3_has_the_papers_columns_in_shares(results, tmp_path):
    table, shown = tables.table3(results, tmp_path)
    assert table.read_text().splitlines()[0] == (
        "dataset,disagreement_rate,expected_runtime,base_error_rate,error_rate"
    )
    rows = read(table)
    assert [row["dataset"] for row in rows] == ["skin", "dota2"]  # not the benchmark's
    measure = results.measure("dota2", "minimean_calibrated", 1e-3)
    assert float(rows[1]["expected_runtime"]) == pytest.approx(measure.expected_runtime, abs=1e-6)
    assert float(rows[1]["disagreement_rate"]) == pytest.approx(measure.disagreement, abs=1e-6)
    assert float(rows[1]["base_error_rate"]) == pytest.approx(measure.base_error, abs=1e-6)
    assert float(rows[1]["error_rate"]) == pytest.approx(measure.error, abs=1e-6)
    assert all(0 <= float(row[column]) <= 1 for row in rows for column in list(row)[1:])
    assert cells(shown)[2][0] == "Skin"


def test_the_papers_numbers_stand_beside_ours_only_for_as_many_voters(results, tmp_path):
    of_eleven = cells(tables.table3(results, tmp_path)[1])
    assert of_eleven[2][2::2] == ["", "", "", ""]
    settings = replace(results.settings, n_voters=published.N_VOTERS)
    as_paper = cells(tables.table3(replace(results, settings=settings), tmp_path)[1])
    assert as_paper[2][2::2] == ["0.10 %", "1.15 %", "0.04 %", "0.12 %"]


def test_the_benchmark_has_a_summary_of_its_own(results, tmp_path):
    table, _ = tables.benchmark_summary(results, tmp_path)
    assert [row["dataset"] for row in read(table)] == ["rl"]


def test_table_2_names_what_differs(results, tmp_path):
    table, shown = tables.table2(results, tmp_path)
    assert [int(row["features"]) - int(row["paper_features"]) for row in read(table)] == [0, 1, 0]
    assert cells(shown)[3][3] == "116 (paper 115)"


def test_supplementary_table_1_averages_the_repeats(results, tmp_path):
    first, second = results.roundings["rl"]
    changed = {
        **results.roundings,
        "rl": (replace(first, tree_certainty=0.5), replace(second, tree_certainty=1.0)),
    }
    table, _ = tables.tables1(replace(results, roundings=changed), tmp_path)
    assert float(read(table)[2]["tree_certainty"]) == 0.75


def test_the_shape_of_envelopes_is_counted_by_parity(tmp_path):
    structures = (
        Structure("minimax", 11, 0.1, 0, 3, (0, 1, 3), False, True, False),
        Structure("minimax", 13, 0.1, 2, 2, (2, 2), True, True, True),
        Structure("minimax", 12, 0.1, 2, 2, (2, 5), False, False, False),
    )
    table, shown = tables.envelope_structure(Results(structures=structures), tmp_path)
    assert [row["randomised_asked"] for row in read(table)] == ["0 1 3", "2 2", "2 5"]
    assert cells(shown)[2:] == [
        ["minimax", "odd", "2", "2", "1", "1", "1"],
        ["minimax", "even", "1", "0", "1", "0", "0"],
    ]


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=4))
def test_a_table_has_as_many_cells_in_every_line_whatever_they_hold(rows):
    lines = tables.markdown_table(("dataset", "one", "two"), rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert all(line.count("|") - line.count("\\|") == 4 for line in lines)

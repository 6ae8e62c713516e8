import importlib
import itertools

import matplotlib
import numpy as np
import pytest

from paper.figures import fig5, performance
from paper.figures.looks import look_of
from paper.results import APPROACHES, Results
from tests.paper.samples import sample_results

FIGURES = ("fig1", "fig2", "fig3", "fig4", "fig5", "figs1", "figs2")


@pytest.fixture(scope="module")
def results():
    return sample_results()


def draw(name, results, folder):
    folder.mkdir(exist_ok=True)
    return importlib.import_module(f"paper.figures.{name}").draw(results, folder)


@pytest.mark.parametrize("name", FIGURES)
def test_drawn_again_under_another_style_a_figure_has_the_same_bytes(name, results, tmp_path):
    files = draw(name, results, tmp_path / "first")
    with matplotlib.rc_context(
        {"font.size": 31, "savefig.dpi": 37, "svg.hashsalt": "another", "axes.grid": False}
    ):
        chosen = dict(matplotlib.rcParams)
        again = draw(name, results, tmp_path / "second")
        assert dict(matplotlib.rcParams) == chosen
    assert sorted(file.suffix for file in files) == [".png", ".svg"]
    assert [file.name for file in files] == [file.name for file in again]
    for file, other in zip(files, again, strict=True):
        assert file.read_bytes() == other.read_bytes()


def test_a_figure_bears_no_date(tmp_path):
    png, svg = draw("fig1", Results(), tmp_path)
    assert b"dc:date" not in svg.read_bytes()
    assert b"tEXt" not in png.read_bytes()
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["fig3", "fig4", "fig5", "figs1", "figs2"])
def test_without_data_nothing_is_drawn(name, tmp_path):
    assert draw(name, Results(), tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_full_page_is_followed_by_another_and_pages_of_an_earlier_run_go(tmp_path, monkeypatch):
    monkeypatch.setattr(performance, "ROWS", 1)
    names = [file.name for file in draw("figs2", sample_results(3, 1, ("wine", "rl")), tmp_path)]
    assert names == ["figS2_1.png", "figS2_1.svg", "figS2_2.png", "figS2_2.svg"]
    draw("figs2", sample_results(3, 1, ("rl",)), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["figS2_1.png", "figS2_1.svg"]


def test_every_approach_can_be_told_apart_without_colour():
    looks = [look_of(approach) for approach in APPROACHES]
    assert len({(look.marker, look.filled) for look in looks}) == len(APPROACHES)


def test_criteria_keep_their_colour_and_votes_their_dashes():
    for one, other in itertools.combinations(APPROACHES, 2):
        assert (look_of(one).colour == look_of(other).colour) == (one.criterion == other.criterion)


def test_vote_shares_of_each_class_sum_to_one_and_repeats_weigh_the_same(results):
    pieces = results.pieces["dota2"]
    shares = fig5.vote_shares(pieces)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    by_hand = [
        [counts[n] / sum(counts) for n in range(12)] for piece in pieces for counts in piece.test_counts
    ]
    np.testing.assert_allclose(shares[1], np.mean(by_hand[1::2], axis=0))

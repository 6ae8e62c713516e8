from dataclasses import replace
from html.parser import HTMLParser

import pytest

from paper import tables
from paper.captions import CAPTIONS
from paper.figures import fig1, figs2
from paper.index_page import write_index
from paper.results import Results
from tests.paper.samples import sample_results

VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """Checks that tags close in order, and collects what there is."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.cells, self.text = [], [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    results = sample_results()
    fig1.draw(results, folder)
    figs2.draw(results, folder)
    tables.table3(results, folder)
    return folder


def test_it_shows_what_is_there_and_nothing_else(folder):
    page = Page(write_index(sample_results(), folder).read_text("utf-8"))
    assert page.tags.count("section") == 3
    assert page.tags.count("img") == 2
    titles = {caption.file: caption.title for caption in CAPTIONS}
    assert all(titles[item] in page.text for item in ("fig1", "figS2", "table3"))
    assert titles["fig4"] not in page.text
    assert "Dota2" in page.cells


def test_it_needs_no_network_and_no_other_file(folder):
    page = Page(write_index(sample_results(), folder).read_text("utf-8"))
    for link in page.links:
        assert link.startswith(("#", "data:image/png;base64,")) or (folder / link).is_file()
    assert "script" not in page.tags


def test_names_and_reasons_are_shown_as_text(folder):
    hostile = replace(sample_results(), skipped={"<b>set": "<script>alert(1)</script> & more"})
    page = Page(write_index(hostile, folder).read_text("utf-8"))
    assert "script" not in page.tags
    assert "<script>alert(1)</script> & more" in page.text


def test_the_same_files_give_the_same_page(folder):
    first = write_index(sample_results(), folder).read_bytes()
    assert write_index(sample_results(), folder).read_bytes() == first


def test_a_cell_with_a_bar_stays_one_cell(tmp_path):
    (tmp_path / "table2.md").write_text(tables.markdown_table(("dataset", "from"), [["a|b", "c"]]))
    assert Page(write_index(Results(), tmp_path).read_text("utf-8")).cells == ["a|b", "c"]

import doctest
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_examples_of_its_page_run() -> None:
    results = doctest.testfile(str(DOCS / "report.md"), module_relative=False, encoding="utf-8")
    assert results.attempted > 10
    assert results.failed == 0


def test_its_picture_is_small() -> None:
    assert (DOCS / "images" / "report.png").stat().st_size < 200_000

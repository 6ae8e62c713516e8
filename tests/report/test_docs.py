from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_its_picture_is_small() -> None:
    assert (DOCS / "images" / "report.png").stat().st_size < 200_000

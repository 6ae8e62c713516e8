from pathlib import Path

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "report.png"


def test_the_picture_of_a_report_is_small() -> None:
    assert PICTURE.stat().st_size < 200_000

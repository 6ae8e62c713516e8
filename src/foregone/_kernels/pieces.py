"""Long loops are cut into pieces: compiled code sees no signal, Python sees them in between."""

__all__ = ["pieces"]

CELLS = 25_000_000  # that a piece goes through, in less than a tenth of a second


def pieces(n_rows: int, cells_per_row: int) -> list[tuple[int, int]]:
    """Return ranges (start, end) that make up ``n_rows`` rows, each of at most about `CELLS` cells.

    Examples
    --------
    >>> pieces(5, 10), pieces(5, CELLS // 2)
    ([(0, 5)], [(0, 2), (2, 4), (4, 5)])
    """
    step = max(CELLS // max(cells_per_row, 1), 1)
    return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]

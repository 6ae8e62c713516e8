"""Certifying what is used: a ladder of strategies, losses of rows, exact bounds, and what is then promised."""

from foregone.certifying.bounds import betting_bound, clopper_pearson_bound, rows_needed
from foregone.certifying.ladder import Climb, climb
from foregone.certifying.parts import Judged, Part, Parts

__all__ = [
    "Climb",
    "Judged",
    "Part",
    "Parts",
    "betting_bound",
    "climb",
    "clopper_pearson_bound",
    "rows_needed",
]

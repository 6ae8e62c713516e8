"""Certify strategies as they run: a ladder of strategies, row losses, exact bounds, and the promise."""

from foregone.certifying.bounds import betting_bound, clopper_pearson_bound, rows_needed
from foregone.certifying.ladder import Climb, climb
from foregone.certifying.losses import CheckedCosts, LossKind, RowLosses, check_costs
from foregone.certifying.parts import Judged, Part, Parts, RowLabels
from foregone.certifying.promise import Promise

__all__ = [
    "CheckedCosts",
    "Climb",
    "Judged",
    "LossKind",
    "Part",
    "Parts",
    "Promise",
    "RowLabels",
    "RowLosses",
    "betting_bound",
    "check_costs",
    "climb",
    "clopper_pearson_bound",
    "rows_needed",
]

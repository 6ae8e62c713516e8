"""An HTML report on your model: what early stopping saves, what it risks, and how to use it."""

from foregone.report.model_reader import read_model
from foregone.report.result import Report, make_report
from foregone.report.row_file import read_rows

__all__ = ["Report", "make_report", "read_model", "read_rows"]

"""What the page says about watching is what a monitor of the classifier that it recommends would do."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from foregone import early_stop
from foregone.certifying import Promise
from foregone.monitoring import Monitor
from foregone.monitoring.foresight import foresee
from foregone.report import Report, make_report
from foregone.report.result import AUDITS, _watching
from tests.report.kinds import fitted


def section(report: Report) -> str:
    """Return the text of the section, without markup."""
    inside = report.html.partition('id="monitor-it-in-production"')[2].partition("</section>")[0]
    assert inside
    return unescape(re.sub("<[^>]+>", " ", inside)).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.filterwarnings("ignore::foregone.classifier.HardVoteWarning")
@pytest.mark.parametrize("name", ["forest of two", "forest of three", "soft forest", "forest of seven"])
def test_rows_until_the_alarm_are_those_of_the_classifier_that_the_call_makes(name: str) -> None:
    model, rows, _ = fitted(name)
    report = make_report(model, rows)
    classifier = early_stop(
        model, rows, report.plan.limit, voting=report.model.voting, random_state=report.model.random_state
    )
    found = foresee(classifier.monitor())
    assert found == report.foresight
    told = json.loads(json.dumps(report.fields()["watching"]))
    assert told["false_alarm"] == 0.01
    assert [one["times"] for one in told["disagreement"]] == [2, 5]
    for one in told["disagreement"]:
        assert one["audited_rows"] == found.disagreement[one["times"]]
        assert one["rows"] == [round(one["audited_rows"] / audit) for audit in AUDITS]
    assert {one["share"]: one["rows"] for one in told["closer"]} == found.closer
    assert (told["why_no_disagreement"], told["why_no_closer"]) == (None, None)


def test_the_page_says_where_the_promise_ends_and_how_to_watch_it(report: Report) -> None:
    words = section(report)
    assert "The guarantee ends when the rows in production no longer resemble the calibration rows." in words
    assert "monitor = classifier.monitor(audit=0.01)\nlabels = monitor.predict(X)" in words
    assert "at most 1 %" in words
    assert "2 times the limit" in words
    assert "0.1 % audited" in words
    assert "0.021" in words  # of 21 trees, the share that is audited in the first column


def test_limits_by_class_are_told_by_label(report: Report) -> None:
    limits = report.fields()["watching"]["limit"]
    assert report.recommended.each_class == isinstance(limits, dict)
    each = Promise("classifier", "disagreement", {"ham": 0.01, "eggs": 0.02}, 0.95, 0.009, 900)
    found = foresee(Monitor(each, classes=["ham", "eggs"]))
    assert _watching(found, ["ham", "eggs"])["limit"] == {"ham": 0.01, "eggs": 0.02}


def test_with_limits_on_accuracy_audits_are_held_to_the_calibrated_disagreement(
    labelled_report: Report,
) -> None:
    limit = labelled_report.fields()["watching"]["limit"]
    stops = labelled_report.trade_off.stops
    assert stops is not None
    assert limit > (stops.n_differing or 0) / stops.n_rows
    assert "its upper bound by the calibration rows" in section(labelled_report)


def test_what_always_agrees_needs_one_audited_row_and_few_rows_never_tell() -> None:
    model, rows, _ = fitted("gradient boosting")
    report = make_report(model, rows[:40])
    words = section(report)
    assert "the first audited row that differs raises an alarm" in words
    assert "The guarantee holds for any row" in words
    assert "never" in words
    assert "40 calibration rows are too few to tell that change from chance" in words
    told = report.fields()["watching"]
    assert told["disagreement"] == [{"times": None, "audited_rows": 1, "rows": [None] * 3}]
    assert told["closer"][0]["rows"] is None

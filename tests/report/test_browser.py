"""The page in a real browser: it moves, it is right, it fetches nothing, and everybody can use it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from foregone import early_stop, evaluate, solve
from foregone._system.shown import shown
from foregone.plurality.ties import bound_with_ties
from foregone.report import Report, make_report
from foregone.report.phrases import percent, points
from foregone.report.trade_off import LIMITS
from foregone.strategy.limits import Limits
from tests.report.conftest import HOSTILE
from tests.report.kinds import fitted

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def file(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report.html, encoding="utf-8")
    return path


@pytest.fixture
def open_page(browser: Any, file: Path) -> Iterator[Open]:
    """Open the page; at the end nothing must have been complained about or asked of the network."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_it(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert said == []
    assert set(asked) == {file.as_uri()}


NUMBERS = """() => Object.fromEntries(
  [...document.querySelectorAll("data[data-live]")]
    .map(d => [d.dataset.live, [Number(d.value), d.textContent]])
)"""


def numbers(page: Any) -> dict[str, tuple[float, str]]:
    """Return every number that the slider changes: with all digits, and as it is shown."""
    return {name: (exact, text) for name, (exact, text) in page.evaluate(NUMBERS).items()}


PICTURED = """() => {
  const of = (id, name) => document.getElementById(id).getAttribute(name);
  const said = document.getElementById("said").textContent;
  const places = [of("risk-line", "d"), of("now-dot", "cx"), of("limit-line", "y1")];
  return [of("limit", "aria-valuetext"), said, ...places];
}"""


def test_it_opens_at_the_recommendation(open_page: Open, report: Report) -> None:
    page, point = open_page(), report.recommended
    assert page.locator("h1").text_content() == report.headline[0]
    assert page.locator("#limit").input_value() == str(LIMITS.index(point.limit))
    assert page.locator("#each-class").is_checked() == point.each_class
    assert numbers(page)["votes"] == (point.expected_votes, f"{point.expected_votes:.1f}")
    assert page.locator("#back").is_disabled()


@pytest.mark.parametrize("each", [False, True])
def test_arrow_keys_move_the_slider_to_what_the_library_computes(
    each: bool, open_page: Open, report: Report
) -> None:
    page = open_page()
    page.locator("#each-class").set_checked(each)
    page.locator("#limit").focus()
    page.keyboard.press("Home")
    seen = []
    for limit in LIMITS:
        solution = solve(
            "minimean",
            report.trade_off.votes,
            {"yes": limit, "no": limit} if each else limit,
            confidence=0.95,
        )
        evaluation = evaluate(solution.strategy)
        mean, by_class = evaluation.mean(solution.votes), evaluation.by_class(solution.votes)
        now, pictured = numbers(page), page.evaluate(PICTURED)
        for name, value in (
            ("limit", limit),
            ("votes", mean.expected_votes),
            ("mean", mean.disagreement),
            ("worst", evaluation.worst().disagreement),
            ("class-0-votes", by_class["no"].expected_votes),
            ("class-1-mean", by_class["yes"].disagreement),
            ("class-1-worst", evaluation.worst_by_class()["yes"].disagreement),
            ("no-11", evaluation.disagreement[10]),
            ("yes-16", evaluation.disagreement[16]),
        ):
            exact, text = now[name]
            assert exact == value, name
            assert text == (f"{value:.1f}" if "votes" in name else percent(value))
        assert pictured[0].startswith(f"{percent(limit)}, ")
        assert pictured[1].startswith(f"{mean.expected_votes:.1f} of 21 trees")
        seen.append(pictured)
        page.keyboard.press("ArrowRight")
    assert all(len(set(kind)) > 20 for kind in zip(*seen, strict=True))  # they do move
    page.locator("#back").click()
    assert numbers(page)["votes"][0] == report.recommended.expected_votes


@pytest.mark.filterwarnings("ignore::foregone.classifier.HardVoteWarning")
@pytest.mark.parametrize("name", ["forest of three", "committee of four", "soft forest", "xgboost"])
def test_the_slider_shows_what_a_classifier_with_that_limit_has(
    name: str, browser: Any, tmp_path: Path
) -> None:
    model, rows, _ = fitted(name)
    report = make_report(model, rows)
    path = tmp_path / "report.html"
    path.write_text(report.html, encoding="utf-8")
    page, complaints = browser.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    assert numbers(page)["votes"][0] == report.recommended.expected_votes
    page.locator("#limit").focus()
    page.keyboard.press("Home")
    seen = []
    for limit in LIMITS:
        now = numbers(page)
        if report.model.voting == "soft":
            point = next(point for point in report.points if point.limits == Limits.of(limit))
            assert [now[name][0] for name in ("limit", "votes", "at-most")] == [
                limit,
                point.expected_votes,
                limit,
            ]
        else:  # means over random orders
            classifier = early_stop(model, rows, limit, order="shared", random_state=0)
            assert (now["limit"][0], now["votes"][0]) == (limit, classifier.expected_votes_)
            assert now["at-most"][0] == bound_with_ties(classifier.strategy_, classifier.solution_)
        seen.append(page.locator("#risk-dot").get_attribute("cx"))
        page.keyboard.press("ArrowRight")
    assert len(set(seen)) == len(LIMITS)
    assert complaints == []
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_with_labels_the_slider_moves_both_currencies(
    width: int, labelled_report: Report, browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(labelled_report.html, encoding="utf-8")
    page, complaints = browser.new_page(viewport={"width": width, "height": 844}), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    assert page.get_by_label(re.compile("^Allowed accuracy loss")).get_attribute("type") == "range"
    page.locator("#each-class").set_checked(False)
    page.locator("#limit").focus()
    page.keyboard.press("Home")
    limits = labelled_report.trade_off.limits
    for limit, point in zip(limits, labelled_report.points, strict=False):
        now = numbers(page)
        assert now["limit"] == (limit, points(limit))
        assert now["loss"] == (point.accuracy_loss, points(point.accuracy_loss))
        assert now["mean"] == (point.disagreement, percent(point.disagreement))
        assert now["class-1-loss"][0] == point.accuracy_loss_by_class[1]
        page.keyboard.press("ArrowRight")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.locator("tr.current th").text_content() == points(limits[-1])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    page.close()


def test_a_click_on_the_plot_takes_that_limit(open_page: Open) -> None:
    page = open_page()
    page.locator('rect[data-point="3"]').click()
    assert numbers(page)["limit"] == (3e-05, percent(3e-5))
    page.locator("summary", has_text="Every limit").click()
    assert page.locator("tr.current th").text_content().startswith(percent(3e-5))


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways(width: int, open_page: Open) -> None:
    page = open_page(viewport={"width": width, "height": 844})
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('.cards')].filter(box => box.scrollWidth > box.clientWidth)"
    assert page.evaluate(f"{wide}.length") == 0  # the table of classes, too, fits without scrolling
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height))"
    )
    assert smallest > 9


CONTRASTS = """() => {
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parse(c).map(channel); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (parse(c)[3] !== 0) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ["SCRIPT", "TITLE", "title"].includes(e.tagName)) continue;
    const style = getComputedStyle(e), ink = e.tagName === "text" ? style.fill : style.color;
    const [high, low] = [light(ink), light(behind(e))].sort((a, b) => b - a);
    found.push([(high + .05) / (low + .05), e.tagName + ": " + e.textContent.slice(0, 30)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_in_light_and_in_dark(scheme: str, open_page: Open) -> None:
    page = open_page(color_scheme=scheme)
    page.locator("#limit").press("ArrowLeft")  # so that no button is disabled
    for summary in page.locator("summary").all():
        summary.click()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", background))) < 60) == (scheme == "dark")
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 100
    assert [words for ratio, words in contrasts if ratio < 4.5] == []


def test_on_paper_it_is_light_unfolded_and_without_controls(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".control").is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("tr[data-row]").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    assert page.pdf().startswith(b"%PDF")


def test_it_can_be_used_by_keyboard_and_screen_reader(open_page: Open) -> None:
    page = open_page()
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.get_by_label(re.compile("^Allowed disagreement")).get_attribute("type") == "range"
    assert page.get_by_label("Set a separate limit for each class").get_attribute("type") == "checkbox"
    assert page.get_by_role("img").count() == 2
    assert all(picture.text_content() for picture in page.locator("svg > title").all())
    assert page.get_by_role("status").count() == 1  # an output is told when it changes
    unnamed = (
        "[...document.querySelectorAll('table')].filter(t => !t.caption || !t.querySelector('th[scope=row]'))"
    )
    assert page.evaluate(f"{unnamed}.length") == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    reached = []
    for _ in range(7):
        page.keyboard.press("Tab")
        focused = "document.activeElement"
        reached.append(page.evaluate(f"{focused}.id || {focused}.tagName"))
        assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") != "none"
    assert {"limit", "each-class", "SUMMARY"} <= set(reached)


def test_labels_and_names_are_shown_as_they_are_and_run_as_nothing(open_page: Open) -> None:
    page = open_page()
    assert page.locator("script").count() == 2
    assert page.locator("th", has_text=shown(HOSTILE)).count() >= 2
    assert shown(HOSTILE) in page.title()


def test_without_scripts_the_recommendation_can_still_be_read(open_page: Open, report: Report) -> None:
    page = open_page(java_script_enabled=False)
    assert not page.locator(".control").is_visible()
    votes = page.locator('data[data-live="votes"]').first.get_attribute("value")
    assert float(votes) == report.recommended.expected_votes

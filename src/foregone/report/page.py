"""page(): a report as one HTML page. Nothing is computed here, and nothing is fetched by it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from importlib.resources import files

from foregone.report.markup import data_block, raw, tag
from foregone.report.result import Report
from foregone.report.sections import (
    about,
    guarantee_section,
    own_section,
    recommendation,
    speed_section,
)
from foregone.report.slider import settings, tradeoff_section

__all__ = ["page"]


def page(report: Report) -> str:
    """Return the page.

    Whatever comes from outside, such as labels, is escaped; and the browser is told to run no script but
    ours and to load nothing at all, so that a mistake there would do no harm.
    """
    style, script = _own("page.css"), _own("page.js")
    allow, cost = report.headline
    policy = (
        f"default-src 'none'; style-src {_fingerprint(style)}; script-src {_fingerprint(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"Stopping early: {report.names['model']}"),
        tag("link", rel="icon", href="data:,"),
        raw("style", style),
    )
    body = tag(
        "body",
        tag(
            "header",
            tag(
                "p",
                tag("b", "foregone"),
                f" on {report.names['model']}: {report.model.n_voters:,} {report.model.voters}, "
                f"{report.model.n_rows:,} calibration rows",
                class_="eyebrow",
            ),
            tag("h1", allow),
            tag("p", cost, class_="lede"),
        ),
        tag(
            "main",
            recommendation(report),
            tradeoff_section(report),
            speed_section(report),
            own_section(report),
            guarantee_section(report),
            about(report),
        ),
        data_block("settings", settings(report)),
        raw("script", script),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _own(name: str) -> str:
    return files("foregone.report").joinpath(name).read_text(encoding="utf-8")


def _fingerprint(content: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

"""results/index.html: every figure and table of a run on one page that needs nothing else."""

from __future__ import annotations

import base64
import re
from html import escape
from pathlib import Path

import foregone
from foregone._system.atomic_file import write_atomically
from paper.captions import CAPTIONS, Caption, files_of
from paper.results import Results

__all__ = ["write_index"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --quiet: #5b5b60; --page: #fbfbfa; --card: #fff;
        --line: #dcdcd8; --link: #00588a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --quiet: #a9a9ae; --page: #17181a; --card: #212326; --line: #3a3c40;
          --link: #7cc4f2; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem;
       background: var(--page); color: var(--ink);
       font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0 0 .4rem; }
p { margin: 0 0 .8rem; max-width: 44rem; }
a { color: var(--link); }
.quiet { color: var(--quiet); }
nav { margin: 1.2rem 0; columns: 18rem; }
nav a { display: block; padding: .2rem 0; text-decoration: none; }
nav a:hover { text-decoration: underline; }
section { border-top: 1px solid var(--line); padding-top: 1.4rem; margin-top: 2rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--card);
          margin-bottom: .8rem; }
.picture { background: #fff; padding: 1rem; }
img { display: block; width: 100%; min-width: 40rem; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .7rem; text-align: right; white-space: nowrap;
         border-bottom: 1px solid var(--line); }
th { vertical-align: bottom; white-space: normal; min-width: 5.5rem; font-weight: 600; }
tr:last-child td { border-bottom: 0; }
.words { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--card); }
@media print { nav { display: none; } section { break-inside: avoid; } }
"""


def write_index(results: Results, folder: Path) -> Path:
    """Write ``index.html`` with whatever figures and tables are in ``folder``, pictures included.

    Parameters
    ----------
    results : Results
        For what the page says about the run: settings, and datasets that could not be had.
    folder : Path
        Where the items were written; files of earlier runs that are still there are shown too.

    Returns
    -------
    Path
        The page. It can be read offline and passed on alone; only its links to single files need the folder.
    """
    shown = [(caption, section) for caption in CAPTIONS if (section := _section(caption, folder))]
    links = "\n".join(f'<a href="#{caption.file}">{escape(caption.title)}</a>' for caption, _ in shown)
    sections = "\n".join(section for _, section in shown)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper, reproduced with foregone</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>The paper, reproduced</h1>
<p>The figures and tables of Kalman and Moscovich, <i>Optimal Sequential Testing for Binary Ensemble
Classifiers</i> (2026), reproduced by <code>python -m paper</code>.</p>
<p class="quiet">{escape(_settings(results))}</p>
{_skipped(results)}<nav>
{links}
</nav>
{sections}
</body>
</html>
"""
    file = folder / "index.html"
    write_atomically(file, [page.encode()])
    return file


def _settings(results: Results) -> str:
    settings = results.settings
    repeats = "1 repeat" if settings.repeats == 1 else f"{settings.repeats} repeats"
    return (
        f"Last run: forests of {settings.n_voters} trees, {repeats}, seed {settings.seed}, "
        f"foregone {foregone.__version__}."
    )


def _skipped(results: Results) -> str:
    if not results.skipped:
        return ""
    items = "\n".join(
        f"<li>{escape(name)}: {escape(reason)}</li>" for name, reason in results.skipped.items()
    )
    number = "1 dataset" if len(results.skipped) == 1 else f"{len(results.skipped)} datasets"
    summary = f"<summary>Left out: {number}</summary>"
    return f'<details class="quiet">{summary}<ul>\n{items}\n</ul></details>\n'


def _section(caption: Caption, folder: Path) -> str:
    """Return an item as HTML, or nothing if it was not made."""
    pictures = [_picture(file, caption) for file in files_of(caption, folder, "png")]
    tables = [_table(file.read_text("utf-8")) for file in files_of(caption, folder, "md")]
    if not pictures and not tables:
        return ""
    files = [file.name for kind in ("svg", "png", "csv", "md") for file in files_of(caption, folder, kind)]
    links = " · ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in files)
    return "\n".join(
        [
            f'<section id="{caption.file}">',
            f"<h2>{escape(caption.title)}</h2>",
            f"<p>{escape(caption.text)}</p>",
            *pictures,
            *tables,
            f'<p class="quiet">Files: {links}</p>',
            "</section>",
        ]
    )


def _picture(file: Path, caption: Caption) -> str:
    content = base64.b64encode(file.read_bytes()).decode()
    image = f'<img alt="{escape(caption.title)}" src="data:image/png;base64,{content}">'
    return f'<div class="scroll picture">{image}</div>'


def _table(markdown: str) -> str:
    """Return one of our Markdown tables as HTML."""
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in markdown.splitlines() if line.startswith("|")]
    header, rule, *rows = [[cell.strip().replace("\\|", "|") for cell in line] for line in lines]
    classes = ["" if cell.endswith(":") else ' class="words"' for cell in rule]

    def row(cells: list[str], tag: str) -> str:
        pairs = zip(cells, classes, strict=True)
        return "<tr>" + "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in pairs) + "</tr>"

    body = "\n".join(row(cells, "td") for cells in rows)
    table = f"<table>\n<thead>{row(header, 'th')}</thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll">{table}</div>'

"""What the documentation site is made of beyond its pages: commands, the gallery, formulas, and checks.

MkDocs calls the functions named ``on_...``; see mkdocs.yml.
"""

from __future__ import annotations

import html
import inspect
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import latex2mathml.converter
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import foregone
from foregone.cli.commands import COMMANDS, load_command

ROOT = Path(__file__).parents[1]
COMMANDS_GO_HERE = "<!-- the commands -->"
FETCHED = re.compile(
    r'<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//[^"]*"'
    r'|<link[^>]*rel="(?:stylesheet|preconnect|preload)"[^>]*href="(?:https?:)?//[^"]*"'
)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[\(\[](.*?)\\[\)\]]</\1>([.,;:)]*)', re.DOTALL)
LIMITS = re.compile(r"\\(sum|prod|max|min)_")
FIXED_SIZE = re.compile(r' minsize="2\.047em" maxsize="2\.047em"')
PARTS = {"mfrac": 2, "msub": 2, "msup": 2, "mover": 2, "munder": 2, "msubsup": 3, "munderover": 3, "mroot": 2}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the gallery, examples/README.md, and the scripts that it links to."""
    gallery = ROOT / "examples" / "README.md"
    if gallery.exists():
        text = gallery.read_text(encoding="utf-8").replace("(../docs/", "(../")
        files.append(File.generated(config, "examples/README.md", content=text))
        for script in sorted(gallery.parent.glob("*.py")):
            files.append(File.generated(config, f"examples/{script.name}", content=script.read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the commands in their place."""
    if COMMANDS_GO_HERE in markdown:
        markdown = markdown.replace(COMMANDS_GO_HERE, "\n".join(_all_commands()))
    return markdown


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn formulas, in TeX between dollar signs, into MathML, which browsers draw without any script."""

    def drawn(formula: re.Match[str]) -> str:
        try:
            return _mathml(formula[2], display=formula[1] == "div", after=formula[3])
        except ValueError as error:
            raise PluginError(f"{page.file.src_uri}: {error}") from error

    return FORMULA.sub(drawn, content)


def _mathml(escaped: str, *, display: bool, after: str) -> str:
    """Return a formula in MathML. The converter passes on what it does not know, so its work is checked.

    An inline formula keeps the punctuation after it in its line.
    """
    tex = html.unescape(escaped).strip()
    if display:
        tex = LIMITS.sub(r"\\\1\\limits_", tex)  # below the sign, as TeX has it
    try:
        drawn = latex2mathml.converter.convert(tex, display="block" if display else "inline")
        parts = list(ElementTree.fromstring(drawn).iter())
    except Exception as error:
        raise ValueError(f"this formula cannot be converted: {tex} ({error!r})") from error
    for part in parts:
        name = part.tag.partition("}")[2]
        if "\\" in (part.text or "") or len(part) != PARTS.get(name, len(part)):
            raise ValueError(f"this formula cannot be converted: {tex} (at <{name}> {part.text or ''})")
    drawn = FIXED_SIZE.sub("", drawn)  # brackets of binomials grow with what is in them
    if display:
        return f'<div class="formula" tabindex="0">{drawn}</div>{after}'
    return f'<span class="formula-inline">{drawn}{after}</span>' if after else drawn


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that would fetch something from elsewhere when it is read."""
    fetched = FETCHED.search(output)
    if fetched:
        raise PluginError(f"{page.file.src_uri} fetches something from elsewhere: {fetched[0]}")
    return output


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a reference in which a public name is missing, or is taken for something else."""
    inventory = (Path(config.site_dir) / "objects.inv").read_bytes()
    entries = zlib.decompress(inventory.split(b"\n", 4)[4]).decode().splitlines()
    roles = {name: role for name, role, *_ in map(str.split, entries)}
    for name in foregone.__all__:
        public = getattr(foregone, name)
        path = "foregone.errors." + name if name == "ForegoneError" else "foregone." + name
        role = next(role for role in ("class", "function", "module") if getattr(inspect, f"is{role}")(public))
        if roles.get(path) != f"py:{role}":
            raise PluginError(f"docs/api: {path} is {roles.get(path, 'missing')}, not a {role}")


def _all_commands() -> Iterator[str]:
    for name in COMMANDS:
        yield from _command(f"foregone {name}", load_command(name), level=3)


def _command(called: str, command: Any, level: int) -> Iterator[str]:
    """Describe one command, and those in it, in Markdown."""
    words, _, examples = inspect.cleandoc(command.help).replace("\b\n", "").partition("Examples:\n")
    yield f"{'#' * level} {called}\n"
    yield f"{words.strip()}\n"
    yield "```console"
    yield re.sub(r"^ *(?=foregone)", "$ ", inspect.cleandoc(examples), flags=re.MULTILINE)
    yield "```\n"
    inner = getattr(command, "commands", None)
    if inner is not None:
        for name, one in inner.items():
            yield from _command(f"{called} {name}", one, level + 1)
        return
    yield "| option | what it is | default |\n|---|---|---|"
    for parameter in command.params:
        yield f"| {_spelling(parameter)} | {_cell(parameter.help)} | {_default(parameter)} |"
    yield ""


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`"
    value = f" {parameter.metavar}" if parameter.metavar and not parameter.is_flag else ""
    return ", ".join(f"`{option}{value}`" for option in parameter.opts)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "" if parameter.default in (None, False) else f"`{parameter.default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

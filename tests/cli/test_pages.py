"""What the README and the documentation show is what comes out: every block of every page is run."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.page_blocks import Block, blocks, sessions, statements

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
]


class Session:
    """The blocks of one page, run one after another: names and files stay."""

    def __init__(self, page: Path, run: Run) -> None:
        self.name, self.run_command = page.relative_to(ROOT).as_posix(), run
        self.names: dict[str, object] = {"__name__": "__main__"}

    def run(self, block: Block) -> None:
        if block.not_run:
            return
        kinds = {"python": self._python, "console": self._console, "json": json.loads, "text": str}
        assert block.kind in kinds, (
            f"{self.name}, line {block.line}: a block of kind {block.kind!r} is not run; put  "
            "<!-- not run: REASON -->  above it, or make it python, console, json or text"
        )
        kinds[block.kind](block.text if block.kind in ("json", "text") else block)

    def _python(self, block: Block) -> None:
        where = f"{self.name}, line {block.line}"
        assert ">>>" not in block.text, f"{where}: leave out the prompts, so that the block can be copied"
        for node, shown in statements("\n" * block.line + block.text):
            code = compile(ast.Module([node], []), self.name, "exec")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, self.names)
            if shown is not None:
                flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                matches = doctest.OutputChecker().check_output(shown + "\n", printed.getvalue(), flags)
                assert matches, f"{self.name}, line {node.lineno} prints\n{printed.getvalue()}"

    def _console(self, block: Block) -> None:
        for command, shown in sessions(block.text):
            words = shlex.split(command)
            where = f"{self.name}, line {block.line}: $ {command}"
            if words[0] == "cat":
                Path(words[1]).write_text(shown)
                continue
            assert words[0] == "foregone", f"{where}: put  <!-- not run: REASON -->  above the block"
            outcome = self.run_command(*words[1:])
            assert outcome.code == 0, f"{where}: {outcome.err}"
            if shown.strip():
                matches = doctest.OutputChecker().check_output(shown, outcome.out, doctest.ELLIPSIS)
                assert matches, f"{where} prints\n{outcome.out}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_of_a_page_runs_and_shows_what_comes_out(
    page: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(page, run)
    for block in blocks(page):
        session.run(block)


def test_the_blocks_are_found() -> None:
    kinds = [block.kind for block in blocks(ROOT / "README.md")]
    assert kinds.count("python") >= 4
    assert kinds.count("console") >= 3
    assert kinds.count("") == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n>>> 1 + 1\n2\n```", "leave out the prompts"),
        ("```python\nfor k in (1, 2):\n    print(k)\n# 1\n# 3\n```", r"line 4 prints\s+1\s+2"),
        ("```python\nraise ValueError('wrong')\n```", "wrong"),
        ("```python\nprint(1 + 1)  # 3\n```", r"line 4 prints\s+2"),
        ("```python\nprint('one')\nprint('two\\nthree')\n# two\n# four\n```", r"line 5 prints\s+two\s+three"),
        ("```console\n$ foregone --version\nforegone 999\n```", "prints"),
        ("```console\n$ foregone bogus\n```", "No such command"),
        ("```console\n$ make bench\n```", "not run: REASON"),
        ("```sh\nmake bench\n```", "not run: REASON"),
        ("```\nmake bench\n```", "not run: REASON"),
    ],
)
def test_a_block_that_shows_something_else_is_found(
    text: str, complaint: str, run: Run, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{text}\n")
    session = Session(ROOT / "README.md", run)
    with pytest.raises((AssertionError, ValueError), match=complaint):
        session.run(blocks(page)[0])


@pytest.mark.parametrize(
    "code",
    [
        "print(1 + 1)  # 2",
        "print(1 + 1)\n# 2\n\n# Another matter.\nx = 3  # four",
        "print('with 95 %', 'confidence', sep='\\n')\n# with ...\n# confidence",
        "print('é')  # é\nprint(1)",
    ],
)
def test_comments_that_say_what_is_printed_are_compared(code: str, run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```python\n{code}\n```\n")
    Session(ROOT / "README.md", run).run(blocks(page)[0])


def test_a_block_with_a_reason_is_not_run(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: takes hours -->\n```console\n$ make bench\n```\n")
    (block,) = blocks(page)
    assert block.not_run == "takes hours"
    Session(ROOT / "README.md", run).run(block)

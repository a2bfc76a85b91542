"""Comments, docstrings and test names cite only what a page of docs/ holds."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (PROJECT / "docs").glob("*.md")}
RULES = r"[A-Z]\d{1,2}(?:(?:, | to | and )[A-Z]\d{1,2})*"
CITED = re.compile(rf"\bdocs/([\w-]+)\.md(?:#([\w-]+)|, ({RULES}|[A-Z][a-z]+))?")
"""`docs/page.md`, also `docs/page.md#heading`, `docs/page.md, Heading` and `docs/page.md, T4`."""
BARE = re.compile(rf"\(({RULES})\)")
"""`(T4)`, in a module that names the page of the rule."""
NUMBERED = re.compile(r"(?<![a-z])(?:rows?|rules?|threats?)[ _-]?\d|§ ?\d")
"""Places of a document that no page holds."""


def anchors(page: str) -> set[str]:
    """What of a page can be cited: its rules, its headings, and their links."""
    headings = re.findall(r"^#+ (.+)$", PAGES[page], re.M)
    links = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    return {*re.findall(r"^\*\*([A-Z]\d+), ", PAGES[page], re.M), *headings, *links}


def words(path: Path) -> str:
    """Comments and docstrings of a Python file, comments of a TypeScript file."""
    text = path.read_text(encoding="utf-8")
    if not any(each.search(text) for each in (CITED, BARE, NUMBERED)):
        # Nothing in it is about a page, and to find the comments of all files takes many seconds.
        return ""
    if path.suffix != ".py":
        return "\n".join(re.findall(r"//[^\n]*|/\*.*?\*/", text, re.S))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    alone = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))
    strings = (node.value for node in alone if isinstance(node, ast.Constant))
    return "\n".join([*comments, *(string for string in strings if isinstance(string, str))])


@cache
def sources() -> dict[str, str]:
    """The words of each file of code and tests, by its path."""
    folders = (
        "server",
        "tests",
        "bench",
        "codegen",
        "demo",
        "pictures",
        "client-vscode/src",
        "client-vscode/test",
    )
    found = (path for folder in folders for path in (PROJECT / folder).rglob("*"))
    return {
        path.relative_to(PROJECT).as_posix(): words(path)
        for path in found
        if path.suffix in (".py", ".ts") and path != Path(__file__)
    }


def rules(cited: str) -> Iterator[str]:
    """The rules of "T1", "T1, T2 and T4" or "T3 to T6"."""
    for first, last in re.findall(r"([A-Z]\d+)(?: to ([A-Z]\d+))?", cited):
        for number in range(int(first[1:]), int((last or first)[1:]) + 1):
            yield f"{first[0]}{number}"


@pytest.mark.slow
def test_every_page_and_anchor_that_is_cited_exists() -> None:
    missing = []
    cited = 0
    for file, text in sources().items():
        for page, link, place in CITED.findall(text):
            cited += 1
            wanted = rules(place) if re.fullmatch(RULES, place) else filter(None, (link, place))
            if page not in PAGES or not set(wanted) <= anchors(page):
                missing.append(f"{file}: {page} {link}{place}")
    assert missing == [] and cited > 15


def test_a_rule_is_cited_in_a_module_that_names_its_page() -> None:
    lost = []
    for file, text in sources().items():
        known = {place for page, _, _ in CITED.findall(text) if page in PAGES for place in anchors(page)}
        lost += [f"{file}: {cited}" for cited in BARE.findall(text) if not set(rules(cited)) <= known]
    assert lost == []


def test_nothing_is_cited_by_a_number_that_nobody_can_look_up() -> None:
    tests = (PROJECT / "tests").rglob("test_*.py")
    names = {path.name: re.findall(r"def (test_\w+)|id=(\".*?\")", path.read_text("utf-8")) for path in tests}
    found = [f"{file}: {text}" for file, texts in names.items() for text in map("".join, texts)]
    found += [f"{file}: {line}" for file, text in sources().items() for line in text.splitlines()]
    assert [text for text in found if NUMBERED.search(text.partition(": ")[2])] == []

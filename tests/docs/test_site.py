"""The site has every page in its navigation, leads nowhere broken, and asks nothing of another host."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

import codegen.site

PROJECT = Path(__file__).parents[2]
SITE = PROJECT / "docs" / "site"
CONFIG = tomllib.loads((SITE / "zensical.toml").read_text(encoding="utf-8"))["project"]
built = pytest.mark.skipif(find_spec("zensical") is None, reason="make site installs what builds it")
LOADING = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
"""Where a page names what a browser fetches by itself."""


def navigated(entries: object) -> Iterator[str]:
    """The pages of a navigation, in its order."""
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, dict):
        for each in entries.values():
            yield from navigated(each)
    elif isinstance(entries, list):
        for each in entries:
            yield from navigated(each)


class Page(HTMLParser):
    """The links, anchors and loaded addresses of a built page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors = {""}
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        self.anchors |= {of.get("id", ""), of.get("name", "")}
        self.links += [of["href"]] if tag == "a" and "href" in of else []
        self.loaded += [of[name] for loader, name in LOADING if loader == tag and name in of]


def test_a_pipe_in_code_of_a_table_needs_no_sign_before_it() -> None:
    page = "| `a\\|b` | c \\| d |\n`a\\|b`\n"
    assert codegen.site.with_plain_pipes(page) == "| `a|b` | c \\| d |\n`a\\|b`\n"


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    listed = list(navigated(CONFIG["nav"]))
    assert sorted(listed) == sorted(page.relative_to(PROJECT).as_posix() for page in pages)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """The pages of the site, built strictly, by their files."""
    to = tmp_path_factory.mktemp("built") / "site"
    assert codegen.site.built(tmp_path_factory.mktemp("work"), to) == ""
    return {path: Page(path) for path in to.rglob("*.html") if path.name != "404.html"}


@built
@pytest.mark.slow
@pytest.mark.process
def test_every_link_of_the_built_pages_leads_to_a_file_and_an_anchor(site: dict[Path, Page]) -> None:
    broken = []
    for path, page in site.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.is_file() or (target in site and anchor not in site[target].anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == [] and len(site) > 40


@built
@pytest.mark.slow
@pytest.mark.process
def test_a_page_loads_nothing_from_elsewhere(site: dict[Path, Page]) -> None:
    loaded = {address for page in site.values() for address in page.loaded}
    files = [path.parent / address for path, page in site.items() for address in page.loaded]
    assert [file for file in files if not file.is_file()] == []
    assert loaded and [address for address in loaded if re.match(r"(?:[a-z]+:)?//", address)] == []
    (root,) = {path.parent for path in site if path.name == "index.html" and path.parent.name == "site"}
    styles = "".join(path.read_text(encoding="utf-8") for path in root.rglob("*.css"))
    assert styles and re.findall(r"url\(['\"]?(?:https?:)?//|@import ['\"]?http", styles) == []


@built
@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("link", ["[x](other.md#nowhere)", "[x](none.md)"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, link: str) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    stated = (SITE / "zensical.toml").read_text(encoding="utf-8")
    (tmp_path / "zensical.toml").write_text(re.sub(r"^nav = \[.*?^\]\n", "", stated, flags=re.M | re.S))
    (pages / "other.md").write_text("# Other\n")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    for text, code in (("[x](other.md#other)", 0), (link, 1)):
        (pages / "index.md").write_text(f"# Page\n\n{text}\n")
        done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
        assert done.returncode == code, done.stderr.decode()

"""The tools that ask language servers: symbols are found by name, and changes are taken whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.text.positions import Position, Range, TextEdit
from planloom.domain.values import Uri
from planloom.tools.context import ToolContext
from planloom.tools.registry import builtin
from planloom.tools.tool import ToolResult
from planloom.workspace.language import CodeAction, CodeChange, FileEdits, Symbol, Texts
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.paths.uris import from_path, normalized
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.view import WorkspaceView
from tests.support.fake_language import FakeLanguage
from tests.tools.desk import Desk

FOUR = ("find_symbol", "find_references", "rename_symbol", "code_action")
MOST_BYTES = 900
"""The bytes within which the four tools stay as models are shown them."""
CODE: Mapping[str, str] = {
    "src/shapes.py": "import math\n\n\nclass Square:\n    def area(self):\n        return self.side**2\n\n\n"
    "class Circle:\n    def area(self):\n        return math.pi\n",
    "src/use.py": "from shapes import Square\n\nprint(Square().area())\n",
    "src/other.py": "def surface():\n    return 1\n",
    "docs/area.md": "The area.\n",
}


def desk(folder: Path, files: Mapping[str, str | bytes] = CODE) -> tuple[Desk, FakeLanguage]:
    made = Desk(folder, files)
    language = FakeLanguage(made.folder)
    made.context.language = language
    return made, language


def one_edit(line: int, start: int, end: int, text: str) -> TextEdit:
    span = Range(start=Position(line=line, character=start), end=Position(line=line, character=end))
    return TextEdit(span, text)


def test_the_four_tools_stay_short_since_every_request_holds_them() -> None:
    sent = [
        {"type": "function", "function": spec.model_dump(include={"name", "description", "parameters"})}
        for spec in builtin().specs()
        if spec.name in FOUR
    ]
    assert len(sent) == len(FOUR)
    assert len(json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode()) - 2 <= MOST_BYTES


async def test_a_symbol_is_found_with_its_kind_its_lines_and_its_declaration(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    found = await at.call("find_symbol", symbol="area")
    assert found.text.splitlines() == [
        "src/shapes.py:5-6 method in Square: def area(self):",
        "src/shapes.py:10-11 method in Circle: def area(self):",
    ]
    assert found.value == [
        {"path": "src/shapes.py", "line": 5, "text": "def area(self):"},
        {"path": "src/shapes.py", "line": 10, "text": "def area(self):"},
    ]
    assert (await at.call("find_symbol", symbol="Circle.area")).text.startswith("src/shapes.py:10-11 ")
    assert (await at.call("find_symbol", symbol="surface", path="src/other.py")).text == (
        "src/other.py:1-2 function: def surface():"
    )


async def test_a_name_that_does_not_exist_is_answered_with_those_like_it(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    result = await at.call("find_symbol", symbol="surfaces")
    assert not result.ok
    assert result.text == "There is no symbol `surfaces`. Names like it: `surface`."
    assert "in src/use.py" in (await at.call("find_symbol", symbol="nothing_like_it", path="src/use.py")).text


async def test_several_symbols_of_one_name_are_listed_in_the_form_that_the_next_call_takes(
    tmp_path: Path,
) -> None:
    at, _ = desk(tmp_path)
    result = await at.call("rename_symbol", symbol="area", new_name="size")
    assert not result.ok and not at.changes().changes
    assert result.text == (
        "2 symbols are called `area`. Give path as one of: "
        "src/shapes.py:5 (method in Square); src/shapes.py:10 (method in Circle)"
    )
    assert (await at.call("rename_symbol", symbol="area", new_name="size", path="src/shapes.py:5")).ok
    assert not (await at.call("find_references", symbol="area", path="src/shapes.py")).ok


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("src/use.py:2", "`area` does not stand in line 2 of src/use.py, which is empty."),
        ("src/use.py:1", "which reads “from shapes import Square”."),
        ("src/use.py", "does not declare `area`, which stands there in line 3. Give path as src/use.py:3."),
        ("src/gone.py", "There is no file src/gone.py."),
        ("../out.py", "outside"),
        ("src", "is no text file"),
    ],
)
async def test_a_place_that_does_not_have_the_name_is_told(tmp_path: Path, path: str, said: str) -> None:
    at, _ = desk(tmp_path)
    result = await at.call("find_references", symbol="area", path=path)
    assert not result.ok and said in result.text


async def test_uses_are_grouped_by_file_as_those_of_search_text(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    found = await at.call("find_references", symbol="Square")
    assert found.text.splitlines() == [
        "src/shapes.py",
        "4\tclass Square:",
        "src/use.py",
        "1\tfrom shapes import Square",
        "3\tprint(Square().area())",
    ]
    assert found.summary == "Found `Square` in 3 lines of 2 files"


async def test_secret_files_are_never_shown(tmp_path: Path) -> None:
    at, _ = desk(
        tmp_path, {"a.py": "def key():\n    pass\n", ".env.py": "", "secrets/.env": "def key(): 1\n"}
    )
    language = FakeLanguage(at.folder, "")
    at.context.language = language
    found = await at.call("find_symbol", symbol="key")
    assert found.text == "a.py:1-2 function: def key():"
    uses = await at.call("find_references", symbol="key")
    assert "env" not in uses.text and "[1 place outside of what can be shown]" in uses.text
    renamed = await at.call("rename_symbol", symbol="key", new_name="lock")
    assert not renamed.ok and "may hold secrets" in renamed.text and not at.changes().changes
    assert not (await at.call("code_action", path="secrets/.env")).ok


async def test_a_rename_is_staged_in_all_files_and_counts_as_read(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    result = await at.call("rename_symbol", symbol="Square", new_name="Quad")
    assert result.text == "Renamed Square to Quad: 3 places in 2 files: src/shapes.py (1), src/use.py (2)"
    assert await at.staged("src/use.py") == "from shapes import Quad\n\nprint(Quad().area())\n"
    assert (at.folder / "src/use.py").read_text() == CODE["src/use.py"]
    assert (await at.call("write_file", path="src/use.py", content="x = 1\n")).ok
    assert not at.context.replaced_unread


async def test_a_qualified_new_name_is_its_last_part(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    assert (await at.call("rename_symbol", symbol="Circle.area", new_name="Circle.size")).ok
    assert "def size(self)" in (await at.staged("src/shapes.py") or "")
    again = await at.call("rename_symbol", symbol="surface", new_name="surface")
    assert not again.ok and "is called that already" in again.text


async def test_a_rename_sees_what_is_staged_already(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    await at.call("write_file", path="src/new.py", content="from other import surface\n")
    result = await at.call("rename_symbol", symbol="surface", new_name="skin")
    assert "src/new.py (1)" in result.text
    assert await at.staged("src/new.py") == "from other import skin\n"


async def test_edits_for_another_text_than_the_staged_one_are_merged_or_refused_as_a_whole(
    tmp_path: Path,
) -> None:
    at, language = desk(tmp_path)
    shapes, use = (normalized(from_path(at.folder / name)) for name in ("src/shapes.py", "src/use.py"))
    # The answer of an editor, which does not know what is staged.
    texts = {shapes: CODE["src/shapes.py"], use: CODE["src/use.py"]}
    whole = (one_edit(0, 19, 25, "Quad"), one_edit(2, 6, 12, "Quad"))
    files = (FileEdits(shapes, (one_edit(3, 6, 12, "Quad"),)), FileEdits(use, whole))
    language.renamed = lambda _: CodeChange(files, texts)
    await at.call("edit_file", path="src/use.py", old_text="print(Square().area())", new_text="print(0)")
    refused = await at.call("rename_symbol", symbol="Square", new_name="Quad")
    assert not refused.ok and "touches the same lines" in refused.text
    assert await at.staged("src/shapes.py") == CODE["src/shapes.py"]

    language.renamed = lambda _: CodeChange((FileEdits(use, whole[:1]),), texts)
    assert (await at.call("rename_symbol", symbol="Square", new_name="Quad")).ok
    assert await at.staged("src/use.py") == "from shapes import Quad\n\nprint(0)\n"


OVERLAPPING = (one_edit(0, 0, 4, "a"), one_edit(0, 2, 6, "b"))
Answer = Callable[[Path, Uri, CodeChange], CodeChange]
HOSTILE: dict[str, tuple[Answer, str]] = {
    "outside of the workspace": (
        lambda folder, uri, change: change._replace(
            files=(*change.files, FileEdits(normalized(from_path(folder.parent / "x.py")), OVERLAPPING[:1])),
        ),
        "outside",
    ),
    "overlapping edits": (
        lambda folder, uri, change: change._replace(files=(*change.files[1:], FileEdits(uri, OVERLAPPING))),
        "overlap",
    ),
    "a range behind the end": (
        lambda folder, uri, change: change._replace(files=(FileEdits(uri, (one_edit(900, 0, 1, "x"),)),)),
        "outside of its text, at line 901",
    ),
    "a backward range": (
        lambda folder, uri, change: change._replace(files=(FileEdits(uri, (one_edit(0, 4, 1, "x"),)),)),
        "outside of its text",
    ),
    "an unknown text": (lambda folder, uri, change: change._replace(texts={}), "unknown to which text"),
    "other operations": (
        lambda folder, uri, change: change._replace(beside=("rename shapes.py to forms.py",)),
        "rename shapes.py to forms.py",
    ),
    "a file twice": (
        lambda folder, uri, change: change._replace(files=(*change.files, *change.files)),
        "under two names",
    ),
    "a file that is gone": (
        lambda folder, uri, change: CodeChange(
            (FileEdits(Uri(uri + "x.py"), OVERLAPPING[:1]),), {Uri(uri + "x.py"): "abcdefgh\n"}
        ),
        "any more",
    ),
    "nothing": (lambda folder, uri, change: change._replace(files=()), "changes nothing"),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_an_answer_that_cannot_be_taken_whole_changes_nothing(tmp_path: Path, case: str) -> None:
    at, language = desk(tmp_path)
    answer, said = HOSTILE[case]
    uri = normalized(from_path(at.folder / "src/shapes.py"))
    language.renamed = lambda change: answer(at.folder, uri, change)
    result = await at.call("rename_symbol", symbol="Square", new_name="Quad")
    assert not result.ok and said in result.text
    assert not at.changes().changes


async def test_edits_of_an_older_version_of_an_open_document_are_refused(tmp_path: Path) -> None:
    at, language = desk(tmp_path)
    uri = normalized(from_path(at.folder / "src/use.py"))
    at.editor.open(at.path("src/use.py"), "from shapes import Square\n# typed meanwhile\n")
    opened = at.documents.get(uri)
    assert opened is not None
    language.renamed = lambda _: CodeChange(
        (FileEdits(uri, (one_edit(0, 19, 25, "Quad"),), opened.version - 1),), {uri: CODE["src/use.py"]}
    )
    result = await at.call("rename_symbol", symbol="Square", new_name="Quad")
    assert not result.ok and "has changed since" in result.text and not at.changes().changes


async def test_line_ends_and_wide_characters_stay(tmp_path: Path) -> None:
    text = "def naïve():\r\n    return '🎈', naïve\r\n"
    at, _ = desk(tmp_path, {"a.py": text.encode()})
    assert (await at.call("rename_symbol", symbol="naïve", new_name="plain")).ok
    assert await at.staged("a.py") == text.replace("naïve", "plain")


def action(title: str, at: Desk, edits: tuple[TextEdit, ...], **more: Any) -> CodeAction:
    uri = normalized(from_path(at.folder / "src/use.py"))
    change = CodeChange((FileEdits(uri, edits),), {uri: CODE["src/use.py"]})
    return CodeAction(title, "source.organizeImports", change, **more)


async def test_code_actions_are_listed_and_taken_by_their_title(tmp_path: Path) -> None:
    at, language = desk(tmp_path)
    language.offered = (
        action("Organize imports", at, (one_edit(0, 0, 25, "import shapes"),)),
        action("Remove unused import", at, (one_edit(0, 0, 25, ""),), preferred=True),
        CodeAction("Restart the server\x1b[2J", "", None),
    )
    listed = await at.call("code_action", path="src/use.py:1")
    assert listed.text.splitlines() == [
        "Offered for src/use.py:1, each taken by its title:",
        "- Remove unused import",
        "- Organize imports",
        "[1 more need commands of the language server and cannot be taken here]",
    ]
    assert not at.changes().changes
    taken = await at.call("code_action", path="src/use.py", title="organize imports")
    assert taken.text == "Organize imports: 1 place in 1 file: src/use.py (1)"
    assert await at.staged("src/use.py") == "import shapes\n\nprint(Square().area())\n"
    command = await at.call("code_action", path="src/use.py", title="Restart the server")
    assert not command.ok and "done by a command" in command.text
    other = await at.call("code_action", path="src/use.py", title="Make tea")
    assert not other.ok and "is not offered. Offered for src/use.py" in other.text
    assert "has 4 lines" in (await at.call("code_action", path="src/use.py:99")).text


@pytest.mark.parametrize("tool", FOUR)
async def test_without_anybody_who_knows_each_tool_says_what_to_do_instead(tmp_path: Path, tool: str) -> None:
    at, language = desk(tmp_path)
    args = {"path": "src/use.py"} if tool == "code_action" else {"symbol": "Square"}
    more = {"new_name": "Quad"} if tool == "rename_symbol" else {}
    language.problem = "The language server has stopped."
    stopped = await at.call(tool, **args, **more)
    assert stopped.text.startswith("The language server has stopped. Use search_text")
    at.context.language = None
    alone: ToolResult = await at.call(tool, **args, **more)
    assert not alone.ok and "search_text" in alone.text


@pytest.mark.parametrize(
    ("name", "container", "asked"),
    [
        ("area(int) : double", "shapes.Square", "Square.area"),
        ("(*Square).area", "", "Square.area"),
        ("shapes.Square.area", "example.org/shapes", "Square.area"),
        ("area", "impl<T> Shape for Square<T>", "Square::area"),
        ("area<T>(T)", "", "area"),
        ("area", "", "Square.area"),
    ],
)
async def test_a_symbol_is_found_however_its_server_writes_it(
    tmp_path: Path, name: str, container: str, asked: str
) -> None:
    at, _ = desk(tmp_path)
    uri = normalized(from_path(at.folder / "src/shapes.py"))
    line = Range(start=Position(line=4, character=0), end=Position(line=5, character=10))
    symbol = Symbol(name, "method", uri, line, line, container)
    below = Range(start=Position(line=9, character=0), end=Position(line=10, character=10))
    circle = Symbol(name.replace("Square", "Circle"), "method", uri, below, below, "Circle")

    class Server(FakeLanguage):
        async def named(self, name: str, texts: Texts) -> tuple[Symbol, ...]:
            return (symbol,) if not container and "Square" not in symbol.name else (circle, symbol)

        async def symbols(self, uri: Uri, texts: Texts) -> tuple[Symbol, ...]:
            return ()

    at.context.language = Server(at.folder)
    assert (await at.call("find_symbol", symbol=asked)).text.startswith("src/shapes.py:5-6 method")
    assert "def size(self)" not in (await at.staged("src/shapes.py") or "")
    assert (await at.call("rename_symbol", symbol=asked, new_name="size")).ok
    assert "def size(self)" in (await at.staged("src/shapes.py") or "")


async def test_in_several_folders_a_path_begins_with_that_of_its_folder(tmp_path: Path) -> None:
    at, language = desk(tmp_path / "one")
    other = Desk(tmp_path / "two", {"src/shapes.py": "class Square:\n    pass\n"})
    roots = Roots((root_at(at.folder), root_at(other.folder)))
    view = WorkspaceView(roots, at.documents)
    at.context = ToolContext(files=Overlay(view), roots=roots, language=language)
    language.folder = tmp_path
    several = await at.call("rename_symbol", symbol="Square", new_name="Quad")
    assert "one/src/shapes.py:4 (class); two/src/shapes.py:1 (class)" in several.text
    uses = await at.call("find_references", symbol="Square", path="two/src/shapes.py:1")
    assert "one/src/use.py\n1\tfrom shapes import Square" in uses.text
    renamed = await at.call("rename_symbol", symbol="Square", new_name="Quad", path="two/src/shapes.py:1")
    assert "two/src/shapes.py (1)" in renamed.text

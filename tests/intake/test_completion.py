"""Completion of references: the text being typed, the matches, their order and their spelling."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.intake.completion import OpenDocument, complete, typed_reference, written
from planloom.intake.references import find_references
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.paths.roots import root_at
from tests.intake.support import World

NAMES = """
README.md|src/menu.ts|src/menu_test.ts|src/deep/er/menu.ts|src/form/page.ts|lib/page.ts
lib/my notes.md|lib/a(1).ts|src/ünï.ts
"""
FILES: dict[str, str | bytes] = {f"w/{name}": "" for name in NAMES.strip().replace("\n", "|").split("|")}


@pytest.fixture
async def index(tmp_path: Path) -> FileIndex:
    world = World(tmp_path, "w")
    world.write(FILES)
    return await world.build_index()


async def offered(
    index: FileIndex, marked: str, *documents: OpenDocument, recents: tuple[str, ...] = ()
) -> list[str]:
    """The labels offered where `$0` stands."""
    before, _, after = marked.partition("$0")
    offset = len(before.encode("utf-16-le")) // 2
    found = await complete(before + after, offset, index, documents, recents)
    return [item.label for item in found.items]


async def accepted(index: FileIndex, marked: str, number: int = 0) -> str:
    """The text after the item was taken."""
    before, _, after = marked.partition("$0")
    raw = (before + after).encode("utf-16-le")
    found = await complete(before + after, len(before.encode("utf-16-le")) // 2, index)
    item = found.items[number]
    start, end = item.replace
    new = raw[: start * 2] + item.insert_text.encode("utf-16-le") + raw[end * 2 :]
    return new.decode("utf-16-le")


@pytest.mark.parametrize(
    ("marked", "query"),
    [
        ("@$0", ""),
        ("look @src/me$0", "src/me"),
        ("(@me$0)", "me"),
        ("@a @b$0", "b"),
        ('@"my no$0', "my no"),
        ('@"my no$0tes.md" x', "my no"),
        ("请看@me$0", "me"),
        ("😀@me$0", "me"),
        ("line\n@me$0", "me"),
        ("@a:1$0", "a:1"),
    ],
)
def test_what_is_being_typed(marked: str, query: str) -> None:
    before, _, after = marked.partition("$0")
    found = typed_reference(before + after, len(before))
    assert found is not None and found.query == query


@pytest.mark.parametrize(
    "marked",
    ["$0", "me$0", "bob@me$0", "@me $0", "`@me$0`", "x\n$0@", '@"a"$0', "a.b@$0", "@me\n$0", "\\@me$0"],
)
async def test_where_nothing_is_offered(index: FileIndex, marked: str) -> None:
    assert await offered(index, marked) == []


async def test_the_best_match_comes_first(index: FileIndex) -> None:
    assert (await offered(index, "@menu$0"))[:3] == ["src/menu.ts", "src/deep/er/menu.ts", "src/menu_test.ts"]
    assert (await offered(index, "@s/form$0"))[0] == "src/form/"
    assert (await offered(index, "@readme$0"))[0] == "README.md"
    assert (await offered(index, "@ünï$0"))[0] == "src/ünï.ts"


async def test_recent_open_and_near_files_come_before_others(index: FileIndex) -> None:
    assert (await offered(index, "@page$0"))[0] == "lib/page.ts"
    assert (await offered(index, "@page$0", recents=("src/form/page.ts",)))[0] == "src/form/page.ts"
    assert (await offered(index, "@page$0", OpenDocument("src/form/page.ts", 3)))[0] == "src/form/page.ts"
    near = OpenDocument("src/form/other.ts", 3, active=True)
    assert (await offered(index, "@page$0", near))[0] == "src/form/page.ts"


async def test_an_empty_query_offers_what_is_at_hand(index: FileIndex) -> None:
    found = await offered(index, "@$0", OpenDocument("src/menu.ts", 3, active=True), recents=("lib/page.ts",))
    told = ["@selection", "@diagnostics", "@problems", "@git", "@url"]
    assert found[:7] == [*told, "lib/page.ts", "src/menu.ts"]
    assert {"README.md", "src/", "lib/"} <= set(found)


async def test_specials_are_offered_by_their_beginning(index: FileIndex) -> None:
    assert (await offered(index, "@sel$0"))[0] == "@selection"
    assert (await offered(index, "@diag$0"))[0] == "@diagnostics"
    assert "@selection" not in await offered(index, '@"sel$0')


async def test_line_ranges_of_open_documents(index: FileIndex) -> None:
    document = OpenDocument("src/menu.ts", 90, ((3, 7),), active=True)
    assert await offered(index, "@src/menu.ts:$0", document) == ["src/menu.ts:3-7", "src/menu.ts:1-90"]
    assert await offered(index, "@src/menu.ts:12$0", document) == ["src/menu.ts:12", "src/menu.ts:12-90"]
    assert await offered(index, "@src/menu.ts:12-$0", document) == ["src/menu.ts:12", "src/menu.ts:12-90"]


@pytest.mark.parametrize(
    ("marked", "wanted"),
    [
        ("see @menu$0 now", "see @src/menu.ts now"),
        ("😀 @menu$0", "😀 @src/menu.ts"),
        ("@src/me$0nu.t", "@src/menu.ts"),
        ("@notes$0", '@"lib/my notes.md"'),
        ('@"my no$0tes" x', '@"lib/my notes.md" x'),
        ('@"my no$0', '@"lib/my notes.md"'),
        ("@a(1)$0", "@lib/a(1).ts"),
        ("(@menu$0)", "(@src/menu.ts)"),
        ("@$0hello", "@selectionhello"),
    ],
)
async def test_what_is_taken_replaces_what_was_typed(index: FileIndex, marked: str, wanted: str) -> None:
    assert await accepted(index, marked) == wanted


@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters='"“”\\'),
        min_size=1,
        max_size=12,
    )
)
def test_what_is_written_reads_back(name: str) -> None:
    if not name.strip() or name != name.strip():
        return
    references = find_references(f"see {written(name)} now")
    assert [reference.kind for reference in references] == ["path"]
    assert references[0].readings[0].path == name


async def test_an_unfinished_index_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, "w")
    world.write(FILES)
    index = FileIndex([root_at(tmp_path / "w")], git=None)
    found = await complete("@me", 3, index, [OpenDocument("src/menu.ts", 1)])
    assert found.is_incomplete and [item.label for item in found.items] == ["src/menu.ts"]
    await index.build()
    assert not (await complete("@me", 3, index)).is_incomplete
    assert (await complete("@s", 2, index, limit=2)).is_incomplete


@given(st.text(alphabet='@"“” ab/:1\n`😀', max_size=30), st.integers(-3, 40))
def test_any_place_in_any_text(text: str, at: int) -> None:
    found = typed_reference(text, max(0, min(at, len(text))))
    assert found is None or 0 <= found.start < found.end <= len(text)


async def test_a_link_is_begun_and_what_git_tells_is_completed(index: FileIndex) -> None:
    assert await accepted(index, "read @ur$0") == "read @https://"
    assert await accepted(index, "review @gi$0") == "review @git"


async def test_secrets_come_last_and_say_so_and_documents_of_plans_are_not_offered(tmp_path: Path) -> None:
    world = World(tmp_path, "w")
    world.write(dict.fromkeys(("w/.env", "w/a.py", "w/z/long/name.py", "w/.planloom/x.plan.md"), ""))
    recents = (".env", ".planloom/x.plan.md")
    found = await complete("@", 1, await world.build_index(), (), recents)
    files = [each for each in found.items if each.kind in ("file", "folder")]
    assert files[-1].label == ".env" and "may hold secrets" in (files[-1].detail or "")
    assert not any(".planloom" in each.label for each in files)

"""Resolving references: where each is searched for, what is attached, and why one is refused."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from planloom.domain.changes import sha256
from planloom.domain.plans.attachments import ResolvedAttachment, Unresolved
from planloom.domain.values import Uri
from planloom.intake.contents import cut
from planloom.intake.reference_sources import Context, Limits, Requested, Resolution
from planloom.intake.resolve import look_again, resolve_references
from planloom.intake.workspace_sources import WorkspaceSources
from planloom.workspace.editor import Diagnostic, FileDiagnostics
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import Programs
from planloom.workspace.paths.uris import from_path
from tests.intake.support import TellingEditor, World, span

FILES: dict[str, str | bytes] = {
    "w/a.ts": "one\ntwo\nthree\n",
    "w/a.ts.": "a strange name",
    "w/src/menu.ts": "menu",
    "w/src/form/page.ts": "form page",
    "w/lib/page.ts": "lib page",
    "w/lib/my notes.md": "notes",
    "w/lib/odd:7": "odd",
    "w/.gitignore": "hidden/\n.env\n",
    "w/hidden/deep.ts": "deep",
    "w/.env": "KEY=1",
    "w/logo.png": b"\x89PNG\0",
    "w/data.bin": b"\0\1\2",
    "w/latin.txt": b"caf\xe9",
    "w/no end.txt": "first\nlast",
    "outside.ts": "no",
    "w2/other.ts": "other",
}


@pytest.fixture
async def world(tmp_path: Path) -> World:
    made = World(tmp_path, "w", editor=TellingEditor())
    made.write(FILES)
    await made.build_index()
    return made


async def resolved(world: World, text: str, context: Context | None = None, *confirmed: str) -> Resolution:
    return await resolve_references(text, world.sources, context, confirmed)


async def one(world: World, text: str, context: Context | None = None, *confirmed: str) -> ResolvedAttachment:
    found = await resolved(world, text, context, *confirmed)
    assert not found.unresolved, found.unresolved
    assert len(found.attachments) == 1, found.attachments
    return found.attachments[0]


async def none(world: World, text: str, context: Context | None = None) -> Unresolved:
    found = await resolved(world, text, context)
    assert not found.attachments and len(found.unresolved) == 1, found
    return found.unresolved[0]


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("text", "label", "content"),
    [
        ("look at @src/menu.ts, please", "src/menu.ts", "menu"),
        ("@./src/menu.ts", "src/menu.ts", "menu"),
        ("@src\\menu.ts", "src/menu.ts", "menu"),
        ("@w/src/menu.ts", "src/menu.ts", "menu"),
        ("@menu.ts", "src/menu.ts", "menu"),
        ("@form/page.ts", "src/form/page.ts", "form page"),
        ("@MENU.ts", "src/menu.ts", "menu"),
        ('@"lib/my notes.md"', "lib/my notes.md", "notes"),
        ('@"my notes.md"', "lib/my notes.md", "notes"),
        ("@a.ts.", "a.ts.", "a strange name"),
        ("@a.ts!", "a.ts", "one\ntwo\nthree\n"),
        ("@hidden/deep.ts", "hidden/deep.ts", "deep"),
        ("@lib/odd:7", "lib/odd:7", "odd"),
        ("@a.ts:2", "a.ts", "two\n"),
        ("@a.ts:2-9.", "a.ts", "two\nthree\n"),
        ("@a.ts:2-1", "a.ts", "one\ntwo\n"),
        ('@"no end.txt":2', "no end.txt", "last"),
    ],
)
async def test_files_are_found(world: World, text: str, label: str, content: str) -> None:
    found = await one(world, text)
    assert (found.attachment.label, found.text) == (label, content)
    assert found.attachment.kind == "file" and not found.attachment.truncated
    assert found.attachment.sha256 == sha256(content)
    assert found.attachment.bytes == len(content)


async def test_the_reference_is_kept_as_typed(world: World) -> None:
    assert (await one(world, "(@a.ts:2-3),")).attachment.reference == "@a.ts:2-3"
    assert (await one(world, "@a.ts:2-3")).attachment.range == span(1, 0, 3, 0)
    assert (await one(world, "@src/menu.ts")).attachment.language_id == "typescript"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("@missing.ts", "not_found", "missing.ts"),
        ("@wrong/menu.ts", "not_found", "src/menu.ts"),
        ("@page.ts", "ambiguous", "lib/page.ts"),
        ("@a.ts:9", "not_found", "3 lines"),
        ("@../outside.ts", "outside", "outside"),
        ("@/etc/passwd", "outside", "outside"),
        ("@~/x", "outside", ""),
        ("@.git/config", "outside", "git"),
        ("@.env", "secret", "Confirm"),
        ("@link.ts", "outside", "outside.ts"),
        ("@loop", "not_found", "loop"),
        ("@to-secret", "secret", "Confirm"),
        ("@data.bin:1", "binary", "binary"),
        ("@latin.txt:1", "undecodable", "encoding"),
        ("@pipe", "binary", "regular"),
        ("@selection", "no_context", "active file"),
        ("@diagnostics", "no_context", "active file"),
    ],
)
async def test_failures_have_their_own_reasons(world: World, text: str, code: str, words: str) -> None:
    (world.base / "w/link.ts").symlink_to(world.base / "outside.ts")
    (world.base / "w/loop").symlink_to(world.base / "w/loop")
    (world.base / "w/to-secret").symlink_to(world.base / "w/.env")
    os.mkfifo(world.base / "w/pipe")
    (world.base / "w/.git").mkdir()
    found = await none(world, text)
    if text != "@~/x":
        assert found.code == code, found
    assert words in found.message and found.message.endswith(".")
    assert found.reference == text


async def test_candidates_are_listed(world: World) -> None:
    assert set((await none(world, "@page.ts")).candidates) == {"lib/page.ts", "src/form/page.ts"}


async def test_unsaved_text_wins_over_the_disk(world: World) -> None:
    world.open("w/a.ts", "typed", version=7, language="mylang")
    found = await one(world, "@a.ts")
    assert (found.text, found.attachment.version) == ("typed", 7)
    assert found.attachment.language_id == "mylang"
    assert "not saved" in (found.attachment.note or "")


async def test_a_document_that_is_on_no_disk_yet_is_found(world: World) -> None:
    world.open("w/new/unsaved.ts", "fresh")
    assert (await one(world, "@new/unsaved.ts")).text == "fresh"


async def test_a_confirmed_secret_is_attached(world: World) -> None:
    for confirmed in ("@.env", ".env"):
        found = await one(world, "see @.env.", None, confirmed)
        assert (found.text, found.attachment.secret) == ("KEY=1", True)


@pytest.mark.parametrize(("text", "words"), [("@data.bin", "binary"), ("@latin.txt", "encoding")])
async def test_files_without_a_text_are_described(world: World, text: str, words: str) -> None:
    found = await one(world, text)
    assert found.text is None and found.attachment.truncated and found.attachment.bytes > 0
    assert words in (found.attachment.note or "")


async def test_a_file_that_is_too_large_is_described_or_cut(world: World) -> None:
    world.write({"w/huge.txt": "x" * 6_000_000, "w/long.txt": "läng\n" * 100})
    found = await one(world, "@huge.txt")
    assert found.text is None and "too large" in (found.attachment.note or "")
    limited = await resolve_references("@long.txt", world.sources, limits=Limits(reference_bytes=100))
    (long,) = limited.attachments
    assert long.text == "läng\n" * 16 and long.attachment.truncated and long.attachment.bytes == 600
    assert "first 96 of 600 bytes" in (long.attachment.note or "")


async def test_everything_together_is_limited(world: World) -> None:
    world.write({f"w/part{number}.txt": "x" * 100 for number in range(4)})
    text = "@part0.txt @part1.txt @part2.txt @part3.txt @a.ts"
    found = await resolve_references(text, world.sources, limits=Limits(total_bytes=250, references=4))
    assert [len(each.text or "") for each in found.attachments] == [100, 100, 50, 0]
    assert [each.attachment.truncated for each in found.attachments] == [False, False, True, True]
    assert [(each.reference, each.code) for each in found.unresolved] == [("@a.ts", "too_large")]


async def test_a_folder_attaches_its_tree(world: World) -> None:
    for text in ("@src/", "@src", "@w/src/"):
        found = await one(world, text)
        assert found.attachment.kind == "folder" and found.attachment.label == "src/"
        assert found.text == "form/\n  page.ts\nmenu.ts\n"
    assert (await one(world, "@form/")).text == "page.ts\n"
    assert (await one(world, "@hidden/")).text == "deep.ts\n"
    assert "lib/\n  my notes.md\n" in str((await one(world, "@./")).text)


async def test_images_and_links_are_recorded(world: World) -> None:
    found = await resolved(world, "@logo.png and https://x.org/a, @https://y.org")
    image, bare, link = found.attachments
    assert (image.attachment.kind, image.image, image.text) == ("image", b"\x89PNG\0", None)
    assert [bare.attachment.kind, bare.attachment.uri] == ["link", "https://x.org/a"]
    assert [link.attachment.uri, link.attachment.reference] == ["https://y.org", "@https://y.org"]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://x.org/p.jpeg", "image"),
        ("@http://x.org/a/P.PNG?size=2#top", "image"),
        ("https://x.org/p.svg", "link"),
        ("https://x.png", "link"),
        ("https://x.org/?p.png", "link"),
        ("https://user@x.org/p.png", "link"),
    ],
)
async def test_the_address_of_an_image_is_recorded_and_not_fetched(url: str, kind: str, world: World) -> None:
    found = await one(world, f"Describe {url}, please")
    assert (found.attachment.kind, found.image) == (kind, None)
    assert "fetche" in (found.attachment.note or "")


async def test_a_place_is_attached_once(world: World) -> None:
    found = await resolved(world, "@a.ts and @w/a.ts and @a.ts:1 and @missing @missing")
    assert [each.attachment.reference for each in found.attachments] == ["@a.ts", "@a.ts:1"]
    assert [each.attachment.attachment_id for each in found.attachments] == ["attachment_1", "attachment_2"]
    assert len(found.unresolved) == 1


async def test_attached_text_is_not_looked_through_for_references(world: World) -> None:
    world.write({"w/trap.md": "read @src/menu.ts and @.env"})
    found = await resolved(world, "@trap.md")
    assert len(found.attachments) == 1 and not found.unresolved


async def test_selections_of_the_active_file(world: World) -> None:
    world.open("w/a.ts", "x😀y\nz\n", version=2)
    context = Context(
        uri=world.uri("w/a.ts"), selections=(span(0, 1, 0, 3), span(1, 0, 1, 0), span(1, 0, 1, 1))
    )
    found = await resolved(world, "explain @selection", context)
    assert [each.text for each in found.attachments] == ["😀", "z"]
    assert [each.attachment.range for each in found.attachments] == [span(0, 1, 0, 3), span(1, 0, 1, 1)]
    assert {each.attachment.kind for each in found.attachments} == {"selection"}
    empty = Context(uri=world.uri("w/a.ts"), selections=(span(1, 0, 1, 0),))
    assert "Nothing is selected" in (await none(world, "@selection", empty)).message


async def test_selections_outside_the_workspace_or_in_secrets_are_refused(world: World) -> None:
    selected = (span(0, 0, 0, 2),)
    outside = Context(uri=world.uri("outside.ts"), selections=selected)
    assert (await none(world, "@selection", outside)).code == "outside"
    secret = Context(uri=world.uri("w/.env"), selections=selected)
    assert (await none(world, "@selection", secret)).code == "secret"
    world.documents.did_open("untitled:Untitled-1", "python", 1, "print()")
    untitled = Context(uri=Uri("untitled:Untitled-1"), selections=selected)
    assert (await one(world, "@selection", untitled)).text == "pr"


async def test_diagnostics_of_the_active_file_or_another(tmp_path: Path) -> None:
    items = (
        Diagnostic(range=span(4, 2, 4, 3), severity="warning", message="odd\nthing"),
        Diagnostic(range=span(1, 0, 1, 1), severity="error", message="bad", source="tsc", code="1"),
    )
    world = World(tmp_path, "w", editor=TellingEditor(items))
    world.write(FILES)
    found = await one(world, "@diagnostics:src/menu.ts.")
    assert found.text == "src/menu.ts:2:1 error: bad [tsc 1]\nsrc/menu.ts:5:3 warning: odd thing\n"
    assert (found.attachment.kind, found.attachment.version) == ("diagnostics", 3)
    active = await one(world, "@diagnostics", Context(uri=world.uri("w/a.ts")))
    assert active.attachment.label == "a.ts"
    assert (await none(world, "@diagnostics:gone.ts")).code == "not_found"


@pytest.mark.parametrize("editor", [None, TellingEditor(able=False), TellingEditor(silent=True)])
async def test_an_editor_that_tells_no_diagnostics(tmp_path: Path, editor: TellingEditor | None) -> None:
    world = World(tmp_path, "w", editor=editor)
    world.write(FILES)
    assert (await none(world, "@diagnostics:a.ts")).code == "no_context"


async def test_what_was_attached_beside_the_text(world: World) -> None:
    requested = (
        Requested(uri=world.uri("w/a.ts"), range=span(0, 1, 1, 2), label="the start"),
        Requested(uri=world.uri("outside.ts")),
        Requested(uri=Uri("https://x.org/a")),
    )
    found = await resolve_references("", world.sources, requested=requested)
    (part,) = found.attachments
    assert (part.text, part.attachment.label, part.attachment.reference) == ("ne\ntw", "the start", "@a.ts")
    assert [each.code for each in found.unresolved] == ["outside", "outside"]


async def test_several_folders(tmp_path: Path) -> None:
    world = World(tmp_path, "w", "w2")
    world.write({**FILES, "w2/a.ts": "second"})
    await world.build_index()
    assert (await one(world, "@other.ts")).text == "other"
    assert (await one(world, "@w2/a.ts")).text == "second"
    assert (await one(world, "@form/page.ts")).text == "form page"
    both = await none(world, "@a.ts")
    assert both.code == "ambiguous" and set(both.candidates) == {"w/a.ts", "w2/a.ts"}


async def test_either_unicode_form_finds_the_file(world: World) -> None:
    world.write({"w/" + unicodedata.normalize("NFD", "café.ts"): "coffee"})
    await world.build_index()
    for form in ("NFC", "NFD"):
        assert (await one(world, "@" + unicodedata.normalize(form, "café.ts"))).text == "coffee"


async def test_without_a_folder_nothing_resolves(tmp_path: Path) -> None:
    assert (await none(World(tmp_path), "@a.ts")).code == "no_context"


async def test_an_unfinished_index_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planloom.intake.workspace_sources.INDEX_SECONDS", 0.01)
    world = World(tmp_path, "w")
    world.write(FILES)
    world.index = FileIndex(world.roots.folders, git=None)
    assert "Not all files are listed yet" in (await none(world, "@menu.ts")).message
    assert (await one(world, "@src/menu.ts")).text == "menu"
    await world.index.build()
    assert (await one(world, "@menu.ts")).text == "menu"


async def test_an_attachment_is_looked_at_again(world: World) -> None:
    attached = (await one(world, "@a.ts:1-2")).attachment
    assert await look_again(attached, world.sources) is None
    world.write({"w/a.ts": "new\nlines\n"})
    again = await look_again(attached, world.sources)
    assert isinstance(again, ResolvedAttachment) and again.text == "new\nlines\n"
    assert again.attachment.attachment_id == attached.attachment_id
    (world.base / "w/a.ts").unlink()
    gone = await look_again(attached, world.sources)
    assert isinstance(gone, Unresolved) and gone.code == "not_found"
    secret = (await one(world, "@.env", None, ".env")).attachment
    assert await look_again(secret, world.sources) is None


async def test_ten_thousand_signs_are_no_flood(world: World) -> None:
    found = await resolved(world, "@nothing " * 10_000)
    assert len(found.unresolved) <= 101


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("ab\ncd\n", 6, "ab\ncd\n"),
        ("ab\ncd\n", 5, "ab\n"),
        ("abcdef", 4, "abcd"),
        ("äöü", 3, "ä"),
        ("a😀", 4, "a"),
        ("ab\r\ncd", 3, "ab\r"),
        ("ab\r\ncd", 4, "ab\r\n"),
        ("x\nab\r\ncd", 5, "x\n"),
        ("a", 0, ""),
    ],
)
def test_text_is_cut_at_whole_lines_and_characters(text: str, most: int, kept: str) -> None:
    found = cut(text, most)
    assert (found.text, found.truncated) == (kept, kept != text)
    assert found.bytes == len(text.encode())


async def test_all_problems_but_those_of_secrets_and_of_other_folders(tmp_path: Path) -> None:
    found = tuple(
        FileDiagnostics(
            uri=from_path(tmp_path / name),
            items=(Diagnostic(range=span(1, 0, 1, 1), severity="error", message=f"bad {name}"),),
        )
        for name in ("w/src/menu.ts", "w/a.ts", "w/.env", "outside.ts")
    )
    world = World(tmp_path, "w", editor=TellingEditor(everywhere=found))
    world.write(FILES)
    world.open("w/lib/page.ts", "x")
    told = await one(world, "Fix @problems")
    assert told.text == "a.ts:2:1 error: bad w/a.ts\nsrc/menu.ts:2:1 error: bad w/src/menu.ts\n"
    assert (told.attachment.kind, told.attachment.label) == ("diagnostics", "@problems")
    quiet = World(tmp_path, "w", editor=TellingEditor())
    assert "no errors or warnings" in ((await one(quiet, "@problems")).text or "")


@pytest.mark.parametrize("editor", [None, TellingEditor(able=False), TellingEditor(silent=True)])
async def test_an_editor_that_tells_no_problems(tmp_path: Path, editor: TellingEditor | None) -> None:
    world = World(tmp_path, "w", editor=editor)
    world.open("w/a.ts", "x")
    assert (await none(world, "@problems")).code == "no_context"


async def test_the_chosen_text_of_a_terminal_is_attached_without_its_colours(world: World) -> None:
    told = await one(world, "Mend @terminal", Context(terminal="\x1b[31m1 failed\x1b[0m\n"))
    assert (told.text, told.attachment.kind) == ("1 failed\n", "terminal")
    assert (await none(world, "Mend @terminal")).code == "no_context"
    assert (await none(world, "Mend @terminal", Context(terminal=" \n"))).code == "no_context"
    cut_short = await resolve_references(
        "@terminal", world.sources, Context(terminal="line\n" * 9), limits=Limits(reference_bytes=12)
    )
    assert cut_short.attachments[0].text == "line\nline\n" and cut_short.attachments[0].attachment.truncated


async def test_git_tells_what_has_changed_unsaved_text_included_and_no_secrets(tmp_path: Path) -> None:
    world = World(tmp_path, "w", editor=TellingEditor())
    world.write({"w/a.ts": "one\n", "w/src/b.ts": "two\n", "w/.env": "KEY=1\n"})
    for command in ("init -q", "add -A -f", "-c user.name=u -c user.email=u@x commit -q -m first"):
        git(tmp_path / "w", *command.split())
    world.write({"w/a.ts": "ONE\n", "w/.env": "KEY=2\n"})
    world.documents.did_open(world.uri("w/src/b.ts"), "typescript", 1, "TWO\n", on_disk="two\n")
    told = await one(world, "Review @git")
    assert told.attachment.kind == "changes" and told.attachment.language_id == "diff"
    text = told.text or ""
    assert "-one\n+ONE" in text and "-two\n+TWO" in text
    assert "KEY" not in text and "may hold secrets: 1 file" in text
    part = await one(world, "Review @git:src, please")
    assert "ONE" not in (part.text or "") and "+TWO" in (part.text or "")
    assert part.attachment.reference == "@git:src"
    both = await resolved(world, "Review @git:a.ts and @git:src")
    assert [each.attachment.reference for each in both.attachments] == ["@git:a.ts", "@git:src"]


async def test_git_tells_nothing_of_a_folder_that_is_not_trusted_or_in_no_repository(tmp_path: Path) -> None:
    world = World(tmp_path, "w")
    world.write({"w/a.ts": "one\n"})
    assert "not in a git repository" in (await none(world, "@git")).message
    git(tmp_path / "w", "init", "-q")
    untrusted = WorkspaceSources(world.view, lambda: None, lambda: None, Programs(lambda: False))
    found = await resolve_references("@git", untrusted)
    assert [each.code for each in found.unresolved] == ["no_context"]

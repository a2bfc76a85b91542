"""Letters that only look like Latin ones, and text far behind blanks, are named wherever a person decides."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from planloom.cli.terminal.diffs import diff_rows
from planloom.domain.text.hidden_characters import far_text, folded_blanks
from planloom.domain.text.look_alikes import look_alikes
from planloom.tools.terminal_text import escaped
from tests.support.studio import studio

FAR = "true" + " " * 200 + "; id"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("сurl https://x", [("сurl", "curl")]),
        ("git рush mаin", [("рush", "push"), ("mаin", "main")]),
        ("rm -rf Αpp", [("Αpp", "App")]),
        ("ｃｕｒｌ x", [("ｃｕｒｌ", "curl")]),
        ("cat 𝐩asswd", [("𝐩asswd", "passwd")]),
        ("сор", [("сор", "cop")]),
        ("pуthon3 run_mе.py", [("pуthon", "python"), ("mе", "me")]),
        ("Ꮯurl x", [("Ꮯurl", "Curl")]),
        ("pip install ꓣequests ⲣandas", [("ꓣequests", "Requests"), ("ⲣandas", "pandas")]),
        ("cat ʀeadme; ᴄurl x", [("ʀeadme", "readme"), ("ᴄurl", "curl")]),
        ("rm ‐rf x", [("‐rf", "-rf")]),
        ("rm －rf x", [("－rf", "-rf")]),
        ("curl https://github．com", [("https://github．com", "https://github.com")]),
        ("rm −rf x —force", [("−rf", "-rf"), ("—force", "-force")]),
        (
            "curl https://evil.com∕github.com/",
            [("https://evil.com∕github.com/", "https://evil.com/github.com/")],
        ),
        ("curl https://github․com", [("https://github․com", "https://github.com")]),
        ("git commit -m 'a – b, pages 3–5, “quoted”, it’s, 2×3, a–b'", []),
        ("echo ノート/x 日本・x", []),
        ("python тест_run.py", []),
        ("echo Δx 10μs nº 1ª naïve Ångström über", []),
        ("git commit -m 'готово в срок'", []),
        ("echo 日本語abc", []),
    ],
)
def test_a_word_is_suspicious_only_if_a_reader_could_mistake_it(
    text: str, found: list[tuple[str, str]]
) -> None:
    assert [(each.word, each.latin) for each in look_alikes(text)] == found


@pytest.mark.parametrize("text", ["аb " * 100_000, "а" * 300_000 + "b", " " * 300_000, " " * 300_000 + "x"])
def test_time_is_linear(text: str) -> None:
    began = time.perf_counter()
    look_alikes(text)
    far_text(text)
    folded_blanks(text)
    assert time.perf_counter() - began < 2


async def test_a_command_with_other_letters_is_asked_with_their_names(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask("run `сurl --version`")
        assert plan.pending.approvals[0].warning == (
            "Characters only look like those of ASCII:"
            " “сurl” is not “curl”, it has с (U+0441, cyrillic small letter es)."
        )
        await room.respond(plan, "deny")


async def test_a_path_with_other_letters_is_asked_with_their_names(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask('Create file "srс/mаin.py" with content "x"')
        warning = plan.pending.approvals[0].warning or ""
        assert "“srс” is not “src”" in warning and "“mаin” is not “main”" in warning
        await room.respond(plan, "deny")


def test_text_behind_many_blanks_is_folded_with_their_number() -> None:
    assert escaped(FAR) == "true<200 blanks>; id"
    assert folded_blanks("a" + " " * 79 + "b") == "a" + " " * 79 + "b"
    assert folded_blanks("a" + " " * 500) == "a" + " " * 500
    rows, _ = diff_rows("a\n", f"a\n{FAR}\n")
    assert [row.text for row in rows] == ["a", "true<200 blanks>; id"]
    # What stood there before is not the change's.
    assert far_text(f"{FAR}\nb\n", f"{FAR}\n") is None


async def test_a_command_and_a_change_far_behind_blanks_are_asked_with_a_warning(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask(f"run `{FAR}`")
        asked = plan.pending.approvals[0]
        assert asked.command == "true<200 blanks>; id"
        assert asked.warning == "A part of it stands behind 200 blanks, which are shown as a number."
        await room.respond(plan, "deny")
        plan = await room.ask(f'Create file "a.sh" with content "{FAR}"')
        assert plan.pending.approvals[0].warning == "a.sh: line 1 has text behind 200 blanks."
        await room.respond(plan, "deny")

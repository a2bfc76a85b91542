"""No tool shows what is in a file that may hold secrets, or in the environment; tools that are added are tried, too."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from planloom.tools.registry import builtin
from planloom.tools.tool import Tool
from tests.support.fake_language import FakeLanguage
from tests.tools.desk import Desk

SECRET = "hush-4711"
AIMED = (".env", ".", "hush")
"""The file with the secret, its folder, and the beginning of the secret."""
GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def calls(tool: Tool) -> Iterator[dict[str, Any]]:
    """Calls that aim at the secret by every argument that is a text or a list of texts."""
    choices: dict[str, list[dict[str, Any]]] = {}
    for name, field in tool.arguments.model_fields.items():
        kind = str(field.annotation)
        if "str" in kind:
            values = [[text] if kind.startswith(("list", "tuple")) else text for text in AIMED]
            choices[name] = [{name: value} for value in values] + ([] if field.is_required() else [{}])
    for parts in product(*choices.values()):
        yield {name: value for part in parts for name, value in part.items()}


@pytest.mark.parametrize("tool", tuple(builtin()), ids=lambda tool: tool.name)
async def test_a_tool_shows_no_secret(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    desk = Desk(tmp_path, {".env": f"KEY={SECRET}-before\n", "a.txt": "x\n"})
    for args in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "Begin")):
        await asyncio.to_thread(subprocess.run, [*GIT, *args], cwd=desk.folder, check=True)
    secret = f"KEY={SECRET}\ndef hush_4711(): return '{SECRET}'\n"
    (desk.folder / ".env").write_text(secret, encoding="utf-8")
    desk.context.language = FakeLanguage(desk.folder, "")
    for args in calls(tool):
        try:
            arguments = tool.arguments.model_validate(args)
        except ValidationError:
            continue
        result = await tool.run(arguments, desk.context)
        assert SECRET not in str(result).replace("_", "-"), (
            f"{tool.name} shows a secret: it must fail for a place whose `secret` is set, as `read_spans` of "
            f"tools/files/reading.py does, leave out names that `is_secret`, and not read the environment: {args}"
        )
        desk.context.drop_staged()

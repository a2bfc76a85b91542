"""Flags decide what they say they decide, and nothing more."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from planloom.cli.terminal.decisions import Flags, NonInteractive, Verdict, verdict_by_flags

WRITE: dict[str, Any] = {"effect": "write", "files": [{"uri": "file:///w/a", "change": "edit"}]}
PLAIN = {
    "a write": WRITE,
    "a folder": {"effect": "write", "files": [{"uri": "file:///w", "change": "createFolder"}]},
}
MORE = {
    "a command": {"effect": "execute", "command": "ls"},
    "a delete": {"effect": "destroy", "files": [{"uri": "file:///w/a", "change": "delete"}]},
    "a protected name": WRITE | {"protected": True},
    "a write that deletes": {"effect": "write", "files": [{"uri": "file:///w/a", "change": "delete"}]},
    "an effect from the future": {"effect": "publish"},
    "no effect at all": {},
}
FLAGS = [Flags(*values) for values in product((False, True), repeat=3)]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("approval", PLAIN.values(), ids=PLAIN)
def test_yes_allows_writes(approval: Any, flags: Flags) -> None:
    verdict = verdict_by_flags(approval, flags)
    if flags.yes:
        assert verdict == Verdict("allow")
    elif flags.terminal:
        assert verdict is None
    else:
        assert verdict is not None
        assert verdict.decision == "deny"


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("approval", MORE.values(), ids=MORE)
def test_dangerous_things_need_yes_commands(approval: Any, flags: Flags) -> None:
    verdict = verdict_by_flags(approval, flags)
    if flags.yes_commands:
        assert verdict == Verdict("allow")
    elif flags.terminal:
        assert verdict is None
    else:
        assert verdict is not None
        assert verdict.decision == "deny"
        assert "--yes-commands" in (verdict.reason or "")


async def test_nobody_harms_nothing() -> None:
    nobody = NonInteractive()
    assert await nobody.review() == "cancel"
    assert (await nobody.approval({}, [])).decision == "deny"
    assert await nobody.question({}) is None
    assert (await nobody.recovery({}, {})).action == "abort"
    assert await nobody.conflict({"files": [{"uri": "file:///a"}]}) == {"file:///a": "mine"}
    assert await nobody.resume("Go on?") is False
    assert await nobody.attach_secret(".env", "") is False

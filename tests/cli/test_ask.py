"""Flags decide what they say they decide, and nothing more."""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import product
from typing import Any

import pytest

from planloom.cli.terminal.decisions import ASSUME, Flags, Leave, NonInteractive, Verdict, verdict_by_flags

WRITE: dict[str, Any] = {"effect": "write", "files": [{"uri": "file:///w/a", "change": "edit"}]}
PLAIN = {
    "a write": WRITE,
    "a folder": {"effect": "write", "files": [{"uri": "file:///w", "change": "createFolder"}]},
    "a change of the plan": {
        "effect": "write",
        "files": [],
        "planChanges": [{"kind": "added", "stepId": "n"}],
    },
}
MORE = {
    "a command": {"effect": "execute", "command": "ls"},
    "a fetch": {"effect": "fetch", "url": "https://example.org/", "host": "example.org"},
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
async def test_what_may_have_run_is_made_again_by_a_person_alone(flags: Flags) -> None:
    approval: Any = MORE["a fetch"] | {"effect": "execute", "command": "sh publish.sh", "mayHaveRun": True}
    assert verdict_by_flags(approval, flags) is None
    with pytest.raises(Leave):
        await NonInteractive(yes=flags.yes).approval(approval, [])


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


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_no_flag_keeps_what_a_command_wrote_in_protected_names(flags: Flags) -> None:
    verdict = verdict_by_flags({**WRITE, "protected": True, "tool": "run_command"}, flags)  # type: ignore[typeddict-item]
    assert verdict is None if flags.terminal else verdict is not None and verdict.decision == "deny"


async def test_yes_lets_the_model_decide_but_not_for_ever() -> None:
    nobody = NonInteractive(yes=True)
    proposed: Any = {"options": ["accept", "retry"], "proposal": {"action": "retry", "why": "It may pass."}}
    assert [await nobody.question({"stepId": "s1"}) for _ in range(3)] == [ASSUME] * 3
    taken = [(await nobody.recovery({"stepId": "s1"}, proposed)).action for _ in range(3)]
    assert taken == ["accept"] * 3
    await leaves(nobody.question({"stepId": "s1"}))
    await leaves(nobody.recovery({"stepId": "s1"}, proposed))
    await leaves(nobody.recovery({"stepId": "s2"}, {"options": ["retry", "model"]}))


async def test_yes_lets_a_plan_go_on_at_a_limit_of_its_steps_but_not_for_ever() -> None:
    nobody = NonInteractive(yes=True)
    assert [await nobody.pause(paused("budget", "200 calls.")) for _ in range(5)] == ["resume"] * 5
    await leaves(nobody.pause(paused("budget", "200 calls.")))
    await leaves(NonInteractive(yes=True).pause(paused("budget", "60 requests (budget.maxRequests).")))
    await leaves(NonInteractive(yes=True).pause(paused("model_unavailable", "")))


def paused(reason: str, detail: str) -> Any:
    return {"plan": {"pauseReason": reason, "pauseDetail": detail}}


async def leaves(asked: Awaitable[Any]) -> None:
    with pytest.raises(Leave):
        await asked


async def test_nobody_harms_nothing() -> None:
    nobody = NonInteractive()
    await leaves(nobody.review({}, []))
    assert (await nobody.approval({}, [])).decision == "deny"
    await leaves(nobody.question({}))
    await leaves(nobody.recovery({}, {}))
    assert await nobody.conflict({"files": [{"uri": "file:///a"}]}) == {"file:///a": "mine"}
    await leaves(nobody.pause(paused("budget", "")))
    assert await nobody.attach_secret(".env", "") is False


COMMAND: dict[str, Any] = {"effect": "execute", "command": "npm install"}
LESS = {"confined": True, "network": "none", "label": "without network", "line": "…"}
ASKS = {"confined": True, "network": "all", "line": "…", "asksNetwork": True, "offers": [LESS]}
UNCONFINED = {"confined": False, "network": "none", "line": "…", "asksNetwork": False, "offers": []}


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_no_flag_gives_the_network_or_takes_the_confinement_away(flags: Flags) -> None:
    network: Any = COMMAND | {"confinement": ASKS}
    verdict = verdict_by_flags(network, flags)
    if flags.yes_commands:
        assert verdict == Verdict("allow", confinement={"confined": True, "network": "none"})
    free: Any = COMMAND | {"confinement": UNCONFINED}
    verdict = verdict_by_flags(free, flags)
    assert verdict is None if flags.terminal else verdict is not None and verdict.decision == "deny"

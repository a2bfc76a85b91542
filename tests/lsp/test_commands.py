"""The commands for clients without an extension."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from planloom.domain.errors import UnknownThing
from planloom.domain.plans.editing import SkipStep, UnskipStep
from planloom.domain.plans.plan import summary
from planloom.domain.values import StepId
from planloom.lsp import commands
from tests.support.fake_application import FakeApplication, a_plan
from tests.support.lsp_client import PLAIN, LspClient, connected


async def run(client: LspClient, command: str, *arguments: Any) -> Any:
    return await client.request(
        "workspace/executeCommand", {"command": f"planloom.{command}", "arguments": list(arguments)}
    )


@pytest.mark.parametrize(
    ("command", "arguments", "call"),
    [
        ("approve", ["p1", 3], ("plans.approve", "p1", 3, None)),
        ("direct", [], ("plans.direct", "p1")),
        ("direct", ["p9"], ("plans.direct", "p9")),
        ("respond", ["a1", "deny", "no"], ("approvals.respond", "a1", "deny", "no", None, None)),
        ("respond", ["a1", "allow"], ("approvals.respond", "a1", "allow", None, None, None)),
        ("recover", ["p1", "s1", "accept"], ("steps.recover", "p1", "s1", "accept", None)),
        ("skipStep", ["p1", "s1"], ("plans.edit", "p1", 1, (SkipStep(step_id=StepId("s1")),))),
        ("unskipStep", ["p1", "s1"], ("plans.edit", "p1", 1, (UnskipStep(step_id=StepId("s1")),))),
        ("retryStep", ["p1", "s1"], ("steps.recover", "p1", "s1", "retry", None)),
        ("reject", ["p1", "too much"], ("plans.reject", "p1", "too much")),
        ("reject", [None, "too much"], ("plans.reject", "p1", "too much")),
        ("cancel", [], ("plans.cancel", "p1")),
        ("pause", [], ("plans.pause", "p1")),
        ("resume", [], ("plans.resume", "p1")),
        ("review", [], ("plans.review", "p1")),
        ("undo", ["p1", "s1"], ("plans.undo", "p1", "s1", False)),
        ("redo", ["p1"], ("plans.undo", "p1", None, True)),
        ("resolve", ["p1", "e1", "both"], ("approvals.resolve_conflict", "p1", "e1", ())),
        ("answer", ["p1", "s1", "80"], ("steps.answer", "p1", "s1", "80")),
        ("message", ["p1", "shorter"], ("messages.send", "p1", "shorter")),
        ("regenerate", [None, "shorter"], ("plans.regenerate", "p1", 1, "shorter")),
        ("showPlan", [], ("plans.markdown", "p1")),
    ],
)
async def test_a_command_does_what_its_method_does(
    command: str, arguments: list[Any], call: tuple[Any, ...]
) -> None:
    app = FakeApplication()
    async with connected(app.make, capabilities=PLAIN, extension=None) as client:
        answer = await run(client, command, *arguments)
        assert call in app.calls
        assert answer is None or answer["planId"] in ("p1", "p9")


async def test_plan_and_status(tmp_path: Any) -> None:
    app = FakeApplication()
    async with connected(app.make, extension=None) as client:
        assert await run(client, "plan", "Do it") == {
            "planId": "p1",
            "status": "pending_approval",
            "version": 1,
        }
        assert app.calls[-1][1].text == "Do it"
        assert (await run(client, "status"))["health"] == "ok"


@pytest.mark.parametrize(
    ("command", "arguments", "field"),
    [
        ("plan", [], "arguments[0]"),
        ("plan", [5], "arguments[0]"),
        ("approve", ["p1"], "arguments[1]"),
        ("approve", ["p1", "1"], "arguments[1]"),
        ("approve", ["p1", True], "arguments[1]"),
        ("respond", ["a1", "maybe"], "arguments[1]"),
        ("recover", ["p1", "s1", "jump"], "arguments[2]"),
        ("answer", ["p1", "s1"], "arguments[2]"),
        ("cancel", [{}], "arguments[0]"),
        ("nope", [], "command"),
        ("ui.open", [], "command"),
    ],
)
async def test_arguments_that_are_off_are_named(command: str, arguments: list[Any], field: str) -> None:
    async with connected(FakeApplication().make) as client:
        error = await client.fails(
            "workspace/executeCommand", {"command": f"planloom.{command}", "arguments": arguments}
        )
        assert (error.code, error.word) == (-32602, "invalid_params")
        assert error.data["details"][0]["field"] == field


async def test_a_plan_left_out_must_be_the_only_one() -> None:
    app = FakeApplication(plans__list=(summary(a_plan("p1")), summary(a_plan("p2"))))
    async with connected(app.make) as client:
        error = await client.fails("workspace/executeCommand", {"command": "planloom.cancel"})
        assert error.word == "invalid_params"
        assert [detail["problem"][:2] for detail in error.data["details"][1:]] == ["p1", "p2"]
        app.script["plans.list"] = ()
        error = await client.fails("workspace/executeCommand", {"command": "planloom.cancel"})
        assert "no plan fits" in error.data["details"][0]["problem"]


async def test_only_plans_that_the_command_can_act_on_count() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await run(client, "resume")
        listed = next(call for call in app.calls if call[0] == "plans.list")
        assert listed[2] == ("paused",)


async def test_what_takes_long_returns_at_once_and_tells_its_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "SOON_SECONDS", 0.01)
    go = asyncio.Event()

    async def slow(*_: Any) -> Any:
        await go.wait()
        raise UnknownThing("plan", "p1")

    app = FakeApplication(plans__pause=slow)
    async with connected(app.make) as client:
        assert await run(client, "pause", "p1") is None
        go.set()
        message = await client.wait_shown("There is no plan")
        assert message["type"] == 1


async def test_a_failure_that_comes_soon_is_the_answer() -> None:
    app = FakeApplication(plans__pause=UnknownThing("plan", "p1"))
    async with connected(app.make) as client:
        error = await client.fails(
            "workspace/executeCommand", {"command": "planloom.pause", "arguments": ["p1"]}
        )
        assert (error.code, error.word) == (-32803, "unknown_plan")

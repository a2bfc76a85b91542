"""What is judged of a change reaches each kind of client, also when it comes after the question."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.changes import Changeset
from planloom.domain.problems import Judged, NewProblem
from planloom.service.application import Application
from planloom.serving.opening import ApplicationContext, MakeApplication
from planloom.workspace.language import Texts
from tests.lsp.test_fallback import EDIT, NONE, User
from tests.lsp.test_whole import EMBEDDED
from tests.support.fake_language import FakeLanguage
from tests.support.lsp_client import EXTENSION, FULL, LspClient, connected
from tests.support.real_application import real_application


class Late(FakeLanguage):
    """Says of every change that it brings one error, once it is `free`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ".txt")
        self.free = asyncio.Event()
        self.judgement = lambda changes, under: Judged(
            by="words",
            problems=(
                NewProblem(uri=changes.changes[0].uri, line=4, severity="error", message="Unknown name"),
            ),
            total=1,
        )

    async def judge(self, changes: Changeset, under: Texts, seconds: float) -> Judged | None:
        await self.free.wait()
        return await super().judge(changes, under, seconds)


def judging(language: Late) -> MakeApplication:
    make = real_application()

    async def made(opening: ApplicationContext) -> Application:
        app = await make(opening)
        app._session.language = language
        return app

    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("old\n")
    return tmp_path


def judged_client(language: Late, folder: Path, extension: dict[str, Any] | None) -> Any:
    return connected(
        judging(language),
        folders=[folder],
        settings={**EMBEDDED, "approvals": {"plan": "none"}},
        capabilities=FULL,
        extension=extension,
    )


async def started(client: LspClient) -> str:
    """The id of a plan that was started as soon as it was ready."""
    created = (await client.request("planloom/plan/create", {"text": EDIT}))["plan"]
    await start(client, created["planId"])
    return str(created["planId"])


async def start(client: LspClient, plan_id: str) -> None:
    named = {"planId": plan_id}
    ready = (await client.request("planloom/plan/wait", {**named, "until": "ready"}))["plan"]
    await client.request("planloom/plan/approve", {**named, "version": ready["version"]})


async def approval_of(client: LspClient, plan_id: str) -> dict[str, Any]:
    """The approval that a plan waits for."""
    found = (await client.request("planloom/plan/get", {"planId": plan_id}))["plan"]
    (approval,) = found["pending"]["approvals"]
    return dict(approval)


def of_type(client: LspClient, name: str) -> list[dict[str, Any]]:
    return [each for each in client.events if each["type"] == name]


async def test_a_late_judgement_is_an_event_and_part_of_the_view(folder: Path) -> None:
    language = Late(folder)
    async with judged_client(language, folder, EXTENSION) as client:
        plan_id = await started(client)
        await client.until(lambda: of_type(client, "approval_request"))
        approval = of_type(client, "approval_request")[0]["approval"]
        assert approval["judged"]["headline"] == "new problems are not yet known"
        language.free.set()
        await client.until(lambda: of_type(client, "approval_judged"))
        event = of_type(client, "approval_judged")[0]
        assert (
            event["approvalId"] == approval["approvalId"] and event["judged"]["headline"] == "1 new problem"
        )
        view = (await client.request("planloom/plan/view", {"planId": plan_id}))["view"]
        (shown,) = view["approvals"]
        assert shown["judged"]["words"] == "1 new problem (words)"
        assert shown["judged"]["problems"][0] | {"uri": ""} == {
            "uri": "",
            "path": "a.txt",
            "line": 5,
            "severity": "error",
            "kind": "error",
            "message": "Unknown name",
        }
        (pending,) = view["plan"]["pending"]["approvals"]
        assert pending["judged"]["problems"][0]["line"] == 4 and pending["proposal"] == approval["proposal"]


async def test_a_message_that_is_open_is_not_taken_back_for_a_late_judgement(folder: Path) -> None:
    """A client that cannot take it back would ask twice. The hover of the step in the plan's document has it."""
    language = Late(folder)
    async with judged_client(language, folder, NONE) as client:
        messages: list[str] = []

        async def press(asked: dict[str, Any]) -> Any:
            if asked["actions"][1]["title"] == "Start execution":
                return None
            messages.append(asked["message"])
            language.free.set()
            while not ((await approval_of(client, plan_id)).get("judged") or {}).get("total"):
                pass
            return {"title": "Allow once"}

        client.answer("window/showMessageRequest", press)
        created = (await client.request("planloom/plan/create", {"text": EDIT}))["plan"]
        plan_id = created["planId"]
        await start(client, plan_id)
        ended = {"planId": plan_id, "until": "ended", "timeoutSeconds": 20}
        assert (await client.request("planloom/plan/wait", ended, timeout=30))["reached"]
        (message,) = messages
        assert "New problems are not yet known" in message


async def test_a_message_says_what_is_judged_by_then(folder: Path) -> None:
    language = Late(folder)
    language.free.set()
    async with judged_client(language, folder, NONE) as client:
        user = User(client, "Skip these changes")
        await started(client)
        await client.until(lambda: user.messages)
        assert "1 new problem (words)\na.txt:5: error: Unknown name\n" in user.messages[0]["message"]

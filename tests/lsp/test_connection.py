"""What a client says of itself, its settings, folders, files and trust."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import ModelFailed
from planloom.domain.values import CallId
from planloom.lsp import connection as connection_module
from planloom.lsp.client_options import declared
from planloom.lsp.language_server import ServerOptions
from planloom.models.port import Message, ModelRequest, ToolCall, ToolSpec
from tests.support.fake_application import FakeApplication
from tests.support.lsp_client import (
    BARE,
    EXTENSION,
    FULL,
    PLAIN,
    Failed,
    LspClient,
    NeverAnswered,
    connected,
)


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))


async def opened(client: LspClient, app: FakeApplication) -> Any:
    await client.request("planloom/status")
    return app.settings


# Settings.


async def test_settings_come_from_every_source_the_strongest_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.json").write_text('{"context": {"exclude": ["3"]}, "planning.format": "json"}')
    monkeypatch.setenv("PLANLOOM_BUDGET_MAX_TOKENS", "44")
    monkeypatch.setenv("PLANLOOM_MODEL_BASE_URL", "http://127.0.0.1:1/v1")
    app = FakeApplication()
    async with connected(
        app.make,
        settings={"context.exclude": ["2"], "budget": {"maxTokens": 2}, "maxRetryAttempts": 5},
        configuration={
            "context": {"exclude": ["1"]},
            "execution": {"onFailure": "skip", "maxParallelSteps": 2},
        },
        given=ServerOptions(settings=("planloom.model.name=qwen", "enableTaskPlanning=false")),
    ) as client:
        settings = await opened(client, app)
        assert settings.context.exclude == ("3",)
        assert settings.budget.max_tokens == 44
        assert settings.planning.format == "json"
        assert settings.max_retry_attempts == 5
        assert settings.execution.on_failure == "skip"
        assert settings.execution.max_parallel_steps == 2
        assert settings.model.name == "qwen"
        assert settings.model.base_url == "http://127.0.0.1:1/v1"
        assert settings.enable_task_planning is False


async def test_a_field_that_is_off_keeps_its_default_and_is_told_once() -> None:
    app = FakeApplication()
    bad = {"budget": {"maxRequests": "many"}, "nope": 1}
    async with connected(app.make, settings=bad, configuration={"approvals": {"write": "allow"}}) as client:
        settings = await opened(client, app)
        assert settings.budget.max_requests == 200
        assert settings.approvals.write == "ask"
        shown = sorted(message["message"] for message in client.shown())
        assert [part in line for part, line in zip(("approvals.write", "budget", "nope"), shown, strict=True)]
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        await client.until(lambda: [name for name, _ in client.asked].count("workspace/configuration") == 2)
        await client.request("planloom/status")
        assert not client.shown()


@pytest.mark.parametrize(
    "options",
    [
        None,
        [],
        "x",
        {"planloom": 5},
        {"planloom": []},
        {"planloomClient": 5},
        {"planloomClient": {"events": 1}},
    ],
)
async def test_options_of_any_shape_do_not_stop_the_server(options: Any) -> None:
    app = FakeApplication()
    async with connected(app.make, initialize=False) as client:
        await client.request(
            "initialize", {"processId": None, "capabilities": FULL, "initializationOptions": options}
        )
        client.notify("initialized", {})
        await opened(client, app)
        assert app.opening is not None and not declared(options).events
        client.shown()


async def test_settings_that_nest_without_end_are_refused_and_not_followed() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    app = FakeApplication()
    async with connected(app.make, settings=deep) as client:
        await opened(client, app)
        assert "not an object of settings" in client.shown()[0]["message"]
        error = await client.fails("planloom/settings/user", {"values": {"model": deep}})
        assert error.word == "invalid_params"


async def test_a_user_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{")
    app = FakeApplication()
    async with connected(app.make) as client:
        await opened(client, app)
        assert "settings.json" in client.shown()[0]["message"]


async def test_changed_settings_are_pulled_again() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await opened(client, app)
        client.configuration = {"maxRetryAttempts": 1}
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        await client.until(lambda: app.settings.max_retry_attempts == 1)


async def test_a_client_that_cannot_be_asked_pushes() -> None:
    app = FakeApplication()
    async with connected(app.make, capabilities=PLAIN) as client:
        await opened(client, app)
        client.notify("workspace/didChangeConfiguration", {"settings": {"planloom": {"maxRetryAttempts": 1}}})
        assert app.settings.max_retry_attempts == 1
        for nothing in ({}, None, [], {"other": {}}, {"planloom": None}):
            client.notify("workspace/didChangeConfiguration", {"settings": nothing})
        assert app.settings.max_retry_attempts == 1
        assert not [name for name, _ in client.asked if name == "workspace/configuration"]


async def test_a_client_that_never_gives_its_settings_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "PULL_SECONDS", 0.02)
    release = asyncio.Event()

    async def late(asked: Any) -> Any:
        await release.wait()
        return [{"maxRetryAttempts": 1}]

    app = FakeApplication()
    async with connected(app.make, initialize=False) as client:
        client.answer("workspace/configuration", late)
        await client.initialize()
        await opened(client, app)
        assert app.settings.max_retry_attempts == 2
        release.set()
        await client.until(lambda: app.settings.max_retry_attempts == 1)


@pytest.mark.parametrize("answer", [None, [], {}, [None], [5], ["x"], "refuse"])
async def test_settings_of_any_shape_are_survived(answer: Any) -> None:
    def give(_: Any) -> Any:
        if answer == "refuse":
            raise Failed({"code": -32601, "message": "no"})
        return answer

    app = FakeApplication()
    async with connected(app.make, initialize=False) as client:
        client.answer("workspace/configuration", give)
        await client.initialize()
        assert (await opened(client, app)).max_retry_attempts == 2
        client.shown()


async def test_user_values_from_an_extension_count_as_the_users() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await opened(client, app)
        await client.request("planloom/settings/user", {"values": {"approvals": {"write": "allow"}}})
        await client.request(
            "planloom/settings/user", {"values": {"model.name": "m", "approvals.read": "deny"}}
        )
        assert (app.settings.approvals.write, app.settings.approvals.read) == ("allow", "deny")
        assert app.settings.model.name == "m"


async def test_a_key_goes_to_the_application_and_nowhere_else(caplog: Any) -> None:
    app = FakeApplication()
    with caplog.at_level(0):
        async with connected(app.make) as client:
            await client.request("planloom/secret/set", {"provider": "openai", "value": "sk-123"})
            assert app.secrets == {"openai": "sk-123"}
    assert "sk-123" not in caplog.text


# Folders, trust, files.


async def test_folders_are_those_of_the_client_and_change_with_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    app = FakeApplication()
    async with connected(app.make, folders=[one]) as client:
        await opened(client, app)
        assert app.opening is not None
        view = app.opening.view
        assert [root.path for root in view.roots.folders] == [one]
        added = {"uri": two.as_uri(), "name": "two"}
        removed = {"uri": one.as_uri(), "name": "one"}
        event = {"added": [added], "removed": [removed]}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert [root.path for root in view.roots.folders] == [two]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"rootUri": "file:///a%20b"}, ["/a b"]),
        ({"rootPath": "/old"}, ["/old"]),
        ({"rootUri": "file:///a", "workspaceFolders": []}, []),
        ({"rootUri": None}, []),
        ({"workspaceFolders": [{"uri": "vscode-remote://x/y", "name": "y"}]}, []),
    ],
)
async def test_older_clients_name_one_folder(params: dict[str, Any], expected: list[str]) -> None:
    app = FakeApplication()
    async with connected(app.make, initialize=False) as client:
        await client.request("initialize", {"processId": None, "capabilities": BARE, **params})
        client.notify("initialized", {})
        await opened(client, app)
        assert app.opening is not None
        assert [str(root.path) for root in app.opening.view.roots.folders] == expected


@pytest.mark.parametrize(
    ("declared", "trusted"), [({}, True), ({"trusted": True}, True), ({"trusted": False}, False)]
)
async def test_trust_is_what_the_client_says(declared: dict[str, Any], trusted: bool) -> None:
    app = FakeApplication()
    async with connected(app.make, extension=declared) as client:
        assert (await client.request("planloom/status"))["trusted"] is trusted
        client.notify("planloom/workspace/trust", {"trusted": not trusted})
        await client.until(lambda: app.trusted is not trusted)
        client.notify("planloom/workspace/trust", {"trusted": "yes"})
        client.notify("planloom/workspace/trust")
        assert (await client.request("planloom/status"))["trusted"] is not trusted


async def test_what_happens_to_files_reaches_the_index(tmp_path: Path) -> None:
    seen: list[Any] = []
    app = FakeApplication(index__update=seen.extend)
    uri = (tmp_path / "a").as_uri()
    capabilities = {
        **FULL,
        "workspace": {**FULL["workspace"], "didChangeWatchedFiles": {"dynamicRegistration": True}},
    }
    async with connected(app.make, folders=[tmp_path], capabilities=capabilities) as client:
        await opened(client, app)
        asked = next(params for name, params in client.asked if name == "client/registerCapability")
        methods = {each["method"] for each in asked["registrations"]}
        assert methods == {"workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles"}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
        client.notify("workspace/didRenameFiles", {"files": [{"oldUri": uri, "newUri": uri + "b"}]})
        client.notify("workspace/didDeleteFiles", {"files": [{"uri": uri + "b"}]})
        client.notify("workspace/didCreateFiles", {"files": [{"uri": uri}]})
        await client.until(lambda: len(seen) == 5)
        told = [(each.uri.removeprefix(uri), each.kind) for each in seen]
        assert told == [("", "changed"), ("", "deleted"), ("b", "created"), ("b", "deleted"), ("", "created")]


# The application.


async def test_an_application_that_cannot_open_is_tried_again(caplog: Any) -> None:
    app = FakeApplication()
    tries: list[int] = []

    async def make(opening: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise ModelFailed("model_unavailable", "Not yet.")
        return await app.make(opening)

    async with connected(make) as client:
        assert (await client.fails("planloom/status")).word == "model_unavailable"
        assert (await client.request("planloom/status"))["health"] == "ok"
    assert app.closed


async def test_requests_that_came_while_it_opened_are_answered_in_order() -> None:
    app = FakeApplication()
    go = asyncio.Event()

    async def make(opening: Any) -> Any:
        await go.wait()
        return await app.make(opening)

    async with connected(make) as client:
        asked = [client.start("planloom/plan/cancel", {"planId": f"p{number}"})[1] for number in range(5)]
        go.set()
        await asyncio.gather(*asked)
        assert [call[1] for call in app.calls] == [f"p{number}" for number in range(5)]


async def test_a_request_that_comes_as_it_opens_does_not_overtake_those_before() -> None:
    app = FakeApplication()
    asked: list[Any] = []

    async def make(opening: Any) -> Any:
        asyncio.get_running_loop().call_soon(ask, 40)
        return await app.make(opening)

    def ask(more: int) -> None:
        asked.append(client.start("planloom/plan/cancel", {"planId": f"p{more}"})[1])
        if more:
            asyncio.get_running_loop().call_soon(ask, more - 1)

    async with connected(make, initialize=False) as client:
        await client.request("initialize", {"processId": None, "capabilities": BARE})
        await client.request("planloom/plan/cancel", {"planId": "first"})
        await client.until(lambda: len([call for call in app.calls if call[0] == "plans.cancel"]) > 41)
        await asyncio.gather(*asked)
        cancelled = [call[1] for call in app.calls if call[0] == "plans.cancel"]
        assert cancelled == ["first", *(f"p{number}" for number in range(40, -1, -1))]


async def test_a_request_opens_it_if_initialized_never_comes() -> None:
    app = FakeApplication()
    async with connected(app.make, initialize=False) as client:
        await client.request("initialize", {"processId": None, "capabilities": BARE})
        assert (await client.request("planloom/status"))["health"] == "ok"


# The editor's own model.

REQUEST = ModelRequest(
    messages=(
        Message(role="user", text="Hi"),
        Message(
            role="assistant",
            text="",
            tool_calls=(ToolCall(call_id=CallId("c1"), name="read_file", arguments={"path": "a"}),),
        ),
        Message(role="tool", text="x", tool_call_id=CallId("c1")),
    ),
    tools=(ToolSpec(name="read_file", description="Reads", parameters={"type": "object"}),),
    max_tokens=10,
)


async def test_the_editors_model_answers() -> None:
    app = FakeApplication()
    asked: list[Any] = []

    def answer(params: Any) -> Any:
        asked.append(params)
        return {
            "text": "Hello",
            "toolCalls": [{"callId": "c2", "name": "f", "arguments": {}}],
            "usage": {"requests": 1, "promptTokens": 5, "completionTokens": 6},
        }

    async with connected(app.make, extension={**EXTENSION, "languageModel": True}) as client:
        client.answer("planloom/editor/complete", answer)
        await opened(client, app)
        assert app.opening is not None and app.opening.completion is not None
        said = await app.opening.completion.complete("r1", "", REQUEST)
        assert (said.text, said.tool_calls[0].name, said.completion_tokens) == ("Hello", "f", 6)
        assert "model" not in asked[0] and asked[0]["maxTokens"] == 10
        assert asked[0]["messages"][1]["toolCalls"][0]["arguments"] == {"path": "a"}


async def test_an_editors_model_that_refuses_or_riddles_is_told() -> None:
    app = FakeApplication()

    def refuse(_: Any) -> Any:
        raise Failed({"code": -32803, "message": "no consent"})

    async with connected(app.make, extension={**EXTENSION, "languageModel": True}) as client:
        await opened(client, app)
        assert app.opening is not None and app.opening.completion is not None
        for answer, code in ((refuse, "model_refused"), (lambda _: {"x": 1}, "model_output_invalid")):
            client.answer("planloom/editor/complete", answer)
            with pytest.raises(ModelFailed) as failed:
                await app.opening.completion.complete("r1", "m", REQUEST)
            assert failed.value.code == code


async def test_a_cancelled_completion_is_withdrawn_from_the_editor() -> None:
    app = FakeApplication()

    def never(_: Any) -> Any:
        raise NeverAnswered

    async with connected(app.make, extension={**EXTENSION, "languageModel": True}) as client:
        client.answer("planloom/editor/complete", never)
        await opened(client, app)
        assert app.opening is not None and app.opening.completion is not None
        asked = asyncio.ensure_future(app.opening.completion.complete("r1", "m", REQUEST))
        await client.until(lambda: any(name == "planloom/editor/complete" for name, _ in client.asked))
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        ident = next(m["id"] for m in client.sent if m.get("method") == "planloom/editor/complete")
        assert client.told("$/cancelRequest") == [{"id": ident}]


async def test_without_the_declaration_there_is_no_model_of_the_editor() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await opened(client, app)
        assert app.opening is not None and app.opening.completion is None

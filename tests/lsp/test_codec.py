"""Whatever a client sends, it gets an answer if it asked; a test for every trap of the protocol library."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from planloom.domain.errors import StorageFailed
from planloom.lsp.transport.outgoing import ClientGone, ClientRefused
from planloom.lsp.wire.base import Wire
from tests.depth import rounds
from tests.support.fake_application import FakeApplication
from tests.support.lsp_client import FULL, Failed, LspClient, NeverAnswered, connected

NOTIFICATIONS = {
    name
    for name, (message, *_) in types.METHOD_TO_TYPES.items()
    if "id" not in {field.name for field in message.__attrs_attrs__}  # type: ignore[attr-defined]
}


async def test_absent_params_count_as_none_given() -> None:
    async with connected(FakeApplication().make) as client:
        assert (await client.request("planloom/status"))["protocolVersion"] == 1
        assert (await client.request("planloom/status", {}))["protocolVersion"] == 1
        client.raw('{"jsonrpc":"2.0","id":77,"method":"planloom/detect"}')
        await client.until(lambda: client.sent[-1].get("id") == 77)
        assert client.sent[-1]["error"]["code"] == -32602
        client._faults.clear()


async def test_an_object_with_a_jsonrpc_key_is_a_payload() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        values = {"jsonrpc": "2.0", "method": "exit", "model": {"jsonrpc": "2.0", "id": 5}}
        await client.request("planloom/settings/user", {"values": values})
        args = {"content": {"jsonrpc": "2.0", "id": 1, "result": None}}
        params = {"planId": "p", "stepId": "s", "action": "retry", "args": args}
        await client.request("planloom/step/recover", params)
        assert app.calls[-1][-1] == args
        await client.until(lambda: len(client.shown()) or True)


async def test_keys_that_are_no_identifiers_survive() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        args = {"a b": 1, "class": {"0": [None, {"ü-": True}]}, "type_name": "x"}
        params = {"planId": "p", "stepId": "s", "action": "retry", "args": args}
        await client.request("planloom/step/recover", params)
        assert app.calls[-1] == ("steps.recover", "p", "s", "retry", args)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("planloom/status", []),
        ("planloom/plan/list", []),
        ("planloom/plan/create", {"text": "x", "context": []}),
        (
            "planloom/plan/edit",
            {"planId": "p", "version": 1, "edits": [{"op": "update", "stepId": "a", "set": []}]},
        ),
    ],
)
async def test_an_empty_list_counts_as_an_empty_object(method: str, params: Any) -> None:
    """Lua has one table for both, and Neovim writes an empty one as a list."""
    async with connected(FakeApplication().make) as client:
        await client.request(method, params)


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("textDocument/didOpen", None, None),
        ("planloom/plan/create", {}, "text"),
        ("planloom/plan/create", [], "text"),
        ("planloom/plan/create", "text", "params"),
        ("planloom/plan/create", {"text": 5}, "text"),
        ("planloom/plan/create", {"text": "x", "mode": "fast"}, "mode"),
        ("planloom/plan/create", {"text": "x", "context": {"selections": [{"start": {}}]}}, None),
        ("planloom/plan/approve", {"planId": "p", "version": "1"}, "version"),
        ("planloom/plan/approve", {"planId": "p", "version": True}, "version"),
        ("planloom/plan/approve", {"plan_id": "p", "version": 1}, "planId"),
        ("planloom/plan/wait", {"planId": "p", "timeoutSeconds": -1}, "timeoutSeconds"),
        ("planloom/plan/edit", {"planId": "p", "version": 1, "edits": [{"op": "burn"}]}, "edits[0]"),
        (
            "planloom/plan/edit",
            {"planId": "p", "version": 1, "edits": [{"op": "move", "stepId": "a"}]},
            "edits[0].after",
        ),
        (
            "planloom/plan/edit",
            {"planId": "p", "version": 1, "edits": [{"op": "update", "stepId": "a", "set": {"descr": "x"}}]},
            "edits[0].set.descr",
        ),
        ("planloom/secret/set", {"provider": "openai"}, "value"),
        ("workspace/executeCommand", {"command": 5}, "command"),
        ("workspace/executeCommand", {"command": "planloom.nope"}, "command"),
    ],
)
async def test_params_that_are_off_are_named(method: str, params: Any, field: str | None) -> None:
    async with connected(FakeApplication().make) as client:
        error = await client.fails(method, params)
        assert error.code == -32602, error
        assert error.data["code"] == "invalid_params"
        details = error.data["details"]
        assert details and all(set(detail) == {"field", "problem"} for detail in details)
        if field is not None:
            assert field in [detail["field"] for detail in details]


async def test_a_secret_that_is_off_is_not_repeated() -> None:
    async with connected(FakeApplication().make) as client:
        error = await client.fails("planloom/secret/set", {"provider": "openai", "value": ["sk-secret"]})
        assert "sk-secret" not in str(error)


@pytest.mark.parametrize("method", ["planloom/nope", "textDocument/rename", "$/unknown", "", "a" * 1000])
async def test_an_unknown_method_is_not_found(method: str) -> None:
    async with connected(FakeApplication().make) as client:
        error = await client.fails(method, {"any": "thing"})
        assert error.code == -32601


@pytest.mark.parametrize(
    ("message", "code"),
    [(b"{", -32700), (b"\xff\xfe", -32700), (b"[1]", -32600), (b"{}", -32600), (b"null", -32600)],
)
async def test_what_is_no_message_is_answered_without_an_id(message: bytes, code: int) -> None:
    async with connected(FakeApplication().make) as client:
        assert (await client.unaddressed_answer(message))["code"] == code
        assert (await client.request("planloom/status"))["health"] == "ok"


async def test_requests_before_initialize_are_refused_and_notifications_passed_over() -> None:
    async with connected(FakeApplication().make, initialize=False) as client:
        for method in ("planloom/status", "textDocument/hover", "shutdown"):
            assert (await client.fails(method, {})).code == -32002
        client.notify("textDocument/didOpen", {"bad": "params"})
        client.notify("$/setTrace", {"value": "off"})
        await client.initialize()
        assert (await client.fails("initialize", {"processId": None, "capabilities": {}})).code == -32600
        assert (await client.request("planloom/status"))["health"] == "ok"


@pytest.mark.parametrize(
    "params", [None, [], {}, {"capabilities": 5}, {"capabilities": {}, "workspaceFolders": 7}]
)
async def test_initialize_with_params_that_are_off_can_be_tried_again(params: Any) -> None:
    async with connected(FakeApplication().make, initialize=False) as client:
        error = await client.fails("initialize", params)
        assert (error.code, error.word) == (-32602, "invalid_params")
        await client.initialize()


async def test_capabilities_that_the_library_does_not_know_count_as_not_declared() -> None:
    strange: dict[str, Any] = {
        "general": {"positionEncodings": ["utf-99", "utf-8"], "newThing": 1},
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {
                "documentChanges": True,
                "failureHandling": "undoable",
                "resourceOperations": ["create", "link", "delete"],
            },
            "symbol": {"symbolKind": {"valueSet": [1, 99, "x"]}},
        },
        "textDocument": {"hover": {"contentFormat": ["markdown", "asciidoc"]}, "completion": 5},
        "window": 7,
    }
    app = FakeApplication()
    async with connected(app.make, capabilities=strange) as client:
        assert client.initialized["capabilities"]["positionEncoding"] == "utf-8"
        await client.request("planloom/status")
        assert app.opening is not None
        can = app.opening.editor.capabilities
        assert (can.apply_edit, can.document_changes, can.encoding) == (True, True, "utf-8")
        assert can.failure_handling is None
        assert (can.rename_files, can.delete_files) == (False, True)


async def test_after_shutdown_only_exit_is_left() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await client.request("planloom/status")
        assert await client.request("shutdown") is None
        assert app.closed
        assert (await client.fails("planloom/status")).code == -32600
        assert (await client.fails("shutdown")).code == -32600
        client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///x"}})
        client.notify("exit")
        assert client.exit_code == 0


async def test_changes_of_documents_are_heard_while_running_work_ends() -> None:
    class Application(FakeApplication):
        async def close(self) -> None:
            await changed.wait()
            await super().close()

    changed = asyncio.Event()
    app = Application()
    async with connected(app.make) as client:
        await client.request("planloom/status")
        document = {"uri": "file:///x", "version": 1}
        client.notify(
            "textDocument/didOpen", {"textDocument": {**document, "languageId": "text", "text": "old"}}
        )
        _, answer = client.start("shutdown")
        changes = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": "new"}]}
        client.notify("textDocument/didChange", changes)
        client.notify("planloom/workspace/trust", {"trusted": False})
        documents = client.server.connection.documents
        assert (found := documents.get("file:///x")) is not None and found.text == "new"
        changed.set()
        assert await answer is None
        assert app.trusted
        changes["textDocument"]["version"] = 3
        client.notify("textDocument/didChange", {**changes, "contentChanges": [{"text": "late"}]})
        assert (found := documents.get("file:///x")) is not None and found.text == "new"


async def test_exit_without_shutdown_is_a_failure() -> None:
    async with connected(FakeApplication().make) as client:
        client.notify("exit")
        assert client.exit_code == 1


@pytest.mark.parametrize("extra", [{}, {"params": None}, {"params": {}}, {"params": []}])
async def test_shutdown_and_initialized_take_params_of_any_shape(extra: dict[str, Any]) -> None:
    async with connected(FakeApplication().make, initialize=False) as client:
        await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": FULL})
        client.raw({"jsonrpc": "2.0", "method": "initialized", **extra})
        assert (await client.request("planloom/status"))["health"] == "ok"
        ident, answer = client.start("nothing")
        with pytest.raises(Failed):
            await answer
        waiting = client._waiting[ident + 1000] = asyncio.get_running_loop().create_future()
        client.raw({"jsonrpc": "2.0", "id": ident + 1000, "method": "shutdown", **extra})
        assert (await waiting)["result"] is None


async def test_shutdown_with_requests_at_work_answers_them_all() -> None:
    async def forever(*_: Any) -> Any:
        await asyncio.Event().wait()

    app = FakeApplication(
        plans__wait=forever, plans__approve=lambda *_: asyncio.sleep(0.01, StorageFailed("no"))
    )
    async with connected(app.make) as client:
        _, waiting = client.start("planloom/plan/wait", {"planId": "p"})
        _, command = client.start("workspace/executeCommand", {"command": "planloom.status"})
        await client.until(lambda: ("plans.wait", "p", "ended", None) in app.calls)
        await client.request("shutdown")
        with pytest.raises(Failed) as failed:
            await waiting
        assert failed.value.code == -32800
        with pytest.raises(Failed):
            await command
            raise Failed({"code": 0, "message": "the command was answered, which is as good"})


async def test_errors_hold_no_trace_and_defects_no_text_of_their_own(caplog: Any) -> None:
    app = FakeApplication(plans__get=ZeroDivisionError("secret detail"))
    async with connected(app.make) as client:
        error = await client.fails("planloom/plan/get", {})
        assert (error.code, error.word) == (-32603, "internal")
        assert set(error.data) == {"code", "message", "explained"}
        assert error.data["explained"]["mends"] == ["log", "restart"]
        assert "secret detail" not in json.dumps(client.sent)
        assert "Traceback" not in json.dumps(client.sent)
    assert "secret detail" in caplog.text
    caplog.clear()


async def test_a_result_that_cannot_be_written_is_a_defect_and_is_answered() -> None:
    class Odd(Wire):
        thing: Any

    async def odd(params: Any) -> Any:
        return Odd(thing=object())

    async with connected(FakeApplication().make) as client:
        client.server.messages.endpoints["planloom/odd"] = odd
        assert (await client.fails("planloom/odd")).word == "internal"
        client.server.messages.endpoints["planloom/odd"] = lambda params: object()  # type: ignore[assignment,return-value]
        assert (await client.fails("planloom/odd")).word == "internal"


async def test_numbers_beyond_json_are_written_as_null() -> None:
    async def echo(params: Any) -> Any:
        return params

    async with connected(FakeApplication().make) as client:
        client.server.messages.endpoints["planloom/echo"] = echo
        client.raw('{"jsonrpc":"2.0","id":9000,"method":"planloom/echo","params":{"x":[1e999,1.5]}}')
        await client.until(lambda: client.sent[-1].get("id") == 9000)
        assert client.sent[-1]["result"] == {"x": [None, 1.5]}
        client._faults.clear()


async def test_lone_surrogates_come_back_as_they_came() -> None:
    async def echo(params: Any) -> Any:
        return params

    async with connected(FakeApplication().make) as client:
        client.server.messages.endpoints["planloom/echo"] = echo
        assert await client.request("planloom/echo", {"t": "\ud83d|😀"}) == {"t": "\ud83d|😀"}


async def test_a_wire_model_goes_out_in_camel_case() -> None:
    async with connected(FakeApplication().make) as client:
        plan = (await client.request("planloom/plan/get"))["plan"]
        assert "planId" in plan and "plan_id" not in plan
        assert plan["createdAt"] == "2026-01-02T12:00:00Z"


async def test_cancel_ends_a_wait() -> None:
    ended: list[str] = []

    async def forever(*_: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("yes")

    app = FakeApplication(plans__wait=forever)
    async with connected(app.make) as client:
        ident, waiting = client.start("planloom/plan/wait", {"planId": "p"})
        await client.until(lambda: app.calls)
        client.cancel(ident)
        with pytest.raises(Failed) as failed:
            await waiting
        assert failed.value.code == -32800
        assert ended == ["yes"]


async def test_cancel_lets_a_change_finish_first() -> None:
    go, done = asyncio.Event(), []

    async def slow(*_: Any) -> Any:
        await go.wait()
        done.append("changed")

    app = FakeApplication(plans__delete=slow)
    async with connected(app.make) as client:
        ident, answer = client.start("planloom/plan/delete", {"planId": "p"})
        await client.until(lambda: app.calls)
        client.cancel(ident)
        await asyncio.sleep(0)
        assert not done
        go.set()
        with pytest.raises(Failed) as failed:
            await answer
        assert failed.value.code == -32800
        assert done == ["changed"]


@pytest.mark.parametrize("params", [None, {}, {"id": 999}, {"id": None}, {"id": {}}, [1], {"id": True}])
async def test_a_cancel_of_nothing_is_passed_over(params: Any) -> None:
    async with connected(FakeApplication().make) as client:
        client.notify("$/cancelRequest", params)
        assert (await client.request("planloom/status"))["health"] == "ok"


async def test_a_late_answer_to_a_request_that_was_given_up_upsets_nothing(caplog: Any) -> None:
    async with connected(FakeApplication().make) as client:
        release = asyncio.Event()

        async def late(_: Any) -> Any:
            await release.wait()
            return {"applied": True}

        client.answer("workspace/applyEdit", late)
        with pytest.raises(TimeoutError):
            await client.server.messages.request("workspace/applyEdit", {"edit": {}}, timeout=0.01)
        release.set()
        await client.request("planloom/status")
        assert not client.shown()
    assert "InvalidState" not in caplog.text


@pytest.mark.parametrize("error", ["text", None, [], {"message": "no"}, {"code": "x", "message": 5}, 7])
async def test_an_error_of_any_shape_ends_the_wait(error: Any) -> None:
    async with connected(FakeApplication().make) as client:
        client.answer("planloom/ask", lambda _: (_ for _ in ()).throw(NeverAnswered()))
        asked = asyncio.ensure_future(client.server.messages.request("planloom/ask"))
        await client.until(lambda: any(name == "planloom/ask" for name, _ in client.asked))
        ident = next(each["id"] for each in client.sent if each.get("method") == "planloom/ask")
        client.raw({"jsonrpc": "2.0", "id": ident, "error": error})
        if error is None:
            assert await asked is None
        else:
            with pytest.raises(ClientRefused):
                await asked


async def test_who_waits_for_a_client_that_is_gone_is_woken() -> None:
    async with connected(FakeApplication().make) as client:
        client.answer("planloom/ask", lambda _: (_ for _ in ()).throw(NeverAnswered()))
        asked = asyncio.ensure_future(client.server.messages.request("planloom/ask"))
        await client.until(lambda: any(name == "planloom/ask" for name, _ in client.asked))
        await client.request("shutdown")
        client.server.messages.disconnect()
        with pytest.raises(ClientGone):
            await asked
        with pytest.raises(ClientGone):
            await client.server.messages.request("planloom/ask")
        client.notify("exit")


async def test_a_defect_in_a_notification_is_logged_and_the_server_goes_on(caplog: Any) -> None:
    async with connected(FakeApplication().make) as client:

        @client.server.feature("planloom/broken")
        def broken(params: Any) -> None:
            raise ZeroDivisionError

        client.notify("planloom/broken", {})
        client.notify("textDocument/didChange", {"textDocument": {"uri": 3}})
        client.notify("textDocument/didChange", None)
        client.notify("unknown/notification", {"x": 1})
        assert (await client.request("planloom/status"))["health"] == "ok"
        assert not client.shown()
    assert "planloom/broken" in caplog.text


@pytest.mark.parametrize("params", [None, [], "text", 5, {"trusted": "yes", "textDocument": 1, "event": 2}])
async def test_a_notification_that_is_off_is_one_plain_line_of_the_log(params: Any, caplog: Any) -> None:
    async with connected(FakeApplication().make) as client:
        protocol = client.server.messages
        standard = {*protocol.fm.features, *protocol.fm.builtin_features}
        known = {name for name in standard if name in NOTIFICATIONS} | protocol.listeners.keys()
        assert "planloom/workspace/trust" in known and "textDocument/didChange" in known
        for method in sorted(known - {"exit", "initialized", "$/cancelRequest"}):
            caplog.clear()
            client.notify(method, params)
            assert (await client.request("planloom/status"))["health"] == "ok"
            told = [record for record in caplog.records if record.levelno >= logging.WARNING]
            assert not any(record.exc_info for record in told), method
            assert len(told) <= 1 and all(method in record.getMessage() for record in told)
            assert told or method not in protocol.listeners
        assert not client.shown()


async def test_params_of_standard_requests_are_checked_too() -> None:
    async with connected(FakeApplication().make) as client:
        error = await client.fails("textDocument/hover", {"textDocument": {}, "position": {"line": "x"}})
        assert error.code == -32602
        fields = [detail["field"] for detail in error.data["details"]]
        assert "textDocument.uri" in fields and "position.line" in fields
        assert (await client.fails("textDocument/hover")).word == "invalid_params"


_METHODS = st.sampled_from(
    [
        "planloom/plan/create",
        "planloom/plan/edit",
        "planloom/plan/wait",
        "planloom/conflict/resolve",
        "planloom/reference/complete",
        "planloom/settings/user",
        "workspace/executeCommand",
        "textDocument/didOpen",
        "textDocument/didChange",
        "workspace/didChangeConfiguration",
        "window/workDoneProgress/cancel",
        "planloom/workspace/trust",
        "$/setTrace",
        "nothing/known",
    ]
)
_NAMES = (
    "text",
    "planId",
    "edits",
    "op",
    "textDocument",
    "uri",
    "version",
    "contentChanges",
    "settings",
    "planloom",
    "values",
    "command",
    "arguments",
    "files",
    "offset",
    "value",
    "token",
    "jsonrpc",
    "id",
)
_PARAMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@pytest.mark.slow
@settings(max_examples=rounds(60, 600), suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(_METHODS, _PARAMS, st.booleans()), max_size=8))
def test_every_request_is_answered_whatever_it_holds(messages: list[tuple[str, Any, bool]]) -> None:
    async def run() -> None:
        app = FakeApplication()
        app.script["references.complete"] = StorageFailed("no")
        async with connected(app.make) as client:
            answers = []
            for method, params, wants_answer in messages:
                if wants_answer:
                    answers.append(client.start(method, params)[1])
                else:
                    client.notify(method, params)
            for answer in answers:
                try:
                    await asyncio.wait_for(answer, 5)
                except Failed as error:
                    assert error.word != "internal", error
            assert (await client.request("planloom/status"))["health"] == "ok"
            client.shown()

    asyncio.run(run())


def test_the_client_of_these_tests_sees_what_was_left_unread() -> None:
    async def run() -> None:
        async with connected(FakeApplication().make) as client:
            _ask_nobody(client)
            await client.request("planloom/status")

    with pytest.raises(AssertionError, match="nobody answers planloom/unheard"):
        asyncio.run(run())


def _ask_nobody(client: LspClient) -> None:
    client.server.messages.send_request("planloom/unheard")

"""A client of the Agent Client Protocol in this process, which checks every message by the schema of the library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from acp import schema
from pydantic import BaseModel

from planloom.acp.agent import Agent
from planloom.acp.wire import Wire
from planloom.execution.session import Session
from planloom.models.port import Model
from planloom.private_process import forget_variables
from planloom.providers import SECRET_VARIABLES
from planloom.service.application import Application
from planloom.serving.opening import ApplicationContext, MakeApplication
from planloom.serving.process import CommandLine
from planloom.storage.decisions import FILE, Decisions
from planloom.storage.ledger import Ledger
from planloom.user_folders import state_folder
from tests.support.studio import OneModel

TO_CLIENT: Mapping[str, type[BaseModel]] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
}
TO_AGENT: Mapping[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/prompt": schema.PromptRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/close": schema.CloseSessionRequest,
    "session/cancel": schema.CancelNotification,
}
RESULTS: Mapping[str, type[BaseModel]] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/close": schema.CloseSessionResponse,
    "session/request_permission": schema.RequestPermissionResponse,
    "fs/read_text_file": schema.ReadTextFileResponse,
    "fs/write_text_file": schema.WriteTextFileResponse,
}
FS = {"fs": {"readTextFile": True, "writeTextFile": True}}
SECONDS = 20.0
Answer = Callable[[dict[str, Any]], Awaitable[str | None] | str | None]


def always(**chosen: str | None) -> Answer:
    """Choose by the kind of the call that a question is about."""
    return lambda params: chosen[params["toolCall"]["kind"]]


class AcpError(Exception):
    """The agent has answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data = error.get("data")


def check(model: type[BaseModel], value: Any) -> None:
    """The value fits the model, and has no field that the model does not know."""
    dumped = model.model_validate(value).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert dumped == value, f"{model.__name__}: {value} is read as {dumped}"


class AcpClient:
    """One client. `buffers` are open texts by path, as far as they are not those of the disk; `answers` says what is
    chosen for a question: the beginning of an option's name, or None to dismiss it."""

    congested = False

    def __init__(self, make: MakeApplication, options: CommandLine) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.calls: list[tuple[str, str]] = []
        self.errors: list[dict[str, Any]] = []
        self.buffers: dict[str, str] = {}
        self.answers: Answer = lambda _: None
        self.silent: set[str] = set()
        self.refused: set[str] = set()
        self.on_write: Callable[[str, str], None] = self._save
        self.on_read: Callable[[str], None] = lambda _: None
        self.session_id = ""
        self._make = make
        self._options = options
        self.agent: Agent | None = None
        self._wire = Wire(self._begin)
        self._wire.set_writer(self)
        self._pending: dict[Any, tuple[str, asyncio.Future[Any]]] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def _begin(self) -> None:
        # What else a server does at that moment holds for its whole process, which here is that of the tests.
        forget = partial(forget_variables, SECRET_VARIABLES)
        self.agent = Agent(self._wire, self._options, self._make, forget)
        self.agent.start()

    # The agent's pipe.

    def write(self, data: bytes) -> None:
        for line in data.splitlines():
            self._hear(json.loads(line))

    async def drain(self, timeout: float) -> None:
        """Everything is heard at once."""

    def close(self) -> None:
        """Nothing is held."""

    def _hear(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._hear_answer(message)
        else:
            check(TO_CLIENT[method], message["params"])
            if method == "session/update":
                self.updates.append(message["params"]["update"])
            else:
                task = asyncio.ensure_future(self._serve(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        self._changed.set()

    def _hear_answer(self, message: dict[str, Any]) -> None:
        method, future = self._pending.pop(message["id"], ("", None))
        if future is None:
            self.errors += [message["error"]] if "error" in message else []
        elif "error" in message:
            future.set_exception(AcpError(message["error"]))
        else:
            check(RESULTS[method], message["result"])
            future.set_result(message["result"])

    async def _serve(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message["params"]
        if method in self.silent:
            return
        if method in self.refused:
            self.tell({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
            return
        try:
            result = await getattr(self, "_" + method.partition("/")[2])(params)
        except FileNotFoundError as missing:
            self.tell({"id": message["id"], "error": {"code": -32002, "message": str(missing)}})
            return
        check(RESULTS[method], result)
        self.tell({"id": message["id"], "result": result})

    async def _request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(params)
        self._changed.set()
        chosen = self.answers(params)
        if isinstance(chosen, Awaitable):
            chosen = await chosen
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        found = [each["optionId"] for each in params["options"] if each["name"].startswith(chosen)]
        assert found, f"{chosen!r} is none of {[each['name'] for each in params['options']]}"
        return {"outcome": {"outcome": "selected", "optionId": found[0]}}

    async def _read_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(("read", params["path"]))
        self.on_read(params["path"])
        text = self.buffers.get(params["path"])
        # Editors show and tell a line end as one character.
        return {"content": await asyncio.to_thread(Path(params["path"]).read_text) if text is None else text}

    async def _write_text_file(self, params: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(("write", params["path"]))
        self.on_write(params["path"], params["content"])
        return {}

    def _save(self, path: str, text: str) -> None:
        """What Zed does: the buffer gets the text, and is saved."""
        Path(path).write_text(text)
        self.buffers.pop(path, None)

    # What the test does.

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message as it is."""
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def raw(self, line: bytes) -> None:
        """Send a line."""
        self._wire.receive(line)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Ask the agent. Raises AcpError."""
        ident = f"r{len(self._pending)}-{method}-{id(params)}"
        future = asyncio.get_running_loop().create_future()
        self._pending[ident] = method, future
        if method in TO_AGENT:
            check(TO_AGENT[method], params)
        self.tell({"id": ident, "method": method, "params": params})
        async with asyncio.timeout(SECONDS):
            return await future

    async def open(self, folder: Path, session_id: str | None = None, **more: Any) -> dict[str, Any]:
        """Open a session in a folder, or load one."""
        params = {"cwd": str(folder), "mcpServers": [], **more}
        if session_id is None:
            result: dict[str, Any] = await self.request("session/new", params)
            self.session_id = result["sessionId"]
        else:
            self.session_id = session_id
            result = await self.request("session/load", {**params, "sessionId": session_id})
        return result

    async def prompt(self, text: str, *blocks: dict[str, Any]) -> str:
        """Say something, and wait until it is the person's turn; the stop reason."""
        prompt = [{"type": "text", "text": text}, *blocks]
        answer = await self.request("session/prompt", {"sessionId": self.session_id, "prompt": prompt})
        reason: str = answer["stopReason"]
        return reason

    def cancel(self) -> None:
        """Stop what is worked on."""
        self.tell({"method": "session/cancel", "params": {"sessionId": self.session_id}})

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something holds, which is looked at after every message."""
        async with asyncio.timeout(SECONDS):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    def said(self, kind: str = "agent_message_chunk") -> str:
        """All texts of a kind of update."""
        return "".join(each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The updates of a kind."""
        return [each for each in self.updates if each["sessionUpdate"] == kind]

    def entries(self) -> list[tuple[str, str]]:
        """The plan as it was shown last."""
        return [(each["content"], each["status"]) for each in self.of("plan")[-1]["entries"]]

    async def end(self) -> None:
        """Close the pipes."""
        self._wire.disconnect()
        if self.agent is not None:
            await self.agent.close()


def over(
    ledger: Path | None, model: Model | None = None, opened: list[Application] | None = None
) -> MakeApplication:
    """Opens the application with a model of the test, or none, and a ledger of its own."""

    async def make(context: ApplicationContext) -> Application:
        session = Session(context.settings, context.view, context.editor, trusted=context.trusted)
        session.session_id = context.session_id or session.session_id
        session.decisions = Decisions(state_folder() / FILE)
        app = Application(session, await asyncio.to_thread(Ledger, ledger), OneModel(model))  # type: ignore[arg-type]
        if opened is not None:
            opened.append(app)
        return app

    return make


@asynccontextmanager
async def connected(
    make: MakeApplication | None = None,
    *,
    capabilities: Mapping[str, Any] = FS,
    settings: Sequence[str] = ("approvals.plan=none",),
    trusts: Sequence[Path] = (),
) -> AsyncIterator[AcpClient]:
    """A client that has said `initialize`. `trusts` are folders that the person has decided to trust before."""
    for folder in trusts:
        await asyncio.to_thread(Decisions(state_folder() / FILE).decide_folder, folder, trusted=True)
    client = AcpClient(make or over(None), CommandLine(settings=settings))
    await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": dict(capabilities)})
    try:
        yield client
    finally:
        await client.end()

"""A desk: the client of pytest-lsp with an editor in memory, in front of the real server process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

from planloom.lsp.transport.codec import wire_converter
from planloom.models.offline.scripted import Turn
from tests.support.lsp_client import EXTENSION
from tests.support.memory_editor import MemoryEditor
from tests.support.model_server import model_server

SECONDS = 30.0
"""The longest wait for one event on a busy machine."""
STATE = tempfile.TemporaryDirectory(prefix="planloom-test-")
"""The ledger and the log of all servers of this process; each test has a workspace of its own."""


class Desk(LanguageClient):
    """An editor and its user. `press` are the buttons that the user presses in whatever message has one of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.editor = MemoryEditor(self._tell)
        self.press: tuple[str, ...] = ()
        self._events: list[dict[str, Any]] = []
        self._news = asyncio.Condition()
        self._model = contextlib.AsyncExitStack()
        self._next: Desk | None = None

    async def begin(
        self,
        folder: Path,
        turns: Sequence[Turn] = (),
        *,
        editor: str | None = "visual_studio_code",
        extension: dict[str, Any] | None = {**EXTENSION, "save": False},  # noqa: B006
        **settings: Any,
    ) -> None:
        """Initialize the session: with a model that plays these turns, as the newest known version of this editor.

        Without `editor` and `extension` the client declares nothing.
        """
        settings = {"model.provider": "embedded", **settings}
        if turns:
            running, _ = await self._model.enter_async_context(model_server(turns))
            settings |= {"model.provider": "openai_compatible", "model.baseUrl": f"{running.origin}/v1"}
        await self.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities(editor) if editor else types.ClientCapabilities(),
                workspace_folders=[types.WorkspaceFolder(uri=folder.as_uri(), name=folder.name)],
                root_uri=folder.as_uri(),
                initialization_options={"planloom": settings}
                | ({} if extension is None else {"planloomClient": extension}),
            )
        )

    async def ask(self, method: str, **params: Any) -> Any:
        """Send one of the requests of `planloom/`; the answer as plain JSON."""
        return await self.protocol.send_request_async(f"planloom/{method}", params)

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait until `found` finds something."""
        async with asyncio.timeout(SECONDS), self._news:
            while not (value := found()):
                await self._news.wait()
            return value

    async def heard(self, kind: str) -> dict[str, Any]:
        """The next event of this type."""
        event: dict[str, Any] = await self.until(
            lambda: next((event for event in self._events if event["type"] == kind), None)
        )
        self._events.remove(event)
        return event

    async def plan(self, text: str, **more: Any) -> dict[str, Any]:
        """A plan for the request, as it waits for its review."""
        await self.ask("plan/create", text=text, **more)
        plan: dict[str, Any] = (await self.heard("plan_approval_request"))["plan"]
        return plan

    async def approve(self, plan: dict[str, Any]) -> None:
        """Approve the plan as it was shown."""
        await self.ask("plan/approve", planId=plan["planId"], version=plan["version"])

    async def decide(self, decision: str = "allow") -> None:
        """Answer the next approval."""
        approval = (await self.heard("approval_request"))["approval"]
        await self.ask("approval/respond", approvalId=approval["approvalId"], decision=decision)

    async def ended(self, plan: dict[str, Any]) -> dict[str, Any]:
        """The plan once it has ended."""
        named = {"planId": plan["planId"], "until": "ended", "timeoutSeconds": SECONDS}
        found: dict[str, Any] = (await self.ask("plan/wait", **named))["plan"]
        return found

    async def killed(self) -> Desk:
        """Kill the server; returns the client of another one."""
        assert self._server is not None
        self._server.kill()
        await self._server.wait()
        self.capabilities = None
        self._next = await CONFIG.start()
        assert isinstance(self._next, Desk)
        return self._next

    async def end(self) -> None:
        """End the session."""
        if self._next is not None:
            await self._next.end()
            await self._next.stop()
        await self.shutdown_session()
        await self._model.aclose()

    async def on_event(self, event: dict[str, Any]) -> None:
        """The server tells of an event."""
        async with self._news:
            self._events.append(event)
            self._news.notify_all()

    def _tell(self, method: str, params: Any) -> None:
        kind = types.METHOD_TO_TYPES[method][2]
        self.protocol.notify(method, self.protocol._converter.structure(params, kind))


def make_desk() -> Desk:
    """A client whose custom messages are plain JSON."""
    desk = Desk(protocol_cls=LanguageClientProtocol, converter_factory=wire_converter)
    register_lsp_features(desk)

    @desk.feature("planloom/event")
    async def event(params: Any) -> None:
        await desk.on_event(params)

    @desk.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        """Everything may be registered."""

    @desk.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def refresh(params: None) -> None:
        """Nothing is drawn here."""

    @desk.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        converter = desk.protocol._converter
        answer = desk.editor.apply(converter.unstructure(params))
        return converter.structure(answer, types.ApplyWorkspaceEditResult)

    @desk.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def show(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        return next((each for each in params.actions or () if each.title in desk.press), None)

    return desk


CONFIG = ClientServerConfig(
    server_command=[
        *(sys.executable, "-m", "planloom", "serve", "--stdio"),
        *("--storage", STATE.name, "--log-file", f"{STATE.name}/log"),
    ],
    client_factory=make_desk,
    server_env={**os.environ, "PLANLOOM_CONFIG": f"{STATE.name}/none.json"},
)
